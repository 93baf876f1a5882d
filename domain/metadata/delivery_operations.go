package metadata

import (
	"encoding/json"

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

// RedeliverEvent is redeliver_event. The id may be any text: one that is no
// UUID names no event.
type RedeliverEvent struct {
	EventID string `json:"event_id"`
}

// Operation implements [Command].
func (RedeliverEvent) Operation() string { return "redeliver_event" }

func decodeRedeliverEvent(n wire.Node) Command { return RedeliverEvent{n.Field("event_id").String()} }

// Check implements [Checked]. The catalog knows no events.
func (RedeliverEvent) Check(World) error { return nil }

// InvokeEventTrigger is invoke_event_trigger: a delivery with a payload of the
// caller's own.
type InvokeEventTrigger struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"`
}

// Operation implements [Command].
func (InvokeEventTrigger) Operation() string { return "invoke_event_trigger" }

func decodeInvokeEventTrigger(n wire.Node) Command {
	return InvokeEventTrigger{n.Field("name").Text(), n.Field("payload").Raw()}
}

// Check refuses a trigger that does not exist or cannot be invoked by hand.
func (c InvokeEventTrigger) Check(w World) error {
	trigger, ok := lookup[EventTrigger](w.Catalog, eventTriggerKey(c.Name))
	switch {
	case !ok:
		return refuse(domain.NotExists, "event trigger %q does not exist", c.Name)
	case !trigger.Definition.EnableManual:
		return refuse(domain.NotSupported, "manual mode is not enabled for event trigger")
	}
	return nil
}
