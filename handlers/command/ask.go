package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
	"annals/projections/catalog"
)

// read carries out a call that only reads; its commands see one snapshot of
// the database. The answer is never older than the request: what another node
// appended is folded first.
func (c *call) read(ctx context.Context) (Result, error) {
	if err := c.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return Result{}, err
	}
	defer c.rollBack(ctx)

	if err := c.reachHead(ctx); err != nil {
		return Result{}, err
	}
	if err := c.expect(c.version.Position); err != nil {
		return Result{}, err
	}
	body, err := c.perform(ctx, c.req.Command)
	if err != nil {
		return Result{}, err
	}
	return Result{body, c.version.Position}, nil
}

// reachHead brings the call, and this node, up to what its transaction sees of
// the history.
func (c *call) reachHead(ctx context.Context) error {
	head, err := c.Store.HeadIn(ctx, c.tx)
	if err != nil {
		return err
	}
	if err := c.reach(ctx, head.Position); err != nil {
		return err
	}
	c.Live.Reach(c.version)
	return nil
}

// WorldAt returns the metadata of a moment, beside the user's database as it
// is now: what the earlier metadata named and is gone cannot stand in it.
func (h *Handler) WorldAt(ctx context.Context, m metadata.Moment) (metadata.World, error) {
	c := &call{Handler: h}
	var err error
	if c.conn, err = h.Pool.Acquire(ctx); err != nil {
		return metadata.World{}, fmt.Errorf("acquire a connection: %w", err)
	}
	defer c.release()
	if err := c.begin(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return metadata.World{}, h.present(err)
	}
	defer c.rollBack(ctx)
	world, err := c.worldAt(ctx, m)
	if err != nil {
		return metadata.World{}, h.present(err)
	}
	return world, nil
}

func (c *call) worldAt(ctx context.Context, m metadata.Moment) (metadata.World, error) {
	if err := c.reachHead(ctx); err != nil {
		return metadata.World{}, err
	}
	earlier, _, err := c.catalogAt(ctx, m)
	if err != nil {
		return metadata.World{}, err
	}
	found, err := readShape(ctx, c.tx, earlier.Names())
	if err != nil {
		return metadata.World{}, err
	}
	return metadata.NewWorld(earlier, database.Shape{}.With(found), c.version.World.Env), nil
}

// ask answers a command that only reads.
func (c *call) ask(ctx context.Context, cmd metadata.Command) (json.RawMessage, error) {
	switch cmd := cmd.(type) {
	case metadata.ExportMetadata:
		earlier, _, err := c.catalogAt(ctx, cmd.AsOf)
		if err != nil {
			return nil, err
		}
		return metadata.Export(earlier), nil
	case metadata.DiffMetadata:
		return c.diff(ctx, cmd)
	case metadata.GetInconsistentMetadata:
		return cmd.Answer(c.version.World), nil
	case metadata.DumpInternalState:
		return cmd.Answer(c.version.World), nil
	case metadata.GetCronTriggers:
		return cmd.Answer(c.version.World), nil
	case metadata.IntrospectRemoteSchema:
		return cmd.Answer(c.version.World)
	}
	return nil, fmt.Errorf("command %T has nobody to carry it out", cmd)
}

func (c *call) diff(ctx context.Context, cmd metadata.DiffMetadata) (json.RawMessage, error) {
	from, fromPosition, err := c.catalogAt(ctx, cmd.From)
	if err != nil {
		return nil, err
	}
	to, toPosition, err := c.catalogAt(ctx, cmd.To)
	if err != nil {
		return nil, err
	}
	return metadata.DiffAnswer(fromPosition, toPosition, metadata.Difference(from, to)), nil
}

// catalogAt returns the catalog of a moment, and the moment's position.
func (c *call) catalogAt(ctx context.Context, m metadata.Moment) (metadata.Catalog, int64, error) {
	position := c.version.Position
	switch {
	case m.IsNow():
		return c.version.World.Catalog, position, nil
	case m.Position != nil:
		position = *m.Position
	default:
		var err error
		if position, err = c.Store.PositionAt(ctx, c.tx, *m.Time); err != nil {
			return metadata.Catalog{}, 0, err
		}
	}
	if position > c.version.Position {
		return metadata.Catalog{}, 0, domain.Refuse(domain.NotExists,
			"there is no position %d yet: the history is at %d", position, c.version.Position)
	}
	earlier, err := catalog.At(ctx, c.tx, c.Store, position)
	return earlier, position, err
}
