package schema

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
)

// selectArguments are the arguments of a field that selects rows.
func (l *lister) selectArguments(t *Table) ast.ArgumentDefinitionList {
	number := l.scalar(Leaf{Name: Int})
	list := ast.ArgumentDefinitionList{
		argument("where", nullable(l.boolExp(t)), "filter the rows returned"),
		argument("limit", nullable(number), "limit the number of rows returned"),
		argument("offset", nullable(number), "skip the first n rows; use only with order_by"),
	}
	if t.orders() {
		list = append(list, argument("order_by", listOf(l.orderBy(t)), "sort the rows by one or more columns"))
	}
	if len(t.ReadableColumns()) > 0 {
		list = append(list, argument("distinct_on", listOf(l.selectColumn(t)), "distinct select on columns"))
	}
	return list
}

// keyArguments are the columns of the primary key.
func (l *lister) keyArguments(t *Table) ast.ArgumentDefinitionList {
	var list ast.ArgumentDefinitionList
	for _, c := range t.PrimaryKey() {
		list = append(list, argument(c.Field, required(l.scalar(c.Type)), c.Comment))
	}
	return list
}

// callArguments are the arguments of a field that calls a function.
func (l *lister) callArguments(fn *Function) ast.ArgumentDefinitionList {
	if !fn.takesInput() {
		return nil
	}
	t := nullable(l.functionArgs(fn))
	t.NonNull = fn.NeedsInput()
	return ast.ArgumentDefinitionList{argument("args", t, fmt.Sprintf("input parameters for function %q", fn.Shape.Name.Name))}
}

// takesInput reports whether an argument can be given.
func (f *Function) takesInput() bool {
	for _, a := range f.Inputs() {
		if a.speakable() {
			return true
		}
	}
	return false
}

// speakable reports whether GraphQL can say the argument's name and type.
func (a Argument) speakable() bool {
	return domain.IsGraphQLName(a.Name) && domain.IsGraphQLName(a.Type.Name)
}

func (l *lister) functionArgs(fn *Function) string {
	return l.input(fn.ArgsType, fmt.Sprintf("input parameters for function %q", fn.Shape.Name.Name), func() ast.FieldList {
		var fields ast.FieldList
		for _, a := range fn.Inputs() {
			if a.speakable() {
				fields = append(fields, member(a.Name, nullable(l.scalar(a.Type)), ""))
			}
		}
		return fields
	})
}

func (l *lister) selectColumn(t *Table) string {
	return l.enum(t.Name+"_select_column", fmt.Sprintf("select columns of table %q", t.Table.Name.Name),
		fieldsOf(t.ReadableColumns()), "column name")
}

func fieldsOf(columns []*Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Field
	}
	return names
}

// boolExp is the type of filters about a table's rows.
func (l *lister) boolExp(t *Table) string {
	name := t.Name + "_bool_exp"
	description := fmt.Sprintf("Boolean expression to filter rows from the table %q. "+
		"All fields are combined with a logical 'AND'.", t.Table.Name.Name)
	return l.input(name, description, func() ast.FieldList {
		fields := ast.FieldList{member("_and", listOf(name), ""), member("_or", listOf(name), ""), member("_not", nullable(name), "")}
		for _, c := range t.ReadableColumns() {
			fields = append(fields, member(c.Field, nullable(l.comparison(c.Type)), ""))
		}
		for r := range t.Relationships() {
			fields = appendNew(fields, member(r.Name, nullable(l.boolExp(r.Table)), ""))
		}
		return fields
	})
}

// comparison is the type of comparisons with values of a type.
func (l *lister) comparison(t Leaf) string {
	description := fmt.Sprintf("Boolean expression to compare columns of type %q. "+
		"All fields are combined with logical 'AND'.", t.Name)
	return l.input(t.Name+comparisonSuffix, description, func() ast.FieldList {
		var fields ast.FieldList
		for _, o := range t.Operators() {
			fields = append(fields, member(o.Name, l.operand(t, o.Operand), ""))
		}
		return fields
	})
}

func (l *lister) operand(t Leaf, o Operand) *ast.Type {
	switch o {
	case Many:
		return listOf(l.scalar(t))
	case Null:
		return nullable(Boolean)
	case Text:
		return nullable(String)
	case Texts:
		return listOf(String)
	case Within:
		return nullable(l.within(t))
	case BandShape:
		return nullable(l.band("st_intersects_nband_geom_input", true))
	case ShapeBand:
		return nullable(l.band("st_intersects_geom_nband_input", false))
	case Cast:
		return nullable(l.cast(t))
	}
	return nullable(l.scalar(t))
}

