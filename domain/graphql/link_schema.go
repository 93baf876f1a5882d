package graphql

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
)

// link resolves the names in the types that were read, and holds the types to
// GraphQL's rules.
func (r *schemaReader) link() error {
	for _, name := range []string{"Int", "Float", "String", "Boolean", "ID"} {
		if r.schema.Types[name] == nil {
			r.schema.Types[name] = &ast.Definition{Kind: ast.Scalar, Name: name, BuiltIn: true}
		}
	}
	for _, d := range r.inOrder {
		for _, f := range d.Fields {
			if err := r.linkField(f); err != nil {
				return err
			}
		}
	}
	for _, d := range r.inOrder {
		if err := r.linkType(d); err != nil {
			return err
		}
	}
	return r.linkRoots()
}

func (r *schemaReader) linkRoots() (err error) {
	if d := r.schema.Types[r.subscription]; d != nil && d.Kind == ast.Object {
		r.schema.Subscription = d
	}
	if r.schema.Query, err = r.rootObject(r.query); err != nil || r.mutation == "" {
		return err
	}
	r.schema.Mutation, err = r.rootObject(r.mutation)
	return err
}

func (r *schemaReader) rootObject(name string) (*ast.Definition, error) {
	d := r.schema.Types[name]
	switch {
	case d == nil:
		return nil, unknownType(name)
	case d.Kind != ast.Object:
		return nil, domain.Refuse(domain.Unexpected, "%q has to be an object type", name)
	}
	return d, nil
}

func unknownType(name string) error { return broken("Could not find type with name %q", name) }

func broken(format string, args ...any) error {
	return domain.Refuse(domain.RemoteSchemaError, format, args...)
}

func (r *schemaReader) linkType(d *ast.Definition) error {
	switch d.Kind {
	case ast.Object:
		return r.linkObject(d)
	case ast.Interface:
		if len(d.Fields) == 0 {
			return broken("List of fields cannot be empty for interface '%s'", d.Name)
		}
	case ast.Union:
		return r.linkUnion(d)
	}
	return nil
}

func (r *schemaReader) linkField(f *ast.FieldDefinition) error {
	if name := f.Type.Name(); r.schema.Types[name] == nil {
		return unknownType(name)
	}
	for _, a := range f.Arguments {
		if name := a.Type.Name(); r.schema.Types[name] == nil {
			return unknownType(name)
		}
	}
	return nil
}

func (r *schemaReader) linkUnion(d *ast.Definition) error {
	if len(d.Types) == 0 {
		return broken("List of member types cannot be empty for union type '%s'", d.Name)
	}
	for _, name := range d.Types {
		member := r.schema.Types[name]
		switch {
		case member == nil:
			return broken("Could not find type '%s', which is defined as a member type of Union '%s'", name, d.Name)
		case member.Kind != ast.Object:
			return broken("Union type '%s' can only include object types. It cannot include '%s'", d.Name, name)
		}
		r.schema.AddPossibleType(d.Name, member)
		r.schema.AddImplements(name, d)
	}
	return nil
}

func (r *schemaReader) linkObject(d *ast.Definition) error {
	for _, name := range d.Interfaces {
		i := r.schema.Types[name]
		if i == nil || i.Kind != ast.Interface {
			return broken("Could not find interface '%s' implemented by Object type '%s'", name, d.Name)
		}
		for _, f := range i.Fields {
			if err := r.provides(d, i, f); err != nil {
				return err
			}
		}
		r.schema.AddPossibleType(name, d)
		r.schema.AddImplements(d.Name, i)
	}
	return nil
}

// provides checks that an object has a field of an interface.
func (r *schemaReader) provides(d, i *ast.Definition, wanted *ast.FieldDefinition) error {
	has := d.Fields.ForName(wanted.Name)
	switch {
	case has == nil:
		return broken("Interface field '%s'.%q expected, but '%s' does not provide it", i.Name, wanted.Name, d.Name)
	case !r.isSubType(has.Type, wanted.Type):
		return broken("The type of Object field '%s'.%q (%s) is not the same type/sub type of Interface field '%s'.%q (%s)",
			d.Name, has.Name, has.Type, i.Name, wanted.Name, wanted.Type)
	}
	for _, a := range wanted.Arguments {
		there := fmt.Sprintf("'%s'.%q(%q:)", i.Name, wanted.Name, a.Name)
		own := has.Arguments.ForName(a.Name)
		switch {
		case own == nil:
			return broken("Interface field argument %s required, but Object field '%s'.%q does not provide it", there, d.Name, has.Name)
		case own.Type.String() != a.Type.String():
			return broken("Interface field argument %s expects type %s, but '%s'.%q(%q:) has type %s",
				there, a.Type, d.Name, has.Name, a.Name, own.Type)
		}
	}
	for _, own := range has.Arguments {
		if wanted.Arguments.ForName(own.Name) == nil && own.Type.NonNull {
			return broken("Object field argument '%s'.%q(%q:) is of required type %s, but is not provided by Interface field '%s'.%q",
				d.Name, has.Name, own.Name, own.Type, i.Name, wanted.Name)
		}
	}
	return nil
}

// isSubType reports whether whoever expects a type can be given another one.
func (r *schemaReader) isSubType(t, of *ast.Type) bool {
	if of.NonNull && !t.NonNull {
		return false
	}
	if t.Elem != nil || of.Elem != nil {
		return t.Elem != nil && of.Elem != nil && r.isSubType(t.Elem, of.Elem)
	}
	if t.NamedType == of.NamedType {
		return true
	}
	d, super := r.schema.Types[t.NamedType], r.schema.Types[of.NamedType]
	switch super.Kind {
	case ast.Interface:
		return slices.Contains(d.Interfaces, super.Name)
	case ast.Union:
		return slices.Contains(super.Types, d.Name)
	}
	return false
}
