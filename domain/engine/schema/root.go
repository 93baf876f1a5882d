package schema

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tidwall/btree"

	"annals/domain"
	"annals/domain/metadata"
)

// The names of the root types.
const (
	QueryRoot        = "query_root"
	MutationRoot     = "mutation_root"
	SubscriptionRoot = "subscription_root"
)

// RootKind is what a root field does.
type RootKind byte

// The kinds of root fields: of tables, and of functions.
const (
	Select RootKind = iota
	SelectByPK
	SelectAggregate
	Insert
	InsertOne
	Update
	UpdateByPK
	Delete
	DeleteByPK
	Call
	CallAggregate
)

// Root is a root field that a role has. Function is set for the last two
// kinds; Table is then the table whose rows it returns.
type Root struct {
	Kind     RootKind
	Name     string
	Table    *Table
	Function *Function
}

// reference is a root field before a role was asked about it.
type reference struct {
	kind   RootKind
	object domain.QualifiedName
}

// roots is the index of the root fields of all tables and functions of a
// catalog, standing or not. A name can have more than one only where roles
// never see both.
type roots struct {
	queries, mutations *btree.Map[string, []reference]
}

func newRoots() roots {
	return roots{&btree.Map[string, []reference]{}, &btree.Map[string, []reference]{}}
}

func indexRoots(c metadata.Catalog) roots {
	ix := newRoots()
	for e := range c.OfKind(metadata.KindTable) {
		ix.apply(e.Object(), added)
	}
	for e := range c.OfKind(metadata.KindFunction) {
		ix.apply(e.Object(), added)
	}
	return ix
}

// edit adds a reference to those of a name, or takes it away.
type edit func([]reference, reference) []reference

func added(list []reference, r reference) []reference {
	if slices.Contains(list, r) {
		return list
	}
	return append(slices.Clip(list), r)
}

func removed(list []reference, r reference) []reference {
	return slices.DeleteFunc(slices.Clone(list), func(o reference) bool { return o == r })
}

func (ix roots) copy() roots { return roots{ix.queries.Copy(), ix.mutations.Copy()} }

// replace takes out what an object was and puts in what it is; either may be
// nil.
func (ix roots) replace(before, after *metadata.Entry) {
	if before != nil {
		ix.apply(before.Object(), removed)
	}
	if after != nil {
		ix.apply(after.Object(), added)
	}
}

func (ix roots) apply(o metadata.Object, do edit) {
	set := func(m *btree.Map[string, []reference], name string, r reference) {
		list, _ := m.Get(name)
		if list = do(list, r); len(list) > 0 {
			m.Set(name, list)
		} else {
			m.Delete(name)
		}
	}
	switch o := o.(type) {
	case metadata.Table:
		ix.table(o, set)
	case metadata.Function:
		ix.function(o, set)
	}
}

type setReference func(*btree.Map[string, []reference], string, reference)

func (ix roots) table(t metadata.Table, set setReference) {
	name, own := tableName(t), t.Configuration.RootFields
	field := func(in *btree.Map[string, []reference], kind RootKind, custom, standard string) {
		set(in, cmp.Or(custom, standard), reference{kind, t.Name})
	}
	field(ix.queries, Select, own.Select, name)
	field(ix.queries, SelectByPK, own.SelectByPK, name+"_by_pk")
	field(ix.queries, SelectAggregate, own.SelectAggregate, name+AggregateSuffix)
	field(ix.mutations, Insert, own.Insert, "insert_"+name)
	field(ix.mutations, InsertOne, own.InsertOne, "insert_"+name+"_one")
	field(ix.mutations, Update, own.Update, "update_"+name)
	field(ix.mutations, UpdateByPK, own.UpdateByPK, "update_"+name+"_by_pk")
	field(ix.mutations, Delete, own.Delete, "delete_"+name)
	field(ix.mutations, DeleteByPK, own.DeleteByPK, "delete_"+name+"_by_pk")
}

func (ix roots) function(f metadata.Function, set setReference) {
	name := GraphQLName(f.Name)
	if f.ChangesRows() {
		set(ix.mutations, name, reference{Call, f.Name})
		return
	}
	set(ix.queries, name, reference{Call, f.Name})
	set(ix.queries, name+AggregateSuffix, reference{CallAggregate, f.Name})
}

// Query returns a root field of queries and subscriptions.
func (r *Role) Query(name string) (Root, bool) {
	references, _ := r.schema.roots().queries.Get(name)
	return r.first(name, references)
}

// Mutation returns a root field of mutations.
func (r *Role) Mutation(name string) (Root, bool) {
	references, _ := r.schema.roots().mutations.Get(name)
	return r.first(name, references)
}

// Queries yields all root fields of queries and subscriptions, by name.
func (r *Role) Queries() iter.Seq[Root] { return r.all(r.schema.roots().queries) }

// Mutations yields all root fields of mutations, by name.
func (r *Role) Mutations() iter.Seq[Root] { return r.all(r.schema.roots().mutations) }

func (r *Role) all(index *btree.Map[string, []reference]) iter.Seq[Root] {
	return func(yield func(Root) bool) {
		index.Scan(func(name string, references []reference) bool {
			root, ok := r.first(name, references)
			return !ok || yield(root)
		})
	}
}

// HasMutations reports whether the role has any mutation. It may have to look
// at all tables, so it is asked only when a mutation was not found.
func (r *Role) HasMutations() bool { return r.mutations() }

func (r *Role) findMutation() bool {
	for range r.Mutations() {
		return true
	}
	return false
}

func (r *Role) first(name string, references []reference) (Root, bool) {
	if !domain.IsGraphQLName(name) {
		return Root{}, false
	}
	for _, ref := range references {
		if root, ok := r.root(name, ref); ok {
			return root, true
		}
	}
	return Root{}, false
}

func (r *Role) root(name string, ref reference) (Root, bool) {
	root := Root{Kind: ref.kind, Name: name}
	table := ref.object
	if ref.kind == Call || ref.kind == CallAggregate {
		if root.Function = r.trackedFunction(ref.object); root.Function == nil {
			return Root{}, false
		}
		table = *root.Function.Shape.ReturnsTable
	}
	root.Table = r.Table(table)
	return root, root.Table != nil && root.visible()
}

// visible reports whether the role has the field.
func (f Root) visible() bool {
	t := f.Table
	switch f.Kind {
	case Select, Call:
		return t.Select != nil
	case SelectByPK:
		return t.PrimaryKey() != nil
	case SelectAggregate, CallAggregate:
		return t.Select != nil && t.Select.Aggregations
	case Insert:
		return t.Insert != nil
	case InsertOne:
		return t.Insert != nil && t.Select != nil
	case Update:
		return t.mayUpdate()
	case UpdateByPK:
		return t.mayUpdate() && t.PrimaryKey() != nil
	case Delete:
		return t.Delete != nil
	}
	return t.Delete != nil && t.PrimaryKey() != nil
}

// mayUpdate reports whether there is a column that the role may change.
func (t *Table) mayUpdate() bool {
	return t.Update != nil && len(t.UpdatableColumns()) > 0
}
