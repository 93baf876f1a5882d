// Package delivery is what one webhook delivery means: what is sent, when it
// is tried again, and when it is over.
//
//	          claim                 2xx
//	queued ----------> in flight ----------> delivered
//	  ^                 |  |  |
//	  | failed, a try   |  |  | failed, none left
//	  | is left         |  |  +------------> failed
//	  +-----------------+  |
//	                       | too late, before anything was sent
//	                       +---------------> dropped
//
// [Decide] is the whole of it: from a policy, the tries already made and what
// came of this one, what is next. A redelivery starts a new round, whose tries
// count from zero again. Nothing is said here about leases: that a node may die
// in flight only means that a delivery is in flight again.
//
// [Plan] is what a trigger says about its deliveries at the moment of an
// attempt, never of the capture: a trigger that was replaced sends what is
// queued to its new webhook. [Compose] makes the request of a delivery and its
// plan; [RequestLog] and [AnswerLog] are how an attempt is remembered.
//
// Package delivery knows no clock and no chance: times and dice are given.
package delivery

import (
	"encoding/json"
	"time"
)

// Kind is where a delivery came from.
type Kind string

// The kinds.
const (
	Event     Kind = "event"     // a row change
	Manual    Kind = "manual"    // invoke_event_trigger
	Test      Kind = "test"      // a sample of an event trigger
	Cron      Kind = "cron"      // a fire of a cron trigger
	Scheduled Kind = "scheduled" // a one-off event
	Action    Kind = "action"    // an asynchronous action
)

// OfEventTrigger reports whether an event trigger says how such deliveries are made.
func (k Kind) OfEventTrigger() bool { return k == Event || k == Manual || k == Test }

// Delivery is one webhook to be made, as it was captured or planned.
type Delivery struct {
	ID      string
	Kind    Kind
	Trigger string // its name; empty for a one-off event
	Schema  string // of an event: its table
	Table   string
	// Payload is, of an event, the member "event" of the body; otherwise the
	// payload as given. Nil is null.
	Payload json.RawMessage
	// Definition is how a one-off event is delivered.
	Definition json.RawMessage
	DueAt      time.Time // when it was first due
	CreatedAt  time.Time
}
