package metadata

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/btree"
)

// Evolve returns the catalog after changes that were recorded at a position.
func (c Catalog) Evolve(position int64, changes []Change) Catalog {
	if len(changes) == 0 {
		return c
	}
	f := Fold{entries: c.tree.copy()}
	for _, change := range changes {
		f.Put(change.Key(), position, change.Definition)
	}
	return f.Catalog()
}

// Fold makes a catalog of events. It does not decode definitions: an event
// costs a scan of its bytes and a step down the tree.
type Fold struct{ entries *btree.Map[string, *Entry] }

// FoldFrom starts a fold at a catalog, which it leaves as it is.
func FoldFrom(c Catalog) *Fold { return &Fold{entries: c.tree.copy()} }

// Catalog returns what was folded so far. The fold must not be used after it.
func (f *Fold) Catalog() Catalog {
	entries := f.entries
	f.entries = nil
	return Catalog{&tree{entries: entries}}
}

// Put gives an object a definition, such as it was saved with in the persisted
// catalog or a snapshot; nil takes the object away. The definition is kept, not
// copied.
func (f *Fold) Put(key Key, position int64, definition json.RawMessage) {
	f.set(key.stored(), key, position, definition)
}

// Event applies the changes of one event, in the stored form of the given
// schema version. The bytes are not kept.
func (f *Fold) Event(position int64, schemaVersion int, changes []byte) error {
	if string(changes) == "[]" {
		return nil
	}
	if schemaVersion != SchemaVersion {
		up, err := Upcast(schemaVersion, changes)
		if err != nil {
			return fmt.Errorf("event %d: %w", position, err)
		}
		changes = up
	}
	s := scanner{data: changes}
	for s.next() {
		key, stored := s.object()
		f.set(stored, key, position, bytes.Clone(s.definition))
	}
	if s.bad {
		return fmt.Errorf("event %d: its changes are not a list of changes", position)
	}
	return nil
}

// set puts an object under its stored key, or removes it when it has no
// definition.
func (f *Fold) set(stored string, key Key, position int64, definition json.RawMessage) {
	if definition == nil {
		f.entries.Delete(stored)
		return
	}
	f.entries.Set(stored, &Entry{Key: key, Position: position, Definition: definition})
}
