package metadata

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"annals/domain"
	"annals/domain/database"
)

// RootKind is what a root field of GraphQL does.
type RootKind byte

// The kinds of root fields: of tables, of functions, of actions, and of remote
// schemas.
const (
	RootSelect RootKind = iota
	RootSelectByPK
	RootSelectAggregate
	RootInsert
	RootInsertOne
	RootUpdate
	RootUpdateByPK
	RootDelete
	RootDeleteByPK
	RootCall
	RootCallAggregate
	// RootChangingCall calls a function that changes rows.
	RootChangingCall
	RootAction
	RootStartAction
	RootActionResult
	RootRemoteQuery
	RootRemoteMutation
)

// RootField is what stands behind the name of a root field: a kind, and the
// table or function, or the action or remote schema, which have no schema.
type RootField struct {
	Kind   RootKind
	Object domain.QualifiedName
}

// RootNames is the index of the names that the catalog's objects take in
// GraphQL: those of root fields, and those that the names of types are made
// of. It holds objects whether they stand or not, and is patched when the
// catalog changes. It is immutable and safe to share; the zero value is empty.
type RootNames struct{ index *rootIndex }

type rootIndex struct {
	mu                 sync.Mutex // guards what copying changes in its source
	queries, mutations *btree.Map[string, []RootField]
	// types holds, by the name of a row's type, the tables that have it.
	types *btree.Map[string, []RootField]
}

func indexRootNames(c Catalog) RootNames {
	ix := &rootIndex{
		queries: &btree.Map[string, []RootField]{}, mutations: &btree.Map[string, []RootField]{},
		types: &btree.Map[string, []RootField]{},
	}
	for _, kind := range []Kind{KindTable, KindFunction, KindAction, KindRemoteSchema} {
		for e := range c.OfKind(kind) {
			ix.apply(e.Object(), withRootField)
		}
	}
	return RootNames{ix}
}

// evolve returns the index after changes that led from one catalog to another.
func (f RootNames) evolve(from, to Catalog, changed []Key) RootNames {
	if !slices.ContainsFunc(changed, Key.hasRootFields) {
		return f
	}
	next := f.index.copy()
	for _, key := range changed {
		if !key.hasRootFields() {
			continue
		}
		if e := from.Get(key); e != nil {
			next.apply(e.Object(), withoutRootField)
		}
		if e := to.Get(key); e != nil {
			next.apply(e.Object(), withRootField)
		}
	}
	return RootNames{next}
}

func (k Key) hasRootFields() bool {
	return k.Kind == KindTable || k.Kind == KindFunction || k.Kind == KindAction || k.Kind == KindRemoteSchema
}

func (ix *rootIndex) copy() *rootIndex {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return &rootIndex{queries: ix.queries.Copy(), mutations: ix.mutations.Copy(), types: ix.types.Copy()}
}

// editRootFields adds one to those of a name, or takes it away.
type editRootFields func([]RootField, RootField) []RootField

func withRootField(list []RootField, f RootField) []RootField {
	if slices.Contains(list, f) {
		return list
	}
	return append(slices.Clip(list), f)
}

func withoutRootField(list []RootField, f RootField) []RootField {
	return slices.DeleteFunc(slices.Clone(list), func(o RootField) bool { return o == f })
}

func (ix *rootIndex) apply(o Object, do editRootFields) {
	set := func(m *btree.Map[string, []RootField], name string, f RootField) {
		list, _ := m.Get(name)
		if list = do(list, f); len(list) > 0 {
			m.Set(name, list)
		} else {
			m.Delete(name)
		}
	}
	for name, f := range rootFieldsOf(o) {
		if f.changesRows {
			set(ix.mutations, name, f.RootField)
		} else {
			set(ix.queries, name, f.RootField)
		}
	}
	if t, ok := o.(Table); ok {
		set(ix.types, t.GraphQLName(), RootField{Object: t.Name})
	}
}

// Query returns what has a name among the root fields of queries. It can be
// more than one where not all of them can be seen.
func (f RootNames) Query(name string) []RootField { return f.index.get(name, queriesOf) }

