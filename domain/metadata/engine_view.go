package metadata

import (
	"encoding/json"
	"iter"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

// What follows is the catalog as the GraphQL engine asks for it. An object
// that cannot stand is not there.

// standingObject returns an object of a known type that stands.
func standingObject[T Object](w World, key Key) (object T, ok bool) {
	if !w.Standing.Stands(key) {
		return object, false
	}
	return lookup[T](w.Catalog, key)
}

// standingObjects yields those objects that stand.
func standingObjects[T Object](w World, entries iter.Seq[*Entry]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for o := range objects[T](entries) {
			if w.Standing.Stands(o.Key()) && !yield(o) {
				return
			}
		}
	}
}

// TrackedTable returns a tracked table and its shape. The system's tables can
// be named too; nobody but the admin has a permission on them.
func (w World) TrackedTable(name domain.QualifiedName) (Table, *database.Table, bool) {
	if isSystemTable(name) {
		shape := w.Shape.Table(name)
		return Table{Name: name}, shape, shape != nil
	}
	t, ok := standingObject[Table](w, tableKey(name))
	if !ok {
		return Table{}, nil, false
	}
	shape := w.Shape.Table(name)
	return t, shape, shape != nil
}

// TrackedTables yields all tracked tables, by name.
func (w World) TrackedTables() iter.Seq[Table] {
	return standingObjects[Table](w, w.Catalog.OfKind(KindTable))
}

// TrackedFunction returns a tracked function and its shape.
func (w World) TrackedFunction(name domain.QualifiedName) (Function, *database.Function, bool) {
	f, ok := standingObject[Function](w, functionKey(name))
	if !ok {
		return Function{}, nil, false
	}
	shape, ok := w.functionShape(name)
	return f, shape, ok
}

// TrackedFunctions yields all tracked functions, by name.
func (w World) TrackedFunctions() iter.Seq[Function] {
	return standingObjects[Function](w, w.Catalog.OfKind(KindFunction))
}

// UsersOfFunction yields what is made of the functions that have a name in
// GraphQL: tracked functions and computed fields.
func (w World) UsersOfFunction(name string) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for _, function := range functionsNamed(name) {
			for key := range w.Standing.dependentsOf(needDatabaseFunction(function)) {
				if e := w.Catalog.Get(key); e != nil && !yield(e.Object()) {
					return
				}
			}
		}
	}
}

// functionsNamed lists the functions that a name in GraphQL may be of: each
// underscore may stand between a schema and a name. See [GraphQLName].
func functionsNamed(name string) []domain.QualifiedName {
	list := []domain.QualifiedName{{Schema: domain.PublicSchema, Name: name}}
	for i := range len(name) {
		if name[i] == '_' && name[:i] != domain.PublicSchema {
			list = append(list, domain.QualifiedName{Schema: name[:i], Name: name[i+1:]})
		}
	}
	return list
}

func (w World) functionShape(name domain.QualifiedName) (*database.Function, bool) {
	overloads := w.Shape.Functions(name)
	if len(overloads) != 1 {
		return nil, false
	}
	return overloads[0], true
}

// ChangesRows reports whether the function is a field of mutations, not of
// queries.
func (f Function) ChangesRows(shape *database.Function) bool {
	if f.Configuration.ExposedAs == "" {
		return shape.Volatility == database.Volatile
	}
	return f.Configuration.ExposedAs == exposedAsMutation
}

// PermissionOf returns what a role may do with a table's rows, for one of the
// four actions.
func (w World) PermissionOf(table domain.QualifiedName, role, action string) (PermissionDefinition, bool) {
	p, ok := standingObject[Permission](w, permissionKey(table, role, action))
	return p.Definition, ok
}

// RelationshipOf returns a table's relationship.
func (w World) RelationshipOf(table domain.QualifiedName, name string) (Relationship, bool) {
	return standingObject[Relationship](w, relationshipKey(table, name))
}

// RelationshipsOf yields a table's relationships, by name.
func (w World) RelationshipsOf(table domain.QualifiedName) iter.Seq[Relationship] {
	return standingObjects[Relationship](w, w.Catalog.OfTable(KindRelationship, table))
}

// ComputedFieldOf returns a table's computed field and its function.
func (w World) ComputedFieldOf(table domain.QualifiedName, name string) (ComputedField, *database.Function, bool) {
	f, ok := standingObject[ComputedField](w, computedFieldKey(table, name))
	if !ok {
		return ComputedField{}, nil, false
	}
	shape, ok := w.functionShape(f.Definition.Function)
	return f, shape, ok
}

// ComputedFieldsOf yields a table's computed fields, by name.
func (w World) ComputedFieldsOf(table domain.QualifiedName) iter.Seq[ComputedField] {
	return standingObjects[ComputedField](w, w.Catalog.OfTable(KindComputedField, table))
}

// EnumTableOf returns the enum table that a column's foreign key leads to.
func (w World) EnumTableOf(t *database.Table, column string) (Table, *database.Table, bool) {
	for _, key := range keysOn(t, column) {
		enum, shape, ok := w.TrackedTable(key.To)
		if ok && enum.IsEnum && shape.PrimaryKey != nil && key.RefColumns[0] == shape.PrimaryKey.Columns[0] {
			return enum, shape, true
		}
	}
	return Table{}, nil, false
}

