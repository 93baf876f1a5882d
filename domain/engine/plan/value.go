package plan

import (
	"encoding/json"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/wire"
)

// kind is what a value of the request is. Text and JSON have different
// numbers: a literal is an integer or a float, JSON has one kind of number.
type kind byte

const (
	kindNull kind = iota
	kindBoolean
	kindInteger
	kindFloat
	kindNumber
	kindText
	kindEnum
	kindList
	kindObject
	kindVariable
)

// described is how messages call a value.
func (k kind) described() string {
	return [...]string{
		"null", "a boolean", "an integer", "a float", "a number", "a string", "an enum value", "a list", "an object", "a variable",
	}[k]
}

// value is a value of the request, from its text or from its variables.
type value struct {
	kind kind
	// text is a string decoded, a number as it was written, true or false, or
	// the name of an enum value or variable.
	text    string
	items   []value
	members []member
	// fromJSON is true of a value of the variables. JSON has no enums: there
	// their values are strings.
	fromJSON bool
}

type member struct {
	name  string
	value value
}

// literal is a value of the operation's text.
func literal(v *ast.Value) value {
	switch v.Kind {
	case ast.Variable:
		return value{kind: kindVariable, text: v.Raw}
	case ast.IntValue:
		return value{kind: kindInteger, text: v.Raw}
	case ast.FloatValue:
		return value{kind: kindFloat, text: v.Raw}
	case ast.StringValue, ast.BlockValue:
		return value{kind: kindText, text: v.Raw}
	case ast.BooleanValue:
		return value{kind: kindBoolean, text: v.Raw}
	case ast.EnumValue:
		return value{kind: kindEnum, text: v.Raw}
	case ast.ListValue:
		list := value{kind: kindList}
		for _, c := range v.Children {
			list.items = append(list.items, literal(c.Value))
		}
		return list
	case ast.ObjectValue:
		object := value{kind: kindObject}
		for _, c := range v.Children {
			object.members = append(object.members, member{c.Name, literal(c.Value)})
		}
		return object
	}
	return value{}
}

// ofJSON is a value of the request's variables.
func ofJSON(n wire.Node) value {
	switch n.Kind() {
	case wire.Bool:
		if n.Bool() {
			return value{kind: kindBoolean, text: "true"}
		}
		return value{kind: kindBoolean, text: "false"}
	case wire.Number:
		return value{kind: kindNumber, text: n.Number().String()}
	case wire.String:
		return value{kind: kindText, text: n.String(), fromJSON: true}
	case wire.Array:
		return value{kind: kindList, items: wire.List(n, ofJSON)}
	case wire.Object:
		object := value{kind: kindObject}
		for name, m := range n.Members() {
			object.members = append(object.members, member{name, ofJSON(m)})
		}
		return object
	}
	return value{}
}

// get returns a member of an object.
func (v value) get(name string) (value, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// json writes the value, which holds no variable, as JSON.
func (v value) json() json.RawMessage { return v.append(nil) }

// is reports whether the value, written as JSON, is this text.
func (v value) is(text json.RawMessage) bool {
	var short [64]byte // has room for most values
	return string(v.append(short[:0])) == string(text)
}

func (v value) append(b []byte) []byte {
	switch v.kind {
	case kindBoolean, kindInteger, kindFloat, kindNumber:
		return append(b, v.text...)
	case kindText, kindEnum:
		return wire.AppendString(b, v.text)
	case kindList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b)
		}
		return append(b, ']')
	case kindObject:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, m.name), ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// array writes a list as PostgreSQL reads an array: {"a","b",NULL}.
func (v value) array() string {
	var b strings.Builder
	v.writeArray(&b)
	return b.String()
}

func (v value) writeArray(b *strings.Builder) {
	switch v.kind {
	case kindNull:
		b.WriteString("NULL")
	case kindList:
		b.WriteByte('{')
		for i, item := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.writeArray(b)
		}
		b.WriteByte('}')
	default:
		text := v.text
		if v.kind == kindObject {
			text = string(v.json())
		}
		b.WriteByte('"')
		b.WriteString(arrayEscapes.Replace(text))
		b.WriteByte('"')
	}
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
