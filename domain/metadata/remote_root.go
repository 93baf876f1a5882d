package metadata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
)

// rootFields yields the root fields that the remote's server has.
func (s RemoteSchema) rootFields(yield func(string, rootFieldOf) bool) {
	types, err := s.Schema()
	if err != nil {
		return
	}
	if s.rootFieldsIn(types.Query, RootRemoteQuery, yield) {
		s.rootFieldsIn(types.Mutation, RootRemoteMutation, yield)
	}
}

func (s RemoteSchema) rootFieldsIn(root *ast.Definition, kind RootKind, yield func(string, rootFieldOf) bool) bool {
	if root == nil {
		return true
	}
	field := RootField{kind, domain.QualifiedName{Name: s.Name}}
	for _, f := range root.Fields {
		if !yield(f.Name, rootFieldOf{field, kind == RootRemoteMutation}) {
			return false
		}
	}
	return true
}

// isRemote reports whether another server has the field.
func (f RootField) isRemote() bool { return f.Kind == RootRemoteQuery || f.Kind == RootRemoteMutation }

// refuseRemoteClashes refuses changes after which a remote schema has a root
// field that something else has too, in the words that v1.3 has for whoever
// came last.
func (w World) refuseRemoteClashes(changes []Change) error {
	for _, c := range changes {
		e := w.Catalog.Get(c.Key())
		if e == nil || !e.Key.hasRootFields() {
			continue
		}
		for name, f := range rootFieldsOf(e.Object()) {
			if err := w.refuseRemoteClash(e.Object(), name, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w World) refuseRemoteClash(o Object, name string, f rootFieldOf) error {
	others := w.Roots.Query(name)
	if f.changesRows {
		others = w.Roots.Mutation(name)
	}
	if len(others) < 2 || !w.mayShow(f.RootField) {
		return nil
	}
	isRemote := func(g RootField) bool { return g != f.RootField && g.isRemote() }
	switch remote, isAdded := o.(RemoteSchema); {
	case !isAdded && slices.ContainsFunc(others, isRemote):
		return refuse(domain.RemoteConflicts, "node %s already exists in current graphql schema", name)
	case !isAdded:
		return nil
	case slices.ContainsFunc(others, isRemote):
		reason := fmt.Sprintf("Duplicate remote field '%s'", name)
		return remote.clashes(domain.Unexpected, "cannot continue due to new inconsistent metadata", reason)
	case slices.ContainsFunc(others, func(g RootField) bool { return !g.isRemote() && w.mayShow(g) }):
		reason := fmt.Sprintf("Field cannot be overwritten by remote field '%s'", name)
		return remote.clashes(domain.ConstraintViolation, reason, reason)
	}
	return nil
}

func (s RemoteSchema) clashes(code domain.Code, message, reason string) error {
	e := refuse(code, "%s", strings.TrimSpace(message))
	d := s.described()
	e.Internal = encode([]Inconsistency{{Type: d.Type, Definition: encode(d.Definition), Reason: reason}})
	return e
}
