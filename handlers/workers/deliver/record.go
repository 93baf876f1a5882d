package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// How outcomes are collected.
const (
	// collectFor is how long the first outcome waits for others.
	collectFor = 2 * time.Millisecond
	// collectUpTo is how many are written together.
	collectUpTo = 200
	// uncollected is how many may wait; then settling waits, and with it claiming.
	uncollected = 1000
	// recordAgain is the time between two tries to write.
	recordAgain = 200 * time.Millisecond
	// lastWait is how long a worker that stops waits for a database that does not
	// answer, and the least that outcomes are kept for it otherwise. What is not
	// written then, its lease brings again.
	lastWait = 5 * time.Second
)

// outcome is what became of a job.
type outcome struct {
	job Job
	Attempt
}

// recorder writes outcomes down, many at a time.
type recorder struct {
	queue  *queue
	log    *slog.Logger
	meters *meters
	in     chan outcome
	// done is closed when all is written or given up.
	done chan struct{}
	// open ends when nothing is written any more.
	open   context.Context
	giveUp context.CancelFunc
}

func newRecorder(q *queue, log *slog.Logger, m *meters) *recorder {
	r := &recorder{queue: q, log: log, meters: m, in: make(chan outcome, uncollected), done: make(chan struct{})}
	r.open, r.giveUp = context.WithCancel(context.Background())
	go r.run()
	return r
}

func (r *recorder) add(o outcome) { r.in <- o }

// close writes what is there and ends, within lastWait.
func (r *recorder) close() {
	defer time.AfterFunc(lastWait, r.giveUp).Stop()
	defer r.giveUp()
	close(r.in)
	<-r.done
}

func (r *recorder) run() {
	defer close(r.done)
	for first := range r.in {
		over, again := apart(r.collect(first))
		r.write(over)
		r.write(again)
	}
}

