package schema

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
)

// Table is what a role sees of a table. A permission is nil when the role has
// none.
type Table struct {
	*Definition
	Select, Insert, Update, Delete *Permission
	role                           *Role
}

// Permission is what a role may do with a table's rows.
type Permission struct {
	// Filter and Check are boolean expressions; nil is no condition.
	Filter, Check json.RawMessage
	// Presets are the values of columns that the role does not choose.
	Presets map[string]json.RawMessage
	// Limit bounds the rows of a selection.
	Limit        *int
	Aggregations bool

	all      bool // columns and computed fields, all of them
	columns  map[string]bool
	computed map[string]bool
}

// unbounded is the permission of who may do everything.
func unbounded() *Permission { return &Permission{all: true, Aggregations: true} }

// hasColumn reports whether the permission is for a column. A preset column is
// not chosen, so it is not among them.
func (p *Permission) hasColumn(name string) bool {
	if _, preset := p.Presets[name]; preset {
		return false
	}
	return p.all || p.columns == nil || p.columns[name]
}

func newTable(r *Role, d *Definition) *Table {
	t := &Table{Definition: d, role: r}
	t.Select = t.permission(metadata.MaySelect, true)
	t.Insert = t.permission(metadata.MayInsert, d.Shape.Insertable)
	t.Update = t.permission(metadata.MayUpdate, d.Shape.Updatable)
	t.Delete = t.permission(metadata.MayDelete, d.Shape.Deletable)
	return t
}

