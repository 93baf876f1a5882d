package metadata

import (
	"encoding/json"

	"annals/domain/wire"
)

// Page is which part of a list is asked for.
type Page struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// Limits of a page of events.
const (
	DefaultPage = 100
	MaxPage     = 10_000
)

func decodePage(n wire.Node, limit, offset string) Page {
	return Page{limitOr(n.Optional(limit), DefaultPage, MaxPage), countOr(n.Optional(offset), 0)}
}

// GetEventLogs is get_event_logs: the events of an event trigger, newest first.
type GetEventLogs struct {
	asks
	Page
	Name string `json:"name"`
	// Status is all, pending or processed.
	Status string `json:"status"`
}

// Operation implements [Command].
func (GetEventLogs) Operation() string { return "get_event_logs" }

func decodeGetEventLogs(n wire.Node) Command {
	c := GetEventLogs{Page: decodePage(n, "limit", "offset"), Name: n.Field("name").Text(), Status: "all"}
	if status := n.Optional("status"); status.Present() {
		c.Status = status.OneOf("all", "pending", "processed")
	}
	return c
}

// Check implements [Checked].
func (c GetEventLogs) Check(w World) error { return w.checkTrigger(KindEventTrigger, c.Name) }

// GetEventInvocationLogs is get_event_invocation_logs: the attempts at an event
// trigger's events, newest first.
type GetEventInvocationLogs struct {
	asks
	Page
	Name string `json:"name"`
}

// Operation implements [Command].
func (GetEventInvocationLogs) Operation() string { return "get_event_invocation_logs" }

func decodeGetEventInvocationLogs(n wire.Node) Command {
	return GetEventInvocationLogs{Page: decodePage(n, "limit", "offset"), Name: n.Field("name").Text()}
}

// Check implements [Checked].
func (c GetEventInvocationLogs) Check(w World) error { return w.checkTrigger(KindEventTrigger, c.Name) }

// GetEventByID is get_event_by_id: an event, with a page of its attempts.
type GetEventByID struct {
	asks
	Page
	EventID string `json:"event_id"`
}

// Operation implements [Command].
func (GetEventByID) Operation() string { return "get_event_by_id" }

func decodeGetEventByID(n wire.Node) Command {
	return GetEventByID{Page: decodePage(n, "invocation_log_limit", "invocation_log_offset"), EventID: n.Field("event_id").String()}
}

// Check implements [Checked].
func (GetEventByID) Check(World) error { return nil }

// ScheduledKind is whose events a call is about: those of a cron trigger, or the
// one-off ones.
type ScheduledKind struct {
	Type        string `json:"type"`
	TriggerName string `json:"trigger_name,omitzero"`
}

func decodeScheduledKind(n wire.Node) ScheduledKind {
	return ScheduledKind{n.Field("type").OneOf(TypeOneOff, TypeCron), textOr(n.Optional("trigger_name"))}
}

func (k ScheduledKind) check(w World) error {
	if k.TriggerName == "" {
		return nil
	}
	return w.checkTrigger(KindCronTrigger, k.TriggerName)
}

// GetScheduledEvents is get_scheduled_events, by time.
type GetScheduledEvents struct {
	asks
	Page
	ScheduledKind
	Status []string `json:"status,omitzero"`
}

// Operation implements [Command].
func (GetScheduledEvents) Operation() string { return "get_scheduled_events" }

func decodeGetScheduledEvents(n wire.Node) Command {
	c := GetScheduledEvents{Page: decodePage(n, "limit", "offset"), ScheduledKind: decodeScheduledKind(n)}
	c.Status = oneOrMany(n.Optional("status"), func(n wire.Node) string {
		return n.OneOf("scheduled", "locked", "delivered", "error", "dead", "cancelled")
	})
	if c.Type == TypeCron && c.TriggerName == "" {
		n.Fail("key \"trigger_name\" not found")
	}
	return c
}

// Check implements [Checked].
func (c GetScheduledEvents) Check(w World) error { return c.check(w) }

// GetScheduledEventInvocations is get_scheduled_event_invocations: the attempts
// at one event or at all of a kind, newest first.
type GetScheduledEventInvocations struct {
	asks
	Page
	ScheduledKind
	EventID string `json:"event_id,omitzero"`
}

// Operation implements [Command].
func (GetScheduledEventInvocations) Operation() string { return "get_scheduled_event_invocations" }

func decodeGetScheduledEventInvocations(n wire.Node) Command {
	c := GetScheduledEventInvocations{
		Page: decodePage(n, "limit", "offset"), ScheduledKind: decodeScheduledKind(n),
		EventID: textOr(n.Optional("event_id")),
	}
	if c.Type == TypeCron && c.TriggerName == "" && c.EventID == "" {
		n.Fail("expecting trigger_name or event_id")
	}
	return c
}

// Check implements [Checked].
func (c GetScheduledEventInvocations) Check(w World) error { return c.check(w) }

// DeleteScheduledEvent is delete_scheduled_event: an event that waits is not sent.
type DeleteScheduledEvent struct {
	acts
	Type    string `json:"type"`
	EventID string `json:"event_id"`
}

// Operation implements [Command].
func (DeleteScheduledEvent) Operation() string { return "delete_scheduled_event" }

func decodeDeleteScheduledEvent(n wire.Node) Command {
	return DeleteScheduledEvent{Type: n.Field("type").OneOf(TypeOneOff, TypeCron), EventID: n.Field("event_id").String()}
}

// Check implements [Checked].
func (DeleteScheduledEvent) Check(World) error { return nil }

// GetCronTriggers is get_cron_triggers: all of them, also those that an export
// leaves out.
type GetCronTriggers struct{}

// Operation implements [Command].
func (GetCronTriggers) Operation() string { return "get_cron_triggers" }

// Answer is the body of the answer. Secrets are masked, as in the audit.
func (GetCronTriggers) Answer(w World) json.RawMessage {
	entries := []any{}
	for _, t := range w.CronTriggers() {
		entries = append(entries, t)
	}
	return Mask(encode(map[string]any{"cron_triggers": entries}))
}
