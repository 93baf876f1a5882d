package facts

import (
	"cmp"
	_ "embed"
	"slices"

	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

//go:embed functions.sql
var functionsSQL string

// routine is a function whose types are not looked up yet.
type routine struct {
	database.Function
	returns   uint32
	arguments []uint32
}

func (r *reading) queueFunctions(batch *pgx.Batch) {
	if len(r.functions.names) == 0 {
		return
	}
	var (
		f            routine
		volatility   byte
		names, modes []string
	)
	targets := []any{
		&f.OID, &f.Name.Schema, &f.Name.Name, &volatility, &f.Variadic, &f.Defaults,
		&f.ReturnsSet, &f.returns, &f.arguments, &names, &modes, &f.Comment,
	}
	args := []any{r.functions.schemas, r.functions.names}
	queue(batch, "read functions", functionsSQL, args, targets, func() error {
		found := f
		found.Volatility = volatilityOf(volatility)
		found.HasOutArguments = slices.ContainsFunc(modes, isOutput)
		found.Arguments = nameArguments(len(f.arguments), names, modes)
		r.routines = append(r.routines, &found)
		r.need(f.returns)
		for _, oid := range f.arguments {
			r.need(oid)
		}
		return nil
	})
}

// volatilityOf translates pg_proc.provolatile.
func volatilityOf(c byte) database.Volatility {
	switch c {
	case 'i':
		return database.Immutable
	case 's':
		return database.Stable
	default:
		return database.Volatile
	}
}

// The modes of arguments are those of pg_proc.proargmodes: in, out, both
// (INOUT), variadic, table.
func isInput(mode string) bool  { return mode == "i" || mode == "b" || mode == "v" }
func isOutput(mode string) bool { return mode == "o" || mode == "b" || mode == "t" }

// nameArguments returns the n input arguments with their names. Names and
// modes are those of all arguments; no modes means that all are IN.
func nameArguments(n int, names, modes []string) []database.Argument {
	arguments := make([]database.Argument, n)
	next := 0
	for i, name := range names {
		if len(modes) > 0 && !isInput(modes[i]) {
			continue
		}
		arguments[next].Name = name
		next++
	}
	return arguments
}

// fitTypes completes the function once the types are known.
func (f *routine) fitTypes(types typeTable) {
	returned := types[f.returns]
	f.ReturnType, f.ReturnSchema, f.ReturnKind = returned.name, returned.schema, returned.kind
	f.ReturnsTable = returned.row
	for i, oid := range f.arguments {
		t := types[oid]
		a := &f.Arguments[i]
		a.Type, a.TypeKind, a.Row = t.name, t.kind, t.row
		a.SQLType = types.sqlName(oid, t.sqlType)
	}
}

// sortFunctions puts overloads in the order in which they were made.
func (r *reading) sortFunctions() {
	slices.SortFunc(r.routines, func(a, b *routine) int { return cmp.Compare(a.OID, b.OID) })
}
