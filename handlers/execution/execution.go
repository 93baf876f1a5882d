// Package execution answers GraphQL operations from the database.
//
// A query's statements are sent together, in one round trip, and so are one
// read-only transaction with one snapshot ([Connections]). Rows come back flat
// and as text, and are written as JSON from those bytes. The root
// fields of a mutation run one after the other in one transaction; when one
// fails, none took effect. Remote servers are asked beside the database, each
// once for all of an operation's fields; a mutation asks them in its order, and
// no transaction is open meanwhile.
//
//	prepare    text -> plan            plan.Build
//	translate  plan -> statements      once for a plan
//	bind       parameters              for each request
//	run        rows -> JSON
//
// What PostgreSQL refuses reaches the client with the codes and messages of the
// v1.3 API. Statements stay prepared on their connection; one whose tables
// changed meanwhile is prepared again.
package execution

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/translate"
	"annals/domain/metadata"
	"annals/handlers/outbound"
	"annals/projections/allowlist"
)

// DefaultStatementTimeout is how long one statement may run where nothing else is said.
const DefaultStatementTimeout = 60 * time.Second

// cancelDelay is how long a cancelled statement has to end before its connection is given up.
const cancelDelay = time.Second

// Config is how operations are run. The zero Config is that of v1.3.
type Config struct {
	translate.Options
	// Isolation is of mutations; empty is read committed.
	Isolation pgx.TxIsoLevel
	// KeptPlans is how many plans are kept for when the same text comes again.
	// 0: [DefaultKeptPlans]; below 0: none.
	KeptPlans int
	// Limits bound operations.
	Limits plan.Limits
	// DropNulls leaves nulls out of filters: see [plan.Request].
	DropNulls bool
	// HeaderPrefix is how session variables are spelled in messages and for
	// remote servers. Empty: [domain.OwnPrefix].
	HeaderPrefix string
	// StatementTimeout ends a statement of [Executor.RunIn]; those of operations
	// end as their connections say. 0 is no limit.
	StatementTimeout time.Duration
	// MaxRows is how many rows one operation may read; of a live query, one look at
	// the database. 0: [DefaultMaxRows]; below 0: any number.
	MaxRows int
	// MaxBytes is how many bytes these rows may have. 0: [DefaultMaxBytes]; below 0:
	// any number.
	MaxBytes int64
	// Joins bound what is asked of remote schemas for rows.
	Joins Joins
	// MaxHops is how many servers that ask each other an operation may come by.
	// 0: [DefaultMaxHops].
	MaxHops int
	// AllowList says which operations roles other than the admin may run.
	AllowList AllowList
	// ParallelActions is how many handlers of actions one query has called at the
	// same time. 0: [DefaultParallelActions].
	ParallelActions int
	// Called is told of each handler that answered. Nil: nobody is told.
	Called func(context.Context, HandlerAnswered)
	// Wake is called after each mutation: it may have put something into the
	// queue of deliveries. It must not block. Nil: nobody is told.
	Wake func()
	// Outbound calls the handlers of actions, and remote servers. Nil: one of its
	// own, which calls any address.
	Outbound *outbound.Client
}

// Executor runs operations. It is safe for concurrent use.
type Executor struct {
	pool   *pgxpool.Pool
	world  func() metadata.World
	config Config
	schema *schema.Schema
	kept   plans
	gate   gate
}

// New returns an executor over a pool that was made as [Connections] says.
// world gives the metadata that is true at the moment.
func New(pool *pgxpool.Pool, world func() metadata.World, c Config) *Executor {
	if c.Isolation == "" {
		c.Isolation = pgx.ReadCommitted
	}
	if c.KeptPlans == 0 {
		c.KeptPlans = DefaultKeptPlans
	}
	if c.Outbound == nil {
		c.Outbound = outbound.New(outbound.Config{})
	}
	if c.MaxHops == 0 {
		c.MaxHops = DefaultMaxHops
	}
	c.Joins = c.Joins.withDefaults()
	return &Executor{
		pool: pool, world: world, config: c, schema: schema.New(),
		kept: plans{capacity: c.KeptPlans, byKey: make(map[planKey]*prepared)},
		gate: newGate(c.AllowList, allowlist.NewLive(world)),
	}
}

// Connections sets how a pool's connections have to be for an [Executor]: the
// spelling of values does not depend on the database's settings, a statement
// ends after a time (0 is no limit), and when its client has gone. What runs
// outside of a mutation only reads, and statements that are sent together read
// one snapshot, without a BEGIN and a COMMIT around them.
func Connections(c *pgxpool.Config, statementTimeout time.Duration) {
	if c.ConnConfig.RuntimeParams == nil {
		c.ConnConfig.RuntimeParams = make(map[string]string)
	}
	p := c.ConnConfig.RuntimeParams
	p["client_encoding"] = "UTF8"
	maps.Copy(p, spelling())
	p["default_transaction_isolation"] = "repeatable read"
	p["default_transaction_read_only"] = "on"
	p["jit"] = "off" // compiling costs more than most operations run
	p["statement_timeout"] = fmt.Sprint(statementTimeout.Milliseconds())
	c.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelDelay}
	}
}

// spelling is the settings that the spelling of values depends on.
func spelling() map[string]string {
	return map[string]string{
		"datestyle":          "ISO, MDY",
		"intervalstyle":      "postgres",
		"bytea_output":       "hex",
		"extra_float_digits": "1",
	}
}

