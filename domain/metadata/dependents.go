package metadata

import (
	"cmp"
	"slices"
	"strings"

	"annals/domain"
)

// withOwn returns the keys of a table and of all that belongs to it.
func (w World) withOwn(table domain.QualifiedName) []Key {
	keys := []Key{tableKey(table)}
	for key := range w.Standing.dependentsOf(needTable(table)) {
		if o, ok := w.Catalog.Get(key).Object().(owned); ok && o.owner() == table {
			keys = append(keys, key)
		}
	}
	return keys
}

// dependents returns the objects that could not stand without the objects
// gone, or without what the needs name: those that need them, those that need
// these, and so on, by their names. What already cannot stand is not counted,
// nor are tables: all they may need is columns with other names, which are
// theirs to forget.
func (w World) dependents(gone []Key, lost []Need) []Object {
	seen := map[Key]bool{}
	for _, key := range gone {
		seen[key] = true
		lost = append(lost, needObject(key))
	}
	var found []Object
	for len(lost) > 0 {
		need := lost[0]
		lost = lost[1:]
		for key := range w.Standing.dependentsOf(need) {
			if seen[key] || key.Kind == KindTable || !w.Standing.Stands(key) {
				continue
			}
			seen[key] = true
			found = append(found, w.Catalog.Get(key).Object())
			lost = append(lost, needObject(key))
		}
	}
	return sortedByText(found)
}

func sortedByText(list []Object) []Object {
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// mayDrop refuses to drop something while others depend on it, unless they
// are dropped too.
func mayDrop(others []Object, cascade bool) error {
	if cascade || len(others) == 0 {
		return nil
	}
	return refuse(domain.DependencyError, "cannot drop due to the following dependent objects : %s", joinObjects(others))
}

func joinObjects(list []Object) string {
	texts := make([]string, len(list))
	for i, o := range list {
		texts[i] = o.String()
	}
	return strings.Join(texts, ", ")
}

// droppable returns the keys of those objects that a cascade may take: what
// belongs to a table, and functions. Custom types and actions hold much more
// than the one reference to a table; they are never dropped on the way, and
// the command is refused because they would fall.
func droppable(list []Object) []Key {
	var keys []Key
	for _, o := range list {
		_, isOwned := o.(owned)
		if isOwned || o.Key().Kind == KindFunction {
			keys = append(keys, o.Key())
		}
	}
	return keys
}

// dropAll states that objects are gone, by kind and name.
func dropAll(c Catalog, keys []Key) []Change {
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.stored(), b.stored()) })
	var changes []Change
	for _, key := range slices.Compact(keys) {
		changes = append(changes, drop(c, key)...)
	}
	return changes
}

// dropWithDependents drops an object; what depends on it is in the way, or is
// dropped too.
func (w World) dropWithDependents(key Key, cascade bool) ([]Change, error) {
	others := w.dependents([]Key{key}, nil)
	if err := mayDrop(others, cascade); err != nil {
		return nil, err
	}
	return dropAll(w.Catalog, append([]Key{key}, droppable(others)...)), nil
}
