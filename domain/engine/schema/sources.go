package schema

import (
	"maps"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/metadata"
)

// Sources are what something was made of: tables and functions with all that
// belongs to them, actions as a role has them, the types of remotes, and names
// of root fields.
type Sources struct {
	moment             *metadata.Version
	tables, functions  map[domain.QualifiedName]*metadata.Version
	actions            map[calledAction]metadata.ActionVersion
	remotes            map[string]*ast.Schema
	queries, mutations map[string][]metadata.RootField
	all                bool
}

type calledAction struct{ name, role string }

func newSources(w metadata.World) Sources {
	return Sources{
		moment: w.Standing.Moment(),
		tables: map[domain.QualifiedName]*metadata.Version{}, functions: map[domain.QualifiedName]*metadata.Version{},
		actions: map[calledAction]metadata.ActionVersion{}, remotes: map[string]*ast.Schema{},
		queries: map[string][]metadata.RootField{}, mutations: map[string][]metadata.RootField{},
	}
}

// Hold reports whether what was made is also what would be made in another
// world. It costs what the sources are, not what the world is.
func (s Sources) Hold(w metadata.World) bool {
	if s.moment == w.Standing.Moment() {
		return true
	}
	if s.all {
		return false
	}
	for name, v := range s.tables {
		if w.Standing.VersionOfTable(name) != v {
			return false
		}
	}
	for name, v := range s.functions {
		if w.Standing.VersionOfFunction(name) != v {
			return false
		}
	}
	for a, v := range s.actions {
		if w.ActionVersion(a.name, a.role) != v {
			return false
		}
	}
	for name, types := range s.remotes {
		if w.RemoteTypes(name) != types {
			return false
		}
	}
	return same(s.queries, w.Roots.Query) && same(s.mutations, w.Roots.Mutation)
}

func same(before map[string][]metadata.RootField, now func(string) []metadata.RootField) bool {
	for name, fields := range before {
		if !slices.Equal(fields, now(name)) {
			return false
		}
	}
	return true
}

func (s *Sources) table(w metadata.World, name domain.QualifiedName) {
	s.tables[name] = w.Standing.VersionOfTable(name)
}

func (s *Sources) function(w metadata.World, name domain.QualifiedName) {
	s.functions[name] = w.Standing.VersionOfFunction(name)
}

func (s *Sources) action(w metadata.World, name, role string) {
	s.actions[calledAction{name, role}] = w.ActionVersion(name, role)
}

func (s *Sources) remote(w metadata.World, name string) { s.remotes[name] = w.RemoteTypes(name) }

func (s *Sources) query(name string, fields []metadata.RootField) { s.queries[name] = fields }

func (s *Sources) mutation(name string, fields []metadata.RootField) { s.mutations[name] = fields }

// everything: what is made depends on all there is.
func (s *Sources) everything() { s.all = true }

// join adds the tables of sources that hold too.
func (s *Sources) join(o Sources) { maps.Copy(s.tables, o.tables) }
