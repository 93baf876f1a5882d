package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/metadata"
	"annals/projections/capture"
)

// capture makes the database triggers fit changes of event triggers, in the
// call's transaction: what a later item of the call writes is captured as the
// catalog now says.
func (c *call) capture(ctx context.Context, changes []metadata.Change) error {
	var touched, removed []string
	for _, ch := range changes {
		if ch.Kind != metadata.KindEventTrigger {
			continue
		}
		touched = append(touched, ch.Name)
		if ch.Definition == nil {
			removed = append(removed, ch.Name)
		}
	}
	slices.Sort(touched)
	if err := capture.Reconcile(ctx, c.tx, c.version.World.Catalog, slices.Compact(touched)); err != nil {
		return err
	}
	return capture.Archive(ctx, c.tx, removed, c.nextPosition())
}

// captureAll looks at all database triggers, after something may have changed
// the tables under them.
func (c *call) captureAll(ctx context.Context, changes []metadata.Change) error {
	if err := c.capture(ctx, changes); err != nil {
		return err
	}
	_, err := capture.ReconcileAll(ctx, c.tx, c.version.World.Catalog)
	return err
}

// sendAs lets triggers find the session of the call, and the trace that it is a
// part of, as a mutation does.
func (c *call) sendAs(ctx context.Context, s domain.Session, t domain.Trace) error {
	own, alias := s.Settings()
	err := errors.Join(c.setLocal(ctx, domain.SessionSetting, own), c.setLocal(ctx, domain.SessionSettingAlias, alias))
	if err != nil || !t.Known() {
		return err
	}
	return errors.Join(c.setLocal(ctx, domain.TraceSetting, t.Setting()), c.setLocal(ctx, domain.TraceSettingAlias, t.Setting()))
}

// CaptureDrift says which database triggers are not as this node's catalog
// wants them.
func (h *Handler) CaptureDrift(ctx context.Context) ([]capture.Difference, error) {
	return capture.Compare(ctx, h.Pool, h.Live.Current().World.Catalog)
}

// RepairCapture makes the database triggers as the catalog at the head of the
// history wants them, and returns which were not. Nothing is locked when
// nothing is to be done.
func (h *Handler) RepairCapture(ctx context.Context) ([]capture.Difference, error) {
	drift, err := h.CaptureDrift(ctx)
	if err != nil || len(drift) == 0 {
		return nil, err
	}
	c := &call{Handler: h}
	if c.conn, err = h.Pool.Acquire(ctx); err != nil {
		return nil, fmt.Errorf("acquire a connection: %w", err)
	}
	defer c.release()
	if err := c.begin(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}); err != nil {
		return nil, err
	}
	defer c.rollBack(ctx)
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	mended, err := capture.ReconcileAll(ctx, c.tx, c.version.World.Catalog)
	if err != nil {
		return nil, err
	}
	if err := c.tx.Commit(ctx); err != nil {
		return nil, fmt.Errorf("commit the repair of capture triggers: %w", err)
	}
	return mended, nil
}