// Mutation returns what has a name among the root fields of mutations.
func (f RootNames) Mutation(name string) []RootField { return f.index.get(name, mutationsOf) }

// Queries yields all root fields of queries, by name.
func (f RootNames) Queries() iter.Seq2[string, []RootField] { return f.index.all(queriesOf) }

// Mutations yields all root fields of mutations, by name.
func (f RootNames) Mutations() iter.Seq2[string, []RootField] { return f.index.all(mutationsOf) }

// Tables returns the tables whose rows have a type of that name.
func (f RootNames) Tables(typeName string) []RootField { return f.index.get(typeName, typesOf) }

func queriesOf(ix *rootIndex) *btree.Map[string, []RootField]   { return ix.queries }
func mutationsOf(ix *rootIndex) *btree.Map[string, []RootField] { return ix.mutations }
func typesOf(ix *rootIndex) *btree.Map[string, []RootField]     { return ix.types }

func (ix *rootIndex) get(name string, of func(*rootIndex) *btree.Map[string, []RootField]) []RootField {
	if ix == nil {
		return nil
	}
	list, _ := of(ix).Get(name)
	return list
}

func (ix *rootIndex) all(of func(*rootIndex) *btree.Map[string, []RootField]) iter.Seq2[string, []RootField] {
	return func(yield func(string, []RootField) bool) {
		if ix != nil {
			of(ix).Scan(yield)
		}
	}
}

// GraphQLName returns the name that a table or function has by default.
func GraphQLName(name domain.QualifiedName) string {
	if name.Schema == domain.PublicSchema {
		return name.Name
	}
	return name.Schema + "_" + name.Name
}

// GraphQLName returns the table's name in GraphQL, of which those of its types
// and root fields are made. It may be no valid one.
func (t Table) GraphQLName() string {
	if custom := t.Configuration.CustomName; custom != nil {
		return *custom
	}
	return GraphQLName(t.Name)
}

// rootFieldOf is a root field with the root that it is on.
type rootFieldOf struct {
	RootField
	changesRows bool
}

// AggregateSuffix follows the name of a table, function or array relationship
// in the name of the field that aggregates its rows.
const AggregateSuffix = "_aggregate"

// rootFieldsOf yields the root fields that an object has, if the database
// allows all of them.
func rootFieldsOf(o Object) iter.Seq2[string, rootFieldOf] {
	return func(yield func(string, rootFieldOf) bool) {
		switch o := o.(type) {
		case Table:
			o.rootFields(yield)
		case Function:
			o.rootFields(yield)
		case Action:
			o.rootFields(yield)
		case RemoteSchema:
			o.rootFields(yield)
		}
	}
}

func (t Table) rootFields(yield func(string, rootFieldOf) bool) {
	name, own := t.GraphQLName(), t.Configuration.RootFields
	for _, f := range [...]struct {
		kind             RootKind
		custom, standard string
	}{
		{RootSelect, own.Select, name},
		{RootSelectByPK, own.SelectByPK, name + "_by_pk"},
		{RootSelectAggregate, own.SelectAggregate, name + AggregateSuffix},
		{RootInsert, own.Insert, "insert_" + name},
		{RootInsertOne, own.InsertOne, "insert_" + name + "_one"},
		{RootUpdate, own.Update, "update_" + name},
		{RootUpdateByPK, own.UpdateByPK, "update_" + name + "_by_pk"},
		{RootDelete, own.Delete, "delete_" + name},
		{RootDeleteByPK, own.DeleteByPK, "delete_" + name + "_by_pk"},
	} {
		if !yield(cmp.Or(f.custom, f.standard), rootFieldOf{RootField{f.kind, t.Name}, f.kind >= RootInsert}) {
			return
		}
	}
}

// rootFields are in both roots for a function that does not say where it is to
// be: the database says whether it changes rows.
func (f Function) rootFields(yield func(string, rootFieldOf) bool) {
	name := GraphQLName(f.Name)
	if f.Configuration.ExposedAs != exposedAsQuery &&
		!yield(name, rootFieldOf{RootField{RootChangingCall, f.Name}, true}) || f.Configuration.ExposedAs == exposedAsMutation {
		return
	}
	_ = yield(name, rootFieldOf{RootField{RootCall, f.Name}, false}) &&
		yield(name+AggregateSuffix, rootFieldOf{RootField{RootCallAggregate, f.Name}, false})
}

