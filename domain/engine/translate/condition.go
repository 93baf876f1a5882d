package translate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// condition says of a row of a relation whether it is wanted.
func (t *translator) condition(r *relation, c plan.Condition) sql.Node {
	switch c := c.(type) {
	case nil:
		return sql.And()
	case plan.All:
		return sql.And(t.conditions(r, c)...)
	case plan.Any:
		return sql.Or(t.conditions(r, c)...)
	case plan.Not:
		return sql.Not(t.condition(r, c.Of))
	case plan.Never:
		return sql.Or()
	case plan.IsNull:
		return isNull(sql.Column(r.alias, c.Column.Name), c.Value)
	case plan.CompareColumns:
		return compareColumns(r, c)
	case plan.Exists:
		next := &relation{alias: t.alias("e"), table: c.Table}
		return sql.Seq(sql.Raw("EXISTS "), sql.Paren(sql.Select{
			From:  sql.As(sql.Qualified(c.Table.Name.Schema, c.Table.Name.Name), next.alias),
			Where: t.related(r, next, c.On, c.Where),
		}))
	case plan.Compare:
		return compare(r, c)
	}
	panic(fmt.Sprintf("no SQL for a condition of type %T", c)) // the list of conditions is closed
}

func (t *translator) conditions(r *relation, list []plan.Condition) []sql.Node {
	nodes := make([]sql.Node, len(list))
	for i, c := range list {
		nodes[i] = t.condition(r, c)
	}
	return nodes
}

func isNull(n sql.Node, v plan.Value) sql.Node {
	switch string(bytes.TrimSpace(v.Literal)) {
	case "true":
		return sql.Seq(n, sql.Raw(" IS NULL"))
	case "false":
		return sql.Seq(n, sql.Raw(" IS NOT NULL"))
	}
	return sql.Binary(sql.Paren(sql.Seq(n, sql.Raw(" IS NULL"))), "=", parameter(v, FormText, booleanType))
}

func compareColumns(r *relation, c plan.CompareColumns) sql.Node {
	left, right := sql.Column(r.alias, c.Left.Name), sql.Column(r.alias, c.Right.Name)
	if n := plainOperator(left, c.Operator, right); n != nil {
		return n
	}
	panic("no SQL to compare two columns with " + c.Operator) // the plan knows the operators
}

// plainOperator is a comparison of two values of one type; nil for other operators.
func plainOperator(left sql.Node, operator string, right sql.Node) sql.Node {
	switch operator {
	case "eq":
		return sql.Binary(left, "=", right)
	case "neq":
		return sql.Binary(left, "<>", right)
	case "gt":
		return sql.Binary(left, ">", right)
	case "lt":
		return sql.Binary(left, "<", right)
	case "gte":
		return sql.Binary(left, ">=", right)
	case "lte":
		return sql.Binary(left, "<=", right)
	}
	return nil
}

// operand is what a comparison needs to know of its column.
type operand struct {
	node     sql.Node
	typeName string
	array    bool
	to       sql.Type
}

func compare(r *relation, c plan.Compare) sql.Node {
	left := operand{sql.Column(r.alias, c.Column.Name), c.Column.Type, c.Column.Array, typeOf(c.Column)}
	if c.CastTo != "" {
		to := castType(c.CastTo, false, c.CastTo)
		left = operand{sql.Cast(left.node, to), c.CastTo, false, to}
	}
	switch c.Operator {
	case "eq", "neq":
		return left.equality(c)
	case "in":
		return sql.Seq(left.node, sql.Raw(" = ANY ("), left.list(c.Value), sql.Raw(")"))
	case "nin":
		return sql.Seq(left.node, sql.Raw(" <> ALL ("), left.list(c.Value), sql.Raw(")"))
	}
	if n := plainOperator(left.node, c.Operator, left.value(c.Value)); n != nil {
		return n
	}
	if n := left.match(c); n != nil {
		return n
	}
	if n := left.containment(c); n != nil {
		return n
	}
	return left.shape(c)
}

// value is a value of the operand's type.
func (o operand) value(v plan.Value) sql.Node {
	if isSpatial(o.typeName) && !o.array {
		return spatial(o.typeName, v)
	}
	return parameter(v, formOf(o.typeName, o.array), o.to)
}

// list is a list of values of the operand's type.
func (o operand) list(v plan.Value) sql.Node {
	if o.typeName == "json" || o.typeName == "jsonb" {
		return parameter(v, FormJSONs, o.to.Array())
	}
	return parameter(v, FormArray, o.to.Array())
}

