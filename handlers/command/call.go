package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/projections/actions"
	"annals/projections/catalog"
	"annals/projections/schedules"
)

// call is one call being carried out: its transaction, the version of the
// catalog as the call has changed it so far, and what is to be appended.
type call struct {
	*Handler
	req     Request
	steps   []metadata.Command // of the request, bulks taken apart
	fetched fetched
	conn    *pgxpool.Conn
	tx      pgx.Tx

	version catalog.Version
	events  []eventstore.Event
	moved   []catalog.Moved
	// locked: the head of the history is this call's until it ends.
	locked bool
	// reshaped: the version's shape was read anew, in part or whole.
	reshaped bool
	// queues: rows were changed or deliveries asked for, so that something may
	// be due after the commit.
	queues bool
	// tainted: a user's SQL ran on the connection, which is not used again.
	tainted bool
}

func (c *call) release() {
	if !c.tainted {
		c.conn.Release()
		return
	}
	// Settings, session locks and listeners of the user's SQL go with it.
	_ = c.conn.Hijack().Close(context.Background()) // the server notices either way
}

// begin opens the call's transaction; the caller rolls it back in the end,
// which does nothing after a commit.
func (c *call) begin(ctx context.Context, options pgx.TxOptions) error {
	tx, err := c.conn.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	c.tx = tx
	if err := c.setLocal(ctx, "lock_timeout", milliseconds(c.cfg.LockTimeout)); err != nil {
		c.rollBack(ctx)
		return err
	}
	c.version = c.Live.Current()
	return nil
}

func (c *call) rollBack(ctx context.Context) {
	_ = c.tx.Rollback(context.WithoutCancel(ctx)) // fails only when the transaction has ended
}

// setLocal sets a setting of the database for the rest of the transaction.
func (c *call) setLocal(ctx context.Context, name, value string) error {
	if _, err := c.tx.Exec(ctx, "select pg_catalog.set_config($1, $2, true)", name, value); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}

// change carries out every item, appends the events and commits. The
// transaction is read committed: what it reads after the lock is what stands.
func (c *call) change(ctx context.Context) (Result, error) {
	if err := c.begin(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}); err != nil {
		return Result{}, err
	}
	defer c.rollBack(ctx)

	if c.locksFirst() {
		if err := c.lock(ctx); err != nil {
			return Result{}, err
		}
	}
	start := c.version
	body, err := c.perform(ctx, c.req.Command)
	if err != nil {
		return Result{}, err
	}
	if c.req.Plan {
		return c.planned(start), nil
	}
	return c.commit(ctx, body)
}

// locksFirst: what changes the metadata is decided on a catalog that nobody
// else may change meanwhile. The rest locks last, for the append only.
func (c *call) locksFirst() bool {
	if c.req.Expected != nil {
		return true
	}
	for _, step := range c.steps {
		if changesCatalog(step) {
			return true
		}
	}
	return false
}

// lock takes the head of the history, holds it against what the caller
// expects, and brings the call's version up to it. Nobody commits while the
// head is taken, so what is seen now is all there is.
func (c *call) lock(ctx context.Context) error {
	if c.locked {
		return nil
	}
	head, err := c.Store.Lock(ctx, c.tx)
	if err != nil {
		return err
	}
	c.locked = true
	if err := c.expect(head.Position); err != nil {
		return err
	}
	return c.reach(ctx, head.Position)
}

// reach brings the call's version up to the head that its transaction sees.
func (c *call) reach(ctx context.Context, head int64) (err error) {
	for _, current := range []func() catalog.Version{c.Live.Current, c.settled} {
		if c.version.Position >= head {
			return nil
		}
		if v := current(); v.Position > c.version.Position {
			c.version = v
		}
	}
	if c.version.Position < head {
		c.version, err = c.catchUp(ctx, c.tx, c.version)
	}
	return err
}

