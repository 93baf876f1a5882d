// Package sql holds SQL as nodes, and prints them.
//
// Keywords, identifiers, types and values are nodes of different kinds, so
// that a text from outside can only become what it is meant to be:
//
//	Raw("SELECT ")          SQL as this program's source has it: only a constant can be given
//	Name(`a"b`)             "a""b"
//	Type("character(3)[]")  a type, printed only if it reads as one
//	Value{Of: x, Type: t}   $1::t, and x in the list of parameters
//	Integer(10)             10
//
// [Print] is the one printer. It gives the text and the parameters in the
// order of their numbers; what a parameter refers to is the caller's, so that
// a text can be kept and given other values with each run.
package sql

// Node is a piece of SQL.
type Node interface{ print(*printer) }

// constant can be made of an untyped constant only, by those outside of this
// package: no variable text comes into a statement as it is.
type constant string

type raw string

// Raw is SQL as it stands in the source of this program.
func Raw(text constant) Node { return raw(text) }

// Name is an identifier.
type Name string

// Qualified is the name of something in a namespace.
func Qualified(schema, name string) Node { return Seq(Name(schema), raw("."), Name(name)) }

// Value is a parameter: Of tells the caller what to bind. A Type that is not
// empty is what the value is cast to.
type Value struct {
	Of   any
	Type Type
}

type substituted struct {
	of      Node
	instead func(Value) Node
}

// Instead is a node that has something else wherever it has a value. The values
// are asked for in the order in which they are printed, each time they are.
func Instead(of Node, instead func(Value) Node) Node { return substituted{of, instead} }

// Integer is a number that belongs to the statement's form: the planner sees it.
type Integer int64

type sequence []Node

// Seq is nodes one after the other. Nil nodes are left out.
func Seq(nodes ...Node) Node { return sequence(nodes) }

// joined is nodes with a separator in between.
type joined struct {
	separator constant
	nodes     []Node
}

// List is nodes with commas in between.
func List(nodes ...Node) Node { return joined{", ", nodes} }

// Paren puts parentheses around a node.
func Paren(n Node) Node { return Seq(raw("("), n, raw(")")) }

// Column is a column of a table that has an alias.
func Column(alias Name, name string) Node { return Seq(alias, raw("."), Name(name)) }

// As gives a node an alias.
func As(n Node, alias Name) Node { return Seq(n, raw(" AS "), alias) }

// Cast casts an expression.
func Cast(n Node, to Type) Node { return Seq(raw("("), n, raw(")::"), to) }

// And is true when all conditions are: with none, it is.
func And(conditions ...Node) Node { return logical(" AND ", "TRUE", conditions) }

// Or is true when one of the conditions is: with none, it is not.
func Or(conditions ...Node) Node { return logical(" OR ", "FALSE", conditions) }

func logical(operator, empty constant, conditions []Node) Node {
	switch len(conditions) {
	case 0:
		return raw(empty)
	case 1:
		return conditions[0]
	}
	return Paren(joined{operator, conditions})
}

// Not is true when the condition is false.
func Not(n Node) Node { return Seq(raw("NOT ("), n, raw(")")) }

// Binary is an operator between two operands, in parentheses.
func Binary(left Node, operator constant, right Node) Node {
	return Seq(raw("("), left, raw(" "), raw(operator), raw(" "), right, raw(")"))
}

// Call is a function of PostgreSQL, or of an extension of it, called by a name that
// the program's source has.
func Call(function constant, arguments ...Node) Node {
	return Seq(raw(function), raw("("), List(arguments...), raw(")"))
}

// Select is a SELECT statement, or a part of one in parentheses. Empty parts
// are left out; without columns it selects nothing but the row's existence.
type Select struct {
	Distinct   bool
	DistinctOn []Node
	Columns    []Node
	From       Node
	Where      []Node
	GroupBy    []Node
	OrderBy    []Node
	Limit      Node
	Offset     Node
}

func (s Select) print(p *printer) {
	p.raw("SELECT ")
	switch {
	case s.Distinct:
		p.raw("DISTINCT ")
	case len(s.DistinctOn) > 0:
		p.print(raw("DISTINCT ON ("), List(s.DistinctOn...), raw(") "))
	}
	if len(s.Columns) == 0 {
		p.raw("1")
	}
	p.print(List(s.Columns...))
	p.clause(" FROM ", s.From)
	p.list(" WHERE ", " AND ", s.Where)
	p.list(" GROUP BY ", ", ", s.GroupBy)
	p.list(" ORDER BY ", ", ", s.OrderBy)
	p.clause(" LIMIT ", s.Limit)
	p.clause(" OFFSET ", s.Offset)
}
