// Package translate makes SQL of the steps of a plan.
//
// A step of nested rows becomes a small tree of statements, one for each
// level, that do not wait for one another: a level's statement holds the
// selection of the level around it as a subquery of that one's keys,
//
//	SELECT k.k1, t2.title FROM (SELECT t1.id AS k1 FROM artist AS t1 ... LIMIT $1) AS k2
//	JOIN album AS t2 ON t2.artist_id = k2.k1 WHERE ... ORDER BY ...
//
// so that all of them can be sent at once. Rows come flat, as text, and each
// carries the key of the row that it belongs to; [Level] says which columns
// those are, and how the columns become JSON. Nothing here builds JSON of rows.
//
// What belongs to one row at most, by a unique key, is joined to the level's
// own statement instead ([Object]). Rows limited for each parent are selected in a
// LATERAL subquery; all others in one join for all parents, which the planner
// may run either way.
//
// Where no order is asked for, rows that are joined to others come in the order
// of their table, whichever way the join is made; a root field's rows alone come as
// PostgreSQL finds them.
//
// A statement is made once and bound for each request: [Statement.Bind].
package translate

import (
	"strconv"

	"annals/domain/engine/join"
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// Options is what a service decides about its answers.
type Options struct {
	// Stringify answers bigint, numeric and double precision as strings.
	Stringify bool
	// Multiplexed makes statements that answer many requests at once, whose
	// values differ: see [Statement.BindMany].
	Multiplexed bool
}

// Step is the statements of one step, and how their rows become its answer.
// Exactly one of Level, Group and Attached is set.
type Step struct {
	Statements []Statement
	Level      *Level
	Group      *Group
	Attached   *Attached
}

// Level is rows of one statement.
type Level struct {
	// Statement is the index of the statement that gives the rows.
	Statement int
	// Single is set where the answer is a row or null; the first row counts.
	Single bool
	// Key lists the columns that hold the key of the row around.
	Key    []int
	Fields []Field
}

// Field is one key of a JSON object, made of a row. One of Column (with its
// Encoding), Constant, Object, Level, Group and Join tells its value.
type Field struct {
	// Key is the key with its quotes and colon: "name":
	Key      string
	Column   int
	Encoding Encoding
	Constant string
	Object   *Object
	Level    *Level
	Group    *Group
	Join     *Join
	// On lists the columns that hold this row's key, for Level and Group.
	On []int
}

// Join is a field of a remote schema. Keys are the columns that hold the keys
// of its call; it is null where one of them is, or one of Present.
type Join struct {
	Call    *join.Call
	Keys    []Key
	Present []Key
}

// Key is a column that holds a join key.
type Key struct {
	Column   int
	Encoding Encoding
}

// Object is an object made of the columns of the same row.
type Object struct {
	// Present is a column that is null when there is no object; below 0, there
	// always is one.
	Present int
	Fields  []Field
}

// Group is aggregates: one row for each row around. Where that row has none,
// everything is null, and counts are 0. Nodes stand in it as Levels, with the
// key of the row around.
type Group struct {
	// Statement is below 0 when there is nothing to compute.
	Statement int
	Key       []int
	Fields    []Field
}

// Encoding is how the text of a column becomes JSON.
type Encoding uint8

// The encodings. A null is null in all of them but EncodeCount.
const (
	EncodeJSON    Encoding = iota // it is JSON
	EncodeNumber                  // a number, or NaN and Infinity, which become strings
	EncodeBoolean                 // t or f
	EncodeString                  // any text
	EncodeCount                   // a number, 0 for null
)

// translator makes the statements of one step.
type translator struct {
	options    Options
	statements []Statement
	aliases    int
}

// Rows translates a selection of rows.
func Rows(r *plan.Rows, o Options) Step {
	t := &translator{options: o}
	level := t.level(t.scope(r, nil), r.Selection)
	return Step{Statements: t.statements, Level: level}
}

// Aggregate translates aggregates over a selection of rows.
func Aggregate(a *plan.Aggregate, o Options) Step {
	t := &translator{options: o}
	group := t.group(a, nil)
	return Step{Statements: t.statements, Group: group}
}

// alias returns a name that the step's statements have only once.
func (t *translator) alias(letter string) sql.Name {
	t.aliases++
	return sql.Name(letter + strconv.Itoa(t.aliases))
}

// reserve keeps a place for a statement, so that statements stand in the order of
// their levels.
func (t *translator) reserve() int {
	t.statements = append(t.statements, Statement{})
	return len(t.statements) - 1
}
