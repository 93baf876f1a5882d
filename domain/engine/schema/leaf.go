package schema

import (
	"slices"

	"annals/domain/database"
	"annals/domain/metadata"
)

// Leaf is the type of a value without parts: a scalar or an enum.
type Leaf struct {
	Name string
	// Enum holds the values of an enum; nil is a scalar.
	Enum []database.EnumValue
	// SQL is the scalar's type as pg_type.typname has it, of an array its
	// element's; Array tells.
	SQL   string
	Array bool
}

// The scalars that GraphQL itself has.
const (
	Int     = "Int"
	Float   = "Float"
	String  = "String"
	Boolean = "Boolean"
)

// scalar returns the GraphQL type of a type of the database.
func scalar(typname string, array bool) Leaf {
	l := Leaf{Name: typname, SQL: typname, Array: array}
	if array {
		l.Name = "_" + typname
		return l
	}
	switch typname {
	case "int4":
		l.Name = Int
	case "float4":
		l.Name = Float
	case "text", "varchar":
		l.Name = String
	case "bool":
		l.Name = Boolean
	default:
		l.Name = longName(typname)
	}
	return l
}

// longName returns the name that v1.3 has for a type; most go by typname.
func longName(typname string) string {
	switch typname {
	case "int2":
		return "smallint"
	case "int8":
		return "bigint"
	}
	return typname
}

func enumLeaf(t metadata.Table, shape *database.Table) Leaf {
	return Leaf{Name: t.GraphQLName() + "_enum", Enum: shape.Enum, SQL: "text"}
}

// numericTypes can be added, and averaged.
var numericTypes = []string{"int2", "int4", "int8", "float4", "float8", "numeric", "money"}

// comparableTypes have a greatest and a least value.
var comparableTypes = append([]string{
	"text", "varchar", "bpchar", "citext", "date", "timestamp", "timestamptz", "timetz", "uuid", "raster",
}, numericTypes...)

// Numeric reports whether values of the type can be added.
func (l Leaf) Numeric() bool {
	return l.Enum == nil && !l.Array && slices.Contains(numericTypes, l.SQL)
}

// Comparable reports whether values of the type have a greatest one.
func (l Leaf) Comparable() bool {
	return l.Enum == nil && !l.Array && slices.Contains(comparableTypes, l.SQL)
}

// JSON reports whether values of the type are JSON.
func (l Leaf) JSON() bool { return l.is("json") || l.is("jsonb") }

func (l Leaf) is(typname string) bool { return l.Enum == nil && !l.Array && l.SQL == typname }

// Operand is what an operator of a comparison takes.
type Operand byte

// The operands.
const (
	One       Operand = iota // a value of the column's type
	Many                     // a list of them
	Null                     // Boolean: whether the column is null
	Text                     // String
	Texts                    // [String!]
	Within                   // {distance, from}
	BandShape                // {nband, geommin}
	ShapeBand                // {geommin, nband}
	Cast                     // a comparison of the column as another type
)

// Operator is one member of a comparison. Word is its name without the sign.
type Operator struct {
	Name, Word string
	Operand    Operand
}

func operators(operand Operand, words ...string) []Operator {
	list := make([]Operator, len(words))
	for i, w := range words {
		list[i] = Operator{"_" + w, w, operand}
	}
	return list
}

var (
	equality = slices.Concat(operators(One, "eq", "neq"), operators(Many, "in", "nin"), operators(Null, "is_null"))
	order    = slices.Concat(equality, operators(One, "gt", "lt", "gte", "lte"))
	text     = slices.Concat(order, operators(One, "like", "nlike", "ilike", "nilike", "similar", "nsimilar"))
	jsonb    = slices.Concat(order, operators(One, "contains", "contained_in"), operators(Text, "has_key"),
		operators(Texts, "has_keys_any", "has_keys_all"))
	geometry = slices.Concat(order, operators(One, "st_contains", "st_crosses", "st_equals", "st_intersects", "st_overlaps",
		"st_touches", "st_within"), operators(Within, "st_d_within"), operators(Cast, "cast"))
	geography = slices.Concat(order, operators(One, "st_intersects"), operators(Within, "st_d_within"), operators(Cast, "cast"))
	raster    = slices.Concat(equality, operators(One, "st_intersects_rast"), operators(BandShape, "st_intersects_nband_geom"),
		operators(ShapeBand, "st_intersects_geom_nband"))
)

// Operators lists the members of the comparison of a type.
func (l Leaf) Operators() []Operator {
	if l.Enum != nil || l.Array {
		return order
	}
	switch l.SQL {
	case "text", "varchar", "citext":
		return text
	case "jsonb":
		return jsonb
	case "geometry":
		return geometry
	case "geography":
		return geography
	case "raster":
		return raster
	}
	return order
}

// Operator returns a member of the type's comparison by name.
func (l Leaf) Operator(name string) (Operator, bool) {
	list := l.Operators()
	i := slices.IndexFunc(list, func(o Operator) bool { return o.Name == name })
	if i < 0 {
		return Operator{}, false
	}
	return list[i], true
}

// CastTo returns the type that a geometric type can be compared as.
func (l Leaf) CastTo() Leaf {
	if l.SQL == "geometry" {
		return scalar("geography", false)
	}
	return scalar("geometry", false)
}

// Geometry is the type of the shapes that a raster is compared with.
func Geometry() Leaf { return scalar("geometry", false) }