// Operation is an operation ready to run, with what its request brought.
type Operation struct {
	Plan      *plan.Operation
	Session   domain.Session
	Variables map[string]json.RawMessage
	Client    Client
	// told is [Request.Told].
	told func([]Told)
	// steps are the statements of a query, nil where they are still to be made.
	steps []translate.Step
	// allowed is what a mutation may still read, over all its transactions.
	allowed *allowance
}

// RunPlan runs a query or a mutation and returns its whole answer, {"data": ...}.
func (e *Executor) RunPlan(ctx context.Context, op Operation) ([]byte, error) {
	known, err := e.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	return e.finish(ctx, op, known)
}

// begin does what comes before anything is asked of the database.
func (e *Executor) begin(ctx context.Context, op Operation) (outside, error) {
	if err := e.checkSession(op); err != nil {
		return nil, err
	}
	return e.callActions(ctx, op)
}

// finish runs an operation whose handlers have answered.
func (e *Executor) finish(ctx context.Context, op Operation, known outside) ([]byte, error) {
	if op.Plan.Kind == plan.Mutation {
		op.tell(nil)
		return answered(e.mutate(ctx, op, known))
	}
	return answered(e.query(ctx, op, known))
}

// checkSession refuses an operation that needs variables the session lacks, before anything ran.
func (e *Executor) checkSession(op Operation) error {
	var missing []string
	for _, name := range op.Plan.Session {
		if !translate.HasVariable(op.Session, name) {
			missing = append(missing, e.config.spelled(name))
		}
	}
	if missing == nil {
		return nil
	}
	return translate.MissingSession(missing)
}

func (e *Executor) query(ctx context.Context, op Operation, found outside) ([]byte, error) {
	steps := op.steps
	if steps == nil {
		steps = e.translate(op.Plan)
	}
	if err := e.findCalls(ctx, op, found); err != nil {
		return nil, err
	}
	binding := translate.Binding{Variables: op.Variables, Session: op.Session}
	var statements []bound
	for i, s := range steps {
		binding.Rows = found.rows(i, s.Attached)
		for _, statement := range s.Statements {
			values, err := statement.Bind(binding)
			if err != nil {
				return nil, err
			}
			statements = append(statements, bound{statement.SQL, values})
		}
	}
	if op.told != nil {
		op.tell(toldOf(op.Plan, steps, statements))
	}
	sets, err := e.readBeside(ctx, op, statements, found)
	if err != nil {
		return nil, err
	}
	w := writeQuery(op.Plan, steps, sets, found)
	free(sets)
	return e.joined(ctx, op, w)
}

// writeQuery writes the answer, but for what is joined to its rows; found is
// what was asked of others, by root field.
func writeQuery(op *plan.Operation, steps []translate.Step, sets []*rowset, found outside) *writer {
	w := &writer{out: make([]byte, 0, sizeOf(sets)), sets: sets}
	w.joins.Expect(rowsIn(sets))
	w.out = append(w.out, `{"data":{`...)
	for i, f := range op.Fields {
		w.member(f.Alias)
		switch s := f.Step.(type) {
		case plan.Constant:
			w.out = append(w.out, s...)
			continue
		case *plan.Remote:
			w.out = append(w.out, found[i].remote...)
			continue
		}
		if steps[i].Attached != nil {
			w.outside(f.Step, found[i], steps[i].Attached)
		} else {
			w.root(steps[i])
		}
		w.sets = w.sets[len(steps[i].Statements):]
	}
	w.out = append(w.out, "}}"...)
	return w
}

// sizeOf guesses how long the JSON of rows is.
func sizeOf(sets []*rowset) int {
	size := 64
	for _, s := range sets {
		size += len(s.data) + 16*len(s.ends)
	}
	return size
}

func rowsIn(sets []*rowset) (n int) {
	for _, s := range sets {
		n += s.len()
	}
	return n
}

// member begins the next member of an object.
func (w *writer) member(alias string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.key(alias)
}

func (w *writer) key(alias string) { w.out = append(appendString(w.out, []byte(alias)), ':') }

const (
	commit   = "COMMIT"
	rollback = "ROLLBACK"
)

// read runs statements that only read, all in one snapshot, in one round trip.
func (e *Executor) read(ctx context.Context, statements []bound) ([]*rowset, error) {
	sets, err := e.readPlainly(ctx, statements)
	if err != nil {
		return nil, presented(err, "$")
	}
	return sets, nil
}

// readPlainly is read, with errors as they came.
func (e *Executor) readPlainly(ctx context.Context, statements []bound) ([]*rowset, error) {
	if len(statements) == 0 {
		return nil, nil
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire a connection: %w", err)
	}
	defer conn.Release()
	pg := conn.Conn().PgConn()
	sets, err := pipeline(ctx, pg, statements, e.config.allowed())
	if isStale(err) {
		// The tables changed under a prepared statement; nothing was answered yet.
		if err := namesOn(pg).forget(ctx, pg); err != nil {
			return nil, err
		}
		sets, err = pipeline(ctx, pg, statements, e.config.allowed())
	}
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return sets, nil
}

// idle is the state of a connection outside of any transaction.
const idle = 'I'

// leave ends a transaction that failed. A connection that is broken needs nothing.
func leave(ctx context.Context, pg *pgconn.PgConn) error {
	if pg.IsClosed() || pg.TxStatus() == idle {
		return nil
	}
	if _, err := pg.Exec(context.WithoutCancel(ctx), rollback).ReadAll(); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}