// within is the type of a distance and what it is measured from.
func (l *lister) within(t Leaf) string {
	fields := func() ast.FieldList {
		return ast.FieldList{
			member("distance", required(l.scalar(Leaf{Name: Float})), ""),
			member("from", required(l.scalar(t)), ""),
		}
	}
	if t.Name != "geography" {
		return l.input("st_d_within_input", "", fields)
	}
	return l.input("st_d_within_geography_input", "", func() ast.FieldList {
		spheroid := member("use_spheroid", nullable(Boolean), "")
		spheroid.DefaultValue = &ast.Value{Kind: ast.BooleanValue, Raw: "true"}
		return append(fields(), spheroid)
	})
}

// band is the type of a raster's band and a shape.
func (l *lister) band(name string, bandNeeded bool) string {
	return l.input(name, "", func() ast.FieldList {
		band := nullable(l.scalar(Leaf{Name: Int}))
		band.NonNull = bandNeeded
		return ast.FieldList{member("nband", band, ""), member("geommin", required(l.scalar(Geometry())), "")}
	})
}

func (l *lister) cast(t Leaf) string {
	return l.input(t.Name+"_cast_exp", "", func() ast.FieldList {
		return ast.FieldList{member(t.CastTo().Name, nullable(l.comparison(t.CastTo())), "")}
	})
}

// orders reports whether there is anything to order a table's rows by.
func (t *Table) orders() bool {
	own := func(t *Table) bool {
		if len(t.ReadableColumns()) > 0 {
			return true
		}
		for r := range t.Relationships() {
			if r.aggregates() {
				return true
			}
		}
		return false
	}
	return reaches(t, own, func(t *Table, yield func(*Table) bool) {
		for r := range t.Relationships() {
			if !r.Array && !yield(r.Table) {
				return
			}
		}
	})
}

func (l *lister) orderBy(t *Table) string {
	return l.input(t.Name+"_order_by", fmt.Sprintf("Ordering options when selecting data from %q.", t.Table.Name.Name), func() ast.FieldList {
		fields := l.directed(t.ReadableColumns())
		for r := range t.Relationships() {
			switch {
			case r.aggregates():
				fields = appendNew(fields, member(r.Name+AggregateSuffix, nullable(l.aggregateOrderBy(r.Table)), ""))
			case !r.Array && r.Table.orders():
				fields = appendNew(fields, member(r.Name, nullable(l.orderBy(r.Table)), ""))
			}
		}
		return fields
	})
}

func (l *lister) directed(columns []*Column) ast.FieldList {
	fields := make(ast.FieldList, len(columns))
	for i, c := range columns {
		fields[i] = member(c.Field, nullable(l.direction()), "")
	}
	return fields
}

func (l *lister) direction() string {
	return l.define(ast.Definition{Kind: ast.Enum, Name: orderEnum, Description: "column ordering options"}, func(d *ast.Definition) {
		meanings := map[string]string{
			"asc": "in ascending order, nulls last", "asc_nulls_first": "in ascending order, nulls first",
			"asc_nulls_last": "in ascending order, nulls last", "desc": "in descending order, nulls first",
			"desc_nulls_first": "in descending order, nulls first", "desc_nulls_last": "in descending order, nulls last",
		}
		for _, v := range Directions() {
			d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: v, Description: meanings[v]})
		}
	})
}

func (l *lister) aggregateOrderBy(t *Table) string {
	description := fmt.Sprintf("order by aggregate values of table %q", t.Table.Name.Name)
	return l.input(t.Name+"_aggregate_order_by", description, func() ast.FieldList {
		fields := ast.FieldList{member(Count, nullable(l.direction()), "")}
		for _, function := range AggregateFunctions() {
			columns := t.Aggregated(function)
			if len(columns) == 0 {
				continue
			}
			fields = append(fields, member(function, nullable(l.aggregatedOrderBy(t, function, columns)), ""))
		}
		return fields
	})
}

func (l *lister) aggregatedOrderBy(t *Table, function string, columns []*Column) string {
	return l.input(t.Name+"_"+function+"_order_by", fmt.Sprintf("order by %s() on columns of table %q", function, t.Table.Name.Name),
		func() ast.FieldList { return l.directed(columns) })
}
