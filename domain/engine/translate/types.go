package translate

import (
	"encoding/json"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// ownTypes are the types of PostgreSQL that values are cast to by their
// names in pg_type. The spelling of SQL would cut values: character is
// character(1), bit is bit(1).
var ownTypes = [...]string{
	"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "money", "oid", "text", "varchar", "bpchar", "char", "name",
	"uuid", "xml", "json", "jsonb", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "bytea", "bit", "varbit",
	"inet", "cidr", "macaddr", "macaddr8", "point", "line", "lseg", "box", "path", "polygon", "circle", "tsvector", "tsquery",
	"int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange",
}

// typeOf returns the type to cast a value to that meets a column.
func typeOf(c *database.Column) sql.Type {
	if c.Domain == "" && isQualified(c.SQLType) {
		return sql.Type(c.SQLType).Bare()
	}
	return castType(c.Type, c.Array, c.SQLType)
}

func castType(name string, array bool, sqlType string) sql.Type {
	if !slices.Contains(ownTypes[:], name) {
		return sql.Type(sqlType).Bare()
	}
	if array {
		return sql.BuiltIn(name).Array()
	}
	return sql.BuiltIn(name)
}

func isQualified(sqlType string) bool {
	quoted := false
	for _, c := range sqlType {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			return true
		}
	}
	return false
}

const (
	textType      sql.Type = `pg_catalog."text"`
	textArrayType sql.Type = `pg_catalog."text"[]`
	integerType   sql.Type = `pg_catalog."int4"`
	bigintType    sql.Type = `pg_catalog."int8"`
	booleanType   sql.Type = `pg_catalog."bool"`
	floatType     sql.Type = `pg_catalog."float8"`
	jsonType      sql.Type = `pg_catalog."json"`
)

func formOf(typeName string, array bool) Form {
	switch {
	case array:
		return FormArray
	case typeName == "json", typeName == "jsonb":
		return FormJSON
	case typeName == "int2", typeName == "int4", typeName == "int8":
		return FormInteger
	case typeName == "money":
		return FormMoney
	case typeName == "numeric":
		return FormNumeric
	}
	return FormText
}

// parameter is a value cast to a type.
func parameter(v plan.Value, form Form, to sql.Type) sql.Node {
	return sql.Value{Of: Parameter{Value: &v, Form: form}, Type: to}
}

// valueFor is a value as a column takes it.
func valueFor(c *database.Column, v plan.Value) sql.Node {
	if isSpatial(c.Type) && !c.Array {
		return spatial(c.Type, v)
	}
	return parameter(v, formOf(c.Type, c.Array), typeOf(c))
}

func isSpatial(typeName string) bool { return typeName == "geometry" || typeName == "geography" }

func isJSONString(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// spatial reads a shape: GeoJSON, or a text in one of the forms that PostGIS
// reads. What a variable or the session will bring is only known by its first
// character.
func spatial(typeName string, v plan.Value) sql.Node {
	text := parameter(v, FormText, textType)
	switch {
	case isJSONString(v.Literal):
		return sql.Cast(text, sql.Type(typeName))
	case v.Variable == "" && v.Session == "":
		return shapeOfJSON(text, typeName)
	}
	return sql.Paren(sql.Seq(sql.Raw("CASE WHEN "), sql.Call("ltrim", text), sql.Raw(" LIKE '{%' THEN "), shapeOfJSON(text, typeName),
		sql.Raw(" ELSE "), sql.Cast(text, sql.Type(typeName)), sql.Raw(" END")))
}

func shapeOfJSON(text sql.Node, typeName string) sql.Node {
	return sql.Cast(sql.Call("ST_GeomFromGeoJSON", text), sql.Type(typeName))
}

// texts is a list of texts that the plan knows.
func texts(list []string) sql.Node {
	literal, _ := json.Marshal(list) // a list of strings has a JSON form
	return parameter(plan.Value{Literal: literal}, FormArray, textArrayType)
}

// rowType is the type of a table's rows.
func rowType(name domain.QualifiedName) sql.Type {
	return sql.Type(sql.Quote(name.Schema) + "." + sql.Quote(name.Name))
}

// output is how a value of a type is selected, and what its text is then.
func (t *translator) output(n sql.Node, typeName string, array bool, kind byte) (sql.Node, Encoding) {
	switch {
	case array, strings.HasPrefix(typeName, "_"):
		return sql.Call("to_json", n), EncodeJSON
	case kind == 'e':
		return n, EncodeString
	}
	switch typeName {
	case "int2", "int4", "float4":
		return n, EncodeNumber
	case "int8", "numeric", "float8":
		if t.options.Stringify {
			return n, EncodeString
		}
		return n, EncodeNumber
	case "bool":
		return n, EncodeBoolean
	case "text", "varchar", "bpchar", "uuid", "name", "citext":
		return n, EncodeString
	case "json", "jsonb":
		return n, EncodeJSON
	case "geometry", "geography":
		return sql.Call("ST_AsGeoJSON", n, sql.Raw("15"), sql.Raw("4")), EncodeJSON
	}
	return sql.Call("to_json", n), EncodeJSON
}

// part is the part of a JSON value that a path leads to.
func part(n sql.Node, path []string) sql.Node {
	if len(path) == 0 {
		return n
	}
	return sql.Binary(n, "#>", texts(path))
}

// exactTypes are types whose equal values have equal texts, so that the text
// can stand for the value.
var exactTypes = [...]string{"int2", "int4", "int8", "oid", "uuid", "text", "varchar", "name", "bool", "date", "timestamp", "timestamptz"}

func isExact(c *database.Column) bool {
	return !c.Array && (c.TypeKind == 'e' || slices.Contains(exactTypes[:], c.Type))
}
