package graphql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"annals/domain"
	"annals/domain/wire"
)

// SchemaLimits bound what a server says of itself. Zero is no limit: what was
// taken once is read again without any.
type SchemaLimits struct {
	// MaxTypes is how many types there may be.
	MaxTypes int
	// MaxMembers is how many fields, arguments and enum values all types may
	// have together.
	MaxMembers int
	// MaxWrappers is how deep lists and non-null types may be wrapped around a type.
	MaxWrappers int
}

// ReadSchema makes a schema of a server's answer to the introspection query:
// {"data":{"__schema":...}}, or what stands in data. An answer of another form,
// and a schema that breaks GraphQL's rules, are refused in v1.3's words with
// remote-schema-error.
//
// GraphQL's own scalars are always there, the types of introspection never.
// Descriptions, defaults and deprecations are kept. The root of subscriptions is
// kept where it is an object, though nobody can ask for it.
func ReadSchema(answer []byte, limits SchemaLimits) (*ast.Schema, error) {
	parsed, err := wire.Parse(answer)
	if err != nil {
		return nil, unreadable(err)
	}
	stated, err := schemaIn(parsed)
	if err != nil {
		return nil, err
	}
	r := schemaReader{limits: limits, schema: newSchema()}
	if _, err := wire.Decode(stated, r.read); err != nil {
		return nil, unreadable(err)
	}
	if r.fault != nil {
		return nil, r.fault
	}
	if err := r.link(); err != nil {
		return nil, err
	}
	return r.schema, nil
}

// schemaIn returns what an answer says under __schema.
func schemaIn(answer wire.Value) (wire.Value, error) {
	if data, ok := answer.Lookup("data"); ok {
		answer = data
	}
	stated, ok := answer.Lookup("__schema")
	if !ok || stated.Kind() != wire.Object {
		return stated, domain.Refuse(domain.RemoteSchemaError, "the answer to the introspection query holds no __schema")
	}
	return stated, nil
}

// unreadable gives a fault of the JSON the form that v1.3's decoder has.
func unreadable(err error) error {
	var fault *domain.Error
	if !errors.As(err, &fault) {
		return err
	}
	text := fault.Message
	if !strings.HasPrefix(text, "Error in ") {
		text = fmt.Sprintf("Error in %s: %s", fault.Path, text)
	}
	return domain.Refuse(domain.RemoteSchemaError, "%s", text)
}

func newSchema() *ast.Schema {
	return &ast.Schema{
		Types: map[string]*ast.Definition{}, Directives: map[string]*ast.DirectiveDefinition{},
		PossibleTypes: map[string][]*ast.Definition{}, Implements: map[string][]*ast.Definition{},
	}
}

// schemaReader reads the types, in the order of the answer.
type schemaReader struct {
	limits  SchemaLimits
	schema  *ast.Schema
	inOrder []*ast.Definition
	members int
	fault   error

	query, mutation, subscription string
}

func (r *schemaReader) read(n wire.Node) struct{} {
	types := n.Field("types").Items()
	if r.limits.MaxTypes > 0 && len(types) > r.limits.MaxTypes {
		r.exceeds("%d types, of which there may be %d: raise --remote-schema-max-types", len(types), r.limits.MaxTypes)
		return struct{}{}
	}
	for _, t := range types {
		if n.Failed() || r.fault != nil {
			break
		}
		r.add(r.definition(t))
	}
	r.query = rootName(n.Field("queryType"))
	if mutation := n.Optional("mutationType"); mutation.Present() {
		r.mutation = rootName(mutation)
	}
	if subscription := n.Optional("subscriptionType"); subscription.Present() {
		r.subscription = rootName(subscription)
	}
	return struct{}{}
}

func (r *schemaReader) exceeds(format string, args ...any) {
	if r.fault == nil {
		r.fault = domain.Refuse(domain.RemoteSchemaError, "the remote schema is too large: it has "+format, args...)
	}
}

func (r *schemaReader) add(d *ast.Definition) {
	if !isMeta(d.Name) && r.schema.Types[d.Name] == nil {
		r.schema.Types[d.Name] = d
		r.inOrder = append(r.inOrder, d)
	}
}

func rootName(n wire.Node) string { return nameIn(n.Field("name")) }

// nameIn reads a name of the GraphQL grammar.
func nameIn(n wire.Node) string {
	if n.Given() && n.Kind() != wire.String {
		n.Fail("parsing Name failed, expected String, but encountered %s", n.Kind())
		return ""
	}
	return n.GraphQLName()
}

