package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
	"annals/projections/deliveries"
)

var success = json.RawMessage(`{"message":"success"}`)

// perform carries out one command in the call's transaction and returns the
// body of its answer.
func (c *call) perform(ctx context.Context, cmd metadata.Command) (json.RawMessage, error) {
	switch cmd := cmd.(type) {
	case metadata.Bulk:
		return c.performAll(ctx, cmd)
	case metadata.RunSQL:
		return c.runSQL(ctx, cmd)
	case metadata.ReloadMetadata:
		return c.reload(ctx, cmd)
	case metadata.RollbackMetadata:
		return c.rollback(ctx, cmd)
	case metadata.AddRemoteSchema:
		return c.addRemoteSchema(ctx, cmd)
	case metadata.ReloadRemoteSchema:
		return c.reloadRemoteSchema(ctx, cmd)
	case metadata.ReplaceMetadata:
		return c.decide(ctx, cmd.WithRemoteSchemas(c.version.World, c.fetched.all()))
	case metadata.DropAction:
		return c.dropAction(ctx, cmd)
	case metadata.Decider:
		return c.decide(ctx, cmd)
	case metadata.DeliveryCommand:
		return c.deliver(ctx, cmd)
	case metadata.RowCommand:
		return c.runRows(ctx, cmd)
	}
	return c.ask(ctx, cmd)
}

func (c *call) performAll(ctx context.Context, bulk metadata.Bulk) (json.RawMessage, error) {
	bodies := make([]json.RawMessage, len(bulk.Items))
	for i, item := range bulk.Items {
		body, err := c.perform(ctx, item)
		if err != nil {
			return nil, ofItem(i, err)
		}
		bodies[i] = body
	}
	return metadata.Encode(bodies), nil
}

// decide looks at what the command names of the database, lets the domain
// decide, and records what it decided.
func (c *call) decide(ctx context.Context, cmd metadata.Decider) (json.RawMessage, error) {
	if err := c.look(ctx, metadata.NamesOf(c.version.World, cmd)); err != nil {
		return nil, err
	}
	decision, err := metadata.Decide(c.version.World, c.nextPosition(), cmd)
	if err != nil {
		return nil, err
	}
	if err := c.take(decision); err != nil {
		return nil, err
	}
	if err := c.capture(ctx, decision.Changes); err != nil {
		return nil, err
	}
	return success, c.record(cmd, decision.Changes)
}

// take makes a decision the call's, unless the types of GraphQL would clash.
func (c *call) take(d metadata.Decision) error {
	if err := schema.RefuseClashes(c.version.World, d); err != nil {
		return err
	}
	c.version.World = d.World
	return nil
}

// look reads the shape of some tables and functions anew.
func (c *call) look(ctx context.Context, names metadata.Names) error {
	if names.Empty() {
		return nil
	}
	found, err := readShape(ctx, c.tx, names)
	if err != nil {
		return err
	}
	c.version.World = c.version.World.WithShape(found)
	c.reshaped = true
	return nil
}

// reload reads the whole shape again, and looks at all capture triggers. The event lets other nodes do the same.
func (c *call) reload(ctx context.Context, cmd metadata.ReloadMetadata) (json.RawMessage, error) {
	found, err := readShape(ctx, c.tx, c.version.World.Catalog.AllNames())
	if err != nil {
		return nil, err
	}
	c.version.World = c.version.World.WithShape(found)
	c.reshaped = true
	decision, err := metadata.Decide(c.version.World, c.nextPosition(), cmd.WithIntrospections(c.fetched.all()))
	if err != nil {
		return nil, err
	}
	if err := c.take(decision); err != nil {
		return nil, err
	}
	if err := c.captureAll(ctx, nil); err != nil {
		return nil, err
	}
	return success, c.record(cmd, decision.Changes)
}

// rollback restores the catalog of an earlier moment.
func (c *call) rollback(ctx context.Context, cmd metadata.RollbackMetadata) (json.RawMessage, error) {
	earlier, _, err := c.catalogAt(ctx, cmd.To)
	if err != nil {
		return nil, err
	}
	return c.decide(ctx, cmd.Restoring(earlier))
}

