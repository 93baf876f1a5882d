package plan

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/schema"
	"annals/domain/engine/stitch"
)

// Remote is a root field that a remote server answers.
type Remote struct {
	// Schema names the remote schema.
	Schema string
	RemoteSelection
}

func (*Remote) step() {}

// RemoteSelection is what a remote server is asked for, in GraphQL: fragments
// stand in their places, @skip and @include have been followed, variables are
// left to the request.
type RemoteSelection struct {
	Text string
	// Variables are those of the operation that the text refers to, by name.
	Variables []RemoteVariable
}

// RemoteVariable is a variable with its definition, such as "$id: Int! = 1".
type RemoteVariable struct{ Name, Definition string }

// RemoteDocument is an operation with all of the selections, and the names of
// the variables that go with it. It is spelled as v1.3 spells it, spaces
// included: errors of the remote, which clients see, name places in it.
func RemoteDocument(kind Kind, selections ...RemoteSelection) (text string, variables []string) {
	var fields, definitions []string
	for _, s := range selections {
		fields = append(fields, s.Text)
		for _, v := range s.Variables {
			if !slices.Contains(variables, v.Name) {
				variables, definitions = append(variables, v.Name), append(definitions, v.Definition)
			}
		}
	}
	text = string(kind) + " "
	if len(definitions) > 0 {
		text += "(" + strings.Join(definitions, ", ") + ")"
	}
	return text + " { " + strings.Join(fields, " ") + " }", variables
}

// remote builds a root field that a remote server answers.
func (b *builder) remote(at place, remote stitch.Field, f field) Step {
	r := newRemoteReader(b, remote.Types)
	text := r.field(at, remote.Definition, f)
	return &Remote{remote.Remote, r.selection(text)}
}

// remoteReader reads selections on the types of one remote, and writes them as
// the remote gets them.
type remoteReader struct {
	b     *builder
	types *ast.Schema
	used  map[string]bool
}

func newRemoteReader(b *builder, types *ast.Schema) remoteReader {
	return remoteReader{b, types, map[string]bool{}}
}

// selection is a text that was written, with the variables that it needs.
func (r remoteReader) selection(text string) RemoteSelection {
	s := RemoteSelection{Text: text}
	for _, name := range sortedKeys(r.used) {
		v := r.b.variables[name]
		definition := "$" + name + ": " + v.typ.String()
		if v.literal != nil {
			definition += " = " + v.literal.String()
		}
		s.Variables = append(s.Variables, RemoteVariable{name, definition})
	}
	return s
}

// field writes a field with its arguments and selections.
func (r remoteReader) field(at place, definition *ast.FieldDefinition, f field) string {
	text := f.name
	if f.alias != f.name {
		text = f.alias + ": " + f.name
	}
	text += r.arguments(at, definition, f)
	of := r.types.Types[definition.Type.Name()]
	if at.failed() || of == nil {
		return text
	}
	if !of.IsCompositeType() {
		r.b.noSelection(at, f)
		return text + " "
	}
	if len(f.selections) == 0 {
		at.fail("missing selection set for %q", f.name)
	}
	return text + " " + r.selections(at.key("selectionSet"), of, f.selections)
}

// nothing is selected where directives leave nothing over: a selection set
// cannot be empty.
const nothing = "__typename @skip(if: true)"

// selections writes a selection set on a type. Fields of fragments that any
// object of the type is subject to stand among its own; the others stay in
// fragments.
func (r remoteReader) selections(at place, of *ast.Definition, set ast.SelectionSet) string {
	c := collector{b: r.b, at: at, typeName: of.Name, byAlias: map[string]int{}}
	var fragments []string
	c.applies = func(condition string) bool { return r.covers(condition, of) }
	c.other = func(condition string, set ast.SelectionSet) {
		if on := r.types.Types[condition]; on != nil && r.overlaps(on, of) {
			fragments = append(fragments, "... on "+condition+" "+r.selections(at, on, set))
		}
	}
	c.add(set)
	var fields []string
	for _, f := range c.fields {
		if at.failed() {
			return ""
		}
		fields = append(fields, r.member(at.key(f.name), of, f))
	}
	fields = append(fields, fragments...)
	if len(fields) == 0 {
		fields = []string{nothing}
	}
	return "{ " + strings.Join(fields, " ") + " }"
}

func (r remoteReader) member(at place, of *ast.Definition, f field) string {
	if f.name == typenameField {
		r.b.typename(at, of.Name, f)
		return r.field(at, &ast.FieldDefinition{Name: typenameField, Type: ast.NonNullNamedType(schema.String, nil)}, f)
	}
	definition := of.Fields.ForName(f.name)
	if definition == nil {
		at.fail("field %q not found in type: '%s'", f.name, of.Name)
		return ""
	}
	return r.field(at, definition, f)
}

// covers reports whether the fields of a fragment are fields of the type itself:
// those on the type, and on interfaces of an object. Types that are not an object
// need not have the fields of an interface that all their objects implement.
func (r remoteReader) covers(condition string, of *ast.Definition) bool {
	if condition == "" || condition == of.Name {
		return true
	}
	on := r.types.Types[condition]
	return on != nil && on.Kind == ast.Interface && of.Kind == ast.Object && slices.Contains(r.types.PossibleTypes[condition], of)
}

// overlaps reports whether an object can be of both types.
func (r remoteReader) overlaps(a, b *ast.Definition) bool {
	others := r.objects(b)
	return slices.ContainsFunc(r.objects(a), func(d *ast.Definition) bool { return slices.Contains(others, d) })
}

// objects lists the objects that can be of a type.
func (r remoteReader) objects(of *ast.Definition) []*ast.Definition {
	switch {
	case of.IsAbstractType():
		return r.types.PossibleTypes[of.Name]
	case of.Kind == ast.Object:
		return []*ast.Definition{of}
	}
	return nil
}
