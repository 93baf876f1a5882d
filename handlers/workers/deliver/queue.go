package deliver

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
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

//go:embed record_over.sql
var recordOverSQL string

//go:embed record_again.sql
var recordAgainSQL string

//go:embed renew.sql
var renewSQL string

// queue is annals.delivery_queue as a node sees it. It has connections of its
// own, so that deliveries never stand in a line behind other work.
type queue struct {
	// claims are connections whose commits are not waited for: a claim that a
	// crash of the database forgets was a lease that ended early.
	claims *pgxpool.Pool
	// records are connections whose commits are.
	records *pgxpool.Pool
	node    string
	schema  int // the newest that the node knows; 0: any
}

// claimTimeout bounds a claim. What a claim that took longer has leased, its
// leases bring back.
const claimTimeout = 10 * time.Second

// connections is how many each of the two sets may have.
const connections = 2

// The statements are few, each has one good plan, and making it costs more than
// running it. The tables that they go through empty and fill by the second, so
// what the database knows of them is old: by it, reading the whole queue would
// seem cheaper than looking a hundred rows up.
var settings = []string{
	"set plan_cache_mode = force_generic_plan", "set enable_seqscan = off", "set enable_hashjoin = off",
	"set enable_mergejoin = off", "set enable_bitmapscan = off", "set jit = off",
}

func newQueue(like *pgxpool.Pool, node string, schema int) (*queue, error) {
	claims, err := connect(like, append([]string{"set synchronous_commit = off"}, settings...))
	if err != nil {
		return nil, err
	}
	records, err := connect(like, settings)
	if err != nil {
		claims.Close()
		return nil, err
	}
	return &queue{claims: claims, records: records, node: node, schema: schema}, nil
}

// connect makes a pool to the database of another one, whose connections have
// these settings. None is opened before it is needed.
func connect(like *pgxpool.Pool, settings []string) (*pgxpool.Pool, error) {
	config := like.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = connections, 0, 0
	before := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if before != nil {
			if err := before(ctx, conn); err != nil {
				return err
			}
		}
		_, err := conn.Exec(ctx, strings.Join(settings, "; "))
		return err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("make the connections of deliveries: %w", err)
	}
	return pool, nil
}

func (q *queue) close() {
	q.claims.Close()
	q.records.Close()
}

// lanes gives the lanes of a topic in which something is due, and the time
// until the first that is not.
func (q *queue) lanes(ctx context.Context, topic string, longest time.Duration) (due []string, soonest time.Duration, err error) {
	soonest = longest
	rows, err := q.claims.Query(ctx, lanesSQL, topic, q.schema)
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
	length, sum := map[string]time.Duration{}, 0
	for i, l := range leases {
		lanes[i], slots[i], seconds[i] = l.lane, l.slots, l.length.Seconds()
		length[l.lane] = l.length
		sum += l.slots
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	asked := time.Now()
	rows, err := q.claims.Query(ctx, claimSQL, lanes, slots, seconds, q.node, q.schema)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	jobs, err := pgx.AppendRows(make([]Job, 0, sum), rows, scanJob)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	for i := range jobs {
		j := &jobs[i]
		j.until = asked.Add(length[j.Lane])
		j.queue = q
	}
	return jobs, nil
}

func scanJob(row pgx.CollectableRow) (Job, error) {
	var j Job
	var kind, trigger, schema, table pgtype.Text
	var created pgtype.Timestamptz
	var payload, definition []byte // as json.RawMessage, pgx would read them through
	err := row.Scan((*[16]byte)(&j.key), &j.Lane, &j.turn, &j.Lease, &j.Round, &j.Tries,
		&kind, &trigger, &schema, &table, &payload, &definition, &j.DueAt, &created, &j.Claimed)
	j.ID = j.key.String()
	j.Kind, j.Trigger, j.Schema, j.Table, j.CreatedAt = delivery.Kind(kind.String), trigger.String, schema.String, table.String, created.Time
	j.Payload, j.Definition = payload, definition
	j.Gone = !kind.Valid
	return j, err
}

// renew makes a lease longer.
func (q *queue) renew(ctx context.Context, j Job, length time.Duration) error {
	tag, err := q.claims.Exec(ctx, renewSQL, pgtype.UUID{Bytes: j.key, Valid: true}, j.Lease, j.Round, q.node, length.Seconds(), j.Lane, j.turn)
	if err != nil {
		return fmt.Errorf("renew a lease: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("renew the lease of %s: it is not held any more", j.ID)
	}
	return nil
}
