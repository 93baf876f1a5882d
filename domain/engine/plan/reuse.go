package plan

import (
	"maps"
	"slices"

	"annals/domain/wire"
)

// variableCheck is what a variable was read as, at a place.
type variableCheck struct {
	name string
	path wire.Path
	read reader
}

// shaping is what a variable was when it decided a plan's form.
type shaping struct {
	absent bool
	json   string
}

func shapingOf(v *variable) shaping { return shaping{v.absent(), string(v.value.json())} }

// ShapedBy lists the variables whose values decided the plan's form: filters,
// lists of objects, conditions of directives. The plan holds for other values
// of all other variables.
func (op *Operation) ShapedBy() []string { return slices.Sorted(maps.Keys(op.shapedBy)) }

// Fits reports whether [Build] would make the same plan of the same request
// with these variables. It does not say what is wrong where it would not.
func (op *Operation) Fits(variables wire.Value) bool {
	given, err := readVariables(variables)
	if err != nil {
		return false
	}
	return op.fitsNames(given) && op.fitsSize(given) && op.fitsShape(given) && op.fitsTypes(given)
}

// fitsNames: what must be given is, and nothing else than what is declared.
func (op *Operation) fitsNames(given givenVariables) bool {
	for _, m := range given.list {
		if op.size.uses[m.name] == 0 {
			return false
		}
	}
	for name, v := range op.declared {
		if _, ok := given.get(name); !ok && v.typ.NonNull && v.standard == nil && op.size.uses[name] > 0 {
			return false
		}
	}
	return true
}

func (op *Operation) fitsSize(given givenVariables) bool {
	_, ok := op.size.allowed(func(name string) value { return op.now(name, given).value })
	return ok
}

func (op *Operation) fitsShape(given givenVariables) bool {
	for name, before := range op.shapedBy {
		if v := op.now(name, given); shapingOf(&v) != before {
			return false
		}
	}
	for name, absent := range op.absent {
		if v := op.now(name, given); v.absent() != absent {
			return false
		}
	}
	return true
}

// fitsTypes reads the variables again as they were read before.
func (op *Operation) fitsTypes(given givenVariables) bool {
	at := newPlace()
	for _, c := range op.checks {
		v := op.now(c.name, given).value
		if read := c.read(op.reading, at, v); at.failed() || !v.is(read) {
			return false
		}
	}
	return true
}

// now is a variable with the value it has in another request.
func (op *Operation) now(name string, given givenVariables) variable {
	v := *op.declared[name]
	v.value, v.given = v.fallback, false
	if value, ok := given.get(name); ok {
		v.value, v.given = value, true
	}
	return v
}
