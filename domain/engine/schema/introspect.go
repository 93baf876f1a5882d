package schema

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"annals/domain"
)

// NoQueries is the field that query_root has when the role has no other, since
// a type must have one. NoQueriesText is its value.
const (
	NoQueries     = "no_queries_available"
	NoQueriesText = "There are no queries available to the current role."
)

// metaTypes is the part that all schemas have in common: the types of
// introspection itself, and the directives.
//
//go:embed introspect.graphql
var metaTypes string

// Introspect makes the whole schema of the role: all types that its root
// fields lead to, and nothing else, with members in the order of their names.
// It is the one way to enumerate them all; nothing of it is kept.
func (r *Role) Introspect() *ast.Schema {
	l := &lister{role: r, schema: MetaSchema()}
	l.schema.Query = l.queries(QueryRoot)
	if len(l.schema.Query.Fields) == 0 {
		l.schema.Query.Fields = ast.FieldList{{
			Name: NoQueries, Type: ast.NonNullNamedType(l.scalar(Leaf{Name: String}), nil), Description: NoQueriesText,
		}}
	} else if watched := l.queries(SubscriptionRoot); len(watched.Fields) > 0 {
		l.schema.Subscription = watched
	}
	if mutations := l.mutations(); len(mutations.Fields) > 0 {
		l.schema.Mutation = mutations
	}
	l.finish()
	for _, d := range []*ast.Definition{l.schema.Query, l.schema.Mutation, l.schema.Subscription} {
		if d != nil {
			l.schema.Types[d.Name] = sorted(d)
		}
	}
	return l.schema
}

// HasQueries reports whether the role has any query. It may have to look at all
// tables.
func (r *Role) HasQueries() bool {
	l := &lister{role: r, schema: &ast.Schema{Types: map[string]*ast.Definition{}}}
	for root := range r.Queries() {
		if l.root(root) != nil {
			return true
		}
	}
	return false
}

// MetaSchema returns a new schema of the types of introspection alone.
func MetaSchema() *ast.Schema {
	doc, err := parser.ParseSchema(&ast.Source{Input: metaTypes})
	if err != nil {
		panic("the types of introspection: " + err.Error()) // the text is part of the program
	}
	s := &ast.Schema{
		Types: map[string]*ast.Definition{}, Directives: map[string]*ast.DirectiveDefinition{},
		PossibleTypes: map[string][]*ast.Definition{},
	}
	for _, d := range doc.Definitions {
		s.Types[d.Name] = d
	}
	for _, d := range doc.Directives {
		s.Directives[d.Name] = d
	}
	return s
}

// lister lists types. A type is made because another refers to it: so none is
// missing, and none is idle.
type lister struct {
	role    *Role
	schema  *ast.Schema
	pending []unfinished
}

// unfinished is a type whose members are still to be made.
type unfinished struct {
	*ast.Definition
	members func(*ast.Definition)
}

// finish makes the members of all types that are there, and of those that they
// refer to.
func (l *lister) finish() {
	for len(l.pending) > 0 {
		next := l.pending[len(l.pending)-1]
		l.pending = l.pending[:len(l.pending)-1]
		next.finish()
	}
}

func (u unfinished) finish() {
	u.members(u.Definition)
	sorted(u.Definition)
}

// define returns the name of a type, and sees to it that the type is made. Of
// two types with one name the first counts.
func (l *lister) define(d ast.Definition, members func(*ast.Definition)) string {
	if l.schema.Types[d.Name] == nil {
		l.schema.Types[d.Name] = &d
		l.pending = append(l.pending, unfinished{&d, members})
	}
	return d.Name
}

// sorted puts the members of a type in the order of their names.
func sorted(d *ast.Definition) *ast.Definition {
	slices.SortFunc(d.Fields, func(a, b *ast.FieldDefinition) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range d.Fields {
		slices.SortFunc(f.Arguments, func(a, b *ast.ArgumentDefinition) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(d.EnumValues, func(a, b *ast.EnumValueDefinition) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// input defines an input object.
func (l *lister) input(name, description string, members func() ast.FieldList) string {
	return l.define(ast.Definition{Kind: ast.InputObject, Name: name, Description: description}, func(d *ast.Definition) {
		d.Fields = members()
	})
}

// object defines an object.
func (l *lister) object(name, description string, members func() ast.FieldList) string {
	return l.define(ast.Definition{Kind: ast.Object, Name: name, Description: description}, func(d *ast.Definition) {
		d.Fields = members()
	})
}

// enum defines an enum whose values have one description.
func (l *lister) enum(name, description string, values []string, each string) string {
	return l.define(ast.Definition{Kind: ast.Enum, Name: name, Description: description}, func(d *ast.Definition) {
		for _, v := range values {
			d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: v, Description: each})
		}
	})
}

// scalar defines the type of a value: a scalar, or the enum of a table's rows.
func (l *lister) scalar(t Leaf) string {
	if len(t.Enum) == 0 {
		return l.define(ast.Definition{Kind: ast.Scalar, Name: t.Name}, func(*ast.Definition) {})
	}
	return l.define(ast.Definition{Kind: ast.Enum, Name: t.Name}, func(d *ast.Definition) {
		for _, v := range t.Enum {
			d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: v.Value, Description: v.Comment})
		}
	})
}

// The forms of a type: T, T!, [T!], [T!]!.

func nullable(name string) *ast.Type { return ast.NamedType(name, nil) }

func required(name string) *ast.Type { return ast.NonNullNamedType(name, nil) }

func listOf(name string) *ast.Type { return ast.ListType(required(name), nil) }

func requiredList(name string) *ast.Type { return ast.NonNullListType(required(name), nil) }

func member(name string, t *ast.Type, description string) *ast.FieldDefinition {
	return &ast.FieldDefinition{Name: name, Type: t, Description: description}
}

func argument(name string, t *ast.Type, description string) *ast.ArgumentDefinition {
	return &ast.ArgumentDefinition{Name: name, Type: t, Description: description}
}

// reaches reports whether a table, or one that the steps lead to from it, is
// as wanted. It finds out whether a type whose members lead to other types
// would be empty in the end.
func reaches(t *Table, wanted func(*Table) bool, next func(*Table, func(*Table) bool)) bool {
	seen := map[domain.QualifiedName]bool{}
	var visit func(*Table) bool
	visit = func(t *Table) bool {
		if wanted(t) {
			return true
		}
		if seen[t.Table.Name] {
			return false
		}
		seen[t.Table.Name] = true
		found := false
		next(t, func(to *Table) bool {
			found = visit(to)
			return !found
		})
		return found
	}
	return visit(t)
}
