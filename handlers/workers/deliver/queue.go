package deliver

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain/delivery"
)

//go:embed lanes.sql
var lanesSQL string

//go:embed claim.sql
var claimSQL string

//go:embed record.sql
var recordSQL string

//go:embed renew.sql
var renewSQL string

// queue is annals.delivery_queue as a node sees it.
type queue struct {
	pool *pgxpool.Pool
	node string
}

// lanes gives the lanes of a topic in which something is due, and the time
// until the first that is not.
func (q *queue) lanes(ctx context.Context, topic string, longest time.Duration) (due []string, soonest time.Duration, err error) {
	soonest = longest
	rows, err := q.pool.Query(ctx, lanesSQL, topic)
	if err != nil {
		return nil, soonest, fmt.Errorf("look for lanes: %w", err)
	}
	var lane string
	var seconds float64
	_, err = pgx.ForEachRow(rows, []any{&lane, &seconds}, func() error {
		if seconds <= 0 {
			due = append(due, lane)
		} else if seconds < soonest.Seconds() {
			soonest = time.Duration(seconds * float64(time.Second))
		}
		return nil
	})
	if err != nil {
		return nil, longest, fmt.Errorf("look for lanes: %w", err)
	}
	return due, soonest, nil
}

// lease is what is asked for of a lane.
type lease struct {
	lane   string
	slots  int
	length time.Duration
}

// claim leases what is due.
func (q *queue) claim(ctx context.Context, leases []lease) ([]Job, error) {
	lanes, slots, seconds := make([]string, len(leases)), make([]int, len(leases)), make([]float64, len(leases))
	length := map[string]time.Duration{}
	for i, l := range leases {
		lanes[i], slots[i], seconds[i] = l.lane, l.slots, l.length.Seconds()
		length[l.lane] = l.length
	}
	asked := time.Now()
	rows, err := q.pool.Query(ctx, claimSQL, lanes, slots, seconds, q.node)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	for i := range jobs {
		j := &jobs[i]
		j.until = asked.Add(length[j.Lane])
		j.renew = func(ctx context.Context, length time.Duration) (time.Time, error) { return q.renew(ctx, *j, length) }
	}
	return jobs, nil
}

func scanJob(row pgx.CollectableRow) (Job, error) {
	var j Job
	var kind, trigger, schema, table pgtype.Text
	var created pgtype.Timestamptz
	err := row.Scan(&j.ID, &j.Lane, &j.Lease, &j.Round, &j.Tries,
		&kind, &trigger, &schema, &table, &j.Payload, &j.Definition, &j.DueAt, &created, &j.Claimed)
	j.Kind, j.Trigger, j.Schema, j.Table, j.CreatedAt = delivery.Kind(kind.String), trigger.String, schema.String, table.String, created.Time
	j.Gone = !kind.Valid
	return j, err
}

// renew makes a lease longer, and returns when it ends.
func (q *queue) renew(ctx context.Context, j Job, length time.Duration) (time.Time, error) {
	until := time.Now().Add(length)
	tag, err := q.pool.Exec(ctx, renewSQL, j.ID, j.Lease, j.Round, q.node, length.Seconds())
	if err != nil {
		return until, fmt.Errorf("renew a lease: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return until, fmt.Errorf("renew the lease of %s: it is not held any more", j.ID)
	}
	return until, nil
}
