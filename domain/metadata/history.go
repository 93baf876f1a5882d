package metadata

import (
	"encoding/json"
	"strconv"
	"time"

	"annals/domain/wire"
)

var historyOperations = []operation{
	{"diff_metadata", 1, decodeDiffMetadata},
	{"rollback_metadata", 1, decodeRollbackMetadata},
}

// Moment is a point of the history: a position, or the last position recorded
// at or before a time. The zero Moment is now.
type Moment struct {
	Position *int64     `json:"position,omitzero"`
	Time     *time.Time `json:"time,omitzero"`
}

// IsNow reports whether no point was named.
func (m Moment) IsNow() bool { return m.Position == nil && m.Time == nil }

// parseMoment reads a position, or a time as RFC 3339 has it.
func parseMoment(text string) (Moment, bool) {
	if p, err := strconv.ParseInt(text, 10, 64); err == nil && p >= 0 {
		return Moment{Position: &p}, true
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return Moment{Time: &t}, true
	}
	return Moment{}, false
}

// DecodeMoment reads a member that names a moment; one that is not there is now.
func DecodeMoment(n wire.Node) Moment {
	if !n.Present() {
		return Moment{}
	}
	text := ""
	switch n.Kind() {
	case wire.Number:
		text = string(n.Number())
	case wire.String:
		text = n.String()
	}
	m, ok := parseMoment(text)
	if !ok {
		n.Fail("expected a position of the history, or a time such as 2026-01-31T12:00:00Z")
	}
	return m
}

// ExportMetadata is export_metadata, now or as of a moment.
type ExportMetadata struct {
	AsOf Moment `json:"as_of,omitzero"`
}

// Operation implements [Command].
func (ExportMetadata) Operation() string { return "export_metadata" }

// decodeExportMetadata takes anything that is no object as no arguments.
func decodeExportMetadata(n wire.Node) Command {
	if n.Kind() != wire.Object {
		return ExportMetadata{}
	}
	return ExportMetadata{DecodeMoment(n.Optional("as_of"))}
}

// DiffMetadata is diff_metadata: the changes that lead from one moment to
// another.
type DiffMetadata struct {
	From Moment `json:"from"`
	To   Moment `json:"to,omitzero"`
}

// Operation implements [Command].
func (DiffMetadata) Operation() string { return "diff_metadata" }

func decodeDiffMetadata(n wire.Node) Command {
	return DiffMetadata{From: DecodeMoment(n.Field("from")), To: DecodeMoment(n.Optional("to"))}
}

// DiffAnswer is the body of diff_metadata, and of a plan.
func DiffAnswer(from, to int64, changes []Change) json.RawMessage {
	if changes == nil {
		changes = []Change{}
	}
	return encode(struct {
		From    int64           `json:"from"`
		To      int64           `json:"to"`
		Changes json.RawMessage `json:"changes"`
	}{from, to, Mask(EncodeChanges(changes))})
}

// PlanAnswer is the body of a planned call: what it would change, had it been
// carried out at a position.
func PlanAnswer(at int64, changes []Change) json.RawMessage {
	return encode(struct {
		Planned bool            `json:"planned"`
		At      int64           `json:"at"`
		Changes json.RawMessage `json:"changes"`
	}{true, at, Mask(EncodeChanges(changes))})
}

// RollbackMetadata is rollback_metadata: changes are recorded that restore the
// catalog of an earlier moment. The history stays.
type RollbackMetadata struct {
	To Moment `json:"to"`
	// AllowInconsistent restores also what cannot stand in today's database.
	AllowInconsistent bool `json:"allow_inconsistent"`
}

// Operation implements [Command].
func (RollbackMetadata) Operation() string { return "rollback_metadata" }

func decodeRollbackMetadata(n wire.Node) Command {
	return RollbackMetadata{DecodeMoment(n.Field("to")), n.Optional("allow_inconsistent").BoolOr(false)}
}

// Restoring returns the command with the catalog that it restores.
func (c RollbackMetadata) Restoring(earlier Catalog) Decider { return restore{c, earlier} }

type restore struct {
	RollbackMetadata
	earlier Catalog
}

func (c restore) names(World) Names { return c.earlier.Names() }

func (c restore) demand() demand {
	if c.AllowInconsistent {
		return anyhow
	}
	return ownStands
}

func (c restore) decide(w World) ([]Change, error) { return Difference(w.Catalog, c.earlier), nil }
