package metadata

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/database"
	"annals/domain/wire"
)

// remoteJoin checks a remote relationship against the remote's types: that
// each step is a field, each argument one of it, and each value fits. The
// first fault is the relationship's.
type remoteJoin struct {
	resolver *resolver
	table    *database.Table
	columns  map[string]*database.Column
	schema   *introspection
}

// follow walks the steps from the query root.
func (j remoteJoin) follow(steps []RemoteStep) {
	object := j.schema.queryRoot()
	if object == nil {
		j.resolver.fail("field with name %q not found in remote schema", j.queryTypeName())
		return
	}
	for i, step := range steps {
		field := object.field(step.Field)
		if field == nil {
			j.resolver.fail("remote field with name %q and type %q not found", step.Field, object.Name)
			return
		}
		j.arguments(field.Args, step.Arguments)
		last := i == len(steps)-1
		if object = j.output(field); object == nil {
			return
		}
		if !last && object.Kind != ast.Object {
			j.resolver.fail("remote field with name %q and type %q not found", steps[i+1].Field, object.Name)
			return
		}
	}
}

func (j remoteJoin) queryTypeName() string {
	if j.schema.QueryType == nil {
		return "Query"
	}
	return j.schema.QueryType.Name
}

// output returns the type of a field without lists; nil when there is none.
func (j remoteJoin) output(field *remoteField) *remoteType {
	name, _ := field.Type.base()
	t := j.schema.byName[name]
	switch {
	case t == nil:
		j.resolver.fail("type with name %q not found", name)
	case t.Kind == ast.InputObject:
		j.resolver.fail("type %qonly output type is expected", name)
		return nil
	}
	return t
}

// arguments checks the members of an object against what may be given.
func (j remoteJoin) arguments(expected []remoteInput, given wire.Node) {
	for name, value := range given.Members() {
		if input := findInput(expected, name); input != nil {
			j.value(name, &input.Type, value)
		} else {
			j.resolver.fail("argument with name %q not found in remote schema", name)
		}
	}
}

// value checks a literal or a column against the type that is expected of the
// argument that has the name.
func (j remoteJoin) value(name string, expected *remoteTypeRef, value wire.Node) {
	switch value.Kind() {
	case wire.Null:
		j.resolver.fail("null is not allowed here")
	case wire.Bool:
		j.coerce("Boolean", expected)
	case wire.Number:
		j.coerce(numberType(value), expected)
	case wire.String:
		if column, ok := columnVariable(value); ok {
			j.column(column, expected)
			return
		}
		j.literal(expected)
	case wire.Array:
		j.list(name, expected, value.Items())
	case wire.Object:
		j.object(name, expected, value)
	}
}

// numberType: a number written without a fraction is an Int.
func numberType(n wire.Node) string {
	for _, c := range n.Number() {
		if c == '.' || c == 'e' || c == 'E' {
			return "Float"
		}
	}
	return "Int"
}

// literal checks a string. JSON cannot write an enum value, so a string where
// one is expected is told apart from a string of the wrong type.
func (j remoteJoin) literal(expected *remoteTypeRef) {
	name, _ := expected.base()
	if t := j.schema.byName[name]; t != nil && t.Kind == ast.Enum {
		j.resolver.fail("enum value is not supported")
		return
	}
	j.coerce("String", expected)
}

func (j remoteJoin) list(name string, expected *remoteTypeRef, items []wire.Node) {
	if len(items) > 1 {
		j.resolver.fail("multiple elements in list value is not supported")
		return
	}
	item := expected.item()
	if item == nil {
		base, _ := expected.base()
		j.resolver.fail("type %qis not a list type", base)
		return
	}
	for _, value := range items {
		j.value(name, item, value)
	}
}

func (j remoteJoin) object(name string, expected *remoteTypeRef, value wire.Node) {
	base, lists := expected.base()
	t := j.schema.byName[base]
	switch {
	case t == nil:
		j.resolver.fail("type with name %q not found", base)
	case t.Kind != ast.InputObject:
		j.resolver.fail("type %qnot an input object type", name)
	case lists > 0:
		j.resolver.fail("type %q is invalid for stripping", expected)
	default:
		j.arguments(t.InputFields, value)
	}
}

// column checks a join key. Every key used must be one of the relationship's
// own columns: only those are read for it.
func (j remoteJoin) column(name string, expected *remoteTypeRef) {
	column := j.columns[name]
	switch {
	case column == nil:
		j.resolver.fail("variable %q is not found", name)
	case j.isEnum(name):
		j.resolver.fail("enum value is not supported")
	default:
		j.coerce(scalarName(column), expected)
	}
}

// isEnum reports whether a column refers to a table whose rows are an enum.
func (j remoteJoin) isEnum(column string) bool {
	for _, key := range j.table.ForeignKeys {
		if slices.Equal(key.Columns, []string{column}) {
			if table, _, ok := j.resolver.standingTable(key.To); ok && table.IsEnum {
				return true
			}
		}
	}
	return false
}

// joinableToID are the scalars that a remote ID takes.
var joinableToID = []string{"ID", "Int", "String", "bigint", "smallint", "uuid"}

// coerce checks the type of a single value. It may stand for a list of
// itself; whether null is allowed does not matter.
func (j remoteJoin) coerce(actual string, expected *remoteTypeRef) {
	name, _ := expected.base()
	switch {
	case name == "ID":
		if !slices.Contains(joinableToID, actual) {
			j.resolver.fail("Only ID, Int, uuid or String scalar types can be joined to the ID type, but recieved %q", actual)
		}
	case name != actual:
		j.resolver.fail("expected type %q but got %q", name, actual)
	}
}

// graphQLScalars are the GraphQL names of the types that GraphQL or v1.3 call
// otherwise than PostgreSQL does.
var graphQLScalars = map[string]string{
	"int4": "Int", "float4": "Float", "bool": "Boolean", "text": "String", "varchar": "String",
	"int2": "smallint", "int8": "bigint",
}

// scalarName is the name of a column's type in GraphQL. An array is a scalar
// too, with PostgreSQL's name for it.
func scalarName(c *database.Column) string {
	if c.Array {
		return "_" + c.Type
	}
	if name, ok := graphQLScalars[c.Type]; ok {
		return name
	}
	return c.Type
}
