package metadata

import (
	"reflect"

	"annals/domain"
	"annals/domain/database"
)

// Environment holds the names of the environment's variables that definitions
// may refer to, with their values. It is read once, at the start.
type Environment map[string]string

// reservedPrefixes are variables of the service itself: a definition that
// could read them could send the service's own secrets to a webhook.
var reservedPrefixes = [...]string{"SERVICE_GRAPHQL_", "HASURA_GRAPHQL_"}

// World is all that a decision may look at: the catalog, the shape of the
// user's database, the environment, and the standing of each object in them.
// It is immutable and safe to share.
type World struct {
	Catalog  Catalog
	Shape    database.Shape
	Env      Environment
	Standing Standing
	// Roots are the names that the catalog's objects take in GraphQL.
	Roots RootNames

	scalars scalarUse
}

// NewWorld puts a catalog beside a shape and resolves every object.
func NewWorld(c Catalog, shape database.Shape, env Environment) World {
	w := World{Catalog: c, Shape: shape, Env: env, Roots: indexRootNames(c)}
	w.Standing, w.scalars = w.resolveAll(), w.countScalars()
	return w
}

// Evolve returns the world after changes recorded at a position. Only what
// changed, and what needs it, is resolved again.
func (w World) Evolve(position int64, changes []Change) World {
	if len(changes) == 0 {
		return w
	}
	before := w
	w.Catalog = before.Catalog.Evolve(position, changes)
	keys := make([]Key, len(changes))
	for i, c := range changes {
		keys[i] = c.Key()
	}
	w.Roots, w.scalars = w.Roots.evolve(before.Catalog, w.Catalog, keys), before.scalarsAfter(w, keys)
	w.Standing = w.resolveAgain(keys, nil)
	return w
}

// WithShape returns the world after a new reading of parts of the database.
// Objects that need a table or function which is not as it was are resolved
// again.
func (w World) WithShape(found database.Found) World {
	var moved []Need
	other := database.Found{
		Tables:    map[domain.QualifiedName]*database.Table{},
		Functions: map[domain.QualifiedName][]*database.Function{},
		Types:     found.Types,
	}
	for name, table := range found.Tables {
		if !w.Shape.KnowsTable(name) || !reflect.DeepEqual(w.Shape.Table(name), table) {
			moved, other.Tables[name] = append(moved, needTable(name)), table
		}
	}
	for name, functions := range found.Functions {
		if !w.Shape.KnowsFunction(name) || !reflect.DeepEqual(w.Shape.Functions(name), functions) {
			moved, other.Functions[name] = append(moved, needDatabaseFunction(name)), functions
		}
	}
	var keys []Key
	if found.Types != nil && !w.Shape.SameTypes(found.Types) {
		keys = append(keys, customTypesKey) // and with it the actions
	}
	before := w
	w.Shape = w.Shape.With(other)
	w.scalars = before.scalarsAfter(w, before.madeOf(other))
	if len(moved)+len(keys) > 0 {
		w.Standing = w.resolveAgain(keys, moved)
	}
	return w
}

// Names is what a command or a catalog names of the user's database.
type Names struct {
	Tables    []domain.QualifiedName
	Functions []domain.QualifiedName
	// Enums are the tables, among Tables or not, whose rows are read.
	Enums []domain.QualifiedName
	// Types asks for the names of all scalar types.
	Types bool
}

// Empty reports whether nothing is named.
func (n Names) Empty() bool {
	return len(n.Tables)+len(n.Functions)+len(n.Enums) == 0 && !n.Types
}

// add joins two lists of names.
func (n Names) add(m Names) Names {
	return Names{
		append(n.Tables, m.Tables...),
		append(n.Functions, m.Functions...),
		append(n.Enums, m.Enums...),
		n.Types || m.Types,
	}
}

// Names returns all tables and functions that the catalog's objects name; the
// types are among them where custom types or actions may be made of some.
func (c Catalog) Names() Names {
	names := Names{Types: c.Has(customTypesKey) || c.hasKind(KindAction)}
	for table := range objects[Table](c.OfKind(KindTable)) {
		names.Tables = append(names.Tables, table.Name)
		if table.IsEnum {
			names.Enums = append(names.Enums, table.Name)
		}
	}
	for function := range objects[Function](c.OfKind(KindFunction)) {
		names.Functions = append(names.Functions, function.Name)
	}
	for field := range objects[ComputedField](c.OfKind(KindComputedField)) {
		names.Functions = append(names.Functions, field.Definition.Function)
	}
	return names
}

// AllNames is Names and the system's tables: what a node reads when it looks
// at the whole database.
func (c Catalog) AllNames() Names {
	names := c.Names()
	names.Tables = append(names.Tables, systemTables()...)
	return names
}

func (c Catalog) hasKind(kind Kind) bool {
	for range c.OfKind(kind) {
		return true
	}
	return false
}

// NamesOfChanges returns the tables and functions that changed objects name,
// as far as their shape may not have been read before.
func NamesOfChanges(changes []Change) Names {
	f := FoldFrom(Catalog{})
	for _, c := range changes {
		f.Put(c.Key(), 0, c.Definition)
	}
	return f.Catalog().Names()
}

// MayReshape reports whether an operation may have changed what tables look
// like without naming them in its changes.
func MayReshape(operation string) bool {
	return operation == RunSQL{}.Operation() || operation == ReloadMetadata{}.Operation()
}

// RemoteSchema returns a remote schema of the catalog.
func (w World) RemoteSchema(name string) (RemoteSchema, bool) {
	return lookup[RemoteSchema](w.Catalog, remoteSchemaKey(name))
}
