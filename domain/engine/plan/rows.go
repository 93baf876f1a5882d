package plan

import (
	"encoding/json"
	"slices"
	"strconv"

	"annals/domain"
	"annals/domain/engine/schema"
)

// selectArguments are the arguments of a field that selects rows.
var selectArguments = []string{"where", "order_by", "limit", "offset", "distinct_on"}

// rows builds a selection of rows that the role may see.
func (b *builder) rows(at place, source Source, t *schema.Table, f field) *Rows {
	rows := b.selection(b.arguments(at, f, selectArguments...), source, t)
	rows.Selection = b.fields(at, t, f)
	return rows
}

// selection reads the arguments of a selection of rows.
func (b *builder) selection(args arguments, source Source, t *schema.Table) *Rows {
	rows := &Rows{Source: source, Where: b.filter(t, t.Select), MaxRows: t.Select.Limit}
	if v, at, ok := args.optional("where", wanted{name: boolExp(t)}); ok {
		rows.Where = allOf(rows.Where, b.where(at, v, t))
	}
	if v, at, ok := args.optional("order_by", wanted{name: orderBy(t), list: true}); ok {
		rows.Order = b.order(at, v, t)
	}
	rows.Limit = args.bound("limit", integer)
	rows.Offset = args.bound("offset", offset)
	if v, at, ok := args.optional("distinct_on", wanted{name: selectColumn(t), list: true}); ok {
		rows.Distinct = b.columnNames(at, v, t)
		distinctFirst(args.at, rows)
	}
	return rows
}

// bound reads limit or offset. A variable may be null, which is no bound.
func (a arguments) bound(name string, read func(place, value) json.RawMessage) *Value {
	v, ok := a.find(name)
	if !ok || v.kind == kindNull {
		return nil
	}
	at := a.at.key(name)
	check := func(at place, v value) json.RawMessage {
		if v.kind == kindNull {
			return v.json()
		}
		return read(at, v)
	}
	if name == "limit" {
		check = notNegative(check)
	}
	declared, isVariable := a.b.variableAt(at, v, wanted{name: schema.Int})
	if !isVariable {
		return &Value{Literal: check(at, v)}
	}
	bound := a.b.variableOr(at, declared, func(_ *builder, at place, v value) json.RawMessage { return check(at, v) })
	return &bound
}

func notNegative(read func(place, value) json.RawMessage) func(place, value) json.RawMessage {
	return func(at place, v value) json.RawMessage {
		n := read(at, v)
		if len(n) > 0 && n[0] == '-' {
			at.failCode(domain.NotSupported, "unexpected negative value")
		}
		return n
	}
}

// offset is a whole number of 64 bits, or one written as a string.
func offset(at place, v value) json.RawMessage {
	if v.kind == kindText || v.kind == kindInteger || v.kind == kindNumber {
		if n, ok := whole(v.text); ok {
			return value{kind: kindInteger, text: strconv.FormatInt(n, 10)}.json()
		}
	}
	return integer(at, v)
}

// distinctFirst makes sure that the order begins with the distinct columns.
func distinctFirst(at place, rows *Rows) {
	if len(rows.Order) == 0 {
		return
	}
	for i := range rows.Distinct {
		if i >= len(rows.Order) || !rows.Order[i].isOwn() || !slices.Contains(rows.Distinct, rows.Order[i].Column) {
			at.fail(`"distinct_on" columns must match initial "order_by" columns`)
			return
		}
	}
}

// isOwn reports whether the order is by a column of the row itself.
func (o Order) isOwn() bool { return len(o.Via) == 0 && o.Aggregate == nil }

