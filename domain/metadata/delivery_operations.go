package metadata

import (
	"encoding/json"
	"strings"
	"time"

	"annals/domain"
	"annals/domain/wire"
)

// Checked is a command that changes no definition, or none before something
// outside the catalog was asked, and can be refused beforehand for what the
// world shows.
type Checked interface {
	Command
	Check(w World) error
}

// DeliveryCommand is a command about deliveries of webhooks. It changes no
// definition. One that only looks is not recorded.
type DeliveryCommand interface {
	Checked
	OnlyReads() bool
}

var deliveryOperations = withPgAliases([]operation{
	{"redeliver_event", 1, decodeRedeliverEvent},
	{"invoke_event_trigger", 1, decodeInvokeEventTrigger},
	{"test_event_trigger", 1, decodeTestEventTrigger},
	{"redeliver_events", 1, decodeRedeliverEvents},
	{"get_redelivery", 1, decodeGetRedelivery},
	{"cancel_events", 1, decodeCancelEvents},
	{"pause_event_trigger", 1, decodePause(KindEventTrigger)},
	{"resume_event_trigger", 1, decodeResume(KindEventTrigger)},
	{"pause_cron_trigger", 1, decodePause(KindCronTrigger)},
	{"resume_cron_trigger", 1, decodeResume(KindCronTrigger)},
	{"get_event_logs", 1, decodeGetEventLogs},
	{"get_event_invocation_logs", 1, decodeGetEventInvocationLogs},
	{"get_event_by_id", 1, decodeGetEventByID},
}, "redeliver_event", "invoke_event_trigger", "get_event_logs", "get_event_invocation_logs", "get_event_by_id")

// asks is part of a command that only looks, acts of one that does more.
type (
	asks struct{}
	acts struct{}
)

// OnlyReads implements [DeliveryCommand].
func (asks) OnlyReads() bool { return true }

// OnlyReads implements [DeliveryCommand].
func (acts) OnlyReads() bool { return false }

// RedeliverEvent is redeliver_event. The id may be any text: one that is no
// UUID names no event.
type RedeliverEvent struct {
	acts
	EventID string `json:"event_id"`
}

// Operation implements [Command].
func (RedeliverEvent) Operation() string { return "redeliver_event" }

func decodeRedeliverEvent(n wire.Node) Command {
	return RedeliverEvent{EventID: n.Field("event_id").String()}
}

// Check implements [Checked]. The catalog knows no events.
func (RedeliverEvent) Check(World) error { return nil }

// InvokeEventTrigger is invoke_event_trigger: a delivery with a payload of the
// caller's own.
type InvokeEventTrigger struct {
	acts
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"`
}

// Operation implements [Command].
func (InvokeEventTrigger) Operation() string { return "invoke_event_trigger" }

func decodeInvokeEventTrigger(n wire.Node) Command {
	return InvokeEventTrigger{Name: n.Field("name").Text(), Payload: decodePayload(n.Field("payload"))}
}

// decodePayload reads what is sent as it is given. It is looked at as jsonb as
// well, which holds no NUL character.
func decodePayload(n wire.Node) json.RawMessage {
	refuseNUL(n)
	return n.Raw()
}

// refuseNUL reports a NUL character in any text of a value.
func refuseNUL(n wire.Node) {
	switch n.Kind() {
	case wire.String:
		_ = n.String()
	case wire.Array:
		for _, item := range n.Items() {
			refuseNUL(item)
		}
	case wire.Object:
		for name, member := range n.Members() {
			if strings.ContainsRune(name, 0) {
				n.Fail("a NUL character (\\u0000) is not allowed in a key")
			}
			refuseNUL(member)
		}
	}
}

// Check refuses a trigger that does not exist or cannot be invoked by hand.
func (c InvokeEventTrigger) Check(w World) error {
	trigger, err := w.KnownEventTrigger(c.Name)
	switch {
	case err != nil:
		return err
	case !trigger.Definition.EnableManual:
		return refuse(domain.NotSupported, "manual mode is not enabled for event trigger")
	}
	return nil
}

func noEventTrigger(name string) error {
	return refuse(domain.NotExists, "event trigger %q does not exist", name)
}

// KnownEventTrigger returns an event trigger of the catalog, or refuses.
func (w World) KnownEventTrigger(name string) (EventTrigger, error) {
	t, ok := w.Catalog.EventTrigger(name)
	if !ok {
		return t, noEventTrigger(name)
	}
	return t, nil
}

// KnownCronTrigger returns a cron trigger of the catalog, or refuses.
func (w World) KnownCronTrigger(name string) (CronTrigger, error) {
	t, ok := lookup[CronTrigger](w.Catalog, cronTriggerKey(name))
	if !ok {
		return t, noCronTrigger(name)
	}
	return t, nil
}