// deliver hands a command about deliveries to the part that keeps them. What it
// does is tied to the event that records it: that is why the head is locked
// first, and the event's id known.
func (c *call) deliver(ctx context.Context, cmd metadata.DeliveryCommand) (json.RawMessage, error) {
	if !cmd.OnlyReads() {
		if err := c.lock(ctx); err != nil {
			return nil, err
		}
	}
	if err := cmd.Check(c.version.World); err != nil {
		return nil, err
	}
	if c.Deliveries == nil {
		return nil, needsPart(cmd, "delivers webhooks")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make an event id: %w", err)
	}
	body, err := c.Deliveries.Carry(ctx, c.tx, deliveries.Asked{
		Command: cmd, World: c.version.World, Session: c.req.Session, ID: id, Position: c.nextPosition(),
	})
	if err != nil || cmd.OnlyReads() {
		return body, err
	}
	c.queues = true
	c.note(id, cmd, nil)
	return body, nil
}

// runRows reads or changes rows, as the call's transaction sees them and under
// the metadata as the call has made it so far.
func (c *call) runRows(ctx context.Context, cmd metadata.RowCommand) (json.RawMessage, error) {
	if c.Rows == nil {
		return nil, needsPart(cmd, "reads and changes rows")
	}
	c.queues = c.queues || !cmd.OnlyReads()
	return c.Rows.RunIn(ctx, c.tx, metadata.RowCall{
		World: c.version.World, Session: c.req.Session, BackendOnly: c.req.BackendOnly, Trace: c.req.Trace, Command: cmd,
	})
}

// needsPart refuses a command whose part this server does not have: better a
// clear no than a success that nothing follows.
func needsPart(cmd metadata.Command, part string) error {
	return domain.Refuse(domain.NotSupported, "%s needs a part that %s, and this server runs without it", cmd.Operation(), part)
}

// flatten lists the commands of a call, bulks taken apart.
func flatten(cmd metadata.Command) []metadata.Command {
	bulk, ok := cmd.(metadata.Bulk)
	if !ok {
		return []metadata.Command{cmd}
	}
	var steps []metadata.Command
	for _, item := range bulk.Items {
		steps = append(steps, flatten(item)...)
	}
	return steps
}

// changesCatalog reports whether a command may change the catalog, or the
// shape beside it.
func changesCatalog(cmd metadata.Command) bool {
	switch cmd := cmd.(type) {
	case metadata.RunSQL:
		return cmd.ChecksMetadata()
	case metadata.Decider, metadata.RollbackMetadata, metadata.ReloadMetadata, metadata.AddRemoteSchema, metadata.ReloadRemoteSchema:
		return true
	}
	return false
}

// onlyReads reports whether a command fits a transaction of either mode.
func onlyReads(cmd metadata.Command) bool {
	switch cmd := cmd.(type) {
	case interface{ OnlyReads() bool }:
		return cmd.OnlyReads()
	case metadata.ExportMetadata, metadata.GetInconsistentMetadata, metadata.DumpInternalState,
		metadata.DiffMetadata, metadata.IntrospectRemoteSchema, metadata.GetCronTriggers:
		return true
	}
	return false
}

// accessMode finds the mode that all steps can run in: read-only when none
// asks for more.
func accessMode(steps []metadata.Command) (pgx.TxAccessMode, error) {
	var mode pgx.TxAccessMode
	for i, step := range steps {
		if onlyReads(step) {
			continue
		}
		wants := pgx.ReadWrite
		if sql, ok := step.(metadata.RunSQL); ok && sql.ReadOnly {
			wants = pgx.ReadOnly
		}
		if mode != "" && mode != wants {
			return "", domain.RefuseAt("$", domain.BadRequest,
				"incompatible access mode requirements in bulk query, expected access mode: %s but $.args[%d] forces %s",
				modeNames[mode], i, modeNames[wants])
		}
		mode = wants
	}
	if mode == "" {
		mode = pgx.ReadOnly
	}
	return mode, nil
}

var modeNames = map[pgx.TxAccessMode]string{pgx.ReadOnly: "READ ONLY", pgx.ReadWrite: "READ WRITE"}
