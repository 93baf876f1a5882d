// Package schedules plans the fires of cron triggers ahead of time.
//
// A fire is a delivery like any other, planned before it is due: its id follows
// from the trigger and the moment, so that of two nodes that plan it the second
// plans nothing. What is planned follows the catalog:
//
//	trigger created    the next [Ahead] moments, in the command's transaction
//	trigger changed    what is untouched and still to come is withdrawn, and
//	                   planned anew; what was tried keeps its way
//	trigger dropped    what is untouched and still to come is withdrawn, the rest
//	                   cancelled
//	otherwise          nothing, so an import of the same definition leaves all
//	                   as it is
//
// As time goes by, [Refill] plans more after the last. It begins there even when
// that moment is long past: a moment that came while no node was up is planned
// all the same, and then sent late or dropped by the trigger's tolerance. None is
// left out, and none comes twice.
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

const (
	// Ahead is how many fires of a trigger are planned at a time. A trigger has
	// up to twice as many before it.
	Ahead = 100
	// MaxMissed is how many fires of a trigger one refill plans at most, where
	// moments were missed; the next refill goes on.
	MaxMissed = 10_000
)

// Follow makes the plans follow events appended in the same transaction.
func Follow(ctx context.Context, tx pgx.Tx, events ...catalog.Moved) error {
	for _, e := range events {
		for _, change := range e.Changes {
			if err := followChange(ctx, tx, e.Position, change); err != nil {
				return err
			}
		}
	}
	return nil
}

func followChange(ctx context.Context, tx pgx.Tx, position int64, c metadata.Change) error {
	if c.Kind != metadata.KindCronTrigger {
		return nil
	}
	before, after, err := metadata.SidesOf[metadata.CronTrigger](c)
	if err != nil {
		return err
	}
	now, err := deliveries.Now(ctx, tx)
	if err != nil {
		return err
	}
	if before != nil {
		if err := deliveries.Withdraw(ctx, tx, before.Name, now); err != nil {
			return err
		}
	}
	if after == nil {
		return deliveries.CancelLane(ctx, tx, deliveries.CronLane(before.Name), "the cron trigger was deleted", position)
	}
	_, err = plan(ctx, tx, Trigger{*after, position}, now, Ahead)
	return err
}

// Trigger is a cron trigger, and the position at which it became what it is.
type Trigger struct {
	metadata.CronTrigger
	Position int64
}

// plan plans the next fires after a moment, and returns the last of them; the
// moment itself where the schedule never fires.
func plan(ctx context.Context, q deliveries.Querier, t Trigger, after time.Time, fires int) (last time.Time, err error) {
	s, err := t.Plan()
	if err != nil {
		return after, fmt.Errorf("read the schedule of cron trigger %s: %w", t.Name, err)
	}
	moments := s.Upcoming(after, fires)
	if len(moments) == 0 {
		return after, nil
	}
	_, err = deliveries.Plan(ctx, q, deliveries.Fires{Trigger: t.Name, Position: t.Position, Payload: t.Payload, At: moments})
	return moments[len(moments)-1], err
}
