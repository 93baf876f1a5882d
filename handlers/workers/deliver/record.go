package deliver

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
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
	collectUpTo = 500
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
	in     chan *outcome
	// done is closed when all is written or given up.
	done chan struct{}
	// open ends when nothing is written any more.
	open   context.Context
	giveUp context.CancelFunc
}

func newRecorder(q *queue, log *slog.Logger, m *meters) *recorder {
	r := &recorder{queue: q, log: log, meters: m, in: make(chan *outcome, uncollected), done: make(chan struct{})}
	r.open, r.giveUp = context.WithCancel(context.Background())
	go r.run()
	return r
}

func (r *recorder) add(o *outcome) { r.in <- o }

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

// collect takes what comes within a moment. Nobody is woken for each that comes.
func (r *recorder) collect(first *outcome) []*outcome {
	select {
	case <-time.After(collectFor):
	case <-r.open.Done():
	}
	batch := append(make([]*outcome, 0, min(1+len(r.in), collectUpTo)), first)
	for len(batch) < cap(batch) {
		o, open := <-r.in
		if !open {
			break
		}
		batch = append(batch, o)
	}
	return batch
}

// apart takes what is over from what comes again: they are written differently.
func apart(batch []*outcome) (over, again []*outcome) {
	over = make([]*outcome, 0, len(batch))
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
func (r *recorder) write(batch []*outcome) {
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
func (r *recorder) expired(batch []*outcome) bool {
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
func (r *recorder) halve(batch []*outcome, err error) {
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
	r.write([]*outcome{o})
}

// count keeps the metrics, and says which outcomes came too late.
func (r *recorder) count(batch []*outcome, held map[uuid.UUID]bool) {
	for _, o := range batch {
		if !held[o.job.key] {
			r.meters.late.Inc()
			r.log.Warn("the lease of a delivery was over before its outcome was recorded", "delivery", o.job.ID, "lane", o.job.Lane, "outcome", o.result())
			continue
		}
		r.meters.recorded(o)
	}
}

// record writes outcomes that are all over, or none of them, and returns those
// deliveries whose lease was held.
func (q *queue) record(ctx context.Context, batch []*outcome) (map[uuid.UUID]bool, error) {
	c := columnsOf(batch, time.Now())
	statement, values := recordOverSQL, []any{c.ids, c.leases, c.rounds, c.outcomes, c.statuses, c.requests, c.responses,
		c.texts.list, c.reasons, c.began, c.ended, q.node, c.attempts, c.lanes, c.turns}
	if !batch[0].over() {
		statement, values = recordAgainSQL, append(values, c.delays)
	}
	rows, err := q.records.Query(ctx, statement, values...)
	if err != nil {
		return nil, fmt.Errorf("record deliveries: %w", err)
	}
	held := make(map[uuid.UUID]bool, len(batch))
	var id [16]byte
	if _, err = pgx.ForEachRow(rows, []any{&id}, func() error { held[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("record deliveries: %w", err)
	}
	return held, nil
}

// columns are outcomes as the statement takes them: column by column, in types
// that pgx encodes without looking into them.
type columns struct {
	ids, attempts        pgtype.FlatArray[pgtype.UUID]
	lanes                []string
	turns                pgtype.FlatArray[pgtype.Timestamptz]
	leases, rounds       []int32
	outcomes, reasons    pgtype.FlatArray[pgtype.Text]
	statuses             pgtype.FlatArray[pgtype.Int4]
	requests, responses  []int32 // their places among the texts
	texts                texts
	began, ended, delays []float64
}

func columnsOf(batch []*outcome, now time.Time) columns {
	n := len(batch)
	c := columns{
		ids: make([]pgtype.UUID, n), attempts: attemptIDs(now, n), lanes: make([]string, n), turns: make([]pgtype.Timestamptz, n),
		leases: make([]int32, n), rounds: make([]int32, n),
		outcomes: make([]pgtype.Text, n), reasons: make([]pgtype.Text, n), statuses: make([]pgtype.Int4, n),
		requests: make([]int32, n), responses: make([]int32, n), texts: texts{places: map[string]int32{}},
		began: make([]float64, n), ended: make([]float64, n), delays: make([]float64, n),
	}
	for i, o := range batch {
		c.ids[i] = pgtype.UUID{Bytes: o.job.key, Valid: true}
		c.lanes[i], c.turns[i] = o.job.Lane, pgtype.Timestamptz{Time: o.job.turn, Valid: true}
		c.leases[i], c.rounds[i] = int32(o.job.Lease), int32(o.job.Round)
		c.outcomes[i], c.reasons[i] = orNull(string(o.Outcome)), orNull(o.Dropped)
		c.statuses[i] = pgtype.Int4{Int32: int32(o.Status), Valid: o.Status != 0}
		c.requests[i], c.responses[i] = c.texts.place(o.Request), c.texts.place(o.Response)
		c.began[i], c.ended[i], c.delays[i] = since(o.Started, now), since(o.Finished, now), o.Delay.Seconds()
	}
	return c
}

// texts are what was sent and said. Tries at one trigger are much alike, so each
// text crosses once, and is read by the database once.
type texts struct {
	list   pgtype.FlatArray[json.RawMessage]
	places map[string]int32
}

// place is where a text stands among them, from 1; 0 for none.
func (t *texts) place(text json.RawMessage) int32 {
	if len(text) == 0 {
		return 0
	}
	place := t.places[string(text)]
	if place == 0 {
		t.list = append(t.list, text)
		place = int32(len(t.list))
		t.places[string(text)] = place
	}
	return place
}

// attemptIDs are ids of version 7, in their order for the sake of the index: a
// time in milliseconds, places behind it, and what is random.
func attemptIDs(now time.Time, n int) []pgtype.UUID {
	random := make([]byte, 8*n)
	rand.Read(random) // never fails
	ids := make([]pgtype.UUID, n)
	for i := range ids {
		id := &ids[i].Bytes
		binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16|0x7000|uint64(i)&0xfff)
		copy(id[8:], random[8*i:])
		id[8] = id[8]&0x3f | 0x80
		ids[i].Valid = true
	}
	return ids
}

// orNull is a text, or null for none.
func orNull(s string) pgtype.Text { return pgtype.Text{String: s, Valid: s != ""} }

func since(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}
