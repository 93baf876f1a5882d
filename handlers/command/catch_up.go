package command

import (
	"context"
	"fmt"

	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command/facts"
	"annals/projections/catalog"
)

// CatchUp brings this node to a position of the history at least: events that
// other nodes appended are folded, and what they changed is looked at in the
// database. Events of this node come with what their commands saw: they are
// waited for, and what was read later does not replace it.
func (h *Handler) CatchUp(ctx context.Context, position int64) error {
	v := h.settled()
	if v.Position >= position {
		return nil
	}
	next, err := h.catchUp(ctx, h.Pool, v)
	if err != nil {
		return err
	}
	h.Live.Reach(next)
	return nil
}

// settled returns this node's version once no command is between its commit and
// the moment at which the node knows of it.
func (h *Handler) settled() catalog.Version {
	h.committing.Lock()
	defer h.committing.Unlock()
	return h.Live.Current()
}

// querier is a pool or a transaction.
type querier interface {
	eventstore.Querier
	facts.Querier
}

// catchUp returns the version after the events that follow v.
func (h *Handler) catchUp(ctx context.Context, q querier, v catalog.Version) (catalog.Version, error) {
	t := tail{position: v.Position}
	if err := h.Store.Scan(ctx, q, v.Position, 0, t.add); err != nil {
		return v, fmt.Errorf("read the history after %d: %w", v.Position, err)
	}
	if t.position == v.Position {
		return v, nil
	}
	for _, m := range t.moved {
		v.World = v.World.Evolve(m.Position, m.Changes)
	}
	names := metadata.NamesOfChanges(t.changes())
	if t.reshaped {
		names = v.World.Catalog.AllNames()
	}
	found, err := readShape(ctx, q, names)
	if err != nil {
		return v, err
	}
	v.World = v.World.WithShape(found)
	v.Position = t.position
	return v, nil
}

// tail is the events after a version.
type tail struct {
	position int64
	moved    []catalog.Moved
	// reshaped: an event may have changed what any table looks like.
	reshaped bool
}

func (t *tail) add(e eventstore.RawEvent) error {
	changes, err := metadata.ReadChanges(e.SchemaVersion, e.Changes)
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Position, err)
	}
	t.position = e.Position
	t.moved = append(t.moved, catalog.Moved{Position: e.Position, Changes: changes})
	t.reshaped = t.reshaped || metadata.MayReshape(string(e.Type))
	return nil
}

func (t *tail) changes() []metadata.Change {
	var all []metadata.Change
	for _, m := range t.moved {
		all = append(all, m.Changes...)
	}
	return all
}
