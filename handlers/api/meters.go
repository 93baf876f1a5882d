package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meters are the metrics of the API. Their labels have few values: a path or
// method that is not served counts as "other".
type meters struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

const otherLabel = "other"

func newMeters(registry *prometheus.Registry) meters {
	m := meters{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "annals_http_request_duration_seconds",
			Help:    "Time from a request's headers to the end of its answer, by route, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "annals_http_requests_in_flight",
			Help: "Requests that are being answered.",
		}),
	}
	registry.MustRegister(m.duration, m.inFlight)
	return m
}

// begin counts a request that came.
func (m meters) begin() (start time.Time) {
	m.inFlight.Inc()
	return time.Now()
}

// end counts it as answered.
func (m meters) end(start time.Time, r *http.Request, status int) {
	m.inFlight.Dec()
	m.duration.WithLabelValues(routeLabel(r), methodLabel(r), strconv.Itoa(status)).Observe(time.Since(start).Seconds())
}

// routeLabel is the pattern of the route that answered.
func routeLabel(r *http.Request) string {
	if r.Pattern != "" {
		return r.Pattern
	}
	return otherLabel
}

func methodLabel(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
		return r.Method
	}
	return otherLabel
}
