// Package graphqltest is a GraphQL server for tests, as a value: what it is
// asked goes in, what it answers comes out, and the test puts HTTP around it.
//
// A server has types, written in GraphQL, and values. The value of a field is
// looked up in an [Object] under the field's name; a [Resolver] there makes it of
// the arguments. Operations are validated by gqlparser: what is sent to such a
// server and is not valid GraphQL comes back as an error.
package graphqltest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
)

// Object is an object's fields. Where the type could be one of several,
// "__typename" names it. A nil Object is null.
type Object map[string]any

// Resolver makes a field's value of its arguments.
type Resolver func(arguments map[string]any) (any, error)

// Server is a GraphQL server.
type Server struct {
	schema        *ast.Schema
	roots         map[ast.Operation]Object
	introspection []byte
}

// New returns a server of the types, whose root fields are those of the two
// objects. It panics when the types are not GraphQL.
func New(types string, query, mutation Object) *Server {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: types})
	return &Server{schema, map[ast.Operation]Object{ast.Query: query, ast.Mutation: mutation}, Introspection(schema)}
}

// Lying returns a server that says something else of its types than what is so.
func (s *Server) Lying(introspection []byte) *Server {
	other := *s
	other.introspection = introspection
	return &other
}

// Introspection is what the server answers to the introspection query.
func (s *Server) Introspection() []byte { return s.introspection }

type failure struct {
	Message   string           `json:"message"`
	Locations []map[string]int `json:"locations,omitempty"`
	Path      []any            `json:"path,omitempty"`
}

type request struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

// Answer answers the body of a request.
func (s *Server) Answer(body []byte) []byte {
	var r request
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&r); err != nil {
		return refused(failure{Message: err.Error()})
	}
	document, faults := gqlparser.LoadQueryWithRules(s.schema, r.Query, nil)
	if len(faults) > 0 {
		return refused(failure{Message: faults[0].Message, Locations: []map[string]int{{"line": 1, "column": 1}}})
	}
	operation := document.Operations.ForName(r.OperationName)
	if operation == nil {
		return refused(failure{Message: "no such operation"})
	}
	if asksForTypes(operation) {
		return s.introspection
	}
	variables, err := validator.VariableValues(s.schema, operation, r.Variables)
	if err != nil {
		return refused(failure{Message: err.Error()})
	}
	return s.run(operation, variables)
}

func asksForTypes(o *ast.OperationDefinition) bool {
	for _, selection := range o.SelectionSet {
		if f, ok := selection.(*ast.Field); ok && f.Name == "__schema" {
			return true
		}
	}
	return false
}

func refused(f failure) []byte { return encode(map[string]any{"errors": []failure{f}}) }

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // made of values that JSON has
	}
	return text
}

func (s *Server) run(o *ast.OperationDefinition, variables map[string]any) []byte {
	x := &execution{schema: s.schema, variables: variables}
	root := s.schema.Query
	if o.Operation == ast.Mutation {
		root = s.schema.Mutation
	}
	x.object(root, s.roots[o.Operation], o.SelectionSet, nil)
	if len(x.failures) == 0 {
		return []byte(`{"data":` + x.out.String() + `}`)
	}
	return []byte(`{"errors":` + string(encode(x.failures)) + `,"data":` + x.out.String() + `}`)
}

// execution is one operation as it is answered.
type execution struct {
	schema    *ast.Schema
	variables map[string]any
	out       bytes.Buffer
	failures  []failure
}

func (x *execution) object(of *ast.Definition, values Object, set ast.SelectionSet, path []any) {
	if name, ok := values["__typename"].(string); ok {
		of = x.schema.Types[name]
	}
	x.out.WriteByte('{')
	for i, f := range x.fields(of, set, nil) {
		if i > 0 {
			x.out.WriteByte(',')
		}
		x.out.Write(encode(f.Alias))
		x.out.WriteByte(':')
		x.field(of, values, f, append(path[:len(path):len(path)], f.Alias))
	}
	x.out.WriteByte('}')
}

// fields lists what is selected of an object, those of one alias merged.
func (x *execution) fields(of *ast.Definition, set ast.SelectionSet, list []*ast.Field) []*ast.Field {
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.Field:
			if x.included(selection.Directives) {
				list = merged(list, selection)
			}
		case *ast.InlineFragment:
			if x.included(selection.Directives) && x.is(of, selection.TypeCondition) {
				list = x.fields(of, selection.SelectionSet, list)
			}
		case *ast.FragmentSpread:
			if x.included(selection.Directives) && x.is(of, selection.Definition.TypeCondition) {
				list = x.fields(of, selection.Definition.SelectionSet, list)
			}
		}
	}
	return list
}

func merged(list []*ast.Field, f *ast.Field) []*ast.Field {
	for i, known := range list {
		if known.Alias == f.Alias {
			both := *known
			both.SelectionSet = append(both.SelectionSet[:len(both.SelectionSet):len(both.SelectionSet)], f.SelectionSet...)
			list[i] = &both
			return list
		}
	}
	return append(list, f)
}

func (x *execution) is(of *ast.Definition, condition string) bool {
	if condition == "" || condition == of.Name {
		return true
	}
	for _, possible := range x.schema.PossibleTypes[condition] {
		if possible.Name == of.Name {
			return true
		}
	}
	return false
}

func (x *execution) included(list ast.DirectiveList) bool {
	condition := func(name string) (value, there bool) {
		d := list.ForName(name)
		if d == nil {
			return false, false
		}
		value, _ = d.ArgumentMap(x.variables)["if"].(bool)
		return value, true
	}
	skip, _ := condition("skip")
	include, there := condition("include")
	return !skip && (include || !there)
}

func (x *execution) field(of *ast.Definition, values Object, f *ast.Field, path []any) {
	if f.Name == "__typename" {
		x.out.Write(encode(of.Name))
		return
	}
	value := values[f.Name]
	if resolve, ok := value.(Resolver); ok {
		var err error
		if value, err = resolve(f.ArgumentMap(x.variables)); err != nil {
			x.failures = append(x.failures, failure{err.Error(), []map[string]int{{"line": f.Position.Line, "column": f.Position.Column}}, path})
			value = nil
		}
	}
	x.value(x.schema.Types[f.Definition.Type.Name()], value, f.SelectionSet, path)
}

func (x *execution) value(of *ast.Definition, value any, set ast.SelectionSet, path []any) {
	switch value := value.(type) {
	case Object:
		if value == nil {
			x.out.WriteString("null")
			return
		}
		x.object(of, value, set, path)
	case []Object:
		x.out.WriteByte('[')
		for i, item := range value {
			if i > 0 {
				x.out.WriteByte(',')
			}
			x.value(of, item, set, append(path[:len(path):len(path)], i))
		}
		x.out.WriteByte(']')
	default:
		x.out.Write(encode(value))
	}
}

// Must is a field that always has the value.
func Must(value any) Resolver { return func(map[string]any) (any, error) { return value, nil } }

// Fail is a field that always fails.
func Fail(format string, args ...any) Resolver {
	return func(map[string]any) (any, error) { return nil, fmt.Errorf(format, args...) }
}
