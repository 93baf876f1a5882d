package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/schema"
)

// The scalar that GraphQL has and tables have not.
const idScalar = "ID"

// arguments writes a field's arguments, which must be the definition's.
func (r remoteReader) arguments(at place, definition *ast.FieldDefinition, f field) string {
	var names []string
	for _, a := range definition.Arguments {
		names = append(names, a.Name)
	}
	args := r.b.arguments(at, f, names...)
	var texts []string
	for _, a := range definition.Arguments {
		if text, given := r.argument(args, a.Name, a.Type, a.DefaultValue); given {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// argument writes one argument, or one member of an input object; given is
// false when it is not there.
func (r remoteReader) argument(of arguments, name string, t *ast.Type, standard *ast.Value) (text string, given bool) {
	v, ok := of.find(name)
	at := of.at.key(name)
	if !ok {
		if t.NonNull && standard == nil {
			at.fail("missing required field %q", name)
		}
		return "", false
	}
	r.check(at, v, t, standard != nil)
	return name + ": " + v.graphql(), true
}

// check reads a value of the request as the type, and notes its variables. A
// place with a default takes a nullable variable too.
func (r remoteReader) check(at place, v value, t *ast.Type, hasDefault bool) {
	if at.failed() {
		return
	}
	if v.kind == kindVariable {
		r.variable(at, v.text, t, hasDefault)
		return
	}
	switch {
	case v.kind == kindNull:
		if t.NonNull {
			at.mismatch(t.Name(), "a value", v)
		}
	case t.Elem != nil:
		r.list(at, v, t.Elem)
	default:
		r.named(at, v, t.NamedType)
	}
}

// variable checks that a variable may stand at a place, and its value of this
// request. Whether another request's value fits is asked with the same check.
func (r remoteReader) variable(at place, name string, t *ast.Type, hasDefault bool) {
	declared := r.b.variables[name]
	if declared == nil {
		at.fail("unbound variable %q", name)
		return
	}
	location := *t
	if t.NonNull && (hasDefault || declared.standard != nil && string(declared.standard) != "null") {
		location.NonNull = false
	}
	if !fitsType(declared.typ, &location) {
		at.fail("variable %q is declared as %s, but used where %s is expected", name, declared.typ, t)
		return
	}
	r.used[name], r.b.needed[name] = true, true
	if declared.typ.NonNull {
		location.NonNull = true
	}
	read := func(_ *builder, at place, v value) json.RawMessage {
		remoteReader{types: r.types}.check(at, v, &location, hasDefault)
		return v.json()
	}
	read(r.b, at, declared.value)
	r.b.checks = append(r.b.checks, variableCheck{name, at.path, read})
}

// fitsType reports whether a variable of one type may stand where another is
// expected.
func fitsType(t, expected *ast.Type) bool {
	switch {
	case expected.NonNull && !t.NonNull:
		return false
	case expected.Elem != nil || t.Elem != nil:
		return expected.Elem != nil && t.Elem != nil && fitsType(t.Elem, expected.Elem)
	}
	return t.NamedType == expected.NamedType
}

// list reads a list; one value that is none counts as a list of one.
func (r remoteReader) list(at place, v value, item *ast.Type) {
	if v.kind != kindList {
		r.check(at, v, item, false)
		return
	}
	for i, inner := range v.items {
		r.check(at.index(i), inner, item, false)
	}
}

func (r remoteReader) named(at place, v value, name string) {
	switch d := r.types.Types[name]; {
	case d.Kind == ast.InputObject:
		r.object(at, v, d)
	case d.Kind == ast.Enum:
		enumValue(at, v, name, enumNames(d))
	case name == schema.Int:
		integer(at, v)
	case name == schema.Float:
		strict(at, v, name, "a float", kindInteger, kindFloat, kindNumber)
	case name == schema.Boolean:
		strict(at, v, name, "a boolean", kindBoolean)
	case name == schema.String:
		strict(at, v, name, "a string", kindText)
	case name == idScalar:
		strict(at, v, name, "a string", kindText, kindInteger, kindNumber)
	default:
		r.anything(at, v)
	}
}

func enumNames(d *ast.Definition) []string {
	names := make([]string, len(d.EnumValues))
	for i, v := range d.EnumValues {
		names[i] = v.Name
	}
	return names
}

// anything notes the variables in a value of a scalar that only the remote knows.
func (r remoteReader) anything(at place, v value) {
	switch v.kind {
	case kindVariable:
		if r.b.variables[v.text] == nil {
			at.fail("unbound variable %q", v.text)
			return
		}
		r.used[v.text], r.b.needed[v.text] = true, true
	case kindList:
		for i, item := range v.items {
			r.anything(at.index(i), item)
		}
	case kindObject:
		for _, m := range v.members {
			r.anything(at.key(m.name), m.value)
		}
	}
}

func (r remoteReader) object(at place, v value, d *ast.Definition) {
	given := r.b.object(at, v, d.Name, func(name string) bool {
		return slices.ContainsFunc(d.Fields, func(f *ast.FieldDefinition) bool { return f.Name == name })
	})
	for _, f := range d.Fields {
		if at.failed() {
			return
		}
		r.argument(given, f.Name, f.Type, f.DefaultValue)
	}
}

// graphql writes a value of the request's text as GraphQL has it.
func (v value) graphql() string {
	switch v.kind {
	case kindVariable:
		return "$" + v.text
	case kindEnum:
		return v.text
	case kindList:
		items := make([]string, len(v.items))
		for i, item := range v.items {
			items[i] = item.graphql()
		}
		return "[" + strings.Join(items, ", ") + "]"
	case kindObject:
		members := make([]string, len(v.members))
		for i, m := range v.members {
			members[i] = m.name + ": " + m.value.graphql()
		}
		return "{" + strings.Join(members, ", ") + "}"
	case kindText:
		return (&ast.Value{Kind: ast.StringValue, Raw: v.text}).String()
	}
	return string(v.json())
}
