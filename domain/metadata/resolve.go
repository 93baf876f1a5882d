package metadata

import (
	"fmt"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
)

// resolver looks up what one object needs, in a world where everything of an
// earlier kind is resolved. It keeps each need, found or not: when what was
// missing arrives, the object is resolved again. The first fault stays.
type resolver struct {
	world  World
	needs  []Need
	reason string
	prefix string
}

// fail states why the object cannot stand. The reason gets the prefix that
// v1.3 puts before reasons of this kind of object; see [resolver.within].
func (r *resolver) fail(format string, args ...any) {
	if r.reason == "" {
		r.reason = r.prefix + fmt.Sprintf(format, args...)
	}
}

// failPlain states a reason that v1.3 shows without prefix.
func (r *resolver) failPlain(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

// failEach states several reasons: a single one after introduction and
// "because", more as a list.
func (r *resolver) failEach(introduction string, reasons []string) {
	switch len(reasons) {
	case 0:
	case 1:
		r.fail("%s because %s", introduction, reasons[0])
	default:
		r.fail("%s", listReasons(introduction, reasons))
	}
}

// listReasons prints reasons as v1.3 does when there are several.
func listReasons(introduction string, reasons []string) string {
	var b strings.Builder
	b.WriteString(introduction + " for the following reasons:\n")
	for _, reason := range reasons {
		b.WriteString("  • " + reason + "\n")
	}
	return b.String()
}

// within sets the prefix of further reasons.
func (r *resolver) within(format string, args ...any) { r.prefix = fmt.Sprintf(format, args...) }

// need notes a need.
func (r *resolver) need(n Need) { r.needs = append(r.needs, n) }

// ownTable looks up the table that the object belongs to. An object of a
// table that does not stand gets the short reason, without prefix.
func (r *resolver) ownTable(name domain.QualifiedName) (Table, *database.Table, bool) {
	table, shape, ok := r.standingTable(name)
	if !ok {
		r.failPlain("table %q does not exist", name)
	}
	return table, shape, ok
}

// table looks up another tracked table, which must stand.
func (r *resolver) table(name domain.QualifiedName) (Table, *database.Table, bool) {
	table, shape, ok := r.standingTable(name)
	if !ok {
		r.fail("table %q does not exist", name)
	}
	return table, shape, ok
}

func (r *resolver) standingTable(name domain.QualifiedName) (Table, *database.Table, bool) {
	r.need(needTable(name))
	key := tableKey(name)
	table, ok := lookup[Table](r.world.Catalog, key)
	if !ok || !r.world.Standing.Stands(key) {
		return Table{}, nil, false
	}
	return table, r.world.Shape.Table(name), true
}

// column notes the need of a table's column and returns it, nil when the
// table has none of that name; then nothing has failed yet.
func (r *resolver) column(t *database.Table, name string) *database.Column {
	r.need(needColumn(t.Name, name))
	return t.Column(name)
}

// stands notes the need of another object and reports whether it is there and
// consistent.
func (r *resolver) stands(key Key) bool {
	r.need(needObject(key))
	return r.world.Standing.Stands(key)
}

// env makes sure that an environment variable is set. It is no need: the
// environment is read once, at the start.
func (r *resolver) env(name string) {
	if _, ok := r.world.Env[name]; !ok {
		r.fail("environment variable '%s' not set", name)
	}
}

// fieldKinds lists the kinds of objects that are fields of a table's type.
var fieldKinds = []Kind{KindRelationship, KindComputedField, KindRemoteRelationship}

// field makes sure that a field of the object's own table has its name alone:
// no column, no column's other name, no other field.
func (r *resolver) field(self Key, t Table, shape *database.Table, name string) {
	r.need(needField(t.Name, name))
	if shape.Column(name) != nil && t.Configuration.ColumnNames[name] == "" {
		r.failPlain("field definition conflicts with postgres column")
		return
	}
	for column, custom := range t.Configuration.ColumnNames {
		if custom == name && shape.Column(column) != nil {
			if column == name {
				r.failPlain("field definition conflicts with postgres column")
			} else {
				r.failPlain("field definition conflicts with custom field name for postgres column %q", column)
			}
			return
		}
	}
	for _, kind := range fieldKinds {
		other := keyOf(kind, t.Name.Schema, t.Name.Name, name)
		if other != self && r.world.Catalog.Has(other) {
			r.failPlain("conflicting definitions for field %q", name)
			return
		}
	}
}

// resolveOne resolves the object under a key; nil when there is none.
func (w World) resolveOne(key Key) *stand {
	e := w.Catalog.Get(key)
	if e == nil {
		return nil
	}
	r := resolver{world: w}
	e.Object().resolve(&r)
	slices.Sort(r.needs)
	return &stand{key: key, needs: slices.Compact(r.needs), reason: r.reason}
}

// resolveAll resolves every object, kind by kind.
func (w World) resolveAll() Standing {
	index := newStandings()
	w.Standing = Standing{index}
	for _, s := range subjectList {
		for e := range w.Catalog.OfKind(s.kind) {
			index.set(w.resolveOne(e.Key))
		}
	}
	return w.Standing
}

// resolveAgain resolves the objects under the keys, those that have the
// needs, and on from each that came out otherwise to those that need it.
// Kinds are taken in the order in which they may need each other, so each
// object is resolved when what it needs is settled.
func (w World) resolveAgain(keys []Key, moved []Need) Standing {
	index := w.Standing.index.copy()
	w.Standing = Standing{index}
	todo := newAgenda(keys)
	for _, n := range moved {
		todo.addAll(w.Standing.dependentsOf(n))
		if key, ok := tableOfNeed(n); ok {
			todo.add(key)
		}
	}
	changed := map[Key]bool{}
	for _, k := range keys {
		changed[k] = true
	}
	for key, ok := todo.take(); ok; key, ok = todo.take() {
		index.moved(key)
		before, after := index.get(key), w.resolveOne(key)
		switch {
		case after == nil:
			index.remove(key)
		case before == nil || !before.same(after):
			index.set(after)
		}
		if changed[key] || before == nil || after == nil || before.reason != after.reason {
			w.addDependents(todo, key)
		}
	}
	return w.Standing
}

// addDependents puts on the agenda who needs an object, or the field name
// that it takes or gives up.
func (w World) addDependents(todo *agenda, key Key) {
	todo.addAll(w.Standing.dependentsOf(needObject(key)))
	if slices.Contains(fieldKinds, key.Kind) {
		todo.addAll(w.Standing.dependentsOf(Need("field " + key.Name)))
	}
}

// tableOfNeed returns the table's own key when a need is a table.
func tableOfNeed(n Need) (Key, bool) {
	name, ok := strings.CutPrefix(string(n), string(KindTable)+" ")
	return Key{KindTable, name}, ok
}
