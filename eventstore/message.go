package eventstore

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

// Metadata of a message, for those who route or trace without reading the event.
const (
	MetadataPosition = "position"
	MetadataType     = "type"
	MetadataHash     = "hash" // hexadecimal
)

// A payload is a message's JSON. It brings the whole event, so that a message
// can leave the process; only the objects stay behind, as in all reading.
type payload struct {
	Position      int64           `json:"position"`
	ID            uuid.UUID       `json:"id"`
	Type          string          `json:"type"`
	Args          json.RawMessage `json:"args"`
	Changes       json.RawMessage `json:"changes"`
	Actor         json.RawMessage `json:"actor"`
	Comment       string          `json:"comment,omitempty"`
	Batch         *uuid.UUID      `json:"batch,omitempty"`
	BatchIndex    *int            `json:"batch_index,omitempty"`
	SchemaVersion int             `json:"schema_version"`
	RecordedAt    time.Time       `json:"recorded_at"`
	PrevHash      string          `json:"prev_hash"`
	Hash          string          `json:"hash"`
}

func newMessage(r *Recorded) (*message.Message, error) {
	hash := hex.EncodeToString(r.Hash[:])
	text, err := json.Marshal(newPayload(r, hash))
	if err != nil {
		return nil, fmt.Errorf("make a message of event %d: %w", r.Position, err)
	}
	msg := message.NewMessage(r.ID.String(), text)
	msg.Metadata = message.Metadata{
		MetadataPosition: strconv.FormatInt(r.Position, 10),
		MetadataType:     r.Type,
		MetadataHash:     hash,
	}
	return msg, nil
}

func newPayload(r *Recorded, hash string) payload {
	p := payload{
		Position: r.Position, ID: r.ID, Type: r.Type, Args: r.Args, Changes: r.Changes, Actor: r.Actor,
		Comment: r.Comment, SchemaVersion: r.SchemaVersion, RecordedAt: r.RecordedAt,
		PrevHash: hex.EncodeToString(r.PrevHash[:]), Hash: hash,
	}
	if r.Batch != uuid.Nil {
		p.Batch, p.BatchIndex = &r.Batch, &r.BatchIndex
	}
	return p
}

// FromMessage is the event that a message of the log brings. Its JSON texts have
// the values that are stored, but perhaps not their spelling: encoding squeezes
// white space out. Who computes hashes reads the log.
func FromMessage(msg *message.Message) (Recorded, error) {
	r, err := parsePayload(msg.Payload)
	if err != nil {
		return Recorded{}, fmt.Errorf("read message %s: %w", msg.UUID, err)
	}
	return r, nil
}

func parsePayload(text []byte) (Recorded, error) {
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return Recorded{}, err
	}
	r := Recorded{
		Event: Event{
			ID: p.ID, Type: p.Type, Args: p.Args, Changes: p.Changes, Actor: p.Actor,
			Comment: p.Comment, SchemaVersion: p.SchemaVersion,
		},
		Position: p.Position, RecordedAt: p.RecordedAt,
	}
	if p.Batch != nil && p.BatchIndex != nil {
		r.Batch, r.BatchIndex = *p.Batch, *p.BatchIndex
	}
	return r, errors.Join(parseHash(&r.PrevHash, p.PrevHash), parseHash(&r.Hash, p.Hash))
}

func parseHash(hash *[32]byte, text string) error {
	if len(text) != hex.EncodedLen(len(hash)) {
		return fmt.Errorf("a hash of %d characters", len(text))
	}
	_, err := hex.Decode(hash[:], []byte(text))
	return err
}
