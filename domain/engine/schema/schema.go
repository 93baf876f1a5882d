// Package schema knows what a role sees of the database in GraphQL: the names
// and types of root fields, tables, columns, relationships, functions and
// computed fields.
//
// A [Schema] belongs to one world of the metadata, a [Role] to a schema.
// Nothing is made before it is asked for: a role's [Table] when a field leads
// to it, and then kept. So an operation costs what it touches, however many
// tables there are. Only the index of root fields is made of all of them, once;
// [Schema.Evolve] patches it when the metadata changes. [Role.Introspect] makes
// everything, for who asks for everything, and keeps nothing of it.
//
// What a role may not have is not there. Package schema says what exists;
// package plan reads operations with it, and says in v1.3's words what is
// wrong with them.
package schema

import (
	"sync"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
)

// Schema is what the tracked tables and functions are in GraphQL, to any role.
// It is safe for concurrent use.
type Schema struct {
	world metadata.World
	roots func() roots

	mu          sync.Mutex
	definitions map[domain.QualifiedName]*Definition
	roles       map[roleKey]*Role
}

type roleKey struct {
	name        string
	backendOnly bool
}

// New returns the schema of a world.
func New(w metadata.World) *Schema {
	return with(w, sync.OnceValue(func() roots { return indexRoots(w.Catalog) }))
}

func with(w metadata.World, roots func() roots) *Schema {
	return &Schema{
		world:       w,
		roots:       roots,
		definitions: map[domain.QualifiedName]*Definition{},
		roles:       map[roleKey]*Role{},
	}
}

// Evolve returns the schema of a later world, which differs from the one
// before in the objects under the keys, and in whatever of the database's
// shape. It costs what changed.
func (s *Schema) Evolve(w metadata.World, changed []metadata.Key) *Schema {
	s.mu.Lock()
	ix := s.roots().copy()
	s.mu.Unlock()
	for _, key := range changed {
		ix.replace(s.world.Catalog.Get(key), w.Catalog.Get(key))
	}
	return with(w, func() roots { return ix })
}

// For returns a role's part of a world of its own. Who asks for more than one
// role keeps a [Schema].
func For(w metadata.World, role string, backendOnly bool) *Role {
	return New(w).Role(role, backendOnly)
}

// Role returns what a role sees. A request with the backend-only privilege
// also sees the insert permissions that are kept for it.
func (s *Schema) Role(name string, backendOnly bool) *Role {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := roleKey{name, backendOnly}
	r, ok := s.roles[key]
	if !ok {
		r = &Role{Name: name, schema: s, backendOnly: backendOnly, tables: map[domain.QualifiedName]*Table{}}
		r.mutations = sync.OnceValue(r.findMutation)
		s.roles[key] = r
	}
	return r
}

// definition returns a table as all roles have it; nil when it is not tracked,
// cannot stand, or has no name in GraphQL.
func (s *Schema) definition(name domain.QualifiedName) *Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.definitions[name]
	if !ok {
		d = newDefinition(s.world, name)
		s.definitions[name] = d
	}
	return d
}

// Role is what a role sees. It is safe for concurrent use.
type Role struct {
	Name        string
	schema      *Schema
	backendOnly bool
	mutations   func() bool

	mu     sync.Mutex
	tables map[domain.QualifiedName]*Table
}

// World returns the metadata that the role's schema is made of.
func (r *Role) World() metadata.World { return r.schema.world }

// Table returns what the role may do with a table, nil when the table is not
// in GraphQL. The role may see nothing of a table that is returned.
func (r *Role) Table(name domain.QualifiedName) *Table {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tables[name]
	if !ok {
		if d := r.schema.definition(name); d != nil {
			t = newTable(r, d)
		}
		r.tables[name] = t
	}
	return t
}

// GraphQLName returns the name that a table or function has by default.
func GraphQLName(name domain.QualifiedName) string {
	if name.Schema == domain.PublicSchema {
		return name.Name
	}
	return name.Schema + "_" + name.Name
}

// tableName returns a table's name in GraphQL, which may be no valid one.
func tableName(t metadata.Table) string {
	if custom := t.Configuration.CustomName; custom != nil {
		return *custom
	}
	return GraphQLName(t.Name)
}

// Definition is a table as all roles have it.
type Definition struct {
	// Name is the table's name in GraphQL, of which those of its types are made.
	Name  string
	Table metadata.Table
	Shape *database.Table
	// Columns are those that have a name and a type in GraphQL.
	Columns []*Column
	byField map[string]*Column
}

func newDefinition(w metadata.World, name domain.QualifiedName) *Definition {
	table, shape, ok := w.TrackedTable(name)
	if !ok || !domain.IsGraphQLName(tableName(table)) {
		return nil
	}
	d := &Definition{Name: tableName(table), Table: table, Shape: shape, byField: map[string]*Column{}}
	for i := range shape.Columns {
		c := newColumn(w, table, shape, &shape.Columns[i])
		if c == nil {
			continue
		}
		d.Columns = append(d.Columns, c)
		d.byField[c.Field] = c
	}
	return d
}

// Column is a column with its name and type in GraphQL.
type Column struct {
	*database.Column
	Field string
	Type  Leaf
}

func newColumn(w metadata.World, t metadata.Table, shape *database.Table, c *database.Column) *Column {
	column := &Column{Column: c, Field: t.FieldOf(c.Name), Type: scalar(c.Type, c.Array)}
	if enum, values, ok := w.EnumTableOf(shape, c.Name); ok {
		column.Type = enumLeaf(enum, values)
	}
	if !domain.IsGraphQLName(column.Field) || !domain.IsGraphQLName(column.Type.Name) {
		return nil
	}
	return column
}
