package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command/facts"
	"annals/projections/catalog"
	"annals/projections/deliveries"
)

// Config is the handler's limits. A zero field means its default.
type Config struct {
	// RunSQLTimeout ends the text of a run_sql that takes longer. Default 3 minutes.
	RunSQLTimeout time.Duration
	// LockTimeout is how long a call waits for another one that changes the
	// metadata, and how long SQL waits for locks on users' tables. Default 30 seconds.
	LockTimeout time.Duration
	// RunSQLMaxRows is how many rows each statement of a run_sql may answer.
	// Default 1,000,000.
	RunSQLMaxRows int
	// RunSQLMaxBytes is how many bytes they may have. Default 1 GiB.
	RunSQLMaxBytes int64
}

func (c Config) withDefaults() Config {
	if c.RunSQLTimeout == 0 {
		c.RunSQLTimeout = 3 * time.Minute
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = 30 * time.Second
	}
	if c.RunSQLMaxRows == 0 {
		c.RunSQLMaxRows = 1_000_000
	}
	if c.RunSQLMaxBytes == 0 {
		c.RunSQLMaxBytes = 1 << 30
	}
	return c
}

// RemoteSchemas asks remote GraphQL servers for their schema.
type RemoteSchemas interface {
	// Introspect returns the server's answer to the introspection query.
	Introspect(ctx context.Context, r metadata.RemoteSchema) (json.RawMessage, error)
}

// Deliveries carries out commands about webhook deliveries, in a call's
// transaction. It answers the command's body.
type Deliveries interface {
	Carry(ctx context.Context, tx pgx.Tx, a deliveries.Asked) (json.RawMessage, error)
}

// Rows reads and changes rows for a session, in a call's transaction, under
// the permissions of the call's world. It answers the command's body.
type Rows interface {
	RunIn(ctx context.Context, tx pgx.Tx, c metadata.RowCall) (json.RawMessage, error)
}

// Parts are what a handler works with.
type Parts struct {
	Pool  *pgxpool.Pool
	Store *eventstore.Store
	Live  *catalog.Live
	// Remote, Deliveries and Rows may be nil: the operations that need them are
	// refused with not-supported.
	Remote     RemoteSchemas
	Deliveries Deliveries
	Rows       Rows
	// Wake is called after a commit that may have put something into the queue
	// of deliveries. It must not block. Nil: nobody is told.
	Wake func()
}

// Handler carries out calls of the metadata API on one node.
type Handler struct {
	Parts
	cfg Config
	// committing is held for reading from before a commit until this node knows
	// of it.
	committing sync.RWMutex
}

// New returns a handler.
func New(parts Parts, cfg Config) *Handler {
	return &Handler{Parts: parts, cfg: cfg.withDefaults()}
}

// Start reads the persisted catalog and the shape of what it names, and
// returns the version that a node starts with.
func Start(ctx context.Context, pool *pgxpool.Pool, store *eventstore.Store, env metadata.Environment) (catalog.Version, error) {
	c, position, err := catalog.Load(ctx, pool, store)
	if err != nil {
		return catalog.Version{}, err
	}
	found, err := readShape(ctx, pool, c.AllNames())
	if err != nil {
		return catalog.Version{}, err
	}
	return catalog.Version{Position: position, World: metadata.NewWorld(c, database.Shape{}.With(found), env)}, nil
}

// readShape reads what names stand for. An enum table that has grown too large
// is read without its rows: it cannot stand, and the rest can.
func readShape(ctx context.Context, q facts.Querier, names metadata.Names) (database.Found, error) {
	wanted := facts.Wanted{Tables: names.Tables, Functions: names.Functions, Enums: names.Enums, Types: names.Types}
	for {
		found, err := facts.Read(ctx, q, wanted)
		var large *facts.EnumTooLarge
		if errors.As(err, &large) {
			wanted.Tables = append(slices.Clone(wanted.Tables), large.Table)
			wanted.Enums = slices.DeleteFunc(slices.Clone(wanted.Enums), func(n domain.QualifiedName) bool { return n == large.Table })
			continue
		}
		if err != nil {
			return database.Found{}, fmt.Errorf("read the database's shape: %w", err)
		}
		return found, nil
	}
}

// maxTries is how often a call is tried that PostgreSQL gives up for a deadlock,
// such as with a worker that records deliveries.
const maxTries = 5

// Execute carries out a call. A refusal is a [domain.Error]. After a refusal
// or any other error nothing was changed and nothing recorded; only an error
// of the commit itself leaves open whether it took place.
func (h *Handler) Execute(ctx context.Context, req Request) (Result, error) {
	steps := flatten(req.Command)
	access, err := accessMode(steps)
	if err != nil {
		return Result{}, err
	}
	var fetched fetched
	if access == pgx.ReadWrite {
		if fetched, err = h.fetch(ctx, steps); err != nil {
			return Result{}, err
		}
	}
	for try := 1; ; try++ {
		result, err := h.attempt(ctx, &call{Handler: h, req: req, steps: steps, fetched: fetched}, access)
		if err == nil || try == maxTries || !isDeadlock(err) {
			return result, h.present(err)
		}
	}
}

// attempt carries out a call on a connection. What fails leaves nothing behind.
func (h *Handler) attempt(ctx context.Context, c *call, access pgx.TxAccessMode) (result Result, err error) {
	if c.conn, err = h.Pool.Acquire(ctx); err != nil {
		return Result{}, fmt.Errorf("acquire a connection: %w", err)
	}
	defer c.release()
	if access == pgx.ReadWrite {
		return c.change(ctx)
	}
	return c.read(ctx)
}

// isDeadlock reports whether PostgreSQL gave a transaction up so that another
// could go on. SQL of a user's own is refused with what happened instead.
func isDeadlock(err error) bool {
	var refusal *domain.Error
	var pg *pgconn.PgError
	return !errors.As(err, &refusal) && errors.As(err, &pg) && pg.Code == deadlockDetected
}

// present turns what the store and the database refuse for a caller's reason
// into refusals.
func (h *Handler) present(err error) error {
	if err == nil {
		return nil
	}
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	var conflict eventstore.VersionConflict
	if errors.As(err, &conflict) {
		return domain.RefuseAt("$", domain.Conflict,
			"the metadata is at version %d, not at %d as expected: look at what changed since (GET /v1/audit/events?after=%d), then try again",
			conflict.Actual, conflict.Expected, conflict.Expected)
	}
	var invalid eventstore.InvalidEvent
	if errors.As(err, &invalid) {
		return domain.Refuse(domain.NotSupported, "the operation cannot be recorded: %s", invalid.Reason)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == lockNotAvailable {
		return domain.RefuseAt("$", domain.Timeout,
			"another change held a lock for longer than %s; nothing was changed: try again", h.cfg.LockTimeout)
	}
	return err
}

// SQLSTATEs of a lock that was waited for too long, and of a wait in a circle.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
)