// KnowsEventTrigger reports whether the catalog has an event trigger.
func (w World) KnowsEventTrigger(name string) bool { return w.Catalog.Has(eventTriggerKey(name)) }

// TestEventTrigger is test_event_trigger: a sample is sent as the trigger would
// send a row change. It is no event: it is recorded apart, and never redelivered.
type TestEventTrigger struct {
	acts
	Name string `json:"name"`
	// Data is the sample's old and new row; nil makes one of the table's columns.
	Data json.RawMessage `json:"data,omitzero"`
}

// Operation implements [Command].
func (TestEventTrigger) Operation() string { return "test_event_trigger" }

func decodeTestEventTrigger(n wire.Node) Command {
	return TestEventTrigger{Name: n.Field("name").Text(), Data: decodePayload(n.Optional("data"))}
}

// Check implements [Checked].
func (c TestEventTrigger) Check(w World) error {
	_, err := w.KnownEventTrigger(c.Name)
	return err
}

// Sample is what the trigger sends for the test: an operation that it observes,
// and its rows.
func (c TestEventTrigger) Sample(w World) (operation string, data json.RawMessage) {
	t, _ := lookup[EventTrigger](w.Catalog, eventTriggerKey(c.Name))
	operation = t.Definition.operation()
	if c.Data != nil {
		return operation, c.Data
	}
	row := map[string]any{}
	if table := w.Shape.Table(t.Table); table != nil {
		for _, column := range table.Columns {
			row[column.Name] = nil
		}
	}
	images := map[string]any{"old": nil, "new": nil}
	if operation != "DELETE" {
		images["new"] = row
	}
	if operation == "UPDATE" || operation == "DELETE" {
		images["old"] = row
	}
	return operation, encode(images)
}

// operation is the first that is observed.
func (s EventTriggerSpec) operation() string {
	switch {
	case s.Insert != nil:
		return "INSERT"
	case s.Update != nil:
		return "UPDATE"
	case s.Delete != nil:
		return "DELETE"
	}
	return "MANUAL"
}

// EventFilter says which deliveries a command is about; all that is given must
// hold. Times are those of the capture or the planned moment.
type EventFilter struct {
	Trigger string `json:"trigger,omitzero"`
	// States are those of a delivery's own history.
	States []string `json:"state,omitzero"`
	// Statuses are those of the last answer.
	Statuses []int      `json:"status,omitzero"`
	Since    *time.Time `json:"since,omitzero"`
	Until    *time.Time `json:"until,omitzero"`
}

func decodeEventFilter(n wire.Node, states ...string) EventFilter {
	return EventFilter{
		Trigger:  textOr(n.Optional("trigger")),
		States:   oneOrMany(n.Optional("state"), func(n wire.Node) string { return n.OneOf(states...) }),
		Statuses: oneOrMany(n.Optional("status"), count),
		Since:    wire.Pointer(n.Optional("since"), decodeTimestamp),
		Until:    wire.Pointer(n.Optional("until"), decodeTimestamp),
	}
}

func textOr(n wire.Node) string {
	if !n.Present() {
		return ""
	}
	return n.Text()
}

// oneOrMany reads a value, or a list of them.
func oneOrMany[T any](n wire.Node, f func(wire.Node) T) []T {
	switch {
	case !n.Present():
		return nil
	case n.Kind() == wire.Array:
		return wire.List(n, f)
	}
	return []T{f(n)}
}

// RedeliverEvents is redeliver_events: a new round for the events of event
// triggers that are over, the oldest first.
type RedeliverEvents struct {
	EventFilter
	// Rate is how many become due in a second; zero lets all be due at once.
	Rate float64 `json:"rate,omitzero"`
	// Limit is how many events at most; zero leaves it to the service.
	Limit  int  `json:"limit,omitzero"`
	DryRun bool `json:"dry_run,omitzero"`
}

// Operation implements [Command].
func (RedeliverEvents) Operation() string { return "redeliver_events" }

func decodeRedeliverEvents(n wire.Node) Command {
	c := RedeliverEvents{
		EventFilter: decodeEventFilter(n, "failed", "delivered", "cancelled"),
		DryRun:      n.Optional("dry_run").BoolOr(false),
	}
	if limit := n.Optional("limit"); limit.Present() {
		c.Limit = positiveCount(limit)
	}
	if rate := n.Optional("rate"); rate.Present() {
		c.Rate = positiveNumber(rate)
	}
	if len(c.States) == 0 {
		c.States = []string{"failed"}
	}
	return c
}

func limitOr(n wire.Node, missing, most int) int {
	limit := countOr(n, missing)
	if limit > most {
		n.Fail("the value can be at most %d", most)
	}
	return limit
}

