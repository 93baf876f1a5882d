package plan

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/wire"
)

// metaWriter writes what was selected of a schema as JSON. The number of
// values is bounded: types lead to types, so that a short selection could
// answer without end.
type metaWriter struct {
	schema *ast.Schema
	out    []byte
	left   int
}

// object writes an object; member writes the value of each field.
func (w *metaWriter) object(selected []metaField, member func(metaField)) {
	if w.left -= len(selected); w.left < 0 {
		return
	}
	w.out = append(w.out, '{')
	for i, f := range selected {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, f.key...)
		if f.typename != "" {
			w.text(f.typename)
		} else {
			member(f)
		}
	}
	w.out = append(w.out, '}')
}

// metaList writes a list.
func metaList[T any](w *metaWriter, items []T, item func(T)) {
	w.out = append(w.out, '[')
	for i, t := range items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		item(t)
	}
	w.out = append(w.out, ']')
}

func (w *metaWriter) text(s string) { w.out = wire.AppendString(w.out, s) }

func (w *metaWriter) null() { w.out = append(w.out, "null"...) }

// textOrNull writes null for a text that is not there.
func (w *metaWriter) textOrNull(s string) {
	if s == "" {
		w.null()
		return
	}
	w.text(s)
}

func (w *metaWriter) root(selected []metaField) {
	w.object(selected, func(f metaField) {
		switch f.name {
		case "queryType":
			w.definition(f.selected, w.schema.Query)
		case "mutationType":
			w.definition(f.selected, w.schema.Mutation)
		case "subscriptionType":
			w.definition(f.selected, w.schema.Subscription)
		case "directives":
			metaList(w, inOrder(w.schema.Directives), func(d *ast.DirectiveDefinition) { w.directive(f.selected, d) })
		default:
			metaList(w, inOrder(w.schema.Types), func(d *ast.Definition) { w.definition(f.selected, d) })
		}
	})
}

// inOrder lists what has names in their order.
func inOrder[T any](named map[string]T) []T {
	list := make([]T, 0, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, named[name])
	}
	return list
}

// typeOf writes the type of a field: a type by name, or what is wrapped
// around one.
func (w *metaWriter) typeOf(selected []metaField, t *ast.Type) {
	switch {
	case t.NonNull:
		inner := *t
		inner.NonNull = false
		w.wrapper(selected, "NON_NULL", &inner)
	case t.Elem != nil:
		w.wrapper(selected, "LIST", t.Elem)
	default:
		w.definition(selected, w.schema.Types[t.NamedType])
	}
}

func (w *metaWriter) wrapper(selected []metaField, kind string, of *ast.Type) {
	w.object(selected, func(f metaField) {
		switch f.name {
		case "kind":
			w.text(kind)
		case "ofType":
			w.typeOf(f.selected, of)
		default:
			w.null()
		}
	})
}

// definition writes a type that has a name; nil is null.
func (w *metaWriter) definition(selected []metaField, d *ast.Definition) {
	if d == nil {
		w.null()
		return
	}
	w.object(selected, func(f metaField) {
		switch f.name {
		case "kind":
			w.text(string(d.Kind))
		case "name":
			w.text(d.Name)
		case "description":
			w.textOrNull(d.Description)
		default:
			w.members(f, d)
		}
	})
}

// members writes one of a type's lists; it is null where the type's kind has
// no such list.
func (w *metaWriter) members(f metaField, d *ast.Definition) {
	switch {
	case f.name == "fields" && (d.Kind == ast.Object || d.Kind == ast.Interface):
		metaList(w, d.Fields, func(of *ast.FieldDefinition) { w.field(f.selected, of) })
	case f.name == "inputFields" && d.Kind == ast.InputObject:
		metaList(w, d.Fields, func(of *ast.FieldDefinition) {
			w.input(f.selected, of.Name, of.Description, of.Type, of.DefaultValue)
		})
	case f.name == "interfaces" && (d.Kind == ast.Object || d.Kind == ast.Interface):
		metaList(w, d.Interfaces, func(name string) { w.definition(f.selected, w.schema.Types[name]) })
	case f.name == "possibleTypes" && d.IsAbstractType():
		metaList(w, w.schema.PossibleTypes[d.Name], func(of *ast.Definition) { w.definition(f.selected, of) })
	case f.name == "enumValues" && d.Kind == ast.Enum:
		metaList(w, d.EnumValues, func(v *ast.EnumValueDefinition) { w.enumValue(f.selected, v) })
	default:
		w.null()
	}
}

func (w *metaWriter) field(selected []metaField, of *ast.FieldDefinition) {
	w.object(selected, func(f metaField) {
		switch f.name {
		case "name":
			w.text(of.Name)
		case "description":
			w.textOrNull(of.Description)
		case "args":
			w.arguments(f.selected, of.Arguments)
		case "type":
			w.typeOf(f.selected, of.Type)
		case "isDeprecated":
			w.never()
		default:
			w.null()
		}
	})
}

// never says that something is not deprecated.
func (w *metaWriter) never() { w.out = append(w.out, "false"...) }

func (w *metaWriter) arguments(selected []metaField, list ast.ArgumentDefinitionList) {
	metaList(w, list, func(a *ast.ArgumentDefinition) { w.input(selected, a.Name, a.Description, a.Type, a.DefaultValue) })
}

// input writes an argument, or a member of an input object.
func (w *metaWriter) input(selected []metaField, name, description string, t *ast.Type, standard *ast.Value) {
	w.object(selected, func(f metaField) {
		switch {
		case f.name == "name":
			w.text(name)
		case f.name == "description":
			w.textOrNull(description)
		case f.name == "type":
			w.typeOf(f.selected, t)
		case standard != nil:
			w.text(standard.String())
		default:
			w.null()
		}
	})
}

func (w *metaWriter) enumValue(selected []metaField, v *ast.EnumValueDefinition) {
	w.object(selected, func(f metaField) {
		switch f.name {
		case "name":
			w.text(v.Name)
		case "description":
			w.textOrNull(v.Description)
		case "isDeprecated":
			w.never()
		default:
			w.null()
		}
	})
}

func (w *metaWriter) directive(selected []metaField, d *ast.DirectiveDefinition) {
	w.object(selected, func(f metaField) {
		switch f.name {
		case "name":
			w.text(d.Name)
		case "description":
			w.textOrNull(d.Description)
		case "args":
			w.arguments(f.selected, d.Arguments)
		default:
			metaList(w, d.Locations, func(l ast.DirectiveLocation) { w.text(string(l)) })
		}
	})
}
