package deliveries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
)

//go:embed event_logs.sql
var eventLogsSQL string

//go:embed scheduled_events.sql
var scheduledEventsSQL string

//go:embed count_scheduled.sql
var countScheduledSQL string

//go:embed invocations.sql
var invocationsSQL string

//go:embed count_invocations.sql
var countInvocationsSQL string

// plainTime is a time without a zone, which is UTC, as v1.3 keeps those of
// events; zonedTime is as PostgreSQL writes a time with one.
type (
	plainTime time.Time
	zonedTime time.Time
)

// MarshalText implements [encoding.TextMarshaler].
func (t plainTime) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.999999"), nil
}

// MarshalText implements [encoding.TextMarshaler].
func (t zonedTime) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.999999+00:00"), nil
}

// eventLog is an event as get_event_logs shows it, in the columns that v1.3
// stores. What was cancelled counts as archived.
type eventLog struct {
	ID          uuid.UUID       `json:"id"`
	Schema      *string         `json:"schema_name"`
	Table       *string         `json:"table_name"`
	Trigger     string          `json:"trigger_name"`
	Payload     json.RawMessage `json:"payload"`
	Delivered   bool            `json:"delivered"`
	Error       bool            `json:"error"`
	Tries       int             `json:"tries"`
	CreatedAt   plainTime       `json:"created_at"`
	Locked      *zonedTime      `json:"locked"` // the end of the lease, while there is one
	NextRetryAt *plainTime      `json:"next_retry_at"`
	Archived    bool            `json:"archived"`
}

const eventLogColumns = "id, schema_name, table_name, trigger, payload, state, tries, created_at, available_at"

func scanEventLog(row pgx.CollectableRow) (eventLog, error) {
	var e eventLog
	var state string
	var created time.Time
	var available *time.Time
	err := row.Scan(&e.ID, &e.Schema, &e.Table, &e.Trigger, &e.Payload, &state, &e.Tries, &created, &available)
	e.CreatedAt = plainTime(created)
	e.Delivered, e.Error, e.Archived = state == "delivered", state == "failed", state == "cancelled"
	switch state {
	case "leased":
		e.Locked = (*zonedTime)(available)
	case "retrying":
		e.NextRetryAt = (*plainTime)(available)
	}
	return e, err
}

func eventLogs(ctx context.Context, q Querier, c metadata.GetEventLogs) (json.RawMessage, error) {
	rows, err := q.Query(ctx, eventLogsSQL, pgx.QueryExecModeCacheDescribe, c.Name, c.Status, c.Limit, c.Offset)
	if err != nil {
		return nil, fmt.Errorf("list events of trigger %s: %w", c.Name, err)
	}
	list, err := pgx.CollectRows(rows, scanEventLog)
	if err != nil {
		return nil, fmt.Errorf("list events of trigger %s: %w", c.Name, err)
	}
	return metadata.Encode(list), nil
}

// invocation is one attempt. Secrets in it are masked, as in the audit.
type invocation struct {
	ID        uuid.UUID       `json:"id"`
	EventID   uuid.UUID       `json:"event_id"`
	Trigger   *string         `json:"trigger_name,omitzero"`
	Status    *int            `json:"status"`
	Request   json.RawMessage `json:"request"`
	Response  json.RawMessage `json:"response"`
	CreatedAt zonedTime       `json:"created_at"`
}

// wanted is whose attempts a call is about.
type wanted struct {
	kinds   []string
	trigger string
	id      *uuid.UUID
	metadata.Page
}

