package schema

import (
	"slices"
	"strings"
)

// tableType is a type that tables lead to: what follows the table's name in its
// name, when there is one, and how it is made.
type tableType struct {
	suffix string
	exists func(*Table) bool
	make   func(*lister, *Table) string
}

// tableTypes lists the types of tables.
func tableTypes() []tableType {
	aggregated := func(t *Table) bool { return t.Select != nil && t.Select.Aggregations }
	hasRows := func(t *Table) bool { return t.Select != nil }
	answers := func(t *Table) bool { return t.Select != nil && t.answers() }
	orders := func(t *Table) bool { return t.Select != nil && t.orders() }
	takesRows := func(t *Table) bool { return t.Insert != nil && t.takesRows() }
	isEnum := func(t *Table) bool { return t.Table.IsEnum }
	enum := func(t *Table) Leaf { return enumLeaf(t.Table, t.Shape) }
	nested := func(array bool) func(*lister, *Table) string {
		return func(l *lister, t *Table) string { return l.nestedRows(&Relationship{Array: array, Table: t}) }
	}
	return slices.Concat([]tableType{
		{"", answers, (*lister).row},
		{"_bool_exp", hasRows, (*lister).boolExp},
		{"_order_by", orders, (*lister).orderBy},
		{"_select_column", func(t *Table) bool { return len(t.ReadableColumns()) > 0 }, (*lister).selectColumn},
		{AggregateSuffix, aggregated, (*lister).aggregate},
		{"_aggregate_fields", aggregated, (*lister).aggregateFields},
		{"_aggregate_order_by", aggregated, (*lister).aggregateOrderBy},
		{"_insert_input", takesRows, (*lister).newRow},
		{"_obj_rel_insert_input", takesRows, nested(false)},
		{"_arr_rel_insert_input", takesRows, nested(true)},
		{"_on_conflict", (*Table).MayUpsert, (*lister).onConflict},
		{"_constraint", (*Table).MayUpsert, (*lister).constraint},
		{"_update_column", (*Table).MayUpsert, (*lister).updateColumn},
		{"_pk_columns_input", func(t *Table) bool { return t.mayUpdate() && t.PrimaryKey() != nil }, (*lister).keyInput},
		{"_mutation_response", func(t *Table) bool { return t.Insert != nil || t.Update != nil || t.Delete != nil }, (*lister).response},
		{"_enum", isEnum, func(l *lister, t *Table) string { return l.scalar(enum(t)) }},
		{"_enum_comparison_exp", isEnum, func(l *lister, t *Table) string { return l.comparison(enum(t)) }},
	}, aggregateTypes(), changeTypes())
}

func aggregateTypes() (types []tableType) {
	for _, function := range AggregateFunctions() {
		exists := func(t *Table) bool { return len(t.Aggregated(function)) > 0 }
		types = append(types,
			tableType{"_" + function + "_fields", exists, func(l *lister, t *Table) string {
				return l.aggregated(t, function, t.Aggregated(function))
			}},
			tableType{"_" + function + "_order_by", exists, func(l *lister, t *Table) string {
				return l.aggregatedOrderBy(t, function, t.Aggregated(function))
			}})
	}
	return types
}

func changeTypes() (types []tableType) {
	for _, c := range changes() {
		types = append(types, tableType{c.Input, func(t *Table) bool { return len(t.Changed(c)) > 0 },
			func(l *lister, t *Table) string { return l.change(t, c) }})
	}
	return types
}

// ofTables makes the type of a name that a table leads to.
func (l *lister) ofTables(name string) {
	for _, kind := range l.role.schema.tableTypes {
		base, ok := strings.CutSuffix(name, kind.suffix)
		if !ok {
			continue
		}
		for _, f := range l.role.World().Roots.Tables(base) {
			if t := l.role.Table(f.Object); t != nil && kind.exists(t) {
				kind.make(l, t)
			}
		}
	}
}

// typeNames lists the names of types that the table may lead to.
func (t *Table) typeNames() []string {
	var names []string
	for _, kind := range t.role.schema.tableTypes {
		names = append(names, t.Name+kind.suffix)
	}
	for _, c := range t.Columns {
		names = append(names, c.Type.Name, c.Type.Name+comparisonSuffix)
		if c.Type.spatial() {
			names = append(names, spatialTypes()...)
		}
	}
	for f := range t.ComputedFields() {
		names = append(names, f.Function.typeNames()...)
		if f.Rows == nil {
			names = append(names, f.Type.Name)
		}
	}
	return names
}