func (c *call) expect(position int64) error {
	if want := c.req.Expected; want != nil && *want != position {
		return eventstore.VersionConflict{Expected: *want, Actual: position}
	}
	return nil
}

// record notes a command that was carried out, to be appended.
func (c *call) record(cmd metadata.Command, changes []metadata.Change) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an event id: %w", err)
	}
	c.note(id, cmd, changes)
	return nil
}

// note is record under an id.
func (c *call) note(id uuid.UUID, cmd metadata.Command, changes []metadata.Change) {
	c.events = append(c.events, eventstore.Event{
		ID:            id,
		Type:          cmd.Operation(),
		Args:          metadata.Encode(cmd),
		Changes:       metadata.EncodeChanges(changes),
		Actor:         metadata.Encode(c.req.Actor),
		Comment:       c.req.Comment,
		SchemaVersion: metadata.SchemaVersion,
		Objects:       objectsOf(changes),
	})
	c.moved = append(c.moved, catalog.Moved{Changes: changes})
}

func objectsOf(changes []metadata.Change) []eventstore.Object {
	objects := make([]eventstore.Object, 0, len(changes))
	seen := make(map[metadata.Key]bool, len(changes))
	for _, ch := range changes {
		if !seen[ch.Key()] {
			seen[ch.Key()] = true
			objects = append(objects, eventstore.Object{Kind: string(ch.Kind), Key: ch.Name})
		}
	}
	return objects
}

// commit appends what was recorded, brings the persisted catalog up to date,
// commits, and only then moves this node's catalog.
func (c *call) commit(ctx context.Context, body json.RawMessage) (Result, error) {
	if err := c.append(ctx); err != nil {
		return Result{}, err
	}
	if err := c.settle(ctx); err != nil {
		return Result{}, err
	}
	if c.queues && c.Wake != nil {
		c.Wake()
	}
	return Result{body, c.version.Position}, nil
}

// settle commits and tells this node of it.
func (c *call) settle(ctx context.Context) error {
	c.committing.RLock()
	defer c.committing.RUnlock()
	if err := c.tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	c.Live.Publish(c.version)
	return nil
}

func (c *call) append(ctx context.Context) error {
	if len(c.events) == 0 {
		return nil
	}
	if err := c.lock(ctx); err != nil {
		return err
	}
	c.tieTogether()
	recorded, err := c.Store.AppendTx(ctx, c.tx, eventstore.Any(), c.events...)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	for i := range recorded {
		c.moved[i].Position = recorded[i].Position
	}
	c.version.Position = recorded[len(recorded)-1].Position
	if err := catalog.Save(ctx, c.tx, c.moved...); err != nil {
		return err
	}
	if err := schedules.Follow(ctx, c.tx, c.moved...); err != nil {
		return err
	}
	return actions.Follow(ctx, c.tx, c.moved...)
}

// tieTogether gives the events of one call a batch of their own.
func (c *call) tieTogether() {
	if len(c.events) < 2 {
		return
	}
	for i := range c.events {
		c.events[i].Batch, c.events[i].BatchIndex = c.events[0].ID, i
	}
}

// nextPosition is what the next recorded event gets, while the head is locked.
func (c *call) nextPosition() int64 { return c.version.Position + int64(len(c.events)) + 1 }

// planned answers what the call would change. The transaction is not committed.
func (c *call) planned(start catalog.Version) Result {
	changes := metadata.Difference(start.World.Catalog, c.version.World.Catalog)
	return Result{metadata.PlanAnswer(start.Position, changes), start.Position}
}

// ofItem puts the place of a bulk's item into a refusal's path.
func ofItem(i int, err error) error {
	var refusal *domain.Error
	if !errors.As(err, &refusal) || !strings.HasPrefix(refusal.Path, "$.args") {
		return err
	}
	moved := *refusal
	moved.Path = "$.args[" + strconv.Itoa(i) + "]" + strings.TrimPrefix(refusal.Path, "$")
	return &moved
}
