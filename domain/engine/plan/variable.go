package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/wire"
)

// variable is a variable that the operation declares.
type variable struct {
	name string
	typ  *ast.Type
	// value is what was given, else the default, else null.
	value value
	// standard is the default as JSON, nil when there is none.
	standard json.RawMessage
	// literal is the default as it was written; nil when there is none.
	literal *ast.Value
	// fallback is the default, or null.
	fallback value
	given    bool
}

// absent reports whether the variable has no value at all.
func (v *variable) absent() bool { return !v.given && v.standard == nil }

// wanted is the type that a place has.
type wanted struct {
	name    string
	list    bool // [name!]
	nonNull bool
	// typ is set instead where the metadata says which type it is.
	typ *ast.Type
}

func (w wanted) String() string {
	if w.typ != nil {
		return w.typ.String()
	}
	s := w.name
	if w.list {
		s = "[" + s + "!]"
	}
	if w.nonNull {
		s += "!"
	}
	return s
}

// takes reports whether a variable may stand at a place of the type: its type
// is as strict, and a nullable one has a default where null is not taken.
func (w wanted) takes(v *variable) bool {
	if w.typ != nil {
		hasDefault := v.standard != nil && string(v.standard) != "null"
		return strictEnough(v.typ, w.typ, hasDefault)
	}
	if w.nonNull && !v.typ.NonNull && (v.standard == nil || string(v.standard) == "null") {
		return false
	}
	if !w.list {
		return v.typ.NamedType == w.name
	}
	return v.typ.Elem != nil && v.typ.Elem.NonNull && v.typ.Elem.NamedType == w.name
}

// strictEnough reports whether all values of a type are values of another. One
// of a nullable type is not null where it has a default.
func strictEnough(t, wanted *ast.Type, hasDefault bool) bool {
	if wanted.NonNull && !t.NonNull && !hasDefault {
		return false
	}
	if wanted.Elem == nil || t.Elem == nil {
		return wanted.Elem == nil && t.Elem == nil && t.NamedType == wanted.NamedType
	}
	return strictEnough(t.Elem, wanted.Elem, false)
}

// givenVariables are the variables of a request. Few are searched, many have an
// index.
type givenVariables struct {
	list []member
	at   map[string]int // nil: they are few
}

// fewVariables is how many variables are searched.
const fewVariables = 16

// readVariables reads the variables of a request.
func readVariables(variables wire.Value) (givenVariables, error) {
	return wire.DecodeAt("$.variables", variables, func(n wire.Node) (given givenVariables) {
		if !n.Present() {
			return given
		}
		for name, v := range n.Members() {
			given.list = append(given.list, member{name, ofJSON(v)})
		}
		if len(given.list) > fewVariables {
			given.at = make(map[string]int, len(given.list))
			for i, m := range given.list {
				given.at[m.name] = i
			}
		}
		return given
	})
}

func (g givenVariables) get(name string) (value, bool) {
	if g.at == nil {
		return value{members: g.list}.get(name)
	}
	if i, ok := g.at[name]; ok {
		return g.list[i].value, true
	}
	return value{}, false
}

// declare makes the variables of an operation. Those that are used, and only
// those, may be given.
func (b *builder) declare(definitions ast.VariableDefinitionList, given givenVariables, size extent) {
	at := b.root
	b.variables = make(map[string]*variable, len(definitions))
	for _, d := range definitions {
		if b.variables[d.Variable] != nil {
			at.fail("multiple definitions for variable %q", d.Variable)
		}
		b.variables[d.Variable] = declared(d, given)
	}
	for _, name := range slices.Sorted(maps.Keys(size.uses)) {
		v := b.variables[name]
		switch {
		case v == nil:
			at.fail("unbound variable %q", name)
		case v.absent() && v.typ.NonNull:
			at.fail("expecting a value for non-nullable variable: %q", name)
		}
	}
	if extra := unused(given, size.uses); len(extra) > 0 {
		at.fail("unexpected variables in variableValues: %s", strings.Join(extra, ", "))
	}
	if at.failed() {
		return
	}
	if most, ok := size.allowed(func(name string) value { return b.variables[name].value }); !ok {
		at.fail(tooManyValues, most)
	}
}

func declared(d *ast.VariableDefinition, given givenVariables) *variable {
	v := &variable{name: d.Variable, typ: d.Type}
	if d.DefaultValue != nil {
		v.literal, v.fallback = d.DefaultValue, literal(d.DefaultValue)
		v.standard = v.fallback.json()
	}
	v.value = v.fallback
	if value, ok := given.get(d.Variable); ok {
		v.value, v.given = value, true
	}
	return v
}

func unused(given givenVariables, uses map[string]int) []string {
	var extra []string
	for _, m := range given.list {
		if uses[m.name] == 0 {
			extra = append(extra, m.name)
		}
	}
	slices.Sort(extra)
	return extra
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// variableAt returns the variable that a value is, if it is one and fits the
// place.
func (b *builder) variableAt(at place, v value, w wanted) (*variable, bool) {
	if v.kind != kindVariable {
		return nil, false
	}
	declared := b.variables[v.text]
	if declared == nil {
		at.fail("unbound variable %q", v.text)
		return nil, false
	}
	if !w.takes(declared) {
		at.fail("variable %q is declared as %s, but used where %s is expected", v.text, declared.typ, w)
	}
	return declared, true
}

// open returns what a value is when it decides the form of the plan: a
// variable's value in its place. The plan then belongs to that value alone.
func (b *builder) open(at place, v value, w wanted) value {
	declared, ok := b.variableAt(at, v, w)
	if !ok {
		return v
	}
	b.shaped[declared.name] = true
	return declared.value
}

// given reports whether a member is there: a variable without a value is as
// if it was not written.
func (b *builder) given(v value) bool {
	if v.kind != kindVariable {
		return true
	}
	declared := b.variables[v.text]
	if declared == nil {
		return true
	}
	b.presence[declared.name] = true
	return !declared.absent()
}
