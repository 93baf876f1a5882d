package metadata

import (
	"encoding/json"
	"fmt"
)

// Upcast turns the changes of an event stored with an older schema version
// into the form of [SchemaVersion]. Each step leads from one version to the
// next; a version is never skipped. Stored examples of every old form stand in
// testdata/upcast. A version newer than this program is refused: it was
// written by a newer one.
func Upcast(version int, changes []byte) ([]byte, error) {
	if version > SchemaVersion {
		return nil, fmt.Errorf("stored with schema version %d, but this program knows versions up to %d: run a newer release", version, SchemaVersion)
	}
	for ; version < SchemaVersion; version++ {
		step, ok := upcasters[version]
		if !ok {
			return nil, fmt.Errorf("stored with schema version %d, which no release has written", version)
		}
		up, err := step(changes)
		if err != nil {
			return nil, fmt.Errorf("schema version %d: %w", version, err)
		}
		changes = up
	}
	return changes, nil
}

// upcasters lead from the version that is their key to the next.
var upcasters = map[int]func([]byte) ([]byte, error){
	0: upcastUnnamedDefinitions,
}

// upcastUnnamedDefinitions: version 0, from before the first release, called
// a definition "after" and gave an object's kind and key as one member:
//
//	{"type":..., "object":{"kind":..., "key":...}, "after":..., "before":...}
func upcastUnnamedDefinitions(raw []byte) ([]byte, error) {
	old, err := decode[[]struct {
		Type   string          `json:"type"`
		Object Key             `json:"object"`
		After  json.RawMessage `json:"after"`
		Before json.RawMessage `json:"before"`
	}](raw)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, len(old))
	for i, o := range old {
		changes[i] = Change{Type: o.Type, Kind: o.Object.Kind, Name: o.Object.Name, Definition: o.After, Before: o.Before}
	}
	return EncodeChanges(changes), nil
}
