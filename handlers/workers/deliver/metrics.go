package deliver

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

//go:embed depth.sql
var depthSQL string

// scrapeTimeout bounds how long the figures of the queue may take.
const scrapeTimeout = 2 * time.Second

// meters are the figures of the deliveries that this node makes, and of the
// queue, which all nodes share.
type meters struct {
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec
	lag      *prometheus.HistogramVec
	late     prometheus.Counter
	slots    *slots
	pool     *pgxpool.Pool

	inFlight, depth, oldest *prometheus.Desc
}

// spans are the buckets of durations, in seconds.
var spans = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

func newMeters(r prometheus.Registerer, pool *pgxpool.Pool) *meters {
	m := &meters{
		pool: pool,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "annals_delivery_attempts_total",
			Help: "Deliveries this node had in hand, by what came of them."}, []string{"kind", "trigger", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "annals_delivery_attempt_seconds", Buckets: spans,
			Help: "How long webhooks took to answer."}, []string{"kind", "trigger"}),
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "annals_delivery_lag_seconds", Buckets: spans,
			Help: "How long after they were due deliveries were first tried."}, []string{"kind", "trigger"}),
		late: prometheus.NewCounter(prometheus.CounterOpts{Name: "annals_delivery_late_outcomes_total",
			Help: "Outcomes that came after their lease was over, and do not count."}),
		inFlight: prometheus.NewDesc("annals_deliveries_in_flight", "Deliveries that this node has in hand.", nil, nil),
		depth:    prometheus.NewDesc("annals_delivery_queue_depth", "Deliveries that are due or were, and are not over.", []string{"lane"}, nil),
		oldest:   prometheus.NewDesc("annals_delivery_queue_oldest_seconds", "How long ago the first delivery that waits fell due.", []string{"lane"}, nil),
	}
	if r != nil {
		r.MustRegister(m.attempts, m.duration, m.lag, m.late, m)
	}
	return m
}

// watch names the slots whose use is told.
func (m *meters) watch(s *slots) { m.slots = s }

// claimed notes how late a delivery's first try is.
func (m *meters) claimed(j Job) {
	if j.Tries > 0 || j.Round > 1 {
		return
	}
	kind, trigger := splitLane(j.Lane)
	m.lag.WithLabelValues(string(kind), trigger).Observe(max(0, j.Claimed.Sub(j.DueAt).Seconds()))
}

// recorded notes what came of one.
func (m *meters) recorded(o *outcome) {
	kind, trigger := splitLane(o.job.Lane)
	m.attempts.WithLabelValues(string(kind), trigger, o.result()).Inc()
	if o.Outcome != "" {
		m.duration.WithLabelValues(string(kind), trigger).Observe(o.Finished.Sub(o.Started).Seconds())
	}
}

// Describe implements [prometheus.Collector].
func (m *meters) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.inFlight
	ch <- m.depth
	ch <- m.oldest
}

// Collect implements [prometheus.Collector]. The queue is asked as it is read.
func (m *meters) Collect(ch chan<- prometheus.Metric) {
	if m.slots != nil {
		ch <- prometheus.MustNewConstMetric(m.inFlight, prometheus.GaugeValue, float64(m.slots.inFlight()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	rows, err := m.pool.Query(ctx, depthSQL)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(m.depth, err)
		return
	}
	var lane string
	var depth, oldest float64
	if _, err = pgx.ForEachRow(rows, []any{&lane, &depth, &oldest}, func() error {
		ch <- prometheus.MustNewConstMetric(m.depth, prometheus.GaugeValue, depth, lane)
		ch <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, oldest, lane)
		return nil
	}); err != nil {
		ch <- prometheus.NewInvalidMetric(m.depth, err)
	}
}