// equality is = and <>. In permissions two nulls are equal; where the value is
// known not to be null that makes no difference, and an index can be used.
func (o operand) equality(c plan.Compare) sql.Node {
	null := isNullLiteral(c.Value)
	isNull, isNotNull := sql.Seq(o.node, sql.Raw(" IS NULL")), sql.Seq(o.node, sql.Raw(" IS NOT NULL"))
	plain := plainOperator(o.node, c.Operator, o.value(c.Value))
	switch {
	case !c.NullSafe, c.Value.Session != "", c.Value.Variable == "" && !null:
		return plain
	case null && c.Operator == "eq":
		return isNull
	case null:
		return isNotNull
	}
	valueIsNull := sql.Seq(o.value(c.Value), sql.Raw(" IS NULL"))
	if c.Operator == "eq" {
		return sql.Or(plain, sql.And(isNull, valueIsNull))
	}
	return sql.Or(plain, sql.And(isNotNull, valueIsNull))
}

func isNullLiteral(v plan.Value) bool {
	text := bytes.TrimSpace(v.Literal)
	return v.Session == "" && v.Variable == "" && (len(text) == 0 || bytes.Equal(text, []byte("null")))
}

// match is the operators that compare with a pattern.
func (o operand) match(c plan.Compare) sql.Node {
	pattern := parameter(c.Value, FormText, o.patternType())
	switch c.Operator {
	case "like":
		return sql.Binary(o.node, "LIKE", pattern)
	case "nlike":
		return sql.Binary(o.node, "NOT LIKE", pattern)
	case "ilike":
		return sql.Binary(o.node, "ILIKE", pattern)
	case "nilike":
		return sql.Binary(o.node, "NOT ILIKE", pattern)
	case "similar":
		return sql.Binary(o.node, "SIMILAR TO", pattern)
	case "nsimilar":
		return sql.Binary(o.node, "NOT SIMILAR TO", pattern)
	}
	return nil
}

// patternType is the column's own type only for citext, whose patterns match in any case.
func (o operand) patternType() sql.Type {
	if o.typeName == "citext" {
		return o.to
	}
	return textType
}

// containment is the operators of jsonb.
func (o operand) containment(c plan.Compare) sql.Node {
	switch c.Operator {
	case "contains":
		return sql.Binary(o.node, "@>", o.value(c.Value))
	case "contained_in":
		return sql.Binary(o.node, "<@", o.value(c.Value))
	case "has_key":
		return sql.Binary(o.node, "?", parameter(c.Value, FormText, textType))
	case "has_keys_any":
		return sql.Binary(o.node, "?|", parameter(c.Value, FormArray, textArrayType))
	case "has_keys_all":
		return sql.Binary(o.node, "?&", parameter(c.Value, FormArray, textArrayType))
	}
	return nil
}

// shape is the operators of PostGIS.
func (o operand) shape(c plan.Compare) sql.Node {
	switch c.Operator {
	case "st_contains":
		return sql.Call("ST_Contains", o.node, o.value(c.Value))
	case "st_crosses":
		return sql.Call("ST_Crosses", o.node, o.value(c.Value))
	case "st_equals":
		return sql.Call("ST_Equals", o.node, o.value(c.Value))
	case "st_overlaps":
		return sql.Call("ST_Overlaps", o.node, o.value(c.Value))
	case "st_touches":
		return sql.Call("ST_Touches", o.node, o.value(c.Value))
	case "st_within":
		return sql.Call("ST_Within", o.node, o.value(c.Value))
	case "st_intersects", "st_intersects_rast":
		return sql.Call("ST_Intersects", o.node, o.value(c.Value))
	case "st_d_within":
		return o.within(c)
	case "st_intersects_nband_geom":
		return sql.Call("ST_Intersects", o.node, parameter(c.More["nband"], FormInteger, integerType), spatial("geometry", c.Value))
	case "st_intersects_geom_nband":
		arguments := []sql.Node{o.node, spatial("geometry", c.Value)}
		if band, ok := c.More["nband"]; ok {
			arguments = append(arguments, parameter(band, FormInteger, integerType))
		}
		return sql.Call("ST_Intersects", arguments...)
	}
	panic("no SQL for the operator " + c.Operator) // the plan knows the operators
}

func (o operand) within(c plan.Compare) sql.Node {
	arguments := []sql.Node{o.node, o.value(c.Value), parameter(c.More["distance"], FormText, floatType)}
	if o.typeName == "geography" {
		spheroid, ok := c.More["use_spheroid"]
		if !ok {
			spheroid = plan.Value{Literal: json.RawMessage("true")}
		}
		arguments = append(arguments, parameter(spheroid, FormText, booleanType))
	}
	return sql.Call("ST_DWithin", arguments...)
}
