package plan

import (
	"encoding/json"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/schema"
	"annals/domain/wire"
)

// Template is JSON in pieces, one after the other: what the operation's text
// says, and in between the values of variables.
type Template []Value

// JSON puts the variables' values in.
func (t Template) JSON(variables map[string]json.RawMessage) json.RawMessage {
	var out json.RawMessage
	for _, piece := range t {
		given, ok := variables[piece.Variable]
		switch {
		case piece.Variable == "":
			out = append(out, piece.Literal...)
		case ok:
			out = append(out, given...)
		case piece.Default != nil:
			out = append(out, piece.Default...)
		default:
			out = append(out, "null"...)
		}
	}
	return out
}

// templateReader reads values as an action's types want them, and writes the
// template of their JSON.
type templateReader struct {
	b      *builder
	types  schema.ActionTypes
	pieces Template
	text   []byte // not among the pieces yet
}

func (r *templateReader) template() Template {
	if len(r.text) > 0 {
		r.pieces = append(r.pieces, Value{Literal: slices.Clone(r.text)})
		r.text = nil
	}
	return r.pieces
}

// members writes an object: those members that are given.
func (r *templateReader) members(args arguments, inputs []schema.ActionInput) {
	r.text = append(r.text, '{')
	first := true
	for _, in := range inputs {
		at := args.at.key(in.Name)
		v, ok := args.find(in.Name)
		if !ok || !r.b.given(v) {
			if ok {
				r.b.variableAt(at, v, wanted{typ: in.Type}) // its type must fit all the same
			} else if in.Type.NonNull {
				at.fail("missing required field %q", in.Name)
			}
			continue
		}
		if at.failed() {
			return
		}
		if !first {
			r.text = append(r.text, ',')
		}
		first = false
		r.text = append(wire.AppendString(r.text, in.Name), ':')
		r.value(at, v, in.Type)
	}
	r.text = append(r.text, '}')
}

// value writes one value. A variable is read as what it is in this request, and
// stays a variable where its JSON is what is wanted.
func (r *templateReader) value(at place, v value, t *ast.Type) {
	declared, ok := r.b.variableAt(at, v, wanted{typ: t})
	if !ok {
		r.literal(at, v, t)
		return
	}
	strict := *t
	strict.NonNull = t.NonNull || declared.typ.NonNull
	types := r.types
	piece := r.b.variableOr(at, declared, func(b *builder, at place, v value) json.RawMessage {
		inner := templateReader{b: b, types: types}
		inner.literal(at, v, &strict)
		return inner.text
	})
	if piece.Variable == "" {
		r.text = append(r.text, piece.Literal...)
		return
	}
	r.template()
	r.pieces = append(r.pieces, piece)
}

func (r *templateReader) literal(at place, v value, t *ast.Type) {
	switch {
	case v.kind == kindNull && !t.NonNull:
		r.text = append(r.text, "null"...)
	case t.Elem != nil:
		r.list(at, v, t.Elem)
	default:
		r.named(at, v, r.types.Named(t.Name()))
	}
}

func (r *templateReader) list(at place, v value, elem *ast.Type) {
	r.text = append(r.text, '[')
	for i, item := range listed(at, v) {
		if i > 0 {
			r.text = append(r.text, ',')
		}
		r.value(at.index(i), item, elem)
	}
	r.text = append(r.text, ']')
}

func (r *templateReader) named(at place, v value, of schema.ActionType) {
	switch {
	case of.Fields != nil:
		known := func(name string) bool {
			return slices.ContainsFunc(of.Fields, func(in schema.ActionInput) bool { return in.Name == name })
		}
		r.members(r.b.object(at, v, of.Name, known), of.Fields)
	case of.Leaf == nil:
		r.anything(at, v, of.Name)
	case of.Leaf.Enum != nil:
		r.text = append(r.text, r.enum(at, v, of)...)
	case of.Name == schema.ID:
		r.text = append(r.text, identifier(at, v)...)
	default:
		r.text = append(r.text, r.b.scalar(at, v, *of.Leaf, nullRefused)...)
	}
}

// anything writes a value of a scalar that the metadata declares.
func (r *templateReader) anything(at place, v value, typeName string) {
	if v.kind == kindNull {
		at.mismatch(typeName, "a value", v)
		return
	}
	if v = r.b.interpolated(at, v, schema.Leaf{Name: typeName}); !at.failed() {
		r.text = v.append(r.text)
	}
}

func (r *templateReader) enum(at place, v value, of schema.ActionType) json.RawMessage {
	names := make([]string, len(of.Leaf.Enum))
	for i, value := range of.Leaf.Enum {
		names[i] = value.Value
	}
	return enumValue(at, v, of.Name, names)
}

// identifier reads an ID, which is a text whichever way it is given.
func identifier(at place, v value) json.RawMessage {
	if v.kind != kindText && v.kind != kindInteger && v.kind != kindNumber {
		at.mismatch(schema.ID, "a string or an integer", v)
		return nil
	}
	if v.kind == kindNumber {
		if _, ok := whole(v.text); !ok {
			at.mismatch(schema.ID, "a string or an integer", v)
		}
	}
	return wire.AppendString(nil, v.text)
}
