package metadata

import (
	"encoding/json"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var rowOperations = []operation{
	{"select", 1, decodeSelect},
	{"insert", 1, decodeInsert},
	{"update", 1, decodeUpdate},
	{"delete", 1, decodeDelete},
	{"count", 1, decodeCount},
}

// RowCall is a command about rows as somebody asks it, under the permissions
// of a world.
type RowCall struct {
	World   World
	Session domain.Session
	// BackendOnly lets the role use permissions that are kept for backends.
	BackendOnly bool
	// Trace is what the call is a part of.
	Trace   domain.Trace
	Command RowCommand
}

// RowCommand reads or changes rows, not metadata: it is for every role, under
// its permissions, and the history knows nothing of it.
type RowCommand interface {
	Command
	// OnlyReads reports whether the command changes no row.
	OnlyReads() bool
}

// RowColumn is one item of what is selected of a row: a column, all of them
// (*), with what belongs to the row too (*.*), or rows of a relationship.
type RowColumn struct {
	Name  string
	Alias string
	Rows  *RowSelection
}

// RowSelection is which rows, in which order, and what of them.
type RowSelection struct {
	Columns []RowColumn
	// Where is a boolean expression; nil is every row.
	Where         json.RawMessage
	OrderBy       []RowOrder
	Limit, Offset *int
}

// RowOrder is one item of an order: a column, which relationships may lead to.
type RowOrder struct {
	Path       []string
	Descending bool
	NullsFirst bool
}

// IsRowOperation reports whether an operation is one on rows.
func IsRowOperation(name string) bool {
	return slices.ContainsFunc(rowOperations, func(o operation) bool { return o.name == name })
}

// RowObject is the values of some columns, in the order they came.
type RowObject []RowValue

// RowValue is the value of a column.
type RowValue struct {
	Column string
	Value  json.RawMessage
}

// RowConflict says what an insert does about a row that is there already.
type RowConflict struct {
	Update bool
	// Constraint names a constraint, Columns tells it by its columns; both may
	// be empty.
	Constraint string
	Columns    []string
}

// RowChange is one way in which an update changes columns: Member is the
// argument, Operator the word of what it does.
type RowChange struct {
	Member, Operator string
	Values           RowObject
}

// Select reads rows.
type Select struct {
	Table domain.QualifiedName
	RowSelection
}

// Insert adds rows.
type Insert struct {
	Table     domain.QualifiedName
	Objects   []RowObject
	Conflict  *RowConflict
	Returning []RowColumn
}

// Update changes rows.
type Update struct {
	Table     domain.QualifiedName
	Where     json.RawMessage
	Changes   []RowChange
	Returning []RowColumn
}

// Delete removes rows.
type Delete struct {
	Table     domain.QualifiedName
	Where     json.RawMessage
	Returning []RowColumn
}

// Count counts rows, or how many different values some columns have.
type Count struct {
	Table    domain.QualifiedName
	Where    json.RawMessage
	Distinct []string
}

// Operation implements [Command].
func (Select) Operation() string { return "select" }

// Operation implements [Command].
func (Insert) Operation() string { return "insert" }

// Operation implements [Command].
func (Update) Operation() string { return "update" }

// Operation implements [Command].
func (Delete) Operation() string { return "delete" }

// Operation implements [Command].
func (Count) Operation() string { return "count" }

// OnlyReads implements [RowCommand].
func (Select) OnlyReads() bool { return true }

// OnlyReads implements [RowCommand].
func (Insert) OnlyReads() bool { return false }

// OnlyReads implements [RowCommand].
func (Update) OnlyReads() bool { return false }

// OnlyReads implements [RowCommand].
func (Delete) OnlyReads() bool { return false }

// OnlyReads implements [RowCommand].
func (Count) OnlyReads() bool { return true }

func decodeSelect(n wire.Node) Command {
	return Select{n.Field("table").Name(), decodeRowSelection(n)}
}

func decodeInsert(n wire.Node) Command {
	return Insert{
		Table:     n.Field("table").Name(),
		Objects:   wire.List(n.Field("objects"), decodeRowObject),
		Conflict:  wire.Pointer(n.Optional("on_conflict"), decodeRowConflict),
		Returning: wire.List(n.Optional("returning"), decodeRowColumn),
	}
}

func decodeUpdate(n wire.Node) Command {
	return Update{
		Table:     n.Field("table").Name(),
		Where:     decodeExpression(n.Field("where")),
		Changes:   decodeRowChanges(n),
		Returning: wire.List(n.Optional("returning"), decodeRowColumn),
	}
}

func decodeDelete(n wire.Node) Command {
	return Delete{
		Table:     n.Field("table").Name(),
		Where:     decodeExpression(n.Field("where")),
		Returning: wire.List(n.Optional("returning"), decodeRowColumn),
	}
}

func decodeCount(n wire.Node) Command {
	return Count{
		Table:    n.Field("table").Name(),
		Where:    decodeExpression(n.Optional("where")),
		Distinct: wire.List(n.Optional("distinct"), wire.Node.Column),
	}
}

func decodeRowSelection(n wire.Node) RowSelection {
	return RowSelection{
		Columns: wire.List(n.Field("columns"), decodeRowColumn),
		Where:   decodeExpression(n.Optional("where")),
		OrderBy: oneOrMany(n.Optional("order_by"), decodeRowOrder),
		Limit:   wire.Pointer(n.Optional("limit"), wire.Node.Int),
		Offset:  wire.Pointer(n.Optional("offset"), wire.Node.Int),
	}
}

func decodeRowColumn(n wire.Node) RowColumn {
	if n.Kind() == wire.String {
		return RowColumn{Name: n.Column()}
	}
	selection := decodeRowSelection(n)
	return RowColumn{n.Field("name").Column(), n.Optional("alias").String(), &selection}
}

func decodeRowOrder(n wire.Node) RowOrder {
	if n.Kind() == wire.String {
		text := n.Text()
		name, descending := strings.CutPrefix(text, "-")
		return RowOrder{strings.Split(strings.TrimPrefix(name, "+"), "."), descending, descending}
	}
	order := RowOrder{Path: strings.Split(n.Field("column").Text(), ".")}
	if t := n.Optional("type"); t.Present() {
		order.Descending = t.OneOf("asc", "desc") == "desc"
	}
	order.NullsFirst = order.Descending
	if nulls := n.Optional("nulls"); nulls.Present() {
		order.NullsFirst = nulls.OneOf("first", "last") == "first"
	}
	return order
}

func decodeRowObject(n wire.Node) RowObject {
	object := RowObject{}
	for name, member := range n.Members() {
		object = append(object, RowValue{name, member.Raw()})
	}
	return object
}

func decodeRowConflict(n wire.Node) RowConflict {
	conflict := RowConflict{Update: n.Field("action").OneOf("ignore", "update") == "update"}
	conflict.Constraint = n.Optional("constraint").String()
	if on := n.Optional("constraint_on"); on.Kind() == wire.String {
		conflict.Columns = []string{on.Column()}
	} else {
		conflict.Columns = wire.List(on, wire.Node.Column)
	}
	return conflict
}

// decodeRowChanges reads the members of an update that change columns.
func decodeRowChanges(n wire.Node) []RowChange {
	var changes []RowChange
	set := n.Optional("$set")
	member := "$set"
	if !set.Given() {
		set, member = n.Optional("values"), "values"
	}
	for _, c := range []struct {
		node             wire.Node
		member, operator string
	}{{set, member, "set"}, {n.Optional("$inc"), "$inc", "inc"}, {n.Optional("$mul"), "$mul", "mul"}} {
		if c.node.Given() {
			changes = append(changes, RowChange{c.member, c.operator, decodeRowObject(c.node)})
		}
	}
	if defaults := n.Optional("$default"); defaults.Given() {
		var values RowObject
		for _, name := range wire.List(defaults, wire.Node.Column) {
			values = append(values, RowValue{Column: name})
		}
		changes = append(changes, RowChange{"$default", "default", values})
	}
	return changes
}

// VisitOperators checks the operators on a column of a request's boolean
// expression, as those of a permission are, and visits them.
func VisitOperators[C any](w World, n wire.Node, t *database.Table, c *database.Column, v ExpressionVisitor[C]) (all C) {
	expressionResolver{&resolver{world: w}}.comparisons(n, t, c, c.Type)
	if n.Failed() {
		return all
	}
	return v.All(expressionWalk[C]{w, v}.comparisons(n, t, c, ""))
}

// ComparedColumns lists the other columns that the operators on a column name.
func ComparedColumns(n wire.Node) []string {
	var names []string
	if n.Kind() != wire.Object {
		return nil
	}
	for name, operand := range n.Members() {
		word, _ := operatorWord(name)
		switch operators[word].operand {
		case operandColumn:
			names = append(names, operand.String())
		case operandCast:
			for _, inner := range operand.Members() {
				names = append(names, ComparedColumns(inner)...)
			}
		}
	}
	return names
}

// CheckValue makes sure that a column can take a value of a request.
func CheckValue(n wire.Node, c *database.Column) { checkLiteral(n, c, c.Type) }
