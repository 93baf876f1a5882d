package deliveries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed plan.sql
var planSQL string

//go:embed withdraw.sql
var withdrawSQL string

//go:embed cancel_lane.sql
var cancelLaneSQL string

//go:embed outlook.sql
var outlookSQL string

// Querier is a pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Now is the one clock that deliveries go by: the database's.
func Now(ctx context.Context, q Querier) (time.Time, error) {
	var now time.Time
	if err := q.QueryRow(ctx, "select clock_timestamp()").Scan(&now); err != nil {
		return now, fmt.Errorf("ask for the time: %w", err)
	}
	return now.UTC(), nil
}

// fires is the namespace of the ids of fires. It never changes.
var fires = uuid.MustParse("5c3b1f3e-6a0f-5d7c-9a43-0a6c1f1c7a52")

// fireID is the id of a cron trigger's fire at a planned moment, whoever plans
// it and however often.
func fireID(trigger string, at time.Time) uuid.UUID {
	return uuid.NewSHA1(fires, []byte(trigger+"\n"+at.UTC().Format(time.RFC3339)))
}

// Fires are moments at which a cron trigger is to fire, as the definition says
// that was recorded at a position.
type Fires struct {
	Trigger  string
	Position int64
	Payload  json.RawMessage
	At       []time.Time
}

// Plan plans fires and returns how many were not planned before.
func Plan(ctx context.Context, q Querier, f Fires) (int, error) {
	ids := make([]uuid.UUID, len(f.At))
	for i, at := range f.At {
		ids[i] = fireID(f.Trigger, at)
	}
	tag, err := q.Exec(ctx, planSQL, f.Trigger, f.Payload, f.Position, ids, f.At)
	if err != nil {
		return 0, fmt.Errorf("plan fires of cron trigger %s: %w", f.Trigger, err)
	}
	return int(tag.RowsAffected()), nil
}

// Withdraw takes back the fires of a cron trigger that are due after a moment
// and that nobody has touched.
func Withdraw(ctx context.Context, q Querier, trigger string, after time.Time) error {
	if _, err := q.Exec(ctx, withdrawSQL, trigger, after); err != nil {
		return fmt.Errorf("withdraw fires of cron trigger %s: %w", trigger, err)
	}
	return nil
}

// CancelLane cancels all that is queued in a lane, for a reason. A request that
// is on its way is not called back; it is the last, and what comes of it is not
// recorded.
func CancelLane(ctx context.Context, q Querier, lane, reason string, position int64) error {
	if _, err := q.Exec(ctx, cancelLaneSQL, lane, reason, position); err != nil {
		return fmt.Errorf("cancel the deliveries of %s: %w", lane, err)
	}
	return nil
}

// Outlook is how far a cron trigger's fires are planned.
type Outlook struct {
	Trigger string
	// Ahead is how many are still to come.
	Ahead int
	// Last is the last that was planned by the trigger's definition; nil when
	// none was.
	Last *time.Time
}

// Outlooks tells how far the fires of triggers are planned, each by its
// definition of a position, seen from a moment.
func Outlooks(ctx context.Context, q Querier, triggers []string, positions []int64, now time.Time) ([]Outlook, error) {
	rows, err := q.Query(ctx, outlookSQL, triggers, positions, now)
	if err != nil {
		return nil, fmt.Errorf("read how far fires are planned: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Outlook])
	if err != nil {
		return nil, fmt.Errorf("read how far fires are planned: %w", err)
	}
	return list, nil
}
