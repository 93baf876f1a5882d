package plan

import (
	"annals/domain/database"
	"annals/domain/engine/schema"
)

// The members that combine filters.
const (
	memberAnd = "_and"
	memberOr  = "_or"
	memberNot = "_not"
)

// where reads a filter about the rows of a table. A null in it is refused, as a
// condition that is dropped matches every row, unless the request asks for that.
func (b *builder) where(at place, v value, t *schema.Table) Condition {
	members := b.object(at, v, boolExp(t), func(name string) bool {
		return name == memberAnd || name == memberOr || name == memberNot || t.Readable(name) != nil || t.Relationship(name) != nil
	})
	var all []Condition
	for _, m := range members.values {
		if at.failed() {
			return nil
		}
		all = append(all, b.whereMember(at.key(m.name), m, t))
	}
	return allOf(all...)
}

// drops reports whether a member of a filter is left out. A plan that it is left out
// of holds for no other value; one that it is part of reads the value again.
func (b *builder) drops(v value) bool {
	if declared := b.variables[v.text]; v.kind == kindVariable && declared != nil && declared.value.kind == kindNull && b.dropNulls {
		b.shaped[declared.name] = true
		return true
	}
	return v.kind == kindNull && b.dropNulls
}

func (b *builder) whereMember(at place, m member, t *schema.Table) Condition {
	if b.drops(m.value) {
		return nil
	}
	switch m.name {
	case memberAnd:
		return allOf(b.wheres(at, m.value, t)...)
	case memberOr:
		return anyOf(b.wheres(at, m.value, t)...)
	case memberNot:
		return not(b.where(at, b.open(at, m.value, wanted{name: boolExp(t)}), t))
	}
	if c := t.Readable(m.name); c != nil {
		return b.comparison(at, m.value, c.Column, "", c.Type)
	}
	r := t.Relationship(m.name)
	if r == nil {
		return nil
	}
	where := b.where(at, b.open(at, m.value, wanted{name: boolExp(r.Table)}), r.Table)
	return Exists{Table: r.Table.Shape, On: pairs(r), Where: allOf(b.filter(r.Table, r.Table.Select), where)}
}

func (b *builder) wheres(at place, v value, t *schema.Table) []Condition {
	var list []Condition
	v = b.open(at, v, wanted{name: boolExp(t), list: true})
	for i, item := range listed(at, v) {
		inner := at.index(i)
		list = append(list, b.where(inner, b.open(inner, item, wanted{name: boolExp(t), nonNull: true}), t))
	}
	return list
}

// comparison reads the operators on a column, as a type that it may have been
// cast to.
func (b *builder) comparison(at place, v value, c *database.Column, cast string, t schema.Leaf) Condition {
	typeName := t.Name + "_comparison_exp"
	v = b.open(at, v, wanted{name: typeName})
	members := b.object(at, v, typeName, func(name string) bool { _, ok := t.Operator(name); return ok })
	var all []Condition
	for _, m := range members.values {
		if at.failed() {
			return nil
		}
		if b.drops(m.value) {
			continue
		}
		op, _ := t.Operator(m.name)
		all = append(all, b.operator(at.key(m.name), m.value, op, comparand{c, cast, t}))
	}
	return allOf(all...)
}

// comparand is a column that is compared, cast to a type unless that is empty.
type comparand struct {
	column *database.Column
	cast   string
	typ    schema.Leaf
}

func (c comparand) compare(op schema.Operator, v Value, more map[string]Value) Condition {
	return Compare{Column: c.column, CastTo: c.cast, Operator: op.Word, Value: v, More: more}
}

func (b *builder) operator(at place, v value, op schema.Operator, c comparand) Condition {
	switch op.Operand {
	case schema.Many:
		return c.compare(op, b.leaves(at, v, c.typ), nil)
	case schema.Null:
		boolean := schema.Leaf{Name: schema.Boolean}
		return IsNull{c.column, b.leaf(at, v, boolean, wanted{name: schema.Boolean}, nullRefused)}
	case schema.Text:
		return c.compare(op, b.leaf(at, v, schema.Leaf{Name: schema.String}, wanted{name: schema.String}, nullRefused), nil)
	case schema.Texts:
		return c.compare(op, b.leaves(at, v, schema.Leaf{Name: schema.String}), nil)
	case schema.Cast:
		return b.cast(at, v, c)
	case schema.Within:
		return b.within(at, v, op, c)
	case schema.BandShape:
		return b.band(at, v, op, c, "st_intersects_nband_geom_input")
	case schema.ShapeBand:
		return b.band(at, v, op, c, "st_intersects_geom_nband_input")
	}
	return c.compare(op, b.leaf(at, v, c.typ, wanted{name: c.typ.Name}, nullRefused), nil)
}

func (b *builder) cast(at place, v value, c comparand) Condition {
	typeName, to := c.typ.Name+"_cast_exp", c.typ.CastTo()
	v = b.open(at, v, wanted{name: typeName})
	members := b.object(at, v, typeName, func(name string) bool { return name == to.Name })
	if inner, ok := members.find(to.Name); ok && !b.drops(inner) {
		return b.comparison(at.key(to.Name), inner, c.column, to.Name, to)
	}
	return nil
}

// within reads a distance and what it is measured from.
func (b *builder) within(at place, v value, op schema.Operator, c comparand) Condition {
	typeName := "st_d_within_input"
	if c.typ.Name == "geography" {
		typeName = "st_d_within_geography_input"
	}
	members := b.object(at, b.open(at, v, wanted{name: typeName}), typeName, func(name string) bool {
		return name == "distance" || name == "from" || name == "use_spheroid" && c.typ.Name == "geography"
	})
	from := members.leaf("from", c.typ)
	more := map[string]Value{"distance": members.leaf("distance", schema.Leaf{Name: schema.Float})}
	if v, ok := members.find("use_spheroid"); ok && b.given(v) {
		boolean := schema.Leaf{Name: schema.Boolean}
		more["use_spheroid"] = b.leaf(at.key("use_spheroid"), v, boolean, wanted{name: schema.Boolean}, nullRefused)
	}
	return c.compare(op, from, more)
}

// band reads the band of a raster and a shape; the band may be left out where
// the shape comes first.
func (b *builder) band(at place, v value, op schema.Operator, c comparand, typeName string) Condition {
	members := b.object(at, b.open(at, v, wanted{name: typeName}), typeName, func(name string) bool {
		return name == "nband" || name == "geommin"
	})
	shape := members.leaf("geommin", schema.Geometry())
	more := map[string]Value{}
	if v, ok := members.find("nband"); op.Operand == schema.BandShape || ok && b.given(v) && v.kind != kindNull {
		more["nband"] = members.leaf("nband", schema.Leaf{Name: schema.Int})
	}
	return c.compare(op, shape, more)
}

// leaf reads a member that must be there.
func (a arguments) leaf(name string, t schema.Leaf) Value {
	at := a.at.key(name)
	v, ok := a.find(name)
	if !ok {
		at.fail("missing required field %q", name)
		return Value{}
	}
	return a.b.leaf(at, v, t, wanted{name: t.Name, nonNull: true}, nullRefused)
}
