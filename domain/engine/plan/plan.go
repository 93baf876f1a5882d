// Package plan holds a valid operation as a tree of steps, and builds it.
//
// A plan is data: it says which rows of which tables are wanted, under which
// conditions, and in which order their values are answered. Permissions are
// part of the conditions; nothing further down adds any. It holds no value
// that differs from request to request: what comes from the request's
// variables or from the session stands in it by name, as a [Value], so that a
// plan can be kept and used again.
//
// [Build] makes a plan of an operation's text. Package translate makes
// statements of a plan; package execution runs them and writes the answer.
package plan

import (
	"encoding/json"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/join"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations, by the words of GraphQL.
const (
	Query        Kind = "query"
	Mutation     Kind = "mutation"
	Subscription Kind = "subscription"
)

// Operation is a valid operation of a role.
type Operation struct {
	Kind Kind
	Name string
	// Fields are the root fields, in the order of the answer.
	Fields []Root
	// Session lists the session variables that the steps need, in their
	// canonical spelling, sorted.
	Session []string
	// Variables lists the operation's variables that the steps refer to.
	Variables []string

	// See [Operation.Fits].
	declared map[string]*variable
	size     extent
	shapedBy map[string]shaping
	absent   map[string]bool
	checks   []variableCheck
	reading  *builder // an empty one: see reader
}

// Root is one root field.
type Root struct {
	// Alias is the key in the answer, Field the field's own name, which paths
	// of errors have.
	Alias string
	Field string
	Step  Step
}

// Step is what answers a root field: *Rows, *Aggregate, *Insert, *Update,
// *Delete, *Action, *StartAction, *ActionResult, *Remote or Constant.
type Step interface{ step() }

// Constant is an answer that is known without looking: __typename, or
// introspection.
type Constant json.RawMessage

func (Constant) step()   {}
func (*Rows) step()      {}
func (*Aggregate) step() {}
func (*Insert) step()    {}
func (*Update) step()    {}
func (*Delete) step()    {}

// Source is where rows come from: a table, or a function that returns rows of
// that table.
type Source struct {
	Table *database.Table
	Call  *Call // nil for the table itself
}

// Call is a call of a function of the user's database.
type Call struct {
	Function domain.QualifiedName
	// Arguments are given by position; once one has a name, all after it have.
	Arguments []Argument
}

// Argument is one argument of a call: Value, or the row of the table around
// it, or the session as a JSON object.
type Argument struct {
	Name    string // empty: by position
	Value   *Value
	Row     bool
	Session bool
	// Type and SQLType are the argument's, as in [database.Argument].
	Type, SQLType string
}

// Rows is a selection of rows.
type Rows struct {
	Source Source
	// Where holds what the role may see and what was asked for.
	Where Condition
	Order []Order
	// Distinct lists columns: of rows that agree in them, the first is kept.
	Distinct []string
	Limit    *Value // of the request
	MaxRows  *int   // of the role's permission; the smaller one counts
	Offset   *Value
	// Single is set where at most one row can come: it is answered as an object
	// or null, not as a list.
	Single    bool
	Selection []Field
}

// Field is one value of a row, under its key in the answer. Exactly one of the
// rest is set.
type Field struct {
	Alias    string
	Column   *Column
	Typename string
	Rows     *Related          // rows that belong to this one
	Groups   *RelatedAggregate // aggregates of rows that belong to this one
	Scalar   *Scalar           // a computed field
	Computed *Rows             // a computed field that returns rows; its Source.Call has the row as an argument
	Join     *Join             // a field of a remote schema
}

// Column is a column to answer.
type Column struct {
	*database.Column
	// Path selects a part of a JSON value: names and indexes as text.
	Path []string
}

// Scalar is a computed field's value. Type and SQLType are the function's result.
type Scalar struct {
	Call    Call
	Type    string
	SQLType string
	Path    []string
}

// Join is a field of a remote schema, asked with values of the row. Keys are
// the columns whose values the call takes, in the order of its keys. Where one
// of them is null, or one of Present, nothing is asked: the field is null.
type Join struct {
	Call    *join.Call
	Keys    []*database.Column
	Present []*database.Column
}

// Pair joins a column of the row around to a column of the related row.
type Pair struct{ Here, There string }

// Related is rows joined to the row around.
type Related struct {
	On   []Pair
	Rows *Rows
}

// RelatedAggregate is aggregates over rows joined to the row around.
type RelatedAggregate struct {
	On        []Pair
	Aggregate *Aggregate
}

// Aggregate is aggregates over a selection of rows, and the rows themselves.
// Rows.Selection is unused; Nodes have theirs. Rows.MaxRows bounds nodes only.
type Aggregate struct {
	Rows   Rows
	Fields []AggregateField
}

// AggregateField is one key in the answer of an aggregate field: exactly one of
// the rest is set.
type AggregateField struct {
	Alias    string
	Typename string
	Values   []AggregateValue // of `aggregate`
	Nodes    []Field          // of `nodes`
	IsNodes  bool
}

// AggregateValue is one key under `aggregate`.
type AggregateValue struct {
	Alias    string
	Typename string
	// Function is count, sum, avg, stddev, stddev_samp, stddev_pop, variance,
	// var_samp, var_pop, max or min.
	Function string
	// Count's columns; Distinct belongs to count.
	Columns  []string
	Distinct *Value
	// Of is the columns of the other functions, each under its key.
	Of []AggregateColumn
}

// AggregateColumn is one column of an aggregate function.
type AggregateColumn struct {
	Alias    string
	Typename string
	Column   *database.Column
}

// Order is one item of an order. Exactly one of Column and Aggregate is set.
// Via leads from the row to the one that has the value, through object
// relationships and, for an aggregate, an array relationship as the last.
type Order struct {
	Via       []Hop
	Column    string
	Aggregate *OrderAggregate
	// Descending and NullsFirst are as in SQL.
	Descending, NullsFirst bool
}

// OrderAggregate is an aggregate to order by; Column is empty for count.
type OrderAggregate struct{ Function, Column string }

// Hop is one relationship on the way of an order. Where is what the role may
// see of the related table.
type Hop struct {
	Table *database.Table
	On    []Pair
	Where Condition
}

// Condition says of a row whether it is wanted: All, Any, Not, Compare,
// CompareColumns, IsNull, Exists or Never. Nil is always true.
type Condition interface{ condition() }

// All is true when all of its conditions are; Any when one of them is.
type (
	All []Condition
	Any []Condition
	Not struct{ Of Condition }
)

// Compare compares a column with a value. Operator is the word without its
// sign: eq, neq, gt, lt, gte, lte, in, nin, like, nlike, ilike, nilike, similar,
// nsimilar, contains, contained_in, has_key, has_keys_any, has_keys_all,
// st_contains, ...; see NullSafe for eq and neq in permissions.
type Compare struct {
	Column   *database.Column
	CastTo   string // compare the column cast to this type; empty: as it is
	Operator string
	Value    Value
	// NullSafe makes eq true for two nulls too, and neq their opposite, as
	// permissions have it.
	NullSafe bool
	// More are the further members that a geometric operator takes, by name.
	More map[string]Value
}

// CompareColumns compares two columns of the same row; Operator as in Compare.
type CompareColumns struct {
	Left, Right *database.Column
	Operator    string
}

// IsNull compares a column with null: a true value asks for null.
type IsNull struct {
	Column *database.Column
	Value  Value
}

// Exists is true when a related row is wanted. On is empty for a table that is
// not joined to the row.
type Exists struct {
	Table *database.Table
	On    []Pair
	Where Condition
}

// Never is true of no row.
type Never struct{}

func (All) condition()            {}
func (Any) condition()            {}
func (Not) condition()            {}
func (Compare) condition()        {}
func (CompareColumns) condition() {}
func (IsNull) condition()         {}
func (Exists) condition()         {}
func (Never) condition()          {}

// Value is a value that a statement gets as a parameter. Exactly one of the
// sources is set. It is JSON that was checked against the GraphQL type: of a
// list operator (in, has_keys_any ...) a list; of an array column, a string
// that PostgreSQL reads, such as {"a","b"}; of a geometry, a string or an
// object of GeoJSON.
type Value struct {
	// Literal is a JSON value of the text itself, or of a permission.
	Literal json.RawMessage
	// Variable names a variable of the request whose value is used whole.
	Variable string
	// Default is used when the variable is not given; without one it is null
	// then. A null limit or offset is none.
	Default json.RawMessage
	// Session names a session variable, in its canonical spelling.
	Session string
}

// Insert is an insert, with what belongs to its rows.
type Insert struct {
	Table   *database.Table
	Objects []Object
	// Check is the role's condition on each new row; nil is none.
	Check    Condition
	Conflict *Conflict
	// One answers the row itself, not a mutation response.
	One    bool
	Answer MutationAnswer
}

// Object is one row to insert. A column that is not named gets its default.
// One that is named keeps its value, also where a related row determines it:
// that is a preset of the permission.
type Object struct {
	Columns []Assignment
	// Before are rows that this one refers to, inserted first; After rows that
	// refer to this one.
	Before, After []NestedInsert
	// Path is the object's place in the request, for errors.
	Path string
}

// Assignment gives a column a value.
type Assignment struct {
	Column *database.Column
	Value  Value
}

// NestedInsert inserts related rows: On joins this object's row to them.
type NestedInsert struct {
	Relationship string
	On           []Pair
	Insert       *Insert
}

// Conflict says what to do instead of an insert that would break a constraint.
type Conflict struct {
	Constraint string
	// Update lists columns that take the proposed value; none means nothing is done.
	Update []string
	// Set are the presets of the role's update permission.
	Set   []Assignment
	Where Condition
	Check Condition
}

// Update changes rows. Without any column to Set, it changes and answers none.
type Update struct {
	Table *database.Table
	Where Condition
	Set   []UpdateColumn
	Check Condition
	// ByKey answers the row itself, or null.
	ByKey  bool
	Answer MutationAnswer
}

// UpdateColumn changes a column. Operator is set, inc, mul, default, append,
// prepend, delete_key, delete_elem or delete_at_path; default has no Value.
type UpdateColumn struct {
	Column   *database.Column
	Operator string
	Value    Value
}

// Delete removes rows.
type Delete struct {
	Table  *database.Table
	Where  Condition
	ByKey  bool
	Answer MutationAnswer
}

// MutationAnswer is what a mutation answers of its rows: a mutation response,
// or for one row its Row selection.
type MutationAnswer struct {
	Fields []MutationField // of a mutation response
	Row    []Field         // of the row itself
}

// MutationField is one key of a mutation response: affected_rows, returning or
// __typename.
type MutationField struct {
	Alias        string
	Typename     string
	AffectedRows bool
	Returning    []Field
	IsReturning  bool
}