func invocations(ctx context.Context, q Querier, w wanted) ([]invocation, error) {
	rows, err := q.Query(ctx, invocationsSQL, pgx.QueryExecModeCacheDescribe, w.kinds, w.trigger, w.id, w.Limit, w.Offset)
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (invocation, error) {
		var i invocation
		var created time.Time
		err := row.Scan(&i.ID, &i.EventID, &i.Trigger, &i.Status, &i.Request, &i.Response, &created)
		i.CreatedAt, i.Request = zonedTime(created), maskRequest(i.Request)
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	return list, nil
}

func eventInvocations(ctx context.Context, q Querier, c metadata.GetEventInvocationLogs) (json.RawMessage, error) {
	list, err := invocations(ctx, q, wanted{kinds: []string{kindEvent, kindManual}, trigger: c.Name, Page: c.Page})
	return metadata.Encode(list), err
}

func eventByID(ctx context.Context, q Querier, c metadata.GetEventByID) (json.RawMessage, error) {
	id, err := parseID(c.EventID)
	if err != nil {
		return nil, err
	}
	rows, err := q.Query(ctx, "select "+eventLogColumns+" from annals.delivery_states where id = $1 and kind in ('event', 'manual')", id)
	if err != nil {
		return nil, fmt.Errorf("find event %s: %w", id, err)
	}
	events, err := pgx.CollectRows(rows, scanEventLog)
	if err != nil {
		return nil, fmt.Errorf("find event %s: %w", id, err)
	}
	if len(events) == 0 {
		return nil, noEvent()
	}
	list, err := invocations(ctx, q, wanted{kinds: []string{kindEvent, kindManual}, id: &id, Page: c.Page})
	return metadata.Encode(struct {
		Event       eventLog     `json:"event"`
		Invocations []invocation `json:"invocations"`
	}{events[0], list}), err
}

// scheduledEvent is a fire or a one-off event, in the columns that v1.3 stores.
type scheduledEvent struct {
	ID          uuid.UUID       `json:"id"`
	Trigger     *string         `json:"trigger_name,omitzero"`
	Webhook     *string         `json:"webhook_conf,omitzero"`
	Scheduled   zonedTime       `json:"scheduled_time"`
	RetryConf   json.RawMessage `json:"retry_conf,omitzero"`
	Payload     json.RawMessage `json:"payload,omitzero"`
	Headers     json.RawMessage `json:"header_conf,omitzero"`
	Status      string          `json:"status"`
	Tries       int             `json:"tries"`
	CreatedAt   zonedTime       `json:"created_at"`
	NextRetryAt *zonedTime      `json:"next_retry_at"`
	Comment     json.RawMessage `json:"comment,omitzero"`
}

// statusOf is v1.3's word for a state.
func statusOf(state string) string {
	switch state {
	case "pending", "retrying":
		return "scheduled"
	case "leased":
		return "locked"
	case "failed":
		return "error"
	case "dropped":
		return "dead"
	}
	return state
}

// statesOf are the states behind v1.3's words; nil means any.
func statesOf(statuses []string) []string {
	var states []string
	for _, state := range []string{"pending", "retrying", "leased", "delivered", "failed", "dropped", "cancelled"} {
		for _, status := range statuses {
			if statusOf(state) == status {
				states = append(states, state)
			}
		}
	}
	return states
}

func scheduledEvents(ctx context.Context, q Querier, c metadata.GetScheduledEvents) (json.RawMessage, error) {
	filter := []any{pgx.QueryExecModeCacheDescribe, kindsOf(c.Type)[0], c.TriggerName, statesOf(c.Status), laneOfScheduled(c.ScheduledKind)}
	var total int64
	if err := q.QueryRow(ctx, countScheduledSQL, filter...).Scan(&total); err != nil {
		return nil, fmt.Errorf("count scheduled events: %w", err)
	}
	rows, err := q.Query(ctx, scheduledEventsSQL, append(filter, c.Limit, c.Offset)...)
	if err != nil {
		return nil, fmt.Errorf("list scheduled events: %w", err)
	}
	events, err := pgx.CollectRows(rows, scanScheduled)
	if err != nil {
		return nil, fmt.Errorf("list scheduled events: %w", err)
	}
	return metadata.Encode(struct {
		Count  int64            `json:"count"`
		Events []scheduledEvent `json:"events"`
	}{total, events}), nil
}

func laneOfScheduled(k metadata.ScheduledKind) string {
	if k.Type == metadata.TypeCron {
		return CronLane(k.TriggerName)
	}
	return scheduledLane
}

func scanScheduled(row pgx.CollectableRow) (scheduledEvent, error) {
	var e scheduledEvent
	var trigger, state string
	var payload, definition json.RawMessage
	var due, created time.Time
	var available *time.Time
	if err := row.Scan(&e.ID, &trigger, &payload, &definition, &due, &created, &state, &e.Tries, &available); err != nil {
		return e, err
	}
	e.Scheduled, e.CreatedAt, e.Status = zonedTime(due), zonedTime(created), statusOf(state)
	if state == "retrying" {
		e.NextRetryAt = (*zonedTime)(available)
	}
	if definition == nil {
		e.Trigger = &trigger
		return e, nil
	}
	return e, e.define(payload, definition)
}

// define fills in what a one-off event has of its own. Secrets are masked.
func (e *scheduledEvent) define(payload, definition json.RawMessage) error {
	var d struct {
		Webhook   string          `json:"webhook"`
		Headers   json.RawMessage `json:"headers"`
		RetryConf json.RawMessage `json:"retry_conf"`
		Comment   json.RawMessage `json:"comment"`
	}
	if err := json.Unmarshal(metadata.Mask(definition), &d); err != nil {
		return fmt.Errorf("read the definition of event %s: %w", e.ID, err)
	}
	e.Webhook, e.Headers, e.RetryConf = &d.Webhook, d.Headers, d.RetryConf
	e.Payload, e.Comment = orNull(payload), orNull(d.Comment)
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func scheduledInvocations(ctx context.Context, q Querier, c metadata.GetScheduledEventInvocations) (json.RawMessage, error) {
	w := wanted{kinds: kindsOf(c.Type), trigger: c.TriggerName, Page: c.Page}
	if c.EventID != "" {
		id, err := parseID(c.EventID)
		if err != nil {
			return nil, err
		}
		w.id = &id
	}
	list, err := invocations(ctx, q, w)
	if err != nil {
		return nil, err
	}
	var total int64
	if err := q.QueryRow(ctx, countInvocationsSQL, pgx.QueryExecModeCacheDescribe, w.kinds, w.trigger, w.id).Scan(&total); err != nil {
		return nil, fmt.Errorf("count attempts: %w", err)
	}
	for i := range list {
		list[i].Trigger = nil
	}
	return metadata.Encode(struct {
		Count       int64        `json:"count"`
		Invocations []invocation `json:"invocations"`
	}{total, list}), nil
}
