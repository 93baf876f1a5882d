package schema

import (
	"strconv"
	"strings"

	"annals/domain/database"
	"annals/domain/metadata"
)

// Function is a function with the names and types of its arguments in GraphQL.
type Function struct {
	Shape *database.Function
	// ArgsType is the name of the input type of the arguments.
	ArgsType  string
	Arguments []Argument
}

// Argument is one argument of a function. Row gets the row around, Session the
// session variables; the rest are fields of the input.
type Argument struct {
	Name string
	// SQLName is the argument's own name, which may be empty.
	SQLName      string
	Type         Leaf
	HasDefault   bool
	Row, Session bool
}

// special are the arguments that are not given by who calls.
type special struct {
	session *string
	row     int // -1 for none
}

func newFunction(shape *database.Function, s special) *Function {
	f := &Function{Shape: shape, ArgsType: metadata.GraphQLName(shape.Name) + argsSuffix}
	unnamed := 0
	for i, a := range shape.Arguments {
		element, array := strings.CutPrefix(a.Type, "_")
		argument := Argument{
			Name: a.Name, SQLName: a.Name, Type: scalar(element, array),
			HasDefault: i >= len(shape.Arguments)-shape.Defaults,
			Row:        i == s.row, Session: s.session != nil && a.Name == *s.session,
		}
		if a.Name == "" && !argument.Row {
			unnamed++
			argument.Name = "arg_" + strconv.Itoa(unnamed)
		}
		f.Arguments = append(f.Arguments, argument)
	}
	return f
}

// Inputs lists the arguments that who calls may give.
func (f *Function) Inputs() []Argument {
	var inputs []Argument
	for _, a := range f.Arguments {
		if !a.Row && !a.Session {
			inputs = append(inputs, a)
		}
	}
	return inputs
}

// Input returns an argument that may be given, by name.
func (f *Function) Input(name string) (Argument, bool) {
	for _, a := range f.Inputs() {
		if a.Name == name {
			return a, true
		}
	}
	return Argument{}, false
}

// NeedsInput reports whether some argument must be given.
func (f *Function) NeedsInput() bool {
	for _, a := range f.Inputs() {
		if !a.HasDefault {
			return true
		}
	}
	return false
}

// trackedFunction returns a tracked function, if it is in the root that the field is of.
func (r *Role) trackedFunction(f metadata.RootField) *Function {
	r.sources.function(r.world, f.Object)
	tracked, shape, ok := r.world.TrackedFunction(f.Object)
	if !ok || tracked.ChangesRows(shape) != (f.Kind == ChangingCall) {
		return nil
	}
	s := special{row: -1}
	if session := tracked.Configuration.SessionArgument; session != "" {
		s.session = &session
	}
	return newFunction(shape, s)
}
