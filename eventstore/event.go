package eventstore

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"annals/eventstore/chain"
)

const (
	// MaxTypeBytes bounds the name of an event's type; it is indexed.
	MaxTypeBytes = 256
	// MaxObjectBytes bounds kind and key of an object together; they are one
	// index entry, and PostgreSQL's end at 2704 bytes.
	MaxObjectBytes = 2500
)

// An Object is something an event touched, under the name its writer gives it.
type Object struct{ Kind, Key string }

// An Event is what a writer knows of it. Args, Changes and Actor are stored as
// the text they are, byte for byte. (A NUL byte cannot occur in JSON text, and
// PostgreSQL refuses one in the others.)
type Event struct {
	ID            uuid.UUID // version 7, so that neighbours in time are neighbours in the index
	Type          string
	Args          json.RawMessage
	Changes       json.RawMessage
	Actor         json.RawMessage
	Comment       string    // "" is stored as none
	Batch         uuid.UUID // uuid.Nil is stored as none, and BatchIndex with it
	BatchIndex    int
	SchemaVersion int

	// Objects are what [Store.Find] finds the event by. They are an index over
	// the event, not a part of it: the chain does not cover them, and reading an
	// event does not bring them back.
	Objects []Object
}

// Recorded is an event in its place in the history.
type Recorded struct {
	Event
	Position   int64
	RecordedAt time.Time // the database's clock, UTC
	PrevHash   [32]byte
	Hash       [32]byte
}

// Head is the end of the log. The head of an empty log is the zero Head.
type Head struct {
	Position int64
	Hash     [32]byte
}

// InvalidEvent says why an event cannot be stored. Nothing was written.
type InvalidEvent struct {
	Index  int // among the events of the call
	Reason string
}

func (e InvalidEvent) Error() string {
	return fmt.Sprintf("event %d cannot be stored: %s", e.Index, e.Reason)
}

func validate(events []Event) error {
	for i, e := range events {
		if reason := e.flaw(); reason != "" {
			return InvalidEvent{Index: i, Reason: reason}
		}
	}
	return nil
}

// flaw is what the database would not say clearly or not notice. Malformed JSON
// is the database's to refuse: it reads the text anyway.
func (e *Event) flaw() string {
	switch {
	case e.ID == uuid.Nil:
		return "it has no id"
	case e.Type == "" || len(e.Type) > MaxTypeBytes:
		return fmt.Sprintf("its type is %d bytes long, allowed are 1 to %d", len(e.Type), MaxTypeBytes)
	case len(e.Args) == 0 || len(e.Changes) == 0 || len(e.Actor) == 0:
		return "args, changes and actor are JSON values, and one is missing"
	case e.SchemaVersion != int(int32(e.SchemaVersion)) || e.BatchIndex != int(int32(e.BatchIndex)):
		return "its schema version or index in a batch is larger than an int of the database"
	case e.Batch == uuid.Nil && e.BatchIndex != 0:
		return "it has an index in a batch, but no batch"
	}
	for _, o := range e.Objects {
		if len(o.Kind)+len(o.Key) > MaxObjectBytes {
			return fmt.Sprintf("kind and key of an object are %d bytes long, allowed are %d", len(o.Kind)+len(o.Key), MaxObjectBytes)
		}
	}
	return ""
}

// fields is the event as the database will store it.
func (e *Event) fields() chain.Fields {
	f := chain.Fields{
		ID: e.ID[:], Type: []byte(e.Type), Args: e.Args, Changes: e.Changes, Actor: e.Actor,
		SchemaVersion: int4(e.SchemaVersion),
	}
	if e.Comment != "" {
		f.Comment = []byte(e.Comment)
	}
	if e.Batch != uuid.Nil {
		f.Batch, f.BatchIndex = e.Batch[:], int4(e.BatchIndex)
	}
	return f
}

func int4(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(int32(n))) }

func boolean(b bool) []byte {
	if b {
		return []byte{1}
	}
	return []byte{0}
}
