package graphql

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Fit holds a document against a schema as it was and as it is: what the
// document asks for, and what it gives, may no longer fit. It tells what breaks
// whoever sends the document, not what may break some: a member that is new and
// must be given is a misfit of a variable too, one that is gone only where it is
// written out.
type Fit struct {
	Doc           *ast.QueryDocument
	Before, After *ast.Schema
}

// Misfit names a part of a schema that a document asks for, and that another
// schema does not have in that form; empty where there is none. Root fields
// that are not of the first schema are left out.
func (f Fit) Misfit() string {
	for _, o := range f.Doc.Operations {
		old, now := f.Before.Query, f.After.Query
		if o.Operation == ast.Mutation {
			old, now = f.Before.Mutation, f.After.Mutation
		}
		if old == nil || o.Operation == ast.Subscription {
			continue
		}
		if now == nil {
			now = &ast.Definition{Name: old.Name}
		}
		if at := f.within(o).selections(o.SelectionSet, old, now); at != "" {
			return at
		}
	}
	return ""
}

// Part is a field of a type, and the names of those of its arguments that are
// given elsewhere.
type Part struct {
	Of    *ast.Definition
	Field *ast.FieldDefinition
	Fixed []string
}

// MisfitAt is Misfit for one field of an operation, which stands for a part of
// the schema under another name.
func (f Fit) MisfitAt(o *ast.OperationDefinition, field *ast.Field, was, is Part) string {
	return f.within(o).part(field, was, is)
}

func (f Fit) within(o *ast.OperationDefinition) *misfit {
	return &misfit{Fit: f, variables: o.VariableDefinitions, seen: map[string]bool{}}
}

// misfit walks an operation through two schemas at once.
type misfit struct {
	Fit
	variables ast.VariableDefinitionList
	seen      map[string]bool // fragments that were walked, each by the type it was met at
}

func (m *misfit) selections(set ast.SelectionSet, old, now *ast.Definition) string {
	for _, s := range set {
		at := ""
		switch s := s.(type) {
		case *ast.Field:
			at = m.field(s, old, now)
		case *ast.InlineFragment:
			at = m.fragment(s.TypeCondition, s.SelectionSet, old, now)
		case *ast.FragmentSpread:
			f, key := m.Doc.Fragments.ForName(s.Name), old.Name+" "+s.Name
			if f != nil && !m.seen[key] {
				m.seen[key] = true
				at = m.fragment(f.TypeCondition, f.SelectionSet, old, now)
			}
		}
		if at != "" {
			return at
		}
	}
	return ""
}

// fragment walks a fragment: what is on a type of neither schema is not theirs.
func (m *misfit) fragment(on string, set ast.SelectionSet, old, now *ast.Definition) string {
	if on == "" || on == old.Name || m.Before.Types[on] == nil {
		return m.selections(set, old, now)
	}
	if m.After.Types[on] == nil {
		return on
	}
	return m.selections(set, m.Before.Types[on], m.After.Types[on])
}

func (m *misfit) field(f *ast.Field, old, now *ast.Definition) string {
	was := old.Fields.ForName(f.Name)
	if was == nil {
		return ""
	}
	return m.part(f, Part{Of: old, Field: was}, Part{Of: now, Field: now.Fields.ForName(f.Name)})
}

func (m *misfit) part(f *ast.Field, was, is Part) string {
	if is.Field == nil || is.Of == nil || nullable(is.Field.Type) != nullable(was.Field.Type) {
		return was.Of.Name + "." + was.Field.Name
	}
	if at := m.arguments(f, was, is); at != "" {
		return at
	}
	below, belowNow := m.Before.Types[was.Field.Type.Name()], m.After.Types[is.Field.Type.Name()]
	if below == nil || belowNow == nil {
		return ""
	}
	return m.selections(f.SelectionSet, below, belowNow)
}

// nullable is a type as it is where nothing is said of null.
func nullable(t *ast.Type) string { return strings.ReplaceAll(t.String(), "!", "") }

