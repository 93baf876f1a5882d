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
