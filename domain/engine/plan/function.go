package plan

import (
	"slices"

	"annals/domain"
	"annals/domain/engine/schema"
)

const argsArgument = "args"

// functionArguments are the names of the arguments of a field that calls a
// function: those of the call, and others.
func functionArguments(fn *schema.Function, others ...string) []string {
	if len(fn.Inputs()) == 0 {
		return others
	}
	return append([]string{argsArgument}, others...)
}

// calledRows builds a selection of the rows that a function returns.
func (b *builder) calledRows(at place, root schema.Root, f field) *Rows {
	return b.rowsOf(at, root.Function, root.Table, f)
}

func (b *builder) rowsOf(at place, fn *schema.Function, t *schema.Table, f field) *Rows {
	args := b.arguments(at, f, functionArguments(fn, selectArguments...)...)
	rows := b.selection(args, Source{Table: t.Shape, Call: b.call(args, fn)}, t)
	rows.Selection = b.fields(at, t, f)
	return rows
}

func (b *builder) calledAggregate(at place, root schema.Root, f field) *Aggregate {
	args := b.arguments(at, f, functionArguments(root.Function, selectArguments...)...)
	rows := b.selection(args, Source{Table: root.Table.Shape, Call: b.call(args, root.Function)}, root.Table)
	return &Aggregate{Rows: *rows, Fields: b.aggregateFields(at, root.Table, f)}
}

// computed builds a computed field: rows, or a value.
func (b *builder) computed(at place, c *schema.ComputedField, f field) Field {
	if c.Rows != nil {
		return Field{Alias: f.alias, Computed: b.rowsOf(at, c.Function, c.Rows, f)}
	}
	b.noSelection(at, f)
	names := functionArguments(c.Function)
	if c.Type.JSON() {
		names = append(names, "path")
	}
	args := b.arguments(at, f, names...)
	scalar := &Scalar{Call: *b.call(args, c.Function), Type: c.Function.Shape.ReturnType, SQLType: returnedSQL(c.Function)}
	if c.Type.JSON() {
		scalar.Path = b.jsonPath(args)
	}
	return Field{Alias: f.alias, Scalar: scalar}
}

// returnedSQL is a function's result type as far as SQL must know it.
func returnedSQL(fn *schema.Function) string {
	if fn.Shape.ReturnSchema == "pg_catalog" || fn.Shape.ReturnSchema == "" {
		return fn.Shape.ReturnType
	}
	return fn.Shape.ReturnSchema + "." + fn.Shape.ReturnType
}

// call reads the arguments of a function. They are given by position up to the
// first that is left out, and by name after it.
func (b *builder) call(args arguments, fn *schema.Function) *Call {
	call := &Call{Function: fn.Shape.Name}
	given, at := b.input(args, fn)
	named := false
	for _, a := range fn.Arguments {
		if at.failed() {
			break
		}
		argument := Argument{Row: a.Row, Session: a.Session}
		if !a.Row && !a.Session {
			v, ok := given.find(a.Name)
			if !ok || !b.given(v) {
				if !a.HasDefault {
					at.failCode(domain.NotSupported, "Non default arguments cannot be omitted")
				}
				named = true
				continue
			}
			value := b.leaf(at.key(a.Name), v, a.Type, wanted{name: a.Type.Name}, nullTaken)
			argument.Value = &value
		}
		if named {
			if a.SQLName == "" {
				at.failCode(domain.NotSupported, "Only last set of positional arguments can be omitted")
			}
			argument.Name = a.SQLName
		}
		call.Arguments = append(call.Arguments, argument)
	}
	return call
}

// input returns the members of the argument args.
func (b *builder) input(args arguments, fn *schema.Function) (arguments, place) {
	at := args.at.key(argsArgument)
	w := wanted{name: fn.ArgsType}
	known := func(name string) bool {
		return slices.ContainsFunc(fn.Inputs(), func(a schema.Argument) bool { return a.Name == name })
	}
	if fn.NeedsInput() {
		v, at := args.required(argsArgument, w)
		if at.failed() {
			return arguments{}, at
		}
		return b.object(at, v, fn.ArgsType, known), at
	}
	if v, at, ok := args.optional(argsArgument, w); ok {
		return b.object(at, v, fn.ArgsType, known), at
	}
	return arguments{at: at, b: b}, at
}