func (m *misfit) arguments(f *ast.Field, was, is Part) string {
	for _, given := range f.Arguments {
		old, now := was.Field.Arguments.ForName(given.Name), is.Field.Arguments.ForName(given.Name)
		if old == nil {
			continue
		}
		at := argumentAt(was.Of, was.Field, old)
		if now == nil || nullable(old.Type) != nullable(now.Type) || now.DefaultValue == nil && m.mayBeNull(given.Value, now.Type) {
			return at
		}
		if at := m.value(given.Value, now.Type, at); at != "" {
			return at
		}
	}
	for _, a := range is.Field.Arguments {
		if needed(a.Type, a.DefaultValue) && f.Arguments.ForName(a.Name) == nil && !slices.Contains(is.Fixed, a.Name) {
			return argumentAt(is.Of, is.Field, a)
		}
	}
	return ""
}

func needed(t *ast.Type, standard *ast.Value) bool { return t.NonNull && standard == nil }

// mayBeNull reports whether a value, or a variable as it is declared, may be
// null where the type does not allow it.
func (m *misfit) mayBeNull(v *ast.Value, t *ast.Type) bool {
	if v == nil || !t.NonNull {
		return false
	}
	if v.Kind != ast.Variable {
		return v.Kind == ast.NullValue
	}
	declared := m.variables.ForName(v.Raw)
	return declared != nil && !declared.Type.NonNull && declared.DefaultValue == nil
}

// value names what of a value does not fit a type any more.
func (m *misfit) value(v *ast.Value, t *ast.Type, at string) string {
	if v == nil || v.Kind == ast.NullValue {
		return ""
	}
	if v.Kind == ast.Variable {
		return m.variable(v, t, at)
	}
	if v.Kind == ast.ListValue {
		for _, item := range v.Children {
			if at := m.value(item.Value, element(t), at); at != "" {
				return at
			}
		}
		return ""
	}
	old, now := m.Before.Types[t.Name()], m.After.Types[t.Name()]
	switch {
	case old == nil:
		return ""
	case now == nil || now.Kind != old.Kind:
		return t.Name()
	case now.Kind == ast.InputObject && v.Kind == ast.ObjectValue:
		return m.members(v, old, now)
	case now.Kind == ast.Enum && old.EnumValues.ForName(v.Raw) != nil && now.EnumValues.ForName(v.Raw) == nil:
		return old.Name + "." + v.Raw
	}
	return ""
}

// element is the type of a list's items; one value is a list of itself.
func element(t *ast.Type) *ast.Type {
	if t.Elem != nil {
		return t.Elem
	}
	return t
}

func (m *misfit) members(v *ast.Value, old, now *ast.Definition) string {
	for _, given := range v.Children {
		was, is := old.Fields.ForName(given.Name), now.Fields.ForName(given.Name)
		if was == nil {
			continue
		}
		at := old.Name + "." + given.Name
		if is == nil || nullable(was.Type) != nullable(is.Type) || is.DefaultValue == nil && m.mayBeNull(given.Value, is.Type) {
			return at
		}
		if at := m.value(given.Value, is.Type, at); at != "" {
			return at
		}
	}
	for _, f := range now.Fields {
		if needed(f.Type, f.DefaultValue) && v.Children.ForName(f.Name) == nil {
			return now.Name + "." + f.Name
		}
	}
	return ""
}

// variable: who sends the document does not know of what has come since.
func (m *misfit) variable(v *ast.Value, t *ast.Type, at string) string {
	if declared := m.variables.ForName(v.Raw); declared != nil && declared.DefaultValue != nil {
		if at := m.value(declared.DefaultValue, t, at); at != "" {
			return at
		}
	}
	old, now := m.Before.Types[t.Name()], m.After.Types[t.Name()]
	switch {
	case old == nil:
		return ""
	case now == nil || now.Kind != old.Kind:
		return t.Name()
	case now.Kind != ast.InputObject:
		return ""
	}
	for _, f := range now.Fields {
		if was := old.Fields.ForName(f.Name); needed(f.Type, f.DefaultValue) && (was == nil || !needed(was.Type, was.DefaultValue)) {
			return now.Name + "." + f.Name
		}
	}
	return ""
}
