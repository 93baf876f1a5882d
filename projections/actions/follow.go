package actions

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/metadata"
	"annals/projections/catalog"
	"annals/projections/deliveries"
)

//go:embed abandon.sql
var abandonSQL string

// Follow ends the calls of actions that events appended in the same
// transaction dropped: nobody is there to be called for them.
func Follow(ctx context.Context, tx pgx.Tx, events ...catalog.Moved) error {
	for _, e := range events {
		for _, c := range e.Changes {
			if c.Kind != metadata.KindAction {
				continue
			}
			before, after, err := metadata.SidesOf[metadata.Action](c)
			if err != nil {
				return err
			}
			if before != nil && after == nil {
				if err := abandon(ctx, tx, before.Name, e.Position); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func abandon(ctx context.Context, tx pgx.Tx, action string, position int64) error {
	dropped := Errors(domain.RefuseAt("$", domain.NotExists, "the action %q was dropped before its handler answered", action))
	if _, err := tx.Exec(ctx, abandonSQL, action, dropped); err != nil {
		return fmt.Errorf("end the calls of action %s: %w", action, err)
	}
	return deliveries.CancelLane(ctx, tx, lane(action), "the action was dropped", position)
}