// refuseClashes refuses changes after which two objects want one name among
// the root fields or the types of GraphQL. It looks at the names of what
// changed, and at nothing else: a clash that was there before stays out of it.
func (w World) refuseClashes(changes []Change) error {
	if err := w.refuseRemoteClashes(changes); err != nil {
		return err
	}
	if err := w.refuseTypeClashes(changes); err != nil {
		return err
	}
	var fields, types []string
	for _, c := range changes {
		e := w.Catalog.Get(c.Key())
		if e == nil || !e.Key.hasRootFields() {
			continue
		}
		fields = append(fields, w.clashingFields(e.Object())...)
		if t, ok := e.Object().(Table); ok {
			types = append(types, w.clashingTypes(t)...)
		}
	}
	switch {
	case len(fields) > 0:
		slices.Sort(fields)
		return clash("found duplicate fields in selection set: %s", strings.Join(slices.Compact(fields), ", "))
	case len(types) > 0:
		return clash("found conflicting definitions for %q when collecting types from the schema", slices.Min(types))
	}
	return nil
}

// clash is a fault of the server in v1.3, so it is one here.
func clash(format, names string) error {
	e := domain.Refuse(domain.Unexpected, format, names)
	e.Fault = true
	return e
}

func (w World) clashingFields(o Object) []string {
	var names []string
	for name, f := range rootFieldsOf(o) {
		others := w.Roots.Query(name)
		if f.changesRows {
			others = w.Roots.Mutation(name)
		}
		if len(others) < 2 || !domain.IsGraphQLName(name) || !w.mayShow(f.RootField) {
			continue
		}
		if slices.ContainsFunc(others, func(g RootField) bool { return g != f.RootField && w.mayShow(g) }) {
			names = append(names, name)
		}
	}
	return names
}

// mayShow reports whether the database allows a root field. Of a table that is
// not there everything is taken, for it may come back.
func (w World) mayShow(f RootField) bool {
	switch f.Kind {
	case RootCall, RootCallAggregate, RootChangingCall:
		function, shape, ok := w.TrackedFunction(f.Object)
		return !ok || function.ChangesRows(shape) == (f.Kind == RootChangingCall)
	case RootAction, RootStartAction, RootActionResult, RootRemoteQuery, RootRemoteMutation:
		return true
	}
	t := w.Shape.Table(f.Object)
	return t == nil || f.Kind.possible(t)
}

func (k RootKind) possible(t *database.Table) bool {
	switch k {
	case RootSelectByPK:
		return t.PrimaryKey != nil
	case RootInsert, RootInsertOne:
		return t.Insertable
	case RootUpdate:
		return t.Updatable
	case RootUpdateByPK:
		return t.Updatable && t.PrimaryKey != nil
	case RootDelete:
		return t.Deletable
	case RootDeleteByPK:
		return t.Deletable && t.PrimaryKey != nil
	}
	return true
}

// typeSuffixes are what follows a table's name in the names of the types that
// every table has.
var typeSuffixes = [...]string{
	"_bool_exp", "_order_by", "_select_column", AggregateSuffix, "_aggregate_fields", "_max_fields", "_min_fields",
}

// clashingTypes lists the names of a table's types that another table's have.
// Two names clash when they are equal, or when one is the other and a suffix.
func (w World) clashingTypes(t Table) []string {
	var names []string
	name := t.GraphQLName()
	if !domain.IsGraphQLName(name) {
		return nil
	}
	if len(w.Roots.index.get(name, typesOf)) > 1 {
		names = append(names, name)
	}
	for _, suffix := range typeSuffixes {
		if len(w.Roots.index.get(name+suffix, typesOf)) > 0 {
			names = append(names, name+suffix)
		}
		if base, ok := strings.CutSuffix(name, suffix); ok && len(w.Roots.index.get(base, typesOf)) > 0 {
			names = append(names, name)
		}
	}
	return names
}