func (r *schemaReader) definition(n wire.Node) *ast.Definition {
	d := &ast.Definition{
		Kind: ast.DefinitionKind(n.Field("kind").OneOf(string(ast.Scalar), string(ast.Object), string(ast.Interface),
			string(ast.Union), string(ast.Enum), string(ast.InputObject))),
		Name:        nameIn(n.Field("name")),
		Description: n.Optional("description").String(),
	}
	switch d.Kind {
	case ast.Object:
		d.Interfaces = wire.List(n.Optional("interfaces"), rootName)
		d.Fields = r.fields(n)
	case ast.Interface:
		d.Fields = r.fields(n)
	case ast.Union:
		d.Types = wire.List(n.Optional("possibleTypes"), rootName)
	case ast.Enum:
		d.EnumValues = wire.List(n.Optional("enumValues"), r.enumValue)
	case ast.InputObject:
		d.Fields = wire.List(n.Optional("inputFields"), func(n wire.Node) *ast.FieldDefinition {
			in := r.input(n)
			return &ast.FieldDefinition{Name: in.Name, Description: in.Description, Type: in.Type, DefaultValue: in.DefaultValue}
		})
	}
	return d
}

func (r *schemaReader) fields(n wire.Node) ast.FieldList {
	fields := wire.List(n.Optional("fields"), func(n wire.Node) *ast.FieldDefinition {
		r.count()
		return &ast.FieldDefinition{
			Name:        nameIn(n.Field("name")),
			Description: n.Optional("description").String(),
			Arguments:   wire.List(n.Optional("args"), r.input),
			Type:        r.typeOf(n.Field("type"), 0),
			Directives:  deprecation(n),
		}
	})
	return slices.DeleteFunc(fields, func(f *ast.FieldDefinition) bool { return isMeta(f.Name) })
}

// isMeta reports whether a name is one of introspection, which is not the
// remote's to give.
func isMeta(name string) bool { return strings.HasPrefix(name, "__") }

// count counts a member, and says so once there are too many.
func (r *schemaReader) count() {
	if r.members++; r.limits.MaxMembers > 0 && r.members > r.limits.MaxMembers {
		r.exceeds("more than %d fields, arguments and enum values: raise --remote-schema-max-members", r.limits.MaxMembers)
	}
}

func (r *schemaReader) enumValue(n wire.Node) *ast.EnumValueDefinition {
	r.count()
	return &ast.EnumValueDefinition{
		Name: nameIn(n.Field("name")), Description: n.Optional("description").String(), Directives: deprecation(n),
	}
}

// input reads an argument, or a member of an input object.
func (r *schemaReader) input(n wire.Node) *ast.ArgumentDefinition {
	r.count()
	return &ast.ArgumentDefinition{
		Name:         nameIn(n.Field("name")),
		Description:  n.Optional("description").String(),
		Type:         r.typeOf(n.Field("type"), 0),
		DefaultValue: defaultIn(n.Optional("defaultValue")),
	}
}

// deprecation is what introspection says of it, as the directive it came from.
func deprecation(n wire.Node) ast.DirectiveList {
	if !n.Optional("isDeprecated").BoolOr(false) {
		return nil
	}
	d := &ast.Directive{Name: "deprecated"}
	if reason := n.Optional("deprecationReason"); reason.Present() {
		value := &ast.Value{Kind: ast.StringValue, Raw: reason.String()}
		d.Arguments = ast.ArgumentList{{Name: "reason", Value: value}}
	}
	return ast.DirectiveList{d}
}

// typeOf reads a type with what is wrapped around it.
func (r *schemaReader) typeOf(n wire.Node, depth int) *ast.Type {
	if r.limits.MaxWrappers > 0 && depth > r.limits.MaxWrappers {
		r.exceeds("a type in more than %d wrappers: raise --remote-schema-max-depth", r.limits.MaxWrappers)
	}
	if !n.Given() || r.fault != nil {
		return &ast.Type{}
	}
	switch kind := n.Field("kind").String(); kind {
	case "LIST":
		return ast.ListType(r.typeOf(n.Field("ofType"), depth+1), nil)
	case "NON_NULL":
		inner := r.typeOf(n.Field("ofType"), depth+1)
		if inner.NonNull {
			n.Fail("a non-null type cannot be in a non-null type")
		}
		inner.NonNull = true
		return inner
	}
	return ast.NamedType(nameIn(n.Field("name")), nil)
}

// defaultIn reads a value that is written in GraphQL; nil when there is none.
func defaultIn(n wire.Node) *ast.Value {
	if !n.Present() {
		return nil
	}
	text := n.String()
	document, err := parser.ParseQuery(&ast.Source{Input: "query($x: Int = " + text + "\n){x}"})
	if err != nil || len(document.Operations) != 1 || len(document.Fragments) > 0 || len(document.Operations[0].VariableDefinitions) != 1 {
		n.Fail("%q is not a GraphQL value", text)
		return nil
	}
	return document.Operations[0].VariableDefinitions[0].DefaultValue
}