// OnlyReads implements [DeliveryCommand].
func (c RedeliverEvents) OnlyReads() bool { return c.DryRun }

// Check implements [Checked].
func (c RedeliverEvents) Check(w World) error {
	if c.Trigger == "" {
		return nil
	}
	_, err := w.KnownEventTrigger(c.Trigger)
	return err
}

// GetRedelivery is get_redelivery: how far a redeliver_events has come, by the
// position that it answered.
type GetRedelivery struct {
	asks
	Position int64 `json:"position"`
}

// Operation implements [Command].
func (GetRedelivery) Operation() string { return "get_redelivery" }

func decodeGetRedelivery(n wire.Node) Command {
	return GetRedelivery{Position: int64(n.Field("position").Int())}
}

// Check implements [Checked].
func (GetRedelivery) Check(World) error { return nil }

// CancelEvents is cancel_events: what is queued is not sent. At least one of the
// members says which; what is being sent is left alone.
type CancelEvents struct {
	EventFilter
	// Type is the kind of trigger, or one_off.
	Type     string   `json:"type,omitzero"`
	EventIDs []string `json:"event_ids,omitzero"`
	// Redelivery is the position of the redeliver_events that queued them.
	Redelivery int64  `json:"redelivery,omitzero"`
	Reason     string `json:"reason,omitzero"`
	DryRun     bool   `json:"dry_run,omitzero"`
}

// Operation implements [Command].
func (CancelEvents) Operation() string { return "cancel_events" }

func decodeCancelEvents(n wire.Node) Command {
	c := CancelEvents{
		EventFilter: EventFilter{
			Trigger: textOr(n.Optional("trigger")),
			Since:   wire.Pointer(n.Optional("since"), decodeTimestamp),
			Until:   wire.Pointer(n.Optional("until"), decodeTimestamp),
		},
		EventIDs:   wire.List(n.Optional("event_ids"), wire.Node.String),
		Redelivery: int64(n.Optional("redelivery").IntOr(0)),
		Reason:     n.Optional("reason").String(),
		DryRun:     n.Optional("dry_run").BoolOr(false),
	}
	if kind := n.Optional("type"); kind.Present() {
		c.Type = kind.OneOf(TypeEvent, TypeCron, TypeOneOff)
	}
	switch {
	case c.Trigger != "" && c.Type == "":
		n.Fail("a trigger needs a type: event or cron")
	case c.Type == "" && c.EventIDs == nil && c.Redelivery == 0:
		n.Fail("expecting at least one of type, event_ids, redelivery")
	}
	return c
}

// The kinds of deliveries as calls name them.
const (
	TypeEvent  = "event"
	TypeCron   = "cron"
	TypeOneOff = "one_off"
)

// OnlyReads implements [DeliveryCommand].
func (c CancelEvents) OnlyReads() bool { return c.DryRun }

// Check implements [Checked]. Events of a trigger that is gone may be cancelled.
func (CancelEvents) Check(World) error { return nil }

// PauseTrigger is pause_event_trigger and pause_cron_trigger: what is due waits.
type PauseTrigger struct {
	acts
	kind   Kind
	Name   string `json:"name"`
	Reason string `json:"reason,omitzero"`
}

// Operation implements [Command].
func (c PauseTrigger) Operation() string { return "pause_" + string(c.kind) }

// Kind is the kind of the trigger.
func (c PauseTrigger) Kind() Kind { return c.kind }

func decodePause(kind Kind) func(wire.Node) Command {
	return func(n wire.Node) Command {
		return PauseTrigger{kind: kind, Name: n.Field("name").Text(), Reason: n.Optional("reason").String()}
	}
}

// Check implements [Checked].
func (c PauseTrigger) Check(w World) error { return w.checkTrigger(c.kind, c.Name) }

func (w World) checkTrigger(kind Kind, name string) (err error) {
	if kind == KindCronTrigger {
		_, err = w.KnownCronTrigger(name)
	} else {
		_, err = w.KnownEventTrigger(name)
	}
	return err
}

// ResumeTrigger is resume_event_trigger and resume_cron_trigger.
type ResumeTrigger struct {
	acts
	kind Kind
	Name string `json:"name"`
}

// Operation implements [Command].
func (c ResumeTrigger) Operation() string { return "resume_" + string(c.kind) }

// Kind is the kind of the trigger.
func (c ResumeTrigger) Kind() Kind { return c.kind }

func decodeResume(kind Kind) func(wire.Node) Command {
	return func(n wire.Node) Command { return ResumeTrigger{kind: kind, Name: n.Field("name").Text()} }
}

// Check implements [Checked].
func (c ResumeTrigger) Check(w World) error { return w.checkTrigger(c.kind, c.Name) }