func (t *Table) permission(action string, able bool) *Permission {
	if !able {
		return nil
	}
	if t.role.Name == domain.AdminRole {
		return unbounded()
	}
	p, ok := t.role.World().PermissionOf(t.Table.Name, t.role.Name, action)
	if !ok || p.BackendOnly != nil && *p.BackendOnly && !t.role.backendOnly {
		return nil
	}
	permission := &Permission{
		Filter: p.Filter, Check: p.Check, Presets: p.Set, Limit: p.Limit, Aggregations: p.AllowAggregations,
		computed: setOf(p.ComputedFields),
	}
	if p.Columns != nil && !p.Columns.All {
		permission.columns = setOf(p.Columns.Names)
	}
	return permission
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// Readable returns a column that the role may read, by its field's name; nil
// when there is none.
func (t *Table) Readable(field string) *Column { return t.columnOf(t.Select, field) }

// ReadableColumns lists the columns that the role may read.
func (t *Table) ReadableColumns() []*Column { return t.columnsOf(t.Select) }

// Insertable returns a column that the role may give a value to in an insert.
func (t *Table) Insertable(field string) *Column { return t.columnOf(t.Insert, field) }

// InsertableColumns lists the columns that an insert may give a value to.
func (t *Table) InsertableColumns() []*Column { return t.columnsOf(t.Insert) }

// Updatable returns a column that the role may change.
func (t *Table) Updatable(field string) *Column { return t.columnOf(t.Update, field) }

// UpdatableColumns lists the columns that the role may change.
func (t *Table) UpdatableColumns() []*Column { return t.columnsOf(t.Update) }

func (t *Table) columnOf(p *Permission, field string) *Column {
	c := t.byField[field]
	if c == nil || p == nil || !p.hasColumn(c.Name) || !t.role.allNames && !c.named() {
		return nil
	}
	return c
}

func (t *Table) columnsOf(p *Permission) []*Column {
	if p == nil {
		return nil
	}
	all := t.Columns
	if t.role.allNames {
		all = t.all
	}
	var columns []*Column
	for _, c := range all {
		if p.hasColumn(c.Name) {
			columns = append(columns, c)
		}
	}
	return columns
}

// PrimaryKey returns the columns of the primary key; nil when there is none,
// or when the role may not read all of them.
func (t *Table) PrimaryKey() []*Column {
	if t.Shape.PrimaryKey == nil || t.Select == nil {
		return nil
	}
	var key []*Column
	for _, name := range t.Shape.PrimaryKey.Columns {
		c := t.Readable(t.Table.FieldOf(name))
		if c == nil {
			return nil
		}
		key = append(key, c)
	}
	return key
}

// Constraints lists the names of the primary key and the unique constraints,
// as far as they can be named.
func (t *Table) Constraints() []string {
	var names []string
	if key := t.Shape.PrimaryKey; key != nil {
		names = append(names, key.Name)
	}
	for _, key := range t.Shape.UniqueKeys {
		names = append(names, key.Name)
	}
	return slices.DeleteFunc(names, func(n string) bool { return !domain.IsGraphQLName(n) })
}

// MayUpsert reports whether an insert may say what to do on a conflict.
func (t *Table) MayUpsert() bool {
	return len(t.UpdatableColumns()) > 0 && len(t.Constraints()) > 0
}

// Relationship leads to rows of another table, which the role may see.
type Relationship struct {
	Name  string
	Array bool
	Table *Table
	// On maps columns to those of the related table.
	On map[string]string
}

// Relationship returns a relationship by name; nil when there is none, or the
// role may not see where it leads.
func (t *Table) Relationship(name string) *Relationship {
	r := t.AnyRelationship(name)
	if r == nil || r.Table.Select == nil {
		return nil
	}
	return r
}

// AnyRelationship returns a relationship, seen by the role or not.
func (t *Table) AnyRelationship(name string) *Relationship {
	if !t.role.allNames && !domain.IsGraphQLName(name) {
		return nil
	}
	r, ok := t.role.World().RelationshipOf(t.Table.Name, name)
	if !ok {
		return nil
	}
	to, on, ok := t.role.World().Join(r)
	if !ok {
		return nil
	}
	table := t.role.Table(to)
	if table == nil {
		return nil
	}
	return &Relationship{Name: r.Name, Array: r.Type == metadata.ArrayRelationship, Table: table, On: on}
}

// Relationships yields the relationships that the role may see, by name.
func (t *Table) Relationships() iter.Seq[*Relationship] {
	return func(yield func(*Relationship) bool) {
		for r := range t.role.World().RelationshipsOf(t.Table.Name) {
			if rel := t.Relationship(r.Name); rel != nil && !yield(rel) {
				return
			}
		}
	}
}

// AggregateSuffix follows the name of a table, function or array relationship
// in the name of the field that aggregates its rows.
const AggregateSuffix = metadata.AggregateSuffix

// AggregatedRelationship returns the array relationship whose rows the field
// aggregates; nil when the role may not.
func (t *Table) AggregatedRelationship(field string) *Relationship {
	name, ok := strings.CutSuffix(field, AggregateSuffix)
	if !ok {
		return nil
	}
	r := t.Relationship(name)
	if r == nil || !r.Array || !r.Table.Select.Aggregations {
		return nil
	}
	return r
}

// ComputedField is a field whose value a function computes from the row.
// Exactly one of Rows and Type is set.
type ComputedField struct {
	Name     string
	Function *Function
	// Rows is the table whose rows the function returns, Type the type of its
	// value.
	Rows *Table
	Type Leaf
}

// ComputedField returns a computed field by name, nil when the role may not
// have it.
func (t *Table) ComputedField(name string) *ComputedField {
	f, shape, ok := t.role.World().ComputedFieldOf(t.Table.Name, name)
	if !ok || t.Select == nil {
		return nil
	}
	function := newFunction(shape, special{session: f.Definition.SessionArgument, row: rowArgument(f, shape)})
	if to := shape.ReturnsTable; to != nil {
		rows := t.role.Table(*to)
		if rows == nil || rows.Select == nil {
			return nil
		}
		return &ComputedField{Name: name, Function: function, Rows: rows}
	}
	leaf := returnLeaf(shape)
	if !(t.Select.all || t.Select.computed[name]) || !domain.IsGraphQLName(leaf.Name) {
		return nil
	}
	return &ComputedField{Name: name, Function: function, Type: leaf}
}

// ComputedFields yields the computed fields that the role may have, by name.
func (t *Table) ComputedFields() iter.Seq[*ComputedField] {
	return func(yield func(*ComputedField) bool) {
		for f := range t.role.World().ComputedFieldsOf(t.Table.Name) {
			if field := t.ComputedField(f.Name); field != nil && !yield(field) {
				return
			}
		}
	}
}

// rowArgument returns the place of the argument that gets the row.
func rowArgument(f metadata.ComputedField, shape *database.Function) int {
	if name := f.Definition.TableArgument; name != nil {
		return slices.IndexFunc(shape.Arguments, func(a database.Argument) bool { return a.Name == *name })
	}
	return 0
}

// returnLeaf is the type of a function's value.
func returnLeaf(f *database.Function) Leaf {
	element, array := strings.CutPrefix(f.ReturnType, "_")
	return scalar(element, array)
}

// sortedPairs yields the columns of a join in order.
func (r *Relationship) sortedPairs() []string { return slices.Sorted(maps.Keys(r.On)) }

// Pairs yields the columns that the relationship joins, each with its
// counterpart, in order.
func (r *Relationship) Pairs() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, here := range r.sortedPairs() {
			if !yield(here, r.On[here]) {
				return
			}
		}
	}
}
