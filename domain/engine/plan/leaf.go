package plan

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/wire"
)

// nulls says whether a place takes null.
type nulls bool

const (
	nullTaken   nulls = true
	nullRefused nulls = false
)

// leaf reads a value of a scalar or an enum. A variable is checked and stays
// a variable, unless its JSON is not what the database would be given.
func (b *builder) leaf(at place, v value, t schema.Leaf, w wanted, null nulls) Value {
	declared, ok := b.variableAt(at, v, w)
	if !ok {
		return Value{Literal: b.scalar(at, v, t, null)}
	}
	if declared.typ.NonNull {
		null = nullRefused
	}
	return b.variableOr(at, declared, func(b *builder, at place, v value) json.RawMessage { return b.scalar(at, v, t, null) })
}

// reader reads a value at a place. It is kept with the plan and used again
// with an empty builder, for values that come from JSON and hold no variables.
type reader func(b *builder, at place, v value) json.RawMessage

// variableOr is the variable where its JSON is what was read of it, and what
// was read where not.
func (b *builder) variableOr(at place, v *variable, check reader) Value {
	read := check(b, at, v.value)
	if !v.value.is(read) {
		b.shaped[v.name] = true
		return Value{Literal: read}
	}
	b.needed[v.name] = true
	b.checks = append(b.checks, variableCheck{v.name, at.path, check})
	return Value{Variable: v.name, Default: v.standard}
}

// leaves reads a list of values, none of them null. One value that is no list
// counts as a list of one.
func (b *builder) leaves(at place, v value, t schema.Leaf) Value {
	declared, ok := b.variableAt(at, v, wanted{name: t.Name, list: true})
	if !ok {
		return Value{Literal: b.scalars(at, v, t)}
	}
	return b.variableOr(at, declared, func(b *builder, at place, v value) json.RawMessage { return b.scalars(at, v, t) })
}

func (b *builder) scalars(at place, v value, t schema.Leaf) json.RawMessage {
	list := []byte{'['}
	for i, item := range listed(at, v) {
		if i > 0 {
			list = append(list, ',')
		}
		inner := at.index(i)
		item = b.open(inner, item, wanted{name: t.Name, nonNull: true})
		list = append(list, b.scalar(inner, item, t, nullRefused)...)
	}
	return append(list, ']')
}

// listed returns the items of a list, or the one value that stands for it.
func listed(at place, v value) []value {
	switch v.kind {
	case kindList:
		return v.items
	case kindNull:
		at.fail("expected a list, but found null")
		return nil
	}
	return []value{v}
}

// scalar reads a value of a type and returns it as the JSON that the database
// is given. GraphQL's own scalars are strict; the others take what JSON can
// say of them, and every string, which PostgreSQL reads.
func (b *builder) scalar(at place, v value, t schema.Leaf, null nulls) json.RawMessage {
	if v.kind == kindNull && bool(null) {
		return v.json()
	}
	switch {
	case t.Enum != nil:
		return rowValue(at, v, t.Name, t.Enum)
	case t.Name == schema.Int:
		return integer(at, v)
	case t.Name == schema.Float:
		return strict(at, v, t.Name, "a float", kindInteger, kindFloat, kindNumber)
	case t.Name == schema.String:
		return text(at, v)
	case t.Name == schema.Boolean:
		return strict(at, v, t.Name, "a boolean", kindBoolean)
	}
	v = b.interpolated(at, v, t)
	if at.failed() {
		return nil
	}
	if t.JSON() {
		return v.json()
	}
	return lenient(at, v, t)
}

func strict(at place, v value, typeName, expected string, kinds ...kind) json.RawMessage {
	if !slices.Contains(kinds, v.kind) {
		at.mismatch(typeName, expected, v)
		return nil
	}
	return v.json()
}

func text(at place, v value) json.RawMessage {
	read := strict(at, v, schema.String, "a string", kindText)
	noNUL(at, v)
	return read
}

// noNUL refuses the one character that PostgreSQL cannot hold.
func noNUL(at place, v value) {
	if strings.ContainsRune(v.text, 0) {
		at.failCode(domain.ParseFailed, "a NUL character (\\u0000) is not allowed here")
	}
}

func integer(at place, v value) json.RawMessage {
	if v.kind != kindInteger && v.kind != kindNumber {
		at.mismatch(schema.Int, "a 32-bit integer", v)
		return nil
	}
	if n, ok := whole(v.text); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
		return strconv.AppendInt(nil, n, 10)
	}
	at.failCode(domain.ParseFailed, "The value %s lies outside the bounds or is not an integer.  "+
		"Maybe it is a float, or is there integer overflow?", wire.Scientific(v.text))
	return nil
}

// whole reads a number without a fraction, such as 42, 42.0 or 4.2e1.
func whole(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// interpolated puts the variables' values into a literal of JSON or of a
// composite value.
func (b *builder) interpolated(at place, v value, t schema.Leaf) value {
	switch v.kind {
	case kindVariable:
		declared := b.variables[v.text]
		if declared == nil {
			at.fail("unbound variable %q", v.text)
			return v
		}
		b.shaped[v.text] = true
		return declared.value
	case kindEnum:
		v.kind = kindText // a bare name inside JSON is a string, as v1.3 has it
	case kindList:
		items := make([]value, len(v.items))
		for i, item := range v.items {
			items[i] = b.interpolated(at.index(i), item, t)
		}
		v.items = items
	case kindObject:
		members := make([]member, len(v.members))
		for i, m := range v.members {
			members[i] = member{m.name, b.interpolated(at.key(m.name), m.value, t)}
		}
		v.members = members
	}
	return v
}

var (
	numberTypes = []string{"int2", "int8", "float8", "numeric"}
	textTypes   = []string{
		"uuid", "bpchar", "citext", "name", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "inet", "bytea",
	}
)

// lenient reads a value of a scalar that is not GraphQL's own.
func lenient(at place, v value, t schema.Leaf) json.RawMessage {
	switch {
	case v.kind == kindNull:
		at.mismatch(t.Name, "a value", v)
	case t.Array && v.kind == kindList:
		return wire.AppendString(nil, v.array())
	case v.kind == kindText:
		noNUL(at, v)
		if t.SQL == "raster" {
			rasterText(at, v)
		}
	case t.Array:
		expected(at, "Text", "String", v)
	case t.SQL == "geometry" || t.SQL == "geography":
		geoJSON(at, v)
	case slices.Contains(numberTypes, t.SQL):
		number(at, v)
	case slices.Contains(textTypes, t.SQL), v.kind == kindList, v.kind == kindObject:
		expected(at, "Text", "String", v)
	}
	return v.json()
}

func number(at place, v value) {
	if v.kind != kindInteger && v.kind != kindFloat && v.kind != kindNumber {
		expected(at, "Number", "Number", v)
	}
}

// expected reports JSON of the wrong kind.
func expected(at place, what, kind string, v value) {
	at.failCode(domain.ParseFailed, "parsing %s failed, expected %s, but encountered %s", what, kind, v.kind.asJSON())
}

// asJSON is how messages about JSON call a value.
func (k kind) asJSON() string {
	switch k {
	case kindBoolean:
		return "Boolean"
	case kindInteger, kindFloat, kindNumber:
		return "Number"
	case kindText, kindEnum:
		return "String"
	case kindList:
		return "Array"
	case kindObject:
		return "Object"
	}
	return "Null"
}

func rasterText(at place, v value) {
	if _, err := hex.DecodeString(v.text); err != nil {
		at.failCode(domain.ParseFailed, "invalid hexadecimal representation of raster well known binary format")
	}
}
