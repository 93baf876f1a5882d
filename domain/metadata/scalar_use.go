package metadata

import (
	"maps"
	"slices"
	"strings"

	"annals/domain/database"
)

// scalarUse counts, by the name of a scalar as the database has it, the objects
// that bring it into the types of GraphQL: a table by its columns, a function
// and a computed field by their arguments and values, an action and the custom
// types by the names in them. An array's name begins with an underscore. It is
// never changed once it is shared.
type scalarUse map[string]int

// UsesScalar reports whether an object of the catalog brings a scalar into
// GraphQL, whether the object stands or not.
func (w World) UsesScalar(typname string) bool { return w.scalars[typname] > 0 }

// countScalars counts for the whole catalog.
func (w World) countScalars() scalarUse {
	use := scalarUse{}
	for _, kind := range scalarKinds {
		for e := range w.Catalog.OfKind(kind) {
			use.add(w, e.Object(), 1)
		}
	}
	return use
}

var scalarKinds = [...]Kind{KindTable, KindFunction, KindComputedField, KindAction, KindCustomTypes}

// scalarsAfter is the count of a world that has become another by changes of
// some objects, or by another reading of what they are made of.
func (w World) scalarsAfter(next World, keys []Key) scalarUse {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return !slices.Contains(scalarKinds[:], k.Kind) })
	if len(keys) == 0 {
		return w.scalars
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.stored(), b.stored()) })
	use := make(scalarUse, len(w.scalars))
	maps.Copy(use, w.scalars)
	for _, key := range slices.Compact(keys) {
		if e := w.Catalog.Get(key); e != nil {
			use.add(w, e.Object(), -1)
		}
		if e := next.Catalog.Get(key); e != nil {
			use.add(next, e.Object(), 1)
		}
	}
	return use
}

// madeOf returns the keys of the objects whose scalars come of these parts of the
// database. The catalog is asked, not what objects need: a computed field that
// does not stand for want of its table is not known to need its function.
func (w World) madeOf(parts database.Found) (keys []Key) {
	for table := range parts.Tables {
		keys = append(keys, tableKey(table))
	}
	if len(parts.Functions) == 0 {
		return keys
	}
	for function := range objects[Function](w.Catalog.OfKind(KindFunction)) {
		if _, ok := parts.Functions[function.Name]; ok {
			keys = append(keys, function.Key())
		}
	}
	for field := range objects[ComputedField](w.Catalog.OfKind(KindComputedField)) {
		if _, ok := parts.Functions[field.Definition.Function]; ok {
			keys = append(keys, field.Key())
		}
	}
	return keys
}

func (u scalarUse) add(w World, o Object, n int) {
	names := w.scalarsOf(o)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if u[name] += n; u[name] == 0 {
			delete(u, name)
		}
	}
}

// scalarsOf lists the scalars that an object brings; one may come twice.
func (w World) scalarsOf(o Object) (names []string) {
	switch o := o.(type) {
	case Table:
		if t := w.Shape.Table(o.Name); t != nil {
			names = columnScalars(t)
		}
	case Function:
		names = functionScalars(w.Shape.Functions(o.Name))
	case ComputedField:
		names = functionScalars(w.Shape.Functions(o.Definition.Function))
	case Action:
		names = o.Mentions()
	case CustomTypes:
		names = o.Mentions()
	}
	return names
}

func columnScalars(t *database.Table) []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		if names[i] = c.Type; c.Array {
			names[i] = "_" + c.Type
		}
	}
	return names
}

func functionScalars(overloads []*database.Function) (names []string) {
	for _, f := range overloads {
		if f.ReturnsTable == nil {
			names = append(names, f.ReturnType)
		}
		for _, a := range f.Arguments {
			if a.Row == nil {
				names = append(names, a.Type)
			}
		}
	}
	return names
}

// Mentions lists the types that the action takes, and those of its result: the
// scalars of the database are among them.
func (a Action) Mentions() (names []string) {
	for _, argument := range a.Definition.Arguments {
		names = append(names, TypeOf(argument.Type).Name())
	}
	if a.Asynchronous() {
		names = append(names, "uuid", "timestamptz", "json")
	}
	return names
}

// Mentions lists the types of all fields: the scalars of the database are among
// them.
func (c CustomTypes) Mentions() (names []string) {
	for _, o := range c.InputObjects {
		for _, f := range o.Fields {
			names = append(names, TypeOf(f.Type).Name())
		}
	}
	for _, o := range c.Objects {
		for _, f := range o.Fields {
			names = append(names, TypeOf(f.Type).Name())
		}
	}
	return names
}
