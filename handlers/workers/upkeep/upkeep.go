// Package upkeep keeps in the database what time would undo.
//
// Every now and then it
//
//   - makes the capture triggers what the catalog wants, and tells what was not;
//   - makes the daily partitions of the deliveries and their log some days
//     ahead, and takes over what waited in the default partition for a day of its own;
//   - drops the days that are older than the retention.
//
// A day goes as a whole, however many rows it has. What has to stay of it is
// copied before: what is still queued, always; what failed, as long as
// [Retention] says; and of the log what tells of a delivery that is still
// there. The copy takes the day's place:
//
//	deliveries_20261121  ->  deliveries_20261121_kept  ->  gone
//
// Every node runs the worker; an advisory lock lets one work. The steps are
// transactions of their own: one that cannot get its locks soon is left for
// the next time, so that nobody waits for it for long.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/projections/capture"
)

// The defaults of a [Worker].
const (
	DefaultInterval  = time.Minute
	DefaultDaysAhead = 3
)

// Retention is how long deliveries are kept after they were due. Zero keeps
// them for ever.
type Retention struct {
	// Delivered is for all that is over, but failures.
	Delivered time.Duration
	// Failed is for what failed or was dropped. It is not shorter than Delivered.
	Failed time.Duration
}

// Worker is the worker of one node.
type Worker struct {
	Pool *pgxpool.Pool
	// Current refuses when a newer program has migrated the database. Then this
	// node leaves all to those of that program. Nil: it is not asked.
	Current func(context.Context) error
	// Repair mends the capture triggers, and returns which were not as wanted.
	Repair func(context.Context) ([]capture.Difference, error)
	// Drift says which are not as wanted.
	Drift     func(context.Context) ([]capture.Difference, error)
	Retention Retention
	// Interval is the time between two rounds. Default [DefaultInterval].
	Interval time.Duration
	// DaysAhead is how many days have their partitions before they come.
	// Default [DefaultDaysAhead].
	DaysAhead int
	Log       *slog.Logger

	drift, mended atomic.Int64
}

// Drifting is how many capture triggers were not as wanted in the end of the
// last round.
func (w *Worker) Drifting() int { return int(w.drift.Load()) }

// Mended is how many capture triggers this worker has found not as wanted, and
// made so.
func (w *Worker) Mended() int { return int(w.mended.Load()) }

// Run works until the context ends.
func (w *Worker) Run(ctx context.Context) error {
	interval := w.Interval
	if interval == 0 {
		interval = DefaultInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("upkeep is not done; trying again", "in", interval.String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// RunOnce is one round, by the database's clock.
func (w *Worker) RunOnce(ctx context.Context) error {
	if w.Current != nil {
		if err := w.Current(ctx); err != nil {
			return fmt.Errorf("this node makes no deliveries and mends nothing: %w", err)
		}
	}
	var now time.Time
	if err := w.Pool.QueryRow(ctx, "select pg_catalog.now()").Scan(&now); err != nil {
		return fmt.Errorf("ask the database for the time: %w", err)
	}
	return errors.Join(w.mend(ctx), w.KeepDays(ctx, now))
}

func (w *Worker) mend(ctx context.Context) error {
	mended, err := w.Repair(ctx)
	w.mended.Add(int64(len(mended)))
	for _, d := range mended {
		w.Log.Warn("a capture trigger was not as the metadata wants it, and is now",
			"function", d.Function, "event_trigger", d.Trigger, "table", d.Table, "problem", string(d.Problem))
	}
	left, lookErr := w.Drift(ctx)
	if lookErr == nil {
		w.drift.Store(int64(len(left)))
	}
	return errors.Join(err, lookErr)
}

// KeepDays makes the partitions of the days to come and drops those whose time
// is over.
func (w *Worker) KeepDays(ctx context.Context, now time.Time) error {
	for _, table := range []parent{deliveries, deliveryLog} {
		if err := w.makeDays(ctx, table, now); err != nil {
			return fmt.Errorf("make partitions of %s: %w", table.name, err)
		}
	}
	// Deliveries first: of their log stays what tells of those that stay.
	for _, table := range []parent{deliveries, deliveryLog} {
		if err := w.dropDays(ctx, table, now); err != nil {
			return fmt.Errorf("drop partitions of %s: %w", table.name, err)
		}
	}
	return nil
}

// lockTimeout is how long a step waits for tables that others use: as long do
// those wait who come after it, and these are all who change captured tables.
const lockTimeout = "100ms"

// upkeepLock is the advisory lock of a step.
const upkeepLock int64 = 0x75706b656570 // "upkeep"

// step runs work in a transaction of its own; not at all, when another node is
// at one.
func (w *Worker) step(ctx context.Context, work func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, w.Pool, func(tx pgx.Tx) error {
		var mine bool
		err := tx.QueryRow(ctx, "select pg_catalog.set_config('lock_timeout', $1, true) is not null and pg_catalog.pg_try_advisory_xact_lock($2)",
			lockTimeout, upkeepLock).Scan(&mine)
		if err != nil || !mine {
			return err
		}
		return work(tx)
	})
}