// columnNames reads a list of columns that the role may read.
func (b *builder) columnNames(at place, v value, t *schema.Table) []string {
	var names []string
	for i, item := range listed(at, v) {
		inner := at.index(i)
		item = b.open(inner, item, wanted{name: selectColumn(t), nonNull: true})
		enumValue(inner, item, selectColumn(t), fieldNames(t.ReadableColumns()))
		if c := t.Readable(item.text); c != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

func fieldNames(columns []*schema.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Field
	}
	return names
}

// The names of a table's input types.
func boolExp(t *schema.Table) string      { return t.Name + "_bool_exp" }
func orderBy(t *schema.Table) string      { return t.Name + "_order_by" }
func selectColumn(t *schema.Table) string { return t.Name + "_select_column" }

// rowByKey builds the selection of one row by its primary key.
func (b *builder) rowByKey(at place, t *schema.Table, f field) *Rows {
	return &Rows{
		Source:    Source{Table: t.Shape},
		Where:     allOf(b.filter(t, t.Select), b.keyArguments(at, t, f)),
		Single:    true,
		Selection: b.fields(at, t, f),
	}
}

// keyArguments reads the columns of the primary key as arguments.
func (b *builder) keyArguments(at place, t *schema.Table, f field) Condition {
	return b.key(b.arguments(at, f, fieldNames(t.PrimaryKey())...), t)
}

func (b *builder) key(args arguments, t *schema.Table) Condition {
	var all []Condition
	for _, c := range t.PrimaryKey() {
		at := args.at.key(c.Field)
		v, ok := args.find(c.Field)
		if !ok {
			at.fail("missing required field %q", c.Field)
			continue
		}
		all = append(all, Compare{
			Column: c.Column, Operator: "eq",
			Value: b.leaf(at, v, c.Type, wanted{name: c.Type.Name, nonNull: true}, nullRefused),
		})
	}
	return allOf(all...)
}

// fields builds what is selected of each row.
func (b *builder) fields(at place, t *schema.Table, f field) []Field {
	at, selected := b.subselection(at, t.Name, f)
	fields := make([]Field, 0, len(selected))
	for _, s := range selected {
		if at.failed() {
			return nil
		}
		fields = append(fields, b.field(at.key(s.name), t, s))
	}
	return fields
}

func (b *builder) field(at place, t *schema.Table, f field) Field {
	if f.name == typenameField {
		b.typename(at, t.Name, f)
		return Field{Alias: f.alias, Typename: t.Name}
	}
	if c := t.Readable(f.name); c != nil {
		return Field{Alias: f.alias, Column: b.column(at, c, f)}
	}
	if r := t.Relationship(f.name); r != nil {
		return Field{Alias: f.alias, Rows: &Related{pairs(r), b.related(at, r, f)}}
	}
	if r := t.AggregatedRelationship(f.name); r != nil {
		return Field{Alias: f.alias, Groups: &RelatedAggregate{pairs(r), b.aggregate(at, Source{Table: r.Table.Shape}, r.Table, f)}}
	}
	if c := t.ComputedField(f.name); c != nil {
		return b.computed(at, c, f)
	}
	if r := t.RemoteRelationship(f.name); r != nil {
		return Field{Alias: f.alias, Join: b.joined(at, r, f)}
	}
	at.fail("field %q not found in type: '%s'", f.name, t.Name)
	return Field{}
}

func (b *builder) column(at place, c *schema.Column, f field) *Column {
	b.noSelection(at, f)
	column := &Column{Column: c.Column}
	if c.Type.JSON() {
		column.Path = b.jsonPath(b.arguments(at, f, "path"))
	} else {
		b.noArguments(at, f)
	}
	return column
}

func (b *builder) related(at place, r *schema.Relationship, f field) *Rows {
	source := Source{Table: r.Table.Shape}
	if r.Array {
		return b.rows(at, source, r.Table, f)
	}
	b.noArguments(at, f)
	return &Rows{Source: source, Where: b.filter(r.Table, r.Table.Select), Single: true, Selection: b.fields(at, r.Table, f)}
}

func pairs(r *schema.Relationship) []Pair {
	var on []Pair
	for here, there := range r.Pairs() {
		on = append(on, Pair{here, there})
	}
	return on
}
