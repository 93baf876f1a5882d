package deliveries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"annals/domain"
	"annals/domain/delivery"
	"annals/domain/metadata"
)

//go:embed add.sql
var addSQL string

// added is a delivery that a command makes.
type added struct {
	id                  uuid.UUID
	kind, trigger, lane string
	table               *domain.QualifiedName
	payload, definition json.RawMessage
	due                 *time.Time // nil: at once
	position            int64
}

func (d added) add(ctx context.Context, q Querier) error {
	var schema, table *string
	if d.table != nil {
		schema, table = &d.table.Schema, &d.table.Name
	}
	_, err := q.Exec(ctx, addSQL, d.id, d.kind, d.trigger, schema, table, d.payload, d.definition, d.due, d.position, d.lane)
	if err != nil {
		return fmt.Errorf("add a delivery of kind %s: %w", d.kind, err)
	}
	return nil
}

// schedule makes a one-off event.
func schedule(ctx context.Context, q Querier, a Asked, c metadata.CreateScheduledEvent) (json.RawMessage, error) {
	err := added{
		id: a.ID, kind: kindScheduled, lane: scheduledLane, position: a.Position, due: &c.ScheduleAt,
		payload: c.Payload, definition: metadata.Encode(delivery.OneOff{Webhook: c.Webhook, Headers: c.Headers, RetryConf: c.RetryConf, Comment: c.Comment}),
	}.add(ctx, q)
	return metadata.Encode(struct {
		Message string    `json:"message"`
		EventID uuid.UUID `json:"event_id"`
	}{"success", a.ID}), err
}

// sent is the member "event" of what an event trigger sends when asked to. The
// session is spelled as captured row changes have it.
type sent struct {
	Operation string          `json:"op"`
	Data      json.RawMessage `json:"data"`
	Session   json.RawMessage `json:"session_variables"`
	Trace     *struct{}       `json:"trace_context"`
}

// invoke makes a delivery with a payload of the caller's own.
func invoke(ctx context.Context, q Querier, a Asked, c metadata.InvokeEventTrigger) (json.RawMessage, error) {
	return send(ctx, q, a, kindManual, c.Name, "MANUAL", c.Payload)
}

// test makes a delivery of a sample.
func test(ctx context.Context, q Querier, a Asked, c metadata.TestEventTrigger) (json.RawMessage, error) {
	operation, data := c.Sample(a.World)
	return send(ctx, q, a, kindTest, c.Name, operation, data)
}

func send(ctx context.Context, q Querier, a Asked, kind, trigger, operation string, data json.RawMessage) (json.RawMessage, error) {
	t, err := a.World.KnownEventTrigger(trigger)
	if err != nil {
		return nil, err
	}
	session, _ := a.Session.Settings()
	err = added{
		id: a.ID, kind: kind, trigger: trigger, lane: eventLane(trigger), table: &t.Table, position: a.Position,
		payload: metadata.Encode(sent{Operation: operation, Data: data, Session: json.RawMessage(session)}),
	}.add(ctx, q)
	return metadata.Encode(map[string]uuid.UUID{"event_id": a.ID}), err
}
