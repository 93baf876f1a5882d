package schema

import (
	"iter"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/metadata"
)

// Type makes the one type of a name that tables, functions, actions or scalars
// of the database lead to; nil when there is none. Roots and types of remotes
// are not among them. It costs what the name says: a type is made without those
// that it refers to. A type that only a relationship would lead to is made
// whether there is such a relationship or not.
func (r *Role) Type(name string) *ast.Definition {
	l := &lister{role: r, schema: &ast.Schema{Types: map[string]*ast.Definition{}}}
	l.ofActions(name)
	l.ofTables(name)
	l.ofFunctions(name)
	l.ofValues(name)
	if i := slices.IndexFunc(l.pending, func(u unfinished) bool { return u.Name == name }); i >= 0 {
		l.pending[i].finish()
	}
	return l.schema.Types[name]
}

// ofActions makes the type of a name that actions have.
func (l *lister) ofActions(name string) {
	types := l.role.World().CustomTypes()
	switch object := types.Object(name); {
	case object != nil:
		l.actionObject(&ActionObject{*object, l.role})
	case types.InputObject(name) != nil, types.Enum(name) != nil, types.Scalar(name) != nil:
		l.actionInput(ast.NamedType(name, nil))
	}
	for _, f := range l.role.World().Roots.Query(name) {
		if f.Kind != ActionResult {
			continue
		}
		if a := l.role.action(f.Object.Name); a != nil && a.Object != nil {
			l.actionResult(a)
		}
	}
}

// What follows the name of a scalar in that of its comparison, and the name of
// a function in that of its arguments; and the name of the type of directions.
const (
	comparisonSuffix = "_comparison_exp"
	argsSuffix       = "_args"
	orderEnum        = "order_by"
)

// ofFunctions makes the type of a name that holds the arguments of a function.
func (l *lister) ofFunctions(name string) {
	base, ok := strings.CutSuffix(name, argsSuffix)
	if !ok {
		return
	}
	for f := range l.role.functionsNamed(base) {
		if f.takesInput() {
			l.functionArgs(f)
		}
	}
}

// functionsNamed yields the functions of a name in GraphQL, those that are
// tracked and those of computed fields.
func (r *Role) functionsNamed(name string) iter.Seq[*Function] {
	return func(yield func(*Function) bool) {
		for user := range r.World().UsersOfFunction(name) {
			var f *Function
			switch user := user.(type) {
			case metadata.Function:
				f = r.functionOf(user.Name)
			case metadata.ComputedField:
				f = r.functionOfField(user)
			}
			if f != nil && !yield(f) {
				return
			}
		}
	}
}

// functionOf returns a tracked function, whichever root it is in.
func (r *Role) functionOf(name domain.QualifiedName) *Function {
	for _, kind := range []RootKind{Call, ChangingCall} {
		if f := r.trackedFunction(metadata.RootField{Kind: kind, Object: name}); f != nil {
			return f
		}
	}
	return nil
}

func (r *Role) functionOfField(stored metadata.ComputedField) *Function {
	if t := r.Table(stored.Table); t != nil {
		if f := t.ComputedField(stored.Name); f != nil {
			return f.Function
		}
	}
	return nil
}

// typeNames lists the names of types that the function's arguments have.
func (f *Function) typeNames() []string {
	names := []string{f.ArgsType}
	for _, a := range f.Inputs() {
		names = append(names, a.Type.Name)
	}
	return names
}

// ofValues makes the type of a name that values, their comparison or their
// order have.
func (l *lister) ofValues(name string) {
	if name == orderEnum {
		l.direction()
	}
	for _, leaf := range l.role.leaves(name) {
		l.scalar(leaf)
	}
	if base, ok := strings.CutSuffix(name, comparisonSuffix); ok {
		for _, leaf := range l.role.leaves(base) {
			l.comparison(leaf)
		}
	}
	if slices.Contains(spatialTypes(), name) {
		l.ofSpace(name)
	}
}

// spatialTypes lists the types that comparisons of shapes lead to.
func spatialTypes() []string {
	return []string{
		"geometry", "geography", "geometry" + comparisonSuffix, "geography" + comparisonSuffix, "geometry_cast_exp", "geography_cast_exp",
		"st_d_within_input", "st_d_within_geography_input", "st_intersects_nband_geom_input", "st_intersects_geom_nband_input",
	}
}

func (l Leaf) spatial() bool { return l.is("geometry") || l.is("geography") || l.is("raster") }

// ofSpace makes a type that comparisons of shapes lead to, if there are any.
func (l *lister) ofSpace(name string) {
	all := &lister{role: l.role, schema: &ast.Schema{Types: map[string]*ast.Definition{}}}
	for _, typname := range []string{"geometry", "geography", "raster"} {
		if l.role.World().UsesScalar(typname) {
			all.comparison(scalar(typname, false))
		}
	}
	all.finish()
	if d := all.schema.Types[name]; d != nil {
		l.schema.Types[name] = d
	}
}

// leaves lists the scalars in use that have a name in GraphQL; two of the
// database's may share one.
func (r *Role) leaves(name string) (leaves []Leaf) {
	for _, typname := range typnames(name) {
		element, array := strings.CutPrefix(typname, "_")
		if leaf := scalar(element, array); r.World().UsesScalar(typname) && leaf.Name == name {
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

// typnames lists what the database may call a scalar; see [scalar].
func typnames(name string) []string {
	switch name {
	case Int:
		return []string{"int4"}
	case Float:
		return []string{"float4"}
	case String:
		return []string{"text", "varchar"}
	case Boolean:
		return []string{"bool"}
	case longName("int2"):
		return []string{"int2"}
	case longName("int8"):
		return []string{"int8"}
	}
	return []string{name}
}
