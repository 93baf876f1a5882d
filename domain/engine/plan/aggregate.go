package plan

import (
	"slices"

	"annals/domain/engine/schema"
)

func columnNamed(columns []*schema.Column, field string) *schema.Column {
	i := slices.IndexFunc(columns, func(c *schema.Column) bool { return c.Field == field })
	if i < 0 {
		return nil
	}
	return columns[i]
}

// aggregate builds aggregates over a selection of rows.
func (b *builder) aggregate(at place, source Source, t *schema.Table, f field) *Aggregate {
	rows := b.selection(b.arguments(at, f, selectArguments...), source, t)
	return &Aggregate{Rows: *rows, Fields: b.aggregateFields(at, t, f)}
}

func (b *builder) aggregateFields(at place, t *schema.Table, f field) []AggregateField {
	typeName := t.Name + "_aggregate"
	at, selected := b.subselection(at, typeName, f)
	var fields []AggregateField
	for _, s := range selected {
		inner := at.key(s.name)
		switch s.name {
		case typenameField:
			b.typename(inner, typeName, s)
			fields = append(fields, AggregateField{Alias: s.alias, Typename: typeName})
		case "aggregate":
			b.noArguments(inner, s)
			fields = append(fields, AggregateField{Alias: s.alias, Values: b.aggregateValues(inner, t, s)})
		case "nodes":
			b.noArguments(inner, s)
			fields = append(fields, AggregateField{Alias: s.alias, Nodes: b.fields(inner, t, s), IsNodes: true})
		default:
			inner.fail("field %q not found in type: '%s'", s.name, typeName)
		}
	}
	return fields
}

func (b *builder) aggregateValues(at place, t *schema.Table, f field) []AggregateValue {
	typeName := t.Name + "_aggregate_fields"
	at, selected := b.subselection(at, typeName, f)
	values := []AggregateValue{}
	for _, s := range selected {
		inner := at.key(s.name)
		switch {
		case s.name == typenameField:
			b.typename(inner, typeName, s)
			values = append(values, AggregateValue{Alias: s.alias, Typename: typeName})
		case s.name == schema.Count:
			values = append(values, b.count(inner, t, s))
		case len(t.Aggregated(s.name)) > 0:
			b.noArguments(inner, s)
			values = append(values, AggregateValue{Alias: s.alias, Function: s.name, Of: b.aggregateColumns(inner, t, s)})
		default:
			inner.fail("field %q not found in type: '%s'", s.name, typeName)
		}
	}
	return values
}

func (b *builder) count(at place, t *schema.Table, f field) AggregateValue {
	b.noSelection(at, f)
	names := []string{"distinct"}
	if len(t.ReadableColumns()) > 0 {
		names = append(names, "columns")
	}
	args := b.arguments(at, f, names...)
	count := AggregateValue{Alias: f.alias, Function: schema.Count}
	if v, at, ok := args.optional("columns", wanted{name: selectColumn(t), list: true}); ok {
		count.Columns = b.columnNames(at, v, t)
	}
	if v, ok := args.find("distinct"); ok {
		boolean := schema.Leaf{Name: schema.Boolean}
		distinct := b.leaf(args.at.key("distinct"), v, boolean, wanted{name: schema.Boolean}, nullTaken)
		count.Distinct = &distinct
	}
	return count
}

func (b *builder) aggregateColumns(at place, t *schema.Table, f field) []AggregateColumn {
	typeName := t.Name + "_" + f.name + "_fields"
	at, selected := b.subselection(at, typeName, f)
	columns := t.Aggregated(f.name)
	of := []AggregateColumn{}
	for _, s := range selected {
		inner := at.key(s.name)
		b.noArguments(inner, s)
		b.noSelection(inner, s)
		if s.name == typenameField {
			of = append(of, AggregateColumn{Alias: s.alias, Typename: typeName})
			continue
		}
		c := columnNamed(columns, s.name)
		if c == nil {
			inner.fail("field %q not found in type: '%s'", s.name, typeName)
			return nil
		}
		of = append(of, AggregateColumn{Alias: s.alias, Column: c.Column})
	}
	return of
}
