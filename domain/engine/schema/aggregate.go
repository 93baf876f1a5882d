package schema

import "slices"

// Count is the aggregate function that every table has.
const Count = "count"

// AggregateFunctions lists the aggregate functions of columns.
func AggregateFunctions() []string {
	return []string{"sum", "avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "max", "min"}
}

// Aggregated lists the columns that the role may aggregate by a function; none
// when there is no such function.
func (t *Table) Aggregated(function string) []*Column {
	if !slices.Contains(AggregateFunctions(), function) {
		return nil
	}
	able := Leaf.Numeric
	if function == "max" || function == "min" {
		able = Leaf.Comparable
	}
	return slices.DeleteFunc(t.ReadableColumns(), func(c *Column) bool { return !able(c.Type) })
}

// AggregateType returns the type of an aggregate of a column.
func AggregateType(function string, c *Column) Leaf {
	switch function {
	case "sum", "max", "min":
		return c.Type
	}
	return Leaf{Name: Float}
}

// Directions lists the values of the enum order_by. Nulls count as greater
// than all else unless it is said where they go.
func Directions() []string {
	return []string{"asc", "asc_nulls_first", "asc_nulls_last", "desc", "desc_nulls_first", "desc_nulls_last"}
}
