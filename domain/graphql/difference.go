package graphql

import (
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Difference is what became of a schema. Its parts are named as GraphQL's
// tools do: Type, Type.member and Type.field(argument:). Of a type that came or
// went the members are not listed.
type Difference struct {
	Added   []string  `json:"added,omitempty"`
	Removed []string  `json:"removed,omitempty"`
	Changed []Altered `json:"changed,omitempty"`
}

// Altered is a part of a schema that is another now. A type is told by its kind
// and what it consists of, a member by its type and default.
type Altered struct {
	At     string `json:"at"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Empty reports whether nothing changed but descriptions.
func (d Difference) Empty() bool { return d.Added == nil && d.Removed == nil && d.Changed == nil }

// Compare tells what leads from one schema to another.
func Compare(before, after *ast.Schema) Difference {
	old, now := parts(before), parts(after)
	var d Difference
	for _, at := range slices.Sorted(maps.Keys(now)) {
		was, there := old[at]
		switch {
		case !there && within(at, old):
			d.Added = append(d.Added, at)
		case there && was != now[at]:
			d.Changed = append(d.Changed, Altered{at, was, now[at]})
		}
	}
	for _, at := range slices.Sorted(maps.Keys(old)) {
		if _, there := now[at]; !there && within(at, now) {
			d.Removed = append(d.Removed, at)
		}
	}
	return d
}

// within reports whether what a part belongs to is there; a type belongs to nothing.
func within(at string, all map[string]string) bool {
	end := strings.LastIndexAny(at, ".(")
	if end < 0 {
		return true
	}
	_, there := all[at[:end]]
	return there
}

// SameType reports whether two types are the same but for descriptions.
func SameType(a, b *ast.Definition) bool {
	of := func(d *ast.Definition) map[string]string {
		all := map[string]string{}
		addParts(all, d)
		return all
	}
	return maps.Equal(of(a), of(b))
}

// parts lists all that a schema consists of, each with what it is.
func parts(s *ast.Schema) map[string]string {
	all := map[string]string{}
	for _, d := range s.Types {
		addParts(all, d)
	}
	return all
}

func addParts(all map[string]string, d *ast.Definition) {
	all[d.Name] = string(d.Kind)
	if of := slices.Sorted(slices.Values(slices.Concat(d.Interfaces, d.Types))); len(of) > 0 {
		all[d.Name] += " of " + strings.Join(of, ", ")
	}
	for _, f := range d.Fields {
		all[d.Name+"."+f.Name] = typed(f.Type, f.DefaultValue)
		for _, a := range f.Arguments {
			all[argumentAt(d, f, a)] = typed(a.Type, a.DefaultValue)
		}
	}
	for _, v := range d.EnumValues {
		all[d.Name+"."+v.Name] = ""
	}
}

func typed(t *ast.Type, value *ast.Value) string {
	if value == nil {
		return t.String()
	}
	return t.String() + " = " + value.String()
}

func argumentAt(d *ast.Definition, f *ast.FieldDefinition, a *ast.ArgumentDefinition) string {
	return d.Name + "." + f.Name + "(" + a.Name + ":)"
}

// Misfit names a part of a schema that a document asks for, and that another
// schema does not have in that form; empty where there is none. Root fields
// that are not of the first schema are left out.
func Misfit(doc *ast.QueryDocument, before, after *ast.Schema) string {
	m := misfit{doc: doc, before: before, after: after, seen: map[string]bool{}}
	for _, o := range doc.Operations {
		old, now := before.Query, after.Query
		if o.Operation == ast.Mutation {
			old, now = before.Mutation, after.Mutation
		}
		if old == nil || o.Operation == ast.Subscription {
			continue
		}
		if now == nil {
			now = &ast.Definition{Name: old.Name}
		}
		if at := m.selections(o.SelectionSet, old, now); at != "" {
			return at
		}
	}
	return ""
}

// misfit walks a document through two schemas at once.
type misfit struct {
	doc           *ast.QueryDocument
	before, after *ast.Schema
	seen          map[string]bool // fragments that were walked, each by the type it was met at
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
			f, key := m.doc.Fragments.ForName(s.Name), old.Name+" "+s.Name
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
	if on == "" || on == old.Name || m.before.Types[on] == nil {
		return m.selections(set, old, now)
	}
	if m.after.Types[on] == nil {
		return on
	}
	return m.selections(set, m.before.Types[on], m.after.Types[on])
}

func (m *misfit) field(f *ast.Field, old, now *ast.Definition) string {
	was := old.Fields.ForName(f.Name)
	if was == nil {
		return ""
	}
	is := now.Fields.ForName(f.Name)
	if is == nil || nullable(is.Type) != nullable(was.Type) {
		return old.Name + "." + f.Name
	}
	if at := arguments(f, old, was, is); at != "" {
		return at
	}
	below, belowNow := m.before.Types[was.Type.Name()], m.after.Types[is.Type.Name()]
	if below == nil || belowNow == nil {
		return ""
	}
	return m.selections(f.SelectionSet, below, belowNow)
}

// nullable is a type as it is where nothing is said of null.
func nullable(t *ast.Type) string { return strings.ReplaceAll(t.String(), "!", "") }

func arguments(f *ast.Field, of *ast.Definition, was, is *ast.FieldDefinition) string {
	for _, given := range f.Arguments {
		old, now := was.Arguments.ForName(given.Name), is.Arguments.ForName(given.Name)
		if old != nil && (now == nil || nullable(old.Type) != nullable(now.Type)) {
			return argumentAt(of, was, old)
		}
	}
	for _, a := range is.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil && f.Arguments.ForName(a.Name) == nil {
			return argumentAt(of, is, a)
		}
	}
	return ""
}
