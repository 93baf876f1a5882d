package metadata

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql"
)

// joinedUse finds the fields of an operation that a remote schema answers for
// rows: it walks from the roots through tables, relationships and functions, and
// leaves what lies elsewhere.
type joinedUse struct {
	world  World
	doc    *ast.QueryDocument
	remote string
	found  func(RemoteRelationship, *ast.Field)
	seen   map[string]bool // fragments that were walked, each by where it was met
}

func (u joinedUse) operation(o *ast.OperationDefinition) {
	fields := u.world.Roots.Query
	if o.Operation == ast.Mutation {
		fields = u.world.Roots.Mutation
	}
	u.each(o.SelectionSet, "", func(f *ast.Field) {
		for _, root := range fields(f.Name) {
			u.root(root, f)
		}
	})
}

// each calls do for each field of a selection, those of its fragments too. A
// fragment that was met at the same place before is left out.
func (u joinedUse) each(set ast.SelectionSet, at string, do func(*ast.Field)) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			do(s)
		case *ast.InlineFragment:
			u.each(s.SelectionSet, at, do)
		case *ast.FragmentSpread:
			f, key := u.doc.Fragments.ForName(s.Name), at+" "+s.Name
			if f != nil && !u.seen[key] {
				u.seen[key] = true
				u.each(f.SelectionSet, at, do)
			}
		}
	}
}

func (u joinedUse) root(root RootField, f *ast.Field) {
	table := root.Object
	switch root.Kind {
	case RootCall, RootCallAggregate, RootChangingCall:
		_, shape, ok := u.world.TrackedFunction(root.Object)
		if !ok || shape.ReturnsTable == nil {
			return
		}
		table = *shape.ReturnsTable
	case RootAction, RootStartAction, RootActionResult:
		u.action(root, f)
		return
	case RootRemoteQuery, RootRemoteMutation:
		return // those are the remote's own
	}
	switch root.Kind {
	case RootSelectAggregate, RootCallAggregate:
		u.below(f, "nodes", table)
	case RootInsert, RootUpdate, RootDelete:
		u.below(f, "returning", table)
	default:
		u.rows(f.SelectionSet, table)
	}
}

// below walks the rows that a field has under a name.
func (u joinedUse) below(f *ast.Field, name string, table domain.QualifiedName) {
	u.each(f.SelectionSet, table.Key()+"("+name+")", func(g *ast.Field) {
		if g.Name == name {
			u.rows(g.SelectionSet, table)
		}
	})
}

func (u joinedUse) action(root RootField, f *ast.Field) {
	a, ok := u.world.ActionNamed(root.Object.Name)
	if !ok {
		return
	}
	object := u.world.CustomTypes().Object(TypeOf(a.Definition.OutputType).Name())
	switch {
	case object == nil:
	case root.Kind == RootActionResult:
		u.each(f.SelectionSet, a.Name+"(output)", func(g *ast.Field) {
			if g.Name == "output" {
				u.object(g.SelectionSet, *object)
			}
		})
	default:
		u.object(f.SelectionSet, *object)
	}
}

func (u joinedUse) object(set ast.SelectionSet, o CustomObject) {
	u.each(set, o.Name+"{}", func(f *ast.Field) {
		i := slices.IndexFunc(o.Relationships, func(r CustomRelationship) bool { return r.Name == f.Name })
		if i >= 0 {
			u.rows(f.SelectionSet, o.Relationships[i].RemoteTable)
		}
	})
}

func (u joinedUse) rows(set ast.SelectionSet, table domain.QualifiedName) {
	u.each(set, table.Key(), func(f *ast.Field) {
		if r, ok := u.world.RemoteRelationshipOf(table, f.Name); ok {
			if r.RemoteSchema == u.remote {
				u.found(r, f)
			}
			return
		}
		if to, ok := u.related(table, f.Name); ok {
			u.rows(f.SelectionSet, to)
			return
		}
		if name, ok := strings.CutSuffix(f.Name, AggregateSuffix); ok {
			if to, ok := u.related(table, name); ok {
				u.below(f, "nodes", to)
			}
		}
	})
}

// related is the table that a relationship or a computed field leads to.
func (u joinedUse) related(table domain.QualifiedName, field string) (to domain.QualifiedName, ok bool) {
	if r, ok := u.world.RelationshipOf(table, field); ok {
		to, _, ok = u.world.Join(r)
		return to, ok
	}
	if _, shape, ok := u.world.ComputedFieldOf(table, field); ok && shape.ReturnsTable != nil {
		return *shape.ReturnsTable, true
	}
	return to, false
}

// joinedMisfit names what a document's joined fields miss of a remote schema as
// it is now; empty where there is nothing.
func (w World) joinedMisfit(remote string, fit graphql.Fit) (at string) {
	for _, o := range fit.Doc.Operations {
		use := joinedUse{world: w, doc: fit.Doc, remote: remote, seen: map[string]bool{}}
		use.found = func(r RemoteRelationship, f *ast.Field) {
			was, is := r.part(fit.Before), r.part(fit.After)
			if at == "" && was.Field != nil {
				at = fit.MisfitAt(o, f, was, is)
			}
		}
		use.operation(o)
	}
	return at
}

// part is the field that the relationship ends at, as far as the types have it.
func (r RemoteRelationship) part(types *ast.Schema) (p graphql.Part) {
	p.Of = types.Query
	for _, step := range r.Steps() {
		if p.Field != nil {
			p.Of = types.Types[p.Field.Type.Name()]
		}
		if p.Of == nil {
			return graphql.Part{}
		}
		if p.Field = p.Of.Fields.ForName(step.Field); p.Field == nil {
			return p
		}
		p.Fixed = p.Fixed[:0]
		for name := range step.Arguments.Members() {
			p.Fixed = append(p.Fixed, name)
		}
	}
	return p
}
