package metadata

import (
	"fmt"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var computedFieldSubject = subject{
	kind: KindComputedField, decode: decodeObject[ComputedField],
	created: "computed_field_added", changed: "computed_field_changed", dropped: "computed_field_dropped",
}

var computedFieldOperations = withPgAliases([]operation{
	{"add_computed_field", 1, decodeAddComputedField},
	{"drop_computed_field", 1, decodeDropComputedField},
}, "add_computed_field", "drop_computed_field")

// ComputedField is a field of a table whose value a function computes from
// the row.
type ComputedField struct {
	Table      domain.QualifiedName    `json:"table"`
	Name       string                  `json:"name"`
	Definition ComputedFieldDefinition `json:"definition"`
	Comment    *string                 `json:"comment,omitzero"`
}

// ComputedFieldDefinition names the function and those of its arguments that
// get the row and the session variables. Without TableArgument the row is the
// first argument.
type ComputedFieldDefinition struct {
	Function        domain.QualifiedName `json:"function"`
	TableArgument   *string              `json:"table_argument,omitzero"`
	SessionArgument *string              `json:"session_argument,omitzero"`
}

func computedFieldKey(table domain.QualifiedName, name string) Key {
	return keyOf(KindComputedField, table.Schema, table.Name, name)
}

// Key implements [Object].
func (f ComputedField) Key() Key { return computedFieldKey(f.Table, f.Name) }

func (f ComputedField) String() string { return "computed field " + f.Table.String() + "." + f.Name }

func (f ComputedField) owner() domain.QualifiedName { return f.Table }

func (f ComputedField) described() description {
	return description{"computed_field", struct {
		Table      domain.QualifiedName    `json:"table"`
		Name       string                  `json:"name"`
		Definition ComputedFieldDefinition `json:"definition"`
		Comment    *string                 `json:"comment"`
	}{f.Table, f.Name, f.Definition, f.Comment}}
}

func (f ComputedField) exported() any {
	return struct {
		Name       string                  `json:"name"`
		Definition ComputedFieldDefinition `json:"definition"`
		Comment    *string                 `json:"comment,omitzero"`
	}{f.Name, f.Definition, f.Comment}
}

func (f ComputedField) renamed(r Rename) Object {
	f.Table = r.table(f.Table)
	return f
}

func (f ComputedField) resolve(r *resolver) {
	r.within("in table %q: in computed field %q: ", f.Table, f.Name)
	table, shape, ok := r.ownTable(f.Table)
	if !ok {
		return
	}
	r.field(f.Key(), table, shape, f.Name)
	function := onlyFunction(r, f.Definition.Function)
	if function == nil {
		return
	}
	faults := append(f.returnFaults(r, function), f.argumentFaults(function)...)
	r.failEach(fmt.Sprintf("the computed field %q cannot be added to table %q", f.Name, f.Table), faults)
}

func (f ComputedField) returnFaults(r *resolver, function *database.Function) []string {
	var faults []string
	if !domain.IsGraphQLName(f.Name) {
		faults = append(faults, fmt.Sprintf("%q is not valid GraphQL name", f.Name))
	}
	if function.Volatility == database.Volatile {
		faults = append(faults, fmt.Sprintf("the function %q is of type VOLATILE; cannot be added as a computed field", function.Name))
	}
	if table := function.ReturnsTable; table != nil {
		if _, _, ok := r.standingTable(*table); !ok {
			faults = append(faults, fmt.Sprintf("the function %q returning set of table %q is not tracked or not found in database", function.Name, *table))
		}
	} else if function.ReturnKind != 'b' && function.ReturnKind != 'd' && function.ReturnKind != 'e' {
		faults = append(faults, fmt.Sprintf("the function %q returning type %s is not a BASE type", function.Name, function.ReturnType))
	}
	return faults
}

func (f ComputedField) argumentFaults(function *database.Function) []string {
	faults := f.tableArgumentFaults(function)
	name := f.Definition.SessionArgument
	if name == nil {
		return faults
	}
	switch arg := argumentNamed(function, *name); {
	case arg == nil:
		return append(faults, notAnArgument(*name, function))
	case !isJSON(arg):
		return append(faults, fmt.Sprintf("%q argument of the function %q is not of type JSON", *name, function.Name))
	}
	return faults
}

func notAnArgument(name string, function *database.Function) string {
	return fmt.Sprintf("%q is not an input argument of the function %q", name, function.Name)
}

func (f ComputedField) tableArgumentFaults(function *database.Function) []string {
	if name := f.Definition.TableArgument; name != nil {
		arg := argumentNamed(function, *name)
		if arg == nil {
			return []string{notAnArgument(*name, function)}
		}
		return f.rowFaults(fmt.Sprintf("%q argument of the function %q", *name, function.Name), arg)
	}
	if len(function.Arguments) == 0 {
		return []string{fmt.Sprintf("the function %q has no input arguments", function.Name)}
	}
	return f.rowFaults(fmt.Sprintf("first argument of the function %q", function.Name), &function.Arguments[0])
}

// rowFaults makes sure that an argument is a row of the field's table.
func (f ComputedField) rowFaults(what string, arg *database.Argument) []string {
	var faults []string
	if arg.TypeKind != 'c' {
		faults = append(faults, what+" is not COMPOSITE type")
	}
	if arg.Row == nil || *arg.Row != f.Table {
		faults = append(faults, fmt.Sprintf("%s of type %q is not the table to which the computed field is being added", what, arg.Type))
	}
	return faults
}

// returnsTable returns the table whose rows the field's function returns, nil
// when it returns a value.
func (f ComputedField) returnsTable(w World) *domain.QualifiedName {
	if overloads := w.Shape.Functions(f.Definition.Function); len(overloads) == 1 {
		return overloads[0].ReturnsTable
	}
	return nil
}

// decodeComputedFieldEntry reads a computed field of the metadata document.
func decodeComputedFieldEntry(n wire.Node, table domain.QualifiedName) ComputedField {
	definition := n.Field("definition")
	return ComputedField{
		Table: table,
		Name:  n.Field("name").Text(),
		Definition: ComputedFieldDefinition{
			Function:        definition.Field("function").Name(),
			TableArgument:   wire.Pointer(definition.Optional("table_argument"), wire.Node.Text),
			SessionArgument: wire.Pointer(definition.Optional("session_argument"), wire.Node.Text),
		},
		Comment: decodeComment(n),
	}
}

// AddComputedField is add_computed_field.
type AddComputedField struct{ ComputedField }

// Operation implements [Command].
func (AddComputedField) Operation() string { return "add_computed_field" }

func decodeAddComputedField(n wire.Node) Command {
	return AddComputedField{decodeComputedFieldEntry(n, n.Field("table").Name())}
}

func (c AddComputedField) names(World) Names {
	return Names{
		Tables:    []domain.QualifiedName{c.Table},
		Functions: []domain.QualifiedName{c.Definition.Function},
	}
}

func (AddComputedField) demand() demand { return ownStands }

func (c AddComputedField) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args.table", c.Table); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, domain.RefuseAt("$.args.name", domain.AlreadyExists, "computed field %q already exists in table %q", c.Name, c.Table)
	}
	return put(w.Catalog, c.ComputedField), nil
}

// DropComputedField is drop_computed_field. Permissions that use the field are
// in the way, unless Cascade drops them too.
type DropComputedField struct {
	Table   domain.QualifiedName `json:"table"`
	Name    string               `json:"name"`
	Cascade bool                 `json:"cascade"`
}

// Operation implements [Command].
func (DropComputedField) Operation() string { return "drop_computed_field" }

func decodeDropComputedField(n wire.Node) Command {
	return DropComputedField{n.Field("table").Name(), n.Field("name").Text(), n.Optional("cascade").BoolOr(false)}
}

func (DropComputedField) names(World) Names { return Names{} }

func (DropComputedField) demand() demand { return noneNew }

func (c DropComputedField) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args.table", c.Table); err != nil {
		return nil, err
	}
	key := computedFieldKey(c.Table, c.Name)
	if !w.Catalog.Has(key) {
		return nil, domain.RefuseAt("$.args.name", domain.NotExists, "computed field %q does not exist", c.Name)
	}
	return w.dropWithDependents(key, c.Cascade)
}
