package deliveries

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/metadata"
)

// Book carries out what calls ask of deliveries. It has no state of its own.
type Book struct{ Limits Limits }

// Limits are how many events one call may be about. Zero: the default.
type Limits struct {
	// Redelivered is how many events a redelivery of many begins that does not
	// say how many. Default [DefaultRedelivered].
	Redelivered int
	// MaxRedelivered is the most that it may say, and that are looked for.
	// Default [DefaultMaxRedelivered].
	MaxRedelivered int
}

// The defaults of [Limits].
const (
	DefaultRedelivered    = 10_000
	DefaultMaxRedelivered = 100_000
)

func (l Limits) filled() Limits {
	most := cmp.Or(l.MaxRedelivered, DefaultMaxRedelivered)
	return Limits{Redelivered: min(cmp.Or(l.Redelivered, DefaultRedelivered), most), MaxRedelivered: most}
}

// Asked is a command about deliveries, and how it came.
type Asked struct {
	Command metadata.DeliveryCommand
	World   metadata.World
	Session domain.Session
	// ID and Position are those of the event that will record the command, where
	// it does more than look. A delivery that it makes has the same id.
	ID       uuid.UUID
	Position int64
}

func success() json.RawMessage { return json.RawMessage(`{"message":"success"}`) }

// Carry carries out a command in the transaction of its call, and returns the
// body of its answer.
func (b Book) Carry(ctx context.Context, tx pgx.Tx, a Asked) (json.RawMessage, error) {
	switch c := a.Command.(type) {
	case metadata.CreateScheduledEvent:
		return schedule(ctx, tx, a, c)
	case metadata.InvokeEventTrigger:
		return invoke(ctx, tx, a, c)
	case metadata.TestEventTrigger:
		return test(ctx, tx, a, c)
	case metadata.RedeliverEvent:
		return redeliver(ctx, tx, a, c)
	case metadata.RedeliverEvents:
		return b.redeliverMany(ctx, tx, a, c)
	case metadata.CancelEvents:
		return cancel(ctx, tx, a, c)
	case metadata.DeleteScheduledEvent:
		return deleteScheduled(ctx, tx, a, c)
	case metadata.PauseTrigger:
		return pause(ctx, tx, c)
	case metadata.ResumeTrigger:
		return resume(ctx, tx, c)
	}
	return look(ctx, tx, a)
}

// look answers a command that only looks.
func look(ctx context.Context, q Querier, a Asked) (json.RawMessage, error) {
	switch c := a.Command.(type) {
	case metadata.GetEventLogs:
		return eventLogs(ctx, q, c)
	case metadata.GetEventInvocationLogs:
		return eventInvocations(ctx, q, c)
	case metadata.GetEventByID:
		return eventByID(ctx, q, c)
	case metadata.GetScheduledEvents:
		return scheduledEvents(ctx, q, c)
	case metadata.GetScheduledEventInvocations:
		return scheduledInvocations(ctx, q, c)
	case metadata.GetRedelivery:
		return redelivery(ctx, q, c)
	}
	return nil, fmt.Errorf("command %T has nobody to carry it out", a.Command)
}

// noEvent refuses an id that is no event's.
func noEvent() error { return domain.Refuse(domain.NotExists, "event not found") }

// parseID reads an event's id; text that is none names no event.
func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return uuid.UUID{}, noEvent()
	}
	return id, nil
}

// Lists and searches are planned for the filter that they are given, with
// [pgx.QueryExecModeCacheDescribe]: a plan for any filter would read everything.

// one scans the row of a statement; ok is false when there is none.
func one(ctx context.Context, q Querier, into []any, sql string, args ...any) (ok bool, err error) {
	err = q.QueryRow(ctx, sql, args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
