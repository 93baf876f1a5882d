// Package schema knows what a role sees of the database in GraphQL: the names
// and types of root fields, tables, columns, relationships, functions and
// computed fields.
//
// A [Role] is what a role sees in one world of the metadata. Nothing is made
// before it is asked for: a role's [Table] when a field leads to it. So an
// operation costs what it touches, however many tables there are. A Role notes
// all that it was asked for: its [Sources] tell whether what was made with it
// still holds in a later world. A [Schema] keeps what roles and worlds share.
// [Role.Introspect] makes everything, for who asks for everything, and keeps
// nothing of it.
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

// Schema keeps the definitions of tables for all roles, from one world of the
// metadata to the next. It is safe for concurrent use.
type Schema struct {
	mu          sync.Mutex
	definitions map[domain.QualifiedName]*kept
	tableTypes  []tableType
}

// kept is a definition, nil for a table without one, and what it was made of.
type kept struct {
	definition *Definition
	sources    Sources
}

// New returns a schema that keeps nothing yet.
func New() *Schema {
	return &Schema{definitions: map[domain.QualifiedName]*kept{}, tableTypes: tableTypes()}
}

// For returns a role's part of a world of its own. Who asks for more than one
// role keeps a [Schema].
func For(w metadata.World, role string, backendOnly bool) *Role {
	return New().Role(w, role, backendOnly)
}

// Role returns what a role sees of a world. A request with the backend-only
// privilege also sees the insert permissions that are kept for it. A Role is
// not safe for concurrent use while something is made with it.
func (s *Schema) Role(w metadata.World, name string, backendOnly bool) *Role {
	return &Role{
		Name: name, world: w, schema: s, backendOnly: backendOnly,
		tables: map[domain.QualifiedName]*Table{}, sources: newSources(w),
	}
}

// definition returns a table as all roles have it; nil when it is not tracked
// or cannot stand.
func (s *Schema) definition(w metadata.World, name domain.QualifiedName) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.definitions[name]
	if !ok || !k.sources.Hold(w) {
		k = &kept{sources: newSources(w)}
		k.definition = newDefinition(w, name, &k.sources)
		s.definitions[name] = k
	}
	return k
}

// Role is what a role sees.
type Role struct {
	Name        string
	world       metadata.World
	schema      *Schema
	backendOnly bool
	// allNames is true where names need not be those of GraphQL.
	allNames bool
	tables   map[domain.QualifiedName]*Table
	sources  Sources
}

// WithAllNames returns the role as the metadata API's commands about rows see it:
// with the tables, columns and relationships too that GraphQL has no name for.
func (r *Role) WithAllNames() *Role {
	all := r.schema.Role(r.world, r.Name, r.backendOnly)
	all.allNames = true
	return all
}

// World returns the metadata that the role's schema is made of.
func (r *Role) World() metadata.World { return r.world }

// Sources returns what was asked of the role so far.
func (r *Role) Sources() Sources { return r.sources }

// Table returns what the role may do with a table, nil when the table is not
// in GraphQL. The role may see nothing of a table that is returned.
func (r *Role) Table(name domain.QualifiedName) *Table {
	t, ok := r.tables[name]
	if !ok {
		k := r.schema.definition(r.world, name)
		r.sources.join(k.sources)
		if k.definition != nil && (r.allNames || domain.IsGraphQLName(k.definition.Name)) {
			t = newTable(r, k.definition)
		}
		r.tables[name] = t
	}
	return t
}

// Definition is a table as all roles have it.
type Definition struct {
	// Name is the table's name in GraphQL, of which those of its types are made.
	Name  string
	Table metadata.Table
	Shape *database.Table
	// Columns are those that have a name and a type in GraphQL; all are the
	// others too.
	Columns []*Column
	all     []*Column
	byField map[string]*Column
}

func newDefinition(w metadata.World, name domain.QualifiedName, made *Sources) *Definition {
	made.table(w, name)
	table, shape, ok := w.TrackedTable(name)
	if !ok {
		return nil
	}
	d := &Definition{Name: table.GraphQLName(), Table: table, Shape: shape, byField: map[string]*Column{}}
	for _, key := range shape.ForeignKeys {
		made.table(w, key.To) // which may be an enum of values
	}
	for i := range shape.Columns {
		c := newColumn(w, table, shape, &shape.Columns[i])
		d.all = append(d.all, c)
		if c.named() {
			d.Columns = append(d.Columns, c)
		}
		if c.named() || d.byField[c.Field] == nil {
			d.byField[c.Field] = c
		}
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
	return column
}

// named reports whether the column and its type have names in GraphQL.
func (c *Column) named() bool {
	return domain.IsGraphQLName(c.Field) && domain.IsGraphQLName(c.Type.Name)
}
