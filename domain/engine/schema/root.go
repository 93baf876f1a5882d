package schema

import (
	"iter"

	"annals/domain"
	"annals/domain/engine/stitch"
	"annals/domain/metadata"
)

// The names of the root types.
const (
	QueryRoot        = "query_root"
	MutationRoot     = "mutation_root"
	SubscriptionRoot = "subscription_root"
)

// RootKind is what a root field does.
type RootKind = metadata.RootKind

// The kinds of root fields: of tables, and of functions.
const (
	Select          = metadata.RootSelect
	SelectByPK      = metadata.RootSelectByPK
	SelectAggregate = metadata.RootSelectAggregate
	Insert          = metadata.RootInsert
	InsertOne       = metadata.RootInsertOne
	Update          = metadata.RootUpdate
	UpdateByPK      = metadata.RootUpdateByPK
	Delete          = metadata.RootDelete
	DeleteByPK      = metadata.RootDeleteByPK
	Call            = metadata.RootCall
	CallAggregate   = metadata.RootCallAggregate
	ChangingCall    = metadata.RootChangingCall
	RemoteQuery     = metadata.RootRemoteQuery
	RemoteMutation  = metadata.RootRemoteMutation
)

// Root is a root field that a role has. Function is set for the last two
// kinds; Table is then the table whose rows it returns.
type Root struct {
	Kind     RootKind
	Name     string
	Table    *Table
	Function *Function
	// Action is set, and the others are not, for the kinds of root fields of actions.
	Action *Action
	// Remote is set, and the others are not, for one of a remote schema.
	Remote *stitch.Field
}

// Query returns a root field of queries and subscriptions.
func (r *Role) Query(name string) (Root, bool) {
	fields := r.world.Roots.Query(name)
	r.sources.query(name, fields)
	return r.first(name, fields)
}

// Mutation returns a root field of mutations.
func (r *Role) Mutation(name string) (Root, bool) {
	fields := r.world.Roots.Mutation(name)
	r.sources.mutation(name, fields)
	return r.first(name, fields)
}

// Queries yields all root fields of queries and subscriptions, by name.
func (r *Role) Queries() iter.Seq[Root] { return r.all(r.world.Roots.Queries()) }

// Mutations yields all root fields of mutations, by name.
func (r *Role) Mutations() iter.Seq[Root] { return r.all(r.world.Roots.Mutations()) }

func (r *Role) all(index iter.Seq2[string, []metadata.RootField]) iter.Seq[Root] {
	r.sources.everything()
	return func(yield func(Root) bool) {
		for name, fields := range index {
			if root, ok := r.first(name, fields); ok && !yield(root) {
				return
			}
		}
	}
}

// HasMutations reports whether the role has any mutation. It may have to look
// at all tables, so it is asked only when a mutation was not found.
func (r *Role) HasMutations() bool {
	for range r.Mutations() {
		return true
	}
	return false
}

func (r *Role) first(name string, fields []metadata.RootField) (Root, bool) {
	if !domain.IsGraphQLName(name) {
		return Root{}, false
	}
	for _, f := range fields {
		if root, ok := r.root(name, f); ok {
			return root, true
		}
	}
	return Root{}, false
}

func (r *Role) root(name string, f metadata.RootField) (Root, bool) {
	root := Root{Kind: f.Kind, Name: name}
	table := f.Object
	switch f.Kind {
	case CallAction, StartAction, ActionResult:
		root.Action = r.action(f.Object.Name)
		return root, root.Action != nil
	case RemoteQuery, RemoteMutation:
		root.Remote = r.remote(f.Object.Name, f.Kind, name)
		return root, root.Remote != nil
	case Call, CallAggregate, ChangingCall:
		if root.Function = r.trackedFunction(f); root.Function == nil {
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
	case Select, Call, ChangingCall:
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
