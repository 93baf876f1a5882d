package plan

import (
	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/schema"
	"annals/domain/wire"
)

// The root fields of introspection.
const (
	schemaField = "__schema"
	typeField   = "__type"
)

// introspection is the type that a root field of introspection answers; ok is
// false for other fields.
func introspection(f field) (typeName string, ok bool) {
	switch f.name {
	case schemaField:
		return "__Schema", true
	case typeField:
		return "__Type", true
	}
	return "", false
}

// introspect answers a root field of introspection. The selection is read
// first, then followed through the schema of the role.
func (b *builder) introspect(at place, typeName string, f field) Step {
	meta := metaReader{b, schema.MetaSchema()}
	selected := meta.fields(at, meta.schema.Types[typeName], f)
	var name string
	if f.name == typeField {
		v, inner := b.arguments(at, f, "name").required("name", wanted{name: schema.String})
		text(inner, v)
		name = v.text
	} else {
		b.noArguments(at, f)
	}
	if at.failed() {
		return nil
	}
	s := b.role.Introspect()
	most := b.limits.MaxIntrospection * membersOf(s)
	w := metaWriter{schema: s, left: most - b.introspected}
	if f.name == typeField {
		w.definition(selected, s.Types[name])
	} else {
		w.root(selected)
	}
	b.introspected = most - w.left
	if w.left < 0 {
		at.fail("the introspection answers the schema more than %d times over: ask for it in parts, or raise --max-introspection", b.limits.MaxIntrospection)
	}
	return Constant(w.out)
}

// membersOf counts the types with all that is in them.
func membersOf(s *ast.Schema) int {
	n := len(s.Directives)
	for _, d := range s.Types {
		n += 1 + len(d.Fields) + len(d.EnumValues)
		for _, f := range d.Fields {
			n += len(f.Arguments)
		}
	}
	return n
}

// metaField is a field selected of a type of introspection.
type metaField struct {
	key      string // as JSON, with the colon
	name     string
	typename string
	selected []metaField
}

// metaReader reads selections on the types of introspection.
type metaReader struct {
	b      *builder
	schema *ast.Schema
}

func (r metaReader) fields(at place, of *ast.Definition, f field) []metaField {
	at, selected := r.b.subselection(at, of.Name, f)
	var fields []metaField
	for _, s := range selected {
		if at.failed() {
			return nil
		}
		fields = append(fields, r.field(at.key(s.name), of, s))
	}
	return fields
}

func (r metaReader) field(at place, of *ast.Definition, f field) metaField {
	m := metaField{key: string(wire.AppendString(nil, f.alias)) + ":", name: f.name}
	if f.name == typenameField {
		r.b.typename(at, of.Name, f)
		m.typename = of.Name
		return m
	}
	definition := of.Fields.ForName(f.name)
	if definition == nil {
		at.fail("field %q not found in type: '%s'", f.name, of.Name)
		return m
	}
	r.arguments(at, definition, f)
	to := r.schema.Types[definition.Type.Name()]
	if to.Kind == ast.Object {
		m.selected = r.fields(at, to, f)
	} else {
		r.b.noSelection(at, f)
	}
	return m
}

// arguments reads includeDeprecated, the one argument there is. Nothing is
// deprecated, so it changes no answer.
func (r metaReader) arguments(at place, definition *ast.FieldDefinition, f field) {
	var names []string
	for _, a := range definition.Arguments {
		names = append(names, a.Name)
	}
	args := r.b.arguments(at, f, names...)
	for _, name := range names {
		if v, at, ok := args.optional(name, wanted{name: schema.Boolean}); ok {
			strict(at, v, schema.Boolean, "a boolean", kindBoolean)
		}
	}
}