// ExpressionVisitor is told what a boolean expression says, member by member.
// C is what a visit makes of an expression.
type ExpressionVisitor[C any] interface {
	// All, Any and Not combine expressions.
	All([]C) C
	Any([]C) C
	Not(C) C
	// Related is about the rows that a relationship leads to, Exists about any
	// rows of a table.
	Related(to *database.Table, columns map[string]string, where C) C
	Exists(table *database.Table, where C) C
	// Compare compares a column, cast to a type unless that is empty, by an
	// operator's word such as eq, with a JSON value.
	Compare(c *database.Column, cast, operator string, operand json.RawMessage) C
	// CompareColumns compares two columns of a row.
	CompareColumns(left, right *database.Column, operator string) C
}

// VisitExpression walks a stored boolean expression about the rows of a table.
// Of a permission that stands, all it names is there; it fails on any other.
func VisitExpression[C any](w World, t *database.Table, raw json.RawMessage, v ExpressionVisitor[C]) (C, error) {
	value, err := wire.Parse(raw)
	if err != nil {
		var zero C
		return zero, err
	}
	return wire.Decode(value, func(n wire.Node) C { return expressionWalk[C]{w, v}.rows(n, t) })
}

type expressionWalk[C any] struct {
	world   World
	visitor ExpressionVisitor[C]
}

func (e expressionWalk[C]) rows(n wire.Node, t *database.Table) C {
	var all []C
	for name, member := range n.Members() {
		switch combiningWord(name) {
		case wordAnd:
			all = append(all, e.visitor.All(e.items(member, t)))
		case wordOr:
			all = append(all, e.visitor.Any(e.items(member, t)))
		case wordNot:
			all = append(all, e.visitor.Not(e.rows(member, t)))
		case wordExists:
			if other, where, ok := e.of(ExistsMembers(member)); ok {
				all = append(all, e.visitor.Exists(other, where))
			}
		default:
			all = append(all, e.field(name, member, t)...)
		}
	}
	return e.visitor.All(all)
}

func (e expressionWalk[C]) items(n wire.Node, t *database.Table) []C {
	return wire.List(n, func(item wire.Node) C { return e.rows(item, t) })
}

// of walks an expression about the rows of another table.
func (e expressionWalk[C]) of(name domain.QualifiedName, n wire.Node) (t *database.Table, where C, ok bool) {
	if n.Failed() {
		return nil, where, false
	}
	_, t, ok = e.world.TrackedTable(name)
	if !ok {
		n.Fail("table %q does not exist", name)
		return nil, where, false
	}
	return t, e.rows(n, t), true
}

func (e expressionWalk[C]) field(name string, n wire.Node, t *database.Table) []C {
	if c := t.Column(name); c != nil {
		return e.comparisons(n, t, c, "")
	}
	rel, ok := e.world.RelationshipOf(t.Name, name)
	if !ok {
		n.Fail("column %q does not exist", name)
		return nil
	}
	to, columns, _ := join(e.world.Shape, rel)
	other, where, ok := e.of(to, n)
	if !ok {
		return nil
	}
	return []C{e.visitor.Related(other, columns, where)}
}

func (e expressionWalk[C]) comparisons(n wire.Node, t *database.Table, c *database.Column, cast string) []C {
	if n.Kind() != wire.Object {
		return []C{e.visitor.Compare(c, cast, "eq", n.Raw())}
	}
	var all []C
	for name, operand := range n.Members() {
		word, _ := operatorWord(name)
		switch operators[word].operand {
		case operandColumn:
			if other := t.Column(operand.String()); other != nil {
				all = append(all, e.visitor.CompareColumns(c, other, word[1:]))
			} else {
				operand.Fail("column %q does not exist", operand.String())
			}
		case operandCast:
			for to, comparisons := range operand.Members() {
				all = append(all, e.comparisons(comparisons, t, c, to)...)
			}
		default:
			all = append(all, e.visitor.Compare(c, cast, word, operand.Raw()))
		}
	}
	return all
}

// AllowedCollections yields the query collections that the allow-list names, by
// name, each with its entry: as long as that is the same, so is the collection.
func (w World) AllowedCollections() iter.Seq2[*Entry, QueryCollection] {
	return func(yield func(*Entry, QueryCollection) bool) {
		for allowed := range standingObjects[AllowedCollection](w, w.Catalog.OfKind(KindAllowedCollection)) {
			key := queryCollectionKey(allowed.Collection)
			q, ok := standingObject[QueryCollection](w, key)
			if ok && !yield(w.Catalog.Get(key), q) {
				return
			}
		}
	}
}

// RemoteTypes returns the types of a remote schema, nil when it cannot stand.
// As long as they are the same, so is the pointer.
func (w World) RemoteTypes(name string) *ast.Schema {
	remote, ok := standingObject[RemoteSchema](w, remoteSchemaKey(name))
	if !ok {
		return nil
	}
	types, err := remote.Schema()
	if err != nil {
		return nil
	}
	return types
}

// RemoteRelationshipOf returns a table's relationship to a remote schema.
func (w World) RemoteRelationshipOf(table domain.QualifiedName, name string) (RemoteRelationship, bool) {
	return standingObject[RemoteRelationship](w, remoteRelationshipKey(table, name))
}

// RemoteRelationshipsOf yields a table's relationships to remote schemas, by name.
func (w World) RemoteRelationshipsOf(table domain.QualifiedName) iter.Seq[RemoteRelationship] {
	return standingObjects[RemoteRelationship](w, w.Catalog.OfTable(KindRemoteRelationship, table))
}

// RemoteSchemas yields the remote schemas, by name.
func (w World) RemoteSchemas() iter.Seq[RemoteSchema] {
	return standingObjects[RemoteSchema](w, w.Catalog.OfKind(KindRemoteSchema))
}