// collect takes what comes within a moment.
func (r *recorder) collect(first outcome) []outcome {
	batch := append(make([]outcome, 0, collectUpTo/2), first)
	timer := time.NewTimer(collectFor)
	defer timer.Stop()
	for len(batch) < collectUpTo {
		select {
		case o, open := <-r.in:
			if !open {
				return batch
			}
			batch = append(batch, o)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// apart takes what is over from what comes again: they are written differently.
func apart(batch []outcome) (over, again []outcome) {
	for _, o := range batch {
		if o.over() {
			over = append(over, o)
		} else {
			again = append(again, o)
		}
	}
	return over, again
}

// write writes outcomes that are all over, or none of them, again and again while
// the database does not answer, until the leases are over or the worker has
// stopped. The leases decide whether they still count then.
func (r *recorder) write(batch []outcome) {
	if len(batch) == 0 {
		return
	}
	began := time.Now()
	for try := 0; ; try++ {
		held, err := r.queue.record(r.open, batch)
		if err == nil {
			r.count(batch, held)
			return
		}
		if isData(err) {
			r.halve(batch, err)
			return
		}
		if try == 0 {
			r.log.Warn("cannot record what became of deliveries; trying again", "deliveries", len(batch), "error", err)
		}
		if r.open.Err() != nil || time.Since(began) > lastWait && r.expired(batch) {
			r.log.Error("what became of deliveries was not recorded: they will be made again", "deliveries", len(batch), "error", err)
			return
		}
		select {
		case <-time.After(recordAgain):
		case <-r.open.Done():
		}
	}
}

// expired reports whether no lease of a batch can be held any more.
func (r *recorder) expired(batch []outcome) bool {
	for _, o := range batch {
		if time.Now().Before(o.job.until) {
			return false
		}
	}
	return true
}

// isData reports whether the database refuses what it is given.
func isData(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "54"))
}

// halve finds the outcome that the database cannot keep, and keeps it without
// what was sent and said.
func (r *recorder) halve(batch []outcome, err error) {
	if len(batch) > 1 {
		r.write(batch[:len(batch)/2])
		r.write(batch[len(batch)/2:])
		return
	}
	o := batch[0]
	if o.Request == nil && o.Response == nil {
		r.log.Error("what became of a delivery cannot be recorded: it will be made again", "delivery", o.job.ID, "error", err)
		return
	}
	r.log.Warn("a request or its answer cannot be recorded", "delivery", o.job.ID, "error", err)
	o.Request, o.Response = nil, nil
	r.write([]outcome{o})
}

// count keeps the metrics, and says which outcomes came too late.
func (r *recorder) count(batch []outcome, held map[uuid.UUID]bool) {
	for _, o := range batch {
		if !held[uuid.MustParse(o.job.ID)] {
			r.meters.late.Inc()
			r.log.Warn("the lease of a delivery was over before its outcome was recorded", "delivery", o.job.ID, "lane", o.job.Lane, "outcome", o.result())
			continue
		}
		r.meters.recorded(o)
	}
}

// record writes outcomes that are all over, or none of them, and returns those
// deliveries whose lease was held.
func (q *queue) record(ctx context.Context, batch []outcome) (map[uuid.UUID]bool, error) {
	c := columnsOf(batch, time.Now())
	statement, values := recordOverSQL, []any{c.ids, c.leases, c.rounds, c.entries, c.outcomes, c.statuses,
		c.requests, c.responses, c.reasons, c.began, c.ended, q.node, c.attempts}
	if !batch[0].over() {
		statement, values = recordAgainSQL, append(values, c.delays)
	}
	rows, err := q.records.Query(ctx, statement, values...)
	if err != nil {
		return nil, fmt.Errorf("record deliveries: %w", err)
	}
	held := make(map[uuid.UUID]bool, len(batch))
	var id uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&id}, func() error { held[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("record deliveries: %w", err)
	}
	return held, nil
}

// columns are outcomes as the statement takes them: column by column, in types
// that pgx encodes without looking into them.
type columns struct {
	ids, attempts                                   pgtype.FlatArray[pgtype.UUID]
	entries, outcomes, requests, responses, reasons pgtype.FlatArray[pgtype.Text]
	leases, rounds                                  []int32
	statuses                                        pgtype.FlatArray[pgtype.Int4]
	began, ended, delays                            []float64
}

func columnsOf(batch []outcome, now time.Time) columns {
	var c columns
	for _, o := range batch {
		c.ids = append(c.ids, pgtype.UUID{Bytes: uuid.MustParse(o.job.ID), Valid: true}) // it was a uuid's text when it was claimed
		c.leases, c.rounds = append(c.leases, int32(o.job.Lease)), append(c.rounds, int32(o.job.Round))
		c.entries, c.outcomes = append(c.entries, text(o.entry())), append(c.outcomes, orNull(string(o.Outcome)))
		c.requests, c.responses = append(c.requests, orNull(string(o.Request))), append(c.responses, orNull(string(o.Response)))
		c.statuses = append(c.statuses, pgtype.Int4{Int32: int32(o.Status), Valid: o.Status != 0})
		c.reasons, c.delays = append(c.reasons, orNull(o.Dropped)), append(c.delays, o.Delay.Seconds())
		c.began, c.ended = append(c.began, since(o.Started, now)), append(c.ended, since(o.Finished, now))
		// Sorted by time, for the sake of the index.
		c.attempts = append(c.attempts, pgtype.UUID{Bytes: uuid.Must(uuid.NewV7()), Valid: true})
	}
	return c
}

// entry is what the history calls an outcome; empty for what it does not tell.
func (o outcome) entry() string {
	switch {
	case o.Dropped != "":
		return "dropped"
	case o.Outcome != "":
		return "attempt"
	}
	return ""
}

func text(s string) pgtype.Text { return pgtype.Text{String: s, Valid: true} }

// orNull is a text, or null for none.
func orNull(s string) pgtype.Text { return pgtype.Text{String: s, Valid: s != ""} }

func since(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
