package plan

import (
	"slices"
	"strings"

	"annals/domain/engine/schema"
)

// directionType is the enum of directions.
const directionType = "order_by"

// order reads a list of orders; within one, the members count in the order in
// which they are written.
func (b *builder) order(at place, v value, t *schema.Table) []Order {
	var items []Order
	for i, item := range listed(at, v) {
		inner := at.index(i)
		item = b.open(inner, item, wanted{name: orderBy(t), nonNull: true})
		items = append(items, b.orderItem(inner, item, t, nil)...)
	}
	return items
}

func (b *builder) orderItem(at place, v value, t *schema.Table, via []Hop) []Order {
	members := b.object(at, v, orderBy(t), func(name string) bool {
		r := t.Relationship(name)
		return t.Readable(name) != nil || r != nil && !r.Array || t.AggregatedRelationship(name) != nil
	})
	var items []Order
	for _, m := range members.values {
		if at.failed() {
			return nil
		}
		if b.given(m.value) {
			items = append(items, b.orderMember(at.key(m.name), m, t, via)...)
		}
	}
	return items
}

func (b *builder) orderMember(at place, m member, t *schema.Table, via []Hop) []Order {
	if c := t.Readable(m.name); c != nil {
		return b.directed(at, m.value, Order{Via: via, Column: c.Name})
	}
	if r := t.AggregatedRelationship(m.name); r != nil {
		v := b.open(at, m.value, wanted{name: aggregateOrderBy(r.Table)})
		if v.kind == kindNull {
			return nil
		}
		return b.orderByAggregate(at, v, r.Table, b.hop(via, r))
	}
	r := t.Relationship(m.name)
	if r == nil {
		return nil
	}
	v := b.open(at, m.value, wanted{name: orderBy(r.Table)})
	if v.kind == kindNull {
		return nil
	}
	return b.orderItem(at, v, r.Table, b.hop(via, r))
}

func (b *builder) hop(via []Hop, r *schema.Relationship) []Hop {
	return append(slices.Clip(via), Hop{r.Table.Shape, pairs(r), b.filter(r.Table, r.Table.Select)})
}

// directed reads the direction of an order; null is none.
func (b *builder) directed(at place, v value, o Order) []Order {
	v = b.open(at, v, wanted{name: directionType})
	if v.kind == kindNull {
		return nil
	}
	enumValue(at, v, directionType, schema.Directions())
	o.Descending = strings.HasPrefix(v.text, "desc")
	o.NullsFirst = v.text == "desc" || strings.HasSuffix(v.text, "nulls_first")
	return []Order{o}
}

func aggregateOrderBy(t *schema.Table) string { return t.Name + "_aggregate_order_by" }

// orderByAggregate reads an order by what the rows of an array relationship
// have together.
func (b *builder) orderByAggregate(at place, v value, t *schema.Table, via []Hop) []Order {
	members := b.object(at, v, aggregateOrderBy(t), func(name string) bool {
		return name == schema.Count || len(t.Aggregated(name)) > 0
	})
	var items []Order
	for _, m := range members.values {
		if at.failed() {
			return nil
		}
		inner := at.key(m.name)
		if m.name == schema.Count {
			items = append(items, b.directed(inner, m.value, Order{Via: via, Aggregate: &OrderAggregate{Function: schema.Count}})...)
			continue
		}
		typeName := t.Name + "_" + m.name + "_order_by"
		if v := b.open(inner, m.value, wanted{name: typeName}); v.kind != kindNull {
			items = append(items, b.orderByColumns(inner, v, typeName, m.name, t, via)...)
		}
	}
	return items
}

func (b *builder) orderByColumns(at place, v value, typeName, function string, t *schema.Table, via []Hop) []Order {
	columns := t.Aggregated(function)
	members := b.object(at, v, typeName, func(name string) bool { return columnNamed(columns, name) != nil })
	var items []Order
	for _, m := range members.values {
		if c := columnNamed(columns, m.name); c != nil {
			by := &OrderAggregate{Function: function, Column: c.Name}
			items = append(items, b.directed(at.key(m.name), m.value, Order{Via: via, Aggregate: by})...)
		}
	}
	return items
}
