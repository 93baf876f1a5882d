package metadata

import (
	"fmt"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var functionSubject = subject{
	kind: KindFunction, decode: decodeObject[Function],
	created: "function_tracked", changed: "function_changed", dropped: "function_untracked",
}

var functionOperations = withPgAliases([]operation{
	{"track_function", 1, decodeTrackFunction},
	{"track_function", 2, decodeTrackFunctionWithConfiguration},
	{"pg_track_function", 1, ofDefaultSource(decodeTrackFunctionWithConfiguration)},
	{"untrack_function", 1, decodeUntrackFunction},
}, "untrack_function")

// Function is a function of the user's database that returns rows of a
// tracked table, and is a root field of GraphQL.
type Function struct {
	Name          domain.QualifiedName  `json:"function"`
	Configuration FunctionConfiguration `json:"configuration,omitzero"`
}

// FunctionConfiguration is how a function shows in GraphQL.
type FunctionConfiguration struct {
	// SessionArgument is the argument that gets the session variables.
	SessionArgument string `json:"session_argument,omitzero"`
	// ExposedAs is "query", "mutation", or empty: then a VOLATILE function is a
	// mutation and any other a query. Only a VOLATILE one can be a mutation.
	ExposedAs string `json:"exposed_as,omitzero"`
}

// The two kinds of root fields that a function can be.
const (
	exposedAsQuery    = "query"
	exposedAsMutation = "mutation"
)

func functionKey(name domain.QualifiedName) Key { return keyOf(KindFunction, name.Schema, name.Name) }

// Key implements [Object].
func (f Function) Key() Key { return functionKey(f.Name) }

func (f Function) String() string { return "function " + f.Name.String() }

func (f Function) described() description { return description{"function", f.Name} }

func (f Function) exported() any { return f }

func (f Function) renamed(Rename) Object { return f }

func (f Function) resolve(r *resolver) {
	r.within("in function %q: ", f.Name)
	shape := onlyFunction(r, f.Name)
	if shape == nil {
		return
	}
	r.failEach(fmt.Sprintf("the function %q cannot be tracked", f.Name), f.faults(shape))
	if shape.ReturnsTable == nil {
		return
	}
	if _, _, ok := r.standingTable(*shape.ReturnsTable); !ok {
		r.fail("table %q is not tracked", *shape.ReturnsTable)
	}
}

// onlyFunction looks up a function by name; there must be just one.
func onlyFunction(r *resolver, name domain.QualifiedName) *database.Function {
	r.need(needDatabaseFunction(name))
	switch overloads := r.world.Shape.Functions(name); len(overloads) {
	case 0:
		r.fail("no such function exists in postgres : %q", name)
		return nil
	case 1:
		return overloads[0]
	}
	r.fail("function %q is overloaded. Overloaded functions are not supported", name)
	return nil
}

// faults says why a function cannot be tracked.
func (f Function) faults(shape *database.Function) []string {
	var faults []string
	add := func(bad bool, text string) {
		if bad {
			faults = append(faults, text)
		}
	}
	add(!domain.IsGraphQLName(f.Name.Name), "function name is not a legal GraphQL identifier")
	add(shape.Variadic, `function with "VARIADIC" parameters are not supported`)
	add(shape.HasOutArguments, "the function has OUT or TABLE arguments; only input arguments are supported")
	add(shape.ReturnKind != 'c', `the function does not return a "COMPOSITE" type`)
	add(!shape.ReturnsSet, "the function does not return a SETOF")
	add(shape.ReturnsTable == nil, "the function does not return a SETOF table")
	mutation := f.Configuration.ExposedAs == exposedAsMutation
	add(shape.Volatility != database.Volatile && mutation,
		"the function was requested to be exposed as a mutation, but is not marked VOLATILE. "+
			"Maybe the function was given the wrong volatility when it was defined?")
	if names := unusableArguments(shape); len(names) > 0 {
		add(true, "the function arguments "+strings.Join(names, ",")+" are not in compliance with GraphQL spec")
	}
	if session := f.Configuration.SessionArgument; session != "" {
		arg := argumentNamed(shape, session)
		add(arg == nil, fmt.Sprintf("given session argument %q not the input argument of the function", session))
		add(arg != nil && !isJSON(arg), fmt.Sprintf("given session argument %q is not of type json", session))
	}
	return faults
}

func unusableArguments(f *database.Function) []string {
	var names []string
	for _, a := range f.Arguments {
		if a.Name != "" && !domain.IsGraphQLName(a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

func argumentNamed(f *database.Function, name string) *database.Argument {
	return find(f.Arguments, func(a database.Argument) bool { return a.Name == name })
}

func isJSON(a *database.Argument) bool { return a.Type == "json" || a.Type == "jsonb" }

// decodeFunctionEntry reads a function of a metadata document: in version 1 of
// documents its name only.
func decodeFunctionEntry(n wire.Node, version int) Function {
	if version == 1 {
		return Function{Name: n.Name()}
	}
	return decodeFunction(n)
}

func decodeFunction(n wire.Node) Function {
	f := Function{Name: n.Field("function").Name()}
	if c := n.Optional("configuration"); c.Present() {
		f.Configuration = decodeFunctionConfiguration(c)
	}
	return f
}

func decodeFunctionConfiguration(n wire.Node) (c FunctionConfiguration) {
	if a := n.Optional("session_argument"); a.Present() {
		c.SessionArgument = a.Text()
	}
	if e := n.Optional("exposed_as"); e.Present() {
		c.ExposedAs = e.OneOf(exposedAsQuery, exposedAsMutation)
	}
	return c
}

// TrackFunction is track_function, in both its forms.
type TrackFunction struct{ Function }

// Operation implements [Command].
func (TrackFunction) Operation() string { return "track_function" }

func decodeTrackFunction(n wire.Node) Command { return TrackFunction{Function{Name: n.Name()}} }

func decodeTrackFunctionWithConfiguration(n wire.Node) Command {
	return TrackFunction{decodeFunction(n)}
}

func (c TrackFunction) names(World) Names {
	return Names{Functions: []domain.QualifiedName{c.Name}}
}

func (TrackFunction) demand() demand { return ownStands }

func (c TrackFunction) decide(w World) ([]Change, error) {
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyTracked, "function already tracked : %q", c.Name)
	}
	if w.Catalog.Has(tableKey(c.Name)) {
		return nil, refuse(domain.NotSupported, "table with name %q already exists", c.Name)
	}
	return put(w.Catalog, c.Function), nil
}

// UntrackFunction is untrack_function.
type UntrackFunction struct {
	Name domain.QualifiedName `json:"function"`
}

// Operation implements [Command].
func (UntrackFunction) Operation() string { return "untrack_function" }

// decodeUntrackFunction reads a name, or {"function": name} as clients of the
// next generation send it.
func decodeUntrackFunction(n wire.Node) Command {
	if n.Kind() == wire.Object && n.Optional("function").Present() {
		return UntrackFunction{n.Field("function").Name()}
	}
	return UntrackFunction{n.Name()}
}

func (UntrackFunction) names(World) Names { return Names{} }

func (UntrackFunction) demand() demand { return noneNew }

func (c UntrackFunction) decide(w World) ([]Change, error) {
	key := functionKey(c.Name)
	if !w.Catalog.Has(key) {
		return nil, refuse(domain.NotExists, "function not found in cache %q", c.Name)
	}
	return drop(w.Catalog, key), nil
}
