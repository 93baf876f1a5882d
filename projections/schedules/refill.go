package schedules

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
	"annals/projections/catalog"
	"annals/projections/deliveries"
)

// Beginner begins transactions: a pool or a connection.
type Beginner interface {
	deliveries.Querier
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Refill plans more fires for the triggers of a world that have fewer than
// [Ahead] before them, seen from a moment.
func Refill(ctx context.Context, db Beginner, w metadata.World, now time.Time) error {
	triggers := triggersOf(w)
	if len(triggers) == 0 {
		return nil
	}
	names, positions := make([]string, len(triggers)), make([]int64, len(triggers))
	byName := make(map[string]Trigger, len(triggers))
	for i, t := range triggers {
		names[i], positions[i], byName[t.Name] = t.Name, t.Position, t
	}
	outlooks, err := deliveries.Outlooks(ctx, db, names, positions, now)
	if err != nil {
		return err
	}
	for _, o := range outlooks {
		if o.Ahead >= Ahead {
			continue
		}
		if err := refill(ctx, db, byName[o.Trigger], o, now); err != nil {
			return err
		}
	}
	return nil
}

func triggersOf(w metadata.World) []Trigger {
	var triggers []Trigger
	for position, t := range w.CronTriggers() {
		triggers = append(triggers, Trigger{t, position})
	}
	return triggers
}

// refill plans after the last fire, until enough are to come. While it does,
// the trigger cannot be changed; one that was changed meanwhile is left to the
// call that changed it.
func refill(ctx context.Context, db Beginner, t Trigger, o deliveries.Outlook, now time.Time) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if same, err := catalog.Hold(ctx, tx, t.Key(), t.Position); err != nil || !same {
			return err
		}
		last := now
		if o.Last != nil {
			last = *o.Last
		}
		for planned := 0; planned < MaxMissed; planned += Ahead {
			next, err := plan(ctx, tx, t, last, Ahead)
			if err != nil || !last.Before(now) {
				return err
			}
			last = next
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("plan more fires of cron trigger %s: %w", t.Name, err)
	}
	return nil
}
