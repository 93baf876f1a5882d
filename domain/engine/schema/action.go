package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/database"
	"annals/domain/metadata"
)

// The kinds of root fields of actions.
const (
	// CallAction calls the action's handler, and answers what that answers.
	CallAction = metadata.RootAction
	// StartAction leaves an asynchronous action to be called, and answers with an id.
	StartAction = metadata.RootStartAction
	// ActionResult answers what became of an asynchronous action.
	ActionResult = metadata.RootActionResult
)

// ID is the scalar of GraphQL that is a text or a number, and becomes a text.
const ID = "ID"

// Action is an action that the role may call.
type Action struct {
	metadata.Action
	// Output is the type of what the handler answers, Object its object type.
	Output *ast.Type
	Object *ActionObject
}

// action returns an action; nil when the role may not call it.
func (r *Role) action(name string) *Action {
	r.sources.action(r.World(), name, r.Name)
	stored, ok := r.World().ActionNamed(name)
	if !ok || !r.World().MayCall(name, r.Name) {
		return nil
	}
	a := &Action{Action: stored, Output: metadata.TypeOf(stored.Definition.OutputType)}
	if object := r.World().CustomTypes().Object(a.Output.Name()); object != nil {
		a.Object = &ActionObject{*object, r}
		return a
	}
	return nil
}

// Arguments lists what the action takes.
func (a *Action) Arguments() []ActionInput {
	inputs := make([]ActionInput, len(a.Definition.Arguments))
	for i, argument := range a.Definition.Arguments {
		inputs[i] = ActionInput{argument.Name, metadata.TypeOf(argument.Type), description(argument.Description)}
	}
	return inputs
}

// ActionInput is an argument of an action, or a field of an input object.
type ActionInput struct {
	Name        string
	Type        *ast.Type
	Description string
}

func description(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// ActionType is what stands for the name of a type in what actions take. Where
// all members are nil it is a scalar that takes any JSON.
type ActionType struct {
	Name string
	// Leaf is a scalar of GraphQL or of the database, or an enum.
	Leaf *Leaf
	// Fields are those of an input object.
	Fields []ActionInput
}

// ActionTypes finds the types of what actions take. It does not change with
// the metadata, so that a plan can keep it.
type ActionTypes struct{ types metadata.CustomTypes }

// ActionTypes returns the types of what actions take.
func (r *Role) ActionTypes() ActionTypes { return ActionTypes{r.World().CustomTypes()} }

// Named returns a type by name.
func (t ActionTypes) Named(name string) ActionType {
	if object := t.types.InputObject(name); object != nil {
		fields := make([]ActionInput, len(object.Fields))
		for i, f := range object.Fields {
			fields[i] = ActionInput{f.Name, metadata.TypeOf(f.Type), description(f.Description)}
		}
		return ActionType{Name: name, Fields: fields}
	}
	if enum := t.types.Enum(name); enum != nil {
		return ActionType{Name: name, Leaf: &Leaf{Name: name, Enum: customValues(enum)}}
	}
	if t.types.Scalar(name) != nil && !slices.Contains(builtins(), name) {
		return ActionType{Name: name}
	}
	leaf := actionLeaf(name)
	return ActionType{Name: name, Leaf: &leaf}
}

func customValues(enum *metadata.CustomEnum) []database.EnumValue {
	values := make([]database.EnumValue, len(enum.Values))
	for i, v := range enum.Values {
		values[i] = database.EnumValue{Value: v.Value, Comment: description(v.Description)}
	}
	return values
}

func builtins() []string { return []string{Int, Float, String, Boolean, ID} }

// actionLeaf is a scalar of GraphQL, or of the database by the name that the
// database has for it.
func actionLeaf(name string) Leaf {
	if slices.Contains(builtins(), name) {
		return Leaf{Name: name}
	}
	element, array := strings.CutPrefix(name, "_")
	return Leaf{Name: name, SQL: element, Array: array}
}

// ActionObject is the type of an object that a handler answers with.
type ActionObject struct {
	metadata.CustomObject
	role *Role
}

// Relationship returns a relationship to the rows of a table; nil when there
// is none, or the role may not see the table.
func (o *ActionObject) Relationship(name string) *Relationship {
	i := slices.IndexFunc(o.Relationships, func(r metadata.CustomRelationship) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	stored := o.Relationships[i]
	table := o.role.Table(stored.RemoteTable)
	if table == nil || table.Select == nil {
		return nil
	}
	return &Relationship{Name: name, Array: stored.Type == metadata.ArrayRelationship, Table: table, On: stored.FieldMapping}
}
