package schema

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// RemoteRelationship leads from a row to a field of a remote schema.
type RemoteRelationship struct {
	metadata.RemoteRelationship
	// Types are those of the remote, and Inputs those that are made for the
	// relationship: input objects without what is fixed already.
	Types  *ast.Schema
	Inputs []*ast.Definition
	// Field is the joined field as our schema has it, Path the remote's fields
	// from the query root to it.
	Field *ast.FieldDefinition
	Path  []RemoteStep
	// Columns are those that the steps may take, by name.
	Columns []*database.Column
}

// RemoteStep is one field on the way, with the arguments that the definition
// fixes: an object in which "$name" stands for a column.
type RemoteStep struct {
	Definition *ast.FieldDefinition
	Fixed      wire.Node
}

// RemoteRelationship returns a relationship to a remote schema by name; nil
// when there is none. Every role that may see the row may follow it.
func (t *Table) RemoteRelationship(name string) *RemoteRelationship {
	if !domain.IsGraphQLName(name) || t.Select == nil {
		return nil
	}
	stored, ok := t.role.World().RemoteRelationshipOf(t.Table.Name, name)
	if !ok {
		return nil
	}
	return t.remoteRelationship(stored)
}

// RemoteRelationships yields the relationships to remote schemas, by name.
func (t *Table) RemoteRelationships() iter.Seq[*RemoteRelationship] {
	return func(yield func(*RemoteRelationship) bool) {
		for stored := range t.role.World().RemoteRelationshipsOf(t.Table.Name) {
			if r := t.RemoteRelationship(stored.Name); r != nil && !yield(r) {
				return
			}
		}
	}
}

// remoteRelationship makes the relationship of its definition; nil where the
// remote does not have the field after all.
func (t *Table) remoteRelationship(stored metadata.RemoteRelationship) *RemoteRelationship {
	t.role.sources.remote(t.role.world, stored.RemoteSchema)
	types := t.role.world.RemoteTypes(stored.RemoteSchema)
	if types == nil {
		return nil
	}
	r := &RemoteRelationship{RemoteRelationship: stored, Types: types}
	for _, name := range stored.HasuraFields {
		r.Columns = append(r.Columns, t.Shape.Column(name))
	}
	object := types.Query
	for _, step := range stored.Steps() {
		if object == nil || object.Fields.ForName(step.Field) == nil {
			return nil
		}
		field := object.Fields.ForName(step.Field)
		r.Path = append(r.Path, RemoteStep{field, step.Arguments})
		object = types.Types[field.Type.Name()]
	}
	if len(r.Path) == 0 || slices.Contains(r.Columns, nil) {
		return nil
	}
	r.Field = r.joined("_remote_rel_" + t.remoteName() + stored.Name)
	return r
}

// remoteName is the table's part in the names of types.
func (t *Table) remoteName() string {
	if name := t.Table.Name.Schema + "_" + t.Table.Name.Name; domain.IsGraphQLName(name) {
		return name
	}
	return t.Name
}

// joined is the joined field: the remote's, but that it is null where a join
// key is, and takes no argument that is fixed.
func (r *RemoteRelationship) joined(suffix string) *ast.FieldDefinition {
	last := r.Path[len(r.Path)-1]
	field := &ast.FieldDefinition{Name: r.Name, Description: last.Definition.Description}
	t := *last.Definition.Type
	for _, step := range slices.Backward(r.Path[:len(r.Path)-1]) {
		t = behind(t, step.Definition.Type)
	}
	t.NonNull = false
	field.Type = &t
	s := stripper{types: r.Types, suffix: suffix, made: map[string]*ast.Definition{}}
	field.Arguments = s.arguments(last.Definition.Arguments, last.Fixed)
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		r.Inputs = append(r.Inputs, s.made[name])
	}
	return field
}

// TypesWithInputs are the remote's types and those made for the relationship.
func (r *RemoteRelationship) TypesWithInputs() *ast.Schema {
	if len(r.Inputs) == 0 {
		return r.Types
	}
	types := *r.Types
	types.Types = maps.Clone(types.Types)
	for _, d := range r.Inputs {
		types.Types[d.Name] = d
	}
	return &types
}

// behind is what a field is to whoever comes to it through another: a list
// where that is one, and null where that may be.
func behind(t ast.Type, through *ast.Type) ast.Type {
	if through.Elem == nil {
		t.NonNull = t.NonNull && through.NonNull
		return t
	}
	item := behind(t, through.Elem)
	return ast.Type{Elem: &item, NonNull: through.NonNull}
}

// stripper makes input types without the members that a definition fixes.
type stripper struct {
	types  *ast.Schema
	suffix string
	made   map[string]*ast.Definition
}

func (s *stripper) arguments(list ast.ArgumentDefinitionList, fixed wire.Node) ast.ArgumentDefinitionList {
	var left ast.ArgumentDefinitionList
	for _, a := range list {
		stripped := *a
		if value := fixed.Member(a.Name); value.Given() {
			if stripped.Type = s.input(a.Type, value); stripped.Type == nil {
				continue
			}
			stripped.DefaultValue = nil
		}
		left = append(left, &stripped)
	}
	return left
}

// input is what is left of a type when a part of its value is fixed; nil is
// nothing.
func (s *stripper) input(t *ast.Type, fixed wire.Node) *ast.Type {
	switch fixed.Kind() {
	case wire.Array:
		items := fixed.Items()
		if len(items) != 1 || t.Elem == nil {
			return nil
		}
		item := s.input(t.Elem, items[0])
		if item == nil {
			return nil
		}
		return ast.ListType(item, nil)
	case wire.Object:
		return s.object(s.types.Types[t.Name()], fixed)
	}
	return nil
}

func (s *stripper) object(d *ast.Definition, fixed wire.Node) *ast.Type {
	if d == nil || d.Kind != ast.InputObject {
		return nil
	}
	stripped := &ast.Definition{Kind: ast.InputObject, Name: s.name(d.Name), Description: d.Description}
	s.made[stripped.Name] = stripped
	needed := false
	for _, f := range d.Fields {
		left := *f
		if value := fixed.Member(f.Name); value.Given() {
			if left.Type = s.input(f.Type, value); left.Type == nil {
				continue
			}
			left.DefaultValue = nil
		}
		needed = needed || left.Type.NonNull && left.DefaultValue == nil
		stripped.Fields = append(stripped.Fields, &left)
	}
	if len(stripped.Fields) == 0 {
		delete(s.made, stripped.Name)
		return nil
	}
	t := ast.NamedType(stripped.Name, nil)
	t.NonNull = needed
	return t
}

// name is the name of a stripped type. One type may be stripped of different
// members in different places: then the later ones are numbered.
func (s *stripper) name(base string) string {
	name := base + s.suffix
	for i := 2; s.made[name] != nil; i++ {
		name = base + s.suffix + strconv.Itoa(i)
	}
	return name
}
