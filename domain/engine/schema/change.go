package schema

import "slices"

// Change is one of the ways to change columns: an argument of an update.
type Change struct {
	Argument string
	Operator string
	// Input follows the table's name in the name of the argument's type.
	Input string
	// As is the type of what is given; nil is the column's own. List makes it a
	// list.
	As   *Leaf
	List bool
	// Meaning describes the argument.
	Meaning string
	able    func(Leaf) bool
}

func changes() []Change {
	text, number := Leaf{Name: String}, Leaf{Name: Int}
	all := func(Leaf) bool { return true }
	jsonb := func(l Leaf) bool { return l.is("jsonb") }
	list := []Change{
		{Operator: "set", able: all, Meaning: "sets the columns to the given values"},
		{Operator: "inc", able: Leaf.Numeric, Meaning: "increments the numeric columns by the given values"},
		{Operator: "prepend", able: jsonb, Meaning: "puts the given value before that of the jsonb columns"},
		{Operator: "append", able: jsonb, Meaning: "puts the given value after that of the jsonb columns"},
		{Operator: "delete_key", able: jsonb, As: &text,
			Meaning: "deletes a key with its value, or an element that is the string, from the jsonb columns"},
		{Operator: "delete_elem", able: jsonb, As: &number,
			Meaning: "deletes the array element at an index, from the end if negative, from the jsonb columns"},
		{Operator: "delete_at_path", able: jsonb, As: &text, List: true,
			Meaning: "deletes what lies at a path from the jsonb columns"},
	}
	for i := range list {
		list[i].Argument, list[i].Input = "_"+list[i].Operator, "_"+list[i].Operator+"_input"
	}
	return list
}

// Changes lists the ways that a table's columns offer.
func (t *Table) Changes() []Change {
	return slices.DeleteFunc(changes(), func(c Change) bool { return len(t.Changed(c)) == 0 })
}

// Changed lists the columns that can be changed in a way.
func (t *Table) Changed(by Change) []*Column {
	return slices.DeleteFunc(t.UpdatableColumns(), func(c *Column) bool { return !by.able(c.Type) })
}

// CanChange reports whether a column can be changed in the way.
func (c Change) CanChange(column *Column) bool { return c.able(column.Type) }
