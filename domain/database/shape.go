// Package database holds the shape of the user's database as a value: tables
// and views with their columns and keys, functions, and types.
//
// A [Shape] says what was found when it was read, in one transaction. It is
// never a promise about now. A later reading of some tables is laid over an
// earlier one with [Shape.With]; neither is changed by that.
//
// Package database reads nothing itself.
package database

import (
	"maps"
	"slices"

	"annals/domain"
)

// Shape is what was found in the database. The zero Shape is empty. A Shape
// is immutable and safe to share.
type Shape struct {
	tables    overlay[*Table]
	functions overlay[[]*Function]
	types     map[string]struct{}
}

// Found is one reading: for each name that was asked for, what is there.
type Found struct {
	// Tables maps each table asked for to what was found, nil for nothing.
	Tables map[domain.QualifiedName]*Table
	// Functions maps each function name asked for to its overloads.
	Functions map[domain.QualifiedName][]*Function
	// Types holds the names of all scalar types, as pg_type.typname has
	// them. Nil leaves what was known.
	Types map[string]struct{}
}

// With returns the shape with a reading laid over it.
func (s Shape) With(found Found) Shape {
	s.tables = s.tables.with(found.Tables)
	s.functions = s.functions.with(found.Functions)
	if found.Types != nil {
		s.types = found.Types
	}
	return s
}

// Table returns a table, view, materialised view or foreign table; nil when
// there was none, or nobody looked.
func (s Shape) Table(name domain.QualifiedName) *Table { return s.tables.get(name) }

// KnowsTable reports whether somebody looked for the table.
func (s Shape) KnowsTable(name domain.QualifiedName) bool { return s.tables.has(name) }

// Functions returns the functions of a name, one for each overload.
func (s Shape) Functions(name domain.QualifiedName) []*Function { return s.functions.get(name) }

// KnowsFunction reports whether somebody looked for the function.
func (s Shape) KnowsFunction(name domain.QualifiedName) bool { return s.functions.has(name) }

// HasType reports whether a scalar type of that name exists.
func (s Shape) HasType(name string) bool {
	_, ok := s.types[name]
	return ok
}

// SameTypes reports whether a reading of the types found what was known.
func (s Shape) SameTypes(types map[string]struct{}) bool { return maps.Equal(s.types, types) }

// TableKind is what kind of relation a table is.
type TableKind string

// The kinds of relations that can be tracked.
const (
	OrdinaryTable    TableKind = "table"
	PartitionedTable TableKind = "partitioned table"
	View             TableKind = "view"
	MaterializedView TableKind = "materialized view"
	ForeignTable     TableKind = "foreign table"
)

// Table is the shape of one relation.
type Table struct {
	Name    domain.QualifiedName
	OID     uint32
	Kind    TableKind
	Comment string
	// Columns in the order of their numbers, dropped ones left out.
	Columns []Column
	// PrimaryKey is nil when there is none.
	PrimaryKey *Constraint
	// UniqueKeys are the unique constraints, the primary key not among them.
	UniqueKeys []Constraint
	// ForeignKeys are the keys of this table that point to others.
	ForeignKeys []ForeignKey
	// Referrers are the foreign keys that point here, those of the table itself
	// among them.
	Referrers []Referrer
	// Insertable, Updatable and Deletable tell what may be done to a view,
	// INSTEAD OF triggers included, or to a foreign table; a table allows all
	// three, a materialised view none.
	Insertable, Updatable, Deletable bool
	// Enum holds the rows of a table tracked as an enum, in order; nil when
	// they were not read, or the table has not the form of an enum: a primary
	// key of one column, and at most one column more.
	Enum []EnumValue
	// EnumRead is true when somebody asked for the rows.
	EnumRead bool
}

// Column returns a column by name, nil when there is none.
func (t *Table) Column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// Column is one column of a table.
type Column struct {
	Name string
	// Number is attnum: it stays when the column is renamed.
	Number int16
	// Type is the type's name as pg_type.typname has it, such as int4 or
	// text; of an array, the element's name with Array true. A domain is
	// given as its base type, with Domain set.
	Type  string
	Array bool
	// SQLType is the column's own type as it is written in SQL, such as integer
	// or character varying(40)[]; types that are not PostgreSQL's own stand
	// with their schema: public.mood.
	SQLType string
	// TypeKind is pg_type.typtype of Type: b, c, e, m, p, r.
	TypeKind byte
	// Domain is the name of the outermost domain, empty for none. Of an array
	// of a domain it is the element's.
	Domain string
	// Nullable is false also when the domain does not allow null.
	Nullable bool
	// HasDefault is true too for identity columns, generated columns, and a
	// domain with a default.
	HasDefault bool
	// Generated columns cannot be written.
	Generated bool
	// AlwaysIdentity is true for GENERATED ALWAYS AS IDENTITY: an insert that
	// gives a value fails, unless it says OVERRIDING SYSTEM VALUE.
	AlwaysIdentity bool
	Comment        string
}

// Constraint is a primary key or unique constraint.
type Constraint struct {
	Name    string
	Columns []string
}

// ForeignKey is a foreign key constraint. Columns[i] refers to To's
// RefColumns[i].
type ForeignKey struct {
	Name       string
	Columns    []string
	To         domain.QualifiedName
	RefColumns []string
}

// Referrer is a foreign key seen from the table it points to.
type Referrer struct {
	From domain.QualifiedName
	Key  ForeignKey
}

// EnumValue is one row of an enum table.
type EnumValue struct {
	Value   string
	Comment string
}

// Volatility is how a function may behave.
type Volatility string

// The volatilities of functions.
const (
	Volatile  Volatility = "VOLATILE"
	Stable    Volatility = "STABLE"
	Immutable Volatility = "IMMUTABLE"
)

// Function is the shape of one function; aggregates, window functions and
// procedures are no functions here.
type Function struct {
	Name       domain.QualifiedName
	OID        uint32
	Volatility Volatility
	Comment    string
	// Arguments are the IN and INOUT arguments, in order.
	Arguments []Argument
	// HasOutArguments is true when there are OUT, INOUT or TABLE arguments.
	HasOutArguments bool
	Variadic        bool
	// Defaults is how many of the last arguments have a default.
	Defaults int
	// ReturnsSet is true for SETOF.
	ReturnsSet bool
	// ReturnType is the type returned, as typname, and its namespace;
	// ReturnsTable names the relation when it is a row type.
	ReturnType   string
	ReturnSchema string
	ReturnKind   byte
	ReturnsTable *domain.QualifiedName
}

// Argument is one input argument of a function. Its name may be empty. Row
// names the relation when the type is a relation's row type.
type Argument struct {
	Name string
	// Type is the type's name as pg_type.typname has it: _int4 for an array.
	Type string
	// SQLType is the type as it is written in SQL, as for a [Column].
	SQLType  string
	TypeKind byte
	Row      *domain.QualifiedName
}
