// Package stitch fits the schemas of remote GraphQL servers into ours.
//
// A remote schema's root fields stand beside those of tables, for every role
// and under their own names: nothing is prefixed, and there are no permissions
// on them. What lies below a root field is the remote's, with the types that its
// server answered to the introspection query. Two remotes may call different
// types by one name; each field is read with the types of its own remote.
//
// Package stitch knows values only: what is sent to a server, and what comes
// back, is the business of package execution.
package stitch

import (
	"iter"

	"github.com/vektah/gqlparser/v2/ast"
)

// Field is a root field that a remote server answers.
type Field struct {
	// Remote names the remote schema.
	Remote string
	// Types are all types of the remote.
	Types      *ast.Schema
	Definition *ast.FieldDefinition
}

// Reachable yields the types that the field leads to, through fields, arguments
// and members, each once.
func (f Field) Reachable() iter.Seq[*ast.Definition] {
	return func(yield func(*ast.Definition) bool) {
		seen := map[string]bool{}
		pending := namesOf(nil, f.Definition)
		for len(pending) > 0 {
			d := f.Types.Types[pending[len(pending)-1]]
			pending = pending[:len(pending)-1]
			if d == nil || seen[d.Name] {
				continue
			}
			seen[d.Name] = true
			if !yield(d) {
				return
			}
			pending = append(pending, d.Interfaces...)
			pending = append(pending, d.Types...)
			for _, possible := range f.Types.PossibleTypes[d.Name] {
				pending = append(pending, possible.Name)
			}
			for _, below := range d.Fields {
				pending = namesOf(pending, below)
			}
		}
	}
}

// namesOf adds the names of a field's types.
func namesOf(names []string, f *ast.FieldDefinition) []string {
	names = append(names, f.Type.Name())
	for _, a := range f.Arguments {
		names = append(names, a.Type.Name())
	}
	return names
}
