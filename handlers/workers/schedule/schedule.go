// Package schedule keeps the fires of cron triggers planned ahead of the clock.
//
// Every node runs it, and none is in charge: a fire's id follows from its trigger
// and its moment, so what another node has planned is not planned again. A node
// that stops, or stops in the middle, leaves nothing to be repaired.
package schedule

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"annals/domain/metadata"
	"annals/projections/deliveries"
	"annals/projections/schedules"
)

// DefaultInterval is the time between two looks at what is planned. Fires are
// planned a hundred ahead, so for a schedule of every minute it may be an hour.
const DefaultInterval = time.Minute

// Scheduler is the worker of one node.
type Scheduler struct {
	DB schedules.Beginner
	// World gives the metadata of the moment.
	World func() metadata.World
	// Clock tells the time. Default: the database's, which all nodes share.
	Clock func(ctx context.Context) (time.Time, error)
	// Interval is the time between two looks. Default [DefaultInterval].
	Interval time.Duration
	Log      *slog.Logger
}

// Run plans until the context ends.
func (s *Scheduler) Run(ctx context.Context) error {
	interval := s.Interval
	if interval == 0 {
		interval = DefaultInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := s.RunOnce(ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.Log.Warn("cannot plan the fires of cron triggers; trying again", "in", interval.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce plans what is missing now.
func (s *Scheduler) RunOnce(ctx context.Context) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	return schedules.Refill(ctx, s.DB, s.World(), now)
}

func (s *Scheduler) now(ctx context.Context) (time.Time, error) {
	if s.Clock != nil {
		return s.Clock(ctx)
	}
	return deliveries.Now(ctx, s.DB)
}
