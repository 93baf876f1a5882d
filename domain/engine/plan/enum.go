package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"

	"annals/domain/database"
	"annals/domain/wire"
)

// enumValue reads a value of an enum: a name in the text, a string in JSON.
func enumValue(at place, v value, typeName string, names []string) json.RawMessage {
	if v.kind != kindEnum && !(v.kind == kindText && v.fromJSON) {
		at.mismatch(typeName, "an enum value", v)
		return nil
	}
	if !slices.Contains(names, v.text) {
		at.fail("expected one of the values %s for type %q, but found %q", alternatives(names), typeName, v.text)
		return nil
	}
	return wire.AppendString(nil, v.text)
}

// rowValue reads a value of an enum whose values are a table's rows.
func rowValue(at place, v value, typeName string, rows []database.EnumValue) json.RawMessage {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Value
	}
	if !slices.Contains(names, v.text) {
		slices.SortFunc(names, byHash)
	}
	return enumValue(at, v, typeName, names)
}

// alternatives prints a, b, or c.
func alternatives(names []string) string {
	last := len(names) - 1
	switch {
	case last < 1:
		return strings.Join(names, "")
	case last == 1:
		return names[0] + " or " + names[1]
	}
	return strings.Join(names[:last], ", ") + ", or " + names[last]
}

// byHash orders names as v1.3 lists the values of an enum table: that of its
// hash map, a trie over the hashes' digits of four bits, the lowest first. The
// order is part of a message that clients know.
func byHash(a, b string) int {
	for x, y := nameHash(a), nameHash(b); x != y; x, y = x>>4, y>>4 {
		if x&15 != y&15 {
			return int(x&15) - int(y&15)
		}
	}
	return strings.Compare(a, b)
}

// nameHash is FNV-1 over the text in UTF-16, begun with v1.3's own number.
func nameHash(s string) uint64 {
	const start, prime = 0xdc36d1615b7400a4, 16777619
	hash := uint64(start)
	for _, unit := range utf16.Encode([]rune(s)) {
		hash = hash*prime ^ uint64(unit&0xff)
		hash = hash*prime ^ uint64(unit>>8)
	}
	return hash
}
