package metadata

import (
	"bytes"
	"encoding/json"
)

// SchemaVersion is the version of the stored form of commands and changes
// that this program writes. Older ones are read through [Upcast].
const SchemaVersion = 1

// Change is a typed fact inside an event: what an operation did to one object
// of the catalog. Definition is what the object is now, nil when it is gone;
// Before is what it was, nil when it was not. The fields are stored in this
// order.
type Change struct {
	Type       string          `json:"type"`
	Kind       Kind            `json:"kind"`
	Name       string          `json:"key"`
	Definition json.RawMessage `json:"definition,omitzero"`
	Before     json.RawMessage `json:"before,omitzero"`
	// Difference tells what lies between the two in the types of a remote schema.
	Difference *RemoteDifference `json:"difference,omitzero"`
}

// Key is the object that changed.
func (c Change) Key() Key { return Key{c.Kind, c.Name} }

// put states that an object has a definition now. It returns no change when
// the object had that definition before.
func put(c Catalog, o Object) []Change {
	key := o.Key()
	s := subjects[key.Kind]
	change := Change{Type: s.created, Kind: key.Kind, Name: key.Name, Definition: encode(o)}
	if e := c.Get(key); e != nil {
		if bytes.Equal(e.Definition, change.Definition) {
			return nil
		}
		change.Type, change.Before = s.changed, e.Definition
	}
	return []Change{change}
}

// drop states that an object is gone. It returns no change when there was no
// such object.
func drop(c Catalog, key Key) []Change {
	e := c.Get(key)
	if e == nil {
		return nil
	}
	return []Change{{Type: subjects[key.Kind].dropped, Kind: key.Kind, Name: key.Name, Before: e.Definition}}
}

// Difference returns the changes that lead from one catalog to another:
// first what is dropped, then what is created or changed, each ordered by
// kind and name.
func Difference(from, to Catalog) []Change {
	var changes []Change
	for e := range from.All() {
		if !to.Has(e.Key) {
			changes = append(changes, drop(from, e.Key)...)
		}
	}
	for e := range to.All() {
		old := from.Get(e.Key)
		if old != nil && (old == e || bytes.Equal(old.Definition, e.Definition)) {
			continue
		}
		s := subjects[e.Key.Kind]
		change := Change{Type: s.created, Kind: e.Key.Kind, Name: e.Key.Name, Definition: e.Definition}
		if old != nil {
			change.Type, change.Before = s.changed, old.Definition
		}
		changes = append(changes, change)
	}
	return changes
}

// EncodeChanges writes changes as an event stores them.
func EncodeChanges(changes []Change) json.RawMessage {
	if len(changes) == 0 {
		return json.RawMessage("[]")
	}
	return encode(changes)
}

// DecodeChanges reads the changes of an event.
func DecodeChanges(raw []byte) ([]Change, error) { return decode[[]Change](raw) }

// ReadChanges reads the changes of an event stored with any schema version.
func ReadChanges(schemaVersion int, raw []byte) ([]Change, error) {
	if schemaVersion != SchemaVersion {
		up, err := Upcast(schemaVersion, raw)
		if err != nil {
			return nil, err
		}
		raw = up
	}
	return DecodeChanges(raw)
}
