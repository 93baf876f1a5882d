package graphqltest

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Introspection is the answer to the introspection query, {"data":{"__schema":...}},
// with the types in the order of their names, GraphQL's own last.
func Introspection(schema *ast.Schema) []byte {
	d := describer{schema}
	types, builtIn := []any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(schema.Types)) {
		if t := schema.Types[name]; t.BuiltIn {
			builtIn = append(builtIn, d.definition(t))
		} else {
			types = append(types, d.definition(t))
		}
	}
	types = append(types, builtIn...)
	said := map[string]any{
		"queryType": map[string]any{"name": schema.Query.Name}, "mutationType": nil, "subscriptionType": nil,
		"types": types, "directives": []any{},
	}
	if schema.Mutation != nil {
		said["mutationType"] = map[string]any{"name": schema.Mutation.Name}
	}
	if schema.Subscription != nil {
		said["subscriptionType"] = map[string]any{"name": schema.Subscription.Name}
	}
	return encode(map[string]any{"data": map[string]any{"__schema": said}})
}

type describer struct{ schema *ast.Schema }

func (d describer) definition(of *ast.Definition) map[string]any {
	said := map[string]any{
		"kind": of.Kind, "name": of.Name, "description": orNull(of.Description),
		"fields": nil, "inputFields": nil, "interfaces": nil, "possibleTypes": nil, "enumValues": nil,
	}
	switch of.Kind {
	case ast.Object:
		said["fields"] = d.fields(of.Fields)
		said["interfaces"] = each(of.Interfaces, d.named)
	case ast.Interface:
		said["fields"] = d.fields(of.Fields)
		said["possibleTypes"] = each(d.schema.PossibleTypes[of.Name], func(p *ast.Definition) any { return d.named(p.Name) })
	case ast.Union:
		said["possibleTypes"] = each(of.Types, d.named)
	case ast.Enum:
		said["enumValues"] = each(of.EnumValues, func(v *ast.EnumValueDefinition) any {
			return map[string]any{"name": v.Name, "description": orNull(v.Description), "isDeprecated": false, "deprecationReason": nil}
		})
	case ast.InputObject:
		said["inputFields"] = each(of.Fields, func(f *ast.FieldDefinition) any {
			return d.input(f.Name, f.Description, f.Type, f.DefaultValue)
		})
	}
	return said
}

func (d describer) fields(list ast.FieldList) []any {
	said := []any{}
	for _, f := range list {
		if f.Name == "__schema" || f.Name == "__type" { // which gqlparser adds
			continue
		}
		deprecated := f.Directives.ForName("deprecated")
		said = append(said, map[string]any{
			"name": f.Name, "description": orNull(f.Description), "type": d.typeOf(f.Type),
			"args": each(f.Arguments, func(a *ast.ArgumentDefinition) any {
				return d.input(a.Name, a.Description, a.Type, a.DefaultValue)
			}),
			"isDeprecated": deprecated != nil, "deprecationReason": nil,
		})
	}
	return said
}

func (d describer) input(name, description string, t *ast.Type, standard *ast.Value) map[string]any {
	said := map[string]any{"name": name, "description": orNull(description), "type": d.typeOf(t), "defaultValue": nil}
	if standard != nil {
		said["defaultValue"] = standard.String()
	}
	return said
}

func (d describer) typeOf(t *ast.Type) map[string]any {
	switch {
	case t.NonNull:
		inner := *t
		inner.NonNull = false
		return map[string]any{"kind": "NON_NULL", "name": nil, "ofType": d.typeOf(&inner)}
	case t.Elem != nil:
		return map[string]any{"kind": "LIST", "name": nil, "ofType": d.typeOf(t.Elem)}
	}
	return d.reference(t.NamedType)
}

func (d describer) named(name string) any { return d.reference(name) }

func (d describer) reference(name string) map[string]any {
	return map[string]any{"kind": d.schema.Types[name].Kind, "name": name, "ofType": nil}
}

func each[T any](list []T, say func(T) any) []any {
	said := []any{}
	for _, item := range list {
		said = append(said, say(item))
	}
	return said
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
