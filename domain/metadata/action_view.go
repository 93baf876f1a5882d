package metadata

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
)

// Actions as the GraphQL engine asks for them. One that cannot stand is not there.

// ActionNamed returns an action.
func (w World) ActionNamed(name string) (Action, bool) {
	return standingObject[Action](w, actionKey(name))
}

// MayCall reports whether a role may call an action.
func (w World) MayCall(action, role string) bool {
	return role == domain.AdminRole || w.Standing.Stands(actionPermissionKey(action, role))
}

// Asynchronous reports whether the action answers with an id at once, and is
// called later.
func (a Action) Asynchronous() bool { return a.Definition.Kind == AsynchronousAction }

// Query reports whether the action is a field of queries, not of mutations.
func (a Action) Query() bool { return a.Definition.Type == QueryAction }

// rootFields yields the action's field; an asynchronous action has one of
// queries beside it, which answers what became of a call.
func (a Action) rootFields(yield func(string, rootFieldOf) bool) {
	named := domain.QualifiedName{Name: a.Name}
	switch {
	case a.Query():
		yield(a.Name, rootFieldOf{RootField{RootAction, named}, false})
	case !a.Asynchronous():
		yield(a.Name, rootFieldOf{RootField{RootAction, named}, true})
	default:
		_ = yield(a.Name, rootFieldOf{RootField{RootStartAction, named}, true}) &&
			yield(a.Name, rootFieldOf{RootField{RootActionResult, named}, false})
	}
}

// ActionVersion is all of the catalog that an action is made of for a role. As
// long as two are equal, so is the action; the tables that its types lead to
// have versions of their own.
type ActionVersion struct {
	action, types *Entry
	callable      bool
}

// ActionVersion returns what an action is made of for a role.
func (w World) ActionVersion(name, role string) ActionVersion {
	_, stands := w.ActionNamed(name)
	return ActionVersion{
		action: w.Catalog.Get(actionKey(name)), types: w.Catalog.Get(customTypesKey),
		callable: stands && w.MayCall(name, role),
	}
}

// CustomTypes returns the types that actions are made of.
func (w World) CustomTypes() CustomTypes {
	types, _ := standingObject[CustomTypes](w, customTypesKey)
	return types
}

// Object returns an object type by name, nil when there is none.
func (c CustomTypes) Object(name string) *CustomObject {
	return find(c.Objects, func(o CustomObject) bool { return o.Name == name })
}

// InputObject returns an input object type by name, nil when there is none.
func (c CustomTypes) InputObject(name string) *CustomInputObject {
	return find(c.InputObjects, func(o CustomInputObject) bool { return o.Name == name })
}

// Enum returns an enum type by name, nil when there is none.
func (c CustomTypes) Enum(name string) *CustomEnum {
	return find(c.Enums, func(e CustomEnum) bool { return e.Name == name })
}

// Scalar returns a scalar type by name, nil when there is none.
func (c CustomTypes) Scalar(name string) *CustomScalar {
	return find(c.Scalars, func(s CustomScalar) bool { return s.Name == name })
}

// Field returns a field of the object type, nil when there is none.
func (o CustomObject) Field(name string) *CustomField {
	return find(o.Fields, func(f CustomField) bool { return f.Name == name })
}

// find returns the first item of a list that is as wanted, nil when none is.
func find[T any](list []T, wanted func(T) bool) *T {
	i := slices.IndexFunc(list, wanted)
	if i < 0 {
		return nil
	}
	return &list[i]
}

// TypeOf reads a stored type reference, such as [String!]!.
func TypeOf(text string) *ast.Type {
	t, ok := parseGraphQLType(text)
	if !ok {
		return ast.NamedType(text, nil) // what is stored was read before
	}
	return t
}
