package schema

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/stitch"
)

// remote returns a root field of a remote schema, nil when the schema cannot
// stand. Every role has them all.
func (r *Role) remote(schema string, kind RootKind, name string) *stitch.Field {
	r.sources.remote(r.world, schema)
	types := r.world.RemoteTypes(schema)
	if types == nil {
		return nil
	}
	root := types.Query
	if kind == RemoteMutation {
		root = types.Mutation
	}
	return &stitch.Field{Remote: schema, Types: types, Definition: root.Fields.ForName(name)}
}

// remoteRoot lists a root field of a remote server, with all types that it
// leads to.
func (l *lister) remoteRoot(f *stitch.Field) *ast.FieldDefinition {
	l.reachable(f)
	return withoutDirectives(f.Definition)
}

// reachable defines the remote's types that a field leads to.
func (l *lister) reachable(f *stitch.Field) {
	for d := range f.Reachable() {
		l.define(*d, func(own *ast.Definition) { l.adopt(own, f.Types) })
	}
}

// joined is a field of a remote schema that is joined to rows of a table.
func (l *lister) joined(r *RemoteRelationship) *ast.FieldDefinition {
	l.reachable(&stitch.Field{Types: r.TypesWithInputs(), Definition: r.Field})
	return r.Field
}

// adopt makes a remote's type one of this schema: its lists are put in order,
// and the remote's own stay as they are.
func (l *lister) adopt(d *ast.Definition, types *ast.Schema) {
	fields := make(ast.FieldList, len(d.Fields))
	for i, f := range d.Fields {
		fields[i] = withoutDirectives(f)
	}
	d.Fields, d.EnumValues = fields, slices.Clone(d.EnumValues)
	for _, possible := range types.PossibleTypes[d.Name] {
		if own := l.schema.Types[possible.Name]; own != nil {
			l.schema.AddPossibleType(d.Name, own)
		}
	}
}

// withoutDirectives copies a field: v1.3 says of no remote field that it is
// deprecated.
func withoutDirectives(f *ast.FieldDefinition) *ast.FieldDefinition {
	own := *f
	own.Arguments, own.Directives = slices.Clone(f.Arguments), nil
	return &own
}
