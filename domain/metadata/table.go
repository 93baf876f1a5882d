package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var tableSubject = subject{
	kind: KindTable, decode: decodeObject[Table],
	created: "table_tracked", changed: "table_changed", dropped: "table_untracked",
}

var tableOperations = withPgAliases([]operation{
	{"track_table", 1, decodeTrackTable},
	{"track_table", 2, decodeTrackTableWithConfiguration},
	{"add_existing_table_or_view", 1, decodeTrackTable},
	{"pg_track_table", 1, ofDefaultSource(decodeTrackTableWithConfiguration)},
	{"untrack_table", 1, decodeUntrackTable},
	{"set_table_is_enum", 1, decodeSetTableIsEnum},
	{"set_table_custom_fields", 2, decodeSetTableCustomFields},
	{"set_table_customization", 1, decodeSetTableCustomization},
}, "untrack_table", "set_table_is_enum", "set_table_customization")

// Table is a table, view, materialised view or foreign table of the user's
// database that the service knows.
type Table struct {
	Name domain.QualifiedName `json:"table"`
	// IsEnum makes the table's rows the values of a GraphQL enum.
	IsEnum        bool               `json:"is_enum,omitzero"`
	Configuration TableConfiguration `json:"configuration,omitzero"`
}

// TableConfiguration is how a table shows in GraphQL. The maps and names are
// nil and empty where nothing is said.
type TableConfiguration struct {
	RootFields RootFields `json:"custom_root_fields"`
	// ColumnNames maps columns to the names of their fields.
	ColumnNames map[string]string `json:"custom_column_names"`
	// CustomName stands for the table's name in all GraphQL names.
	CustomName *string `json:"custom_name,omitzero"`
}

// RootFields are the names of a table's root fields; empty means the default.
type RootFields struct {
	Select          string `json:"select,omitzero"`
	SelectByPK      string `json:"select_by_pk,omitzero"`
	SelectAggregate string `json:"select_aggregate,omitzero"`
	Insert          string `json:"insert,omitzero"`
	InsertOne       string `json:"insert_one,omitzero"`
	Update          string `json:"update,omitzero"`
	UpdateByPK      string `json:"update_by_pk,omitzero"`
	Delete          string `json:"delete,omitzero"`
	DeleteByPK      string `json:"delete_by_pk,omitzero"`
}

func (f RootFields) all() []string {
	return []string{
		f.Select, f.SelectByPK, f.SelectAggregate, f.Insert, f.InsertOne,
		f.Update, f.UpdateByPK, f.Delete, f.DeleteByPK,
	}
}

func tableKey(name domain.QualifiedName) Key { return keyOf(KindTable, name.Schema, name.Name) }

// Key implements [Object].
func (t Table) Key() Key { return tableKey(t.Name) }

func (t Table) String() string { return "table " + t.Name.String() }

func (t Table) described() description { return description{"table", t.Name} }

func (t Table) exported() any { return t }

func (t Table) renamed(r Rename) Object {
	if t.Name != r.Table {
		return t
	}
	if r.Column == "" {
		t.Name = r.NewTable
		return t
	}
	t.Configuration.ColumnNames = renamedKey(t.Configuration.ColumnNames, r.Column, r.NewColumn)
	return t
}

// renamedKey returns the map with one key renamed; the map itself when it has
// no such key.
func renamedKey[V any](m map[string]V, from, to string) map[string]V {
	v, ok := m[from]
	if !ok {
		return m
	}
	m = maps.Clone(m)
	delete(m, from)
	m[to] = v
	return m
}

func (t Table) resolve(r *resolver) {
	shape := r.world.Shape.Table(t.Name)
	if shape == nil {
		r.fail("no such table/view exists in postgres: %q", t.Name)
		return
	}
	t.resolveColumnNames(r, shape)
	if t.IsEnum {
		r.failEach(fmt.Sprintf("the table %q cannot be used as an enum", t.Name), enumFaults(shape))
	}
}

// resolveColumnNames looks up the columns that have names of their own, and
// makes sure that no two columns have one field.
func (t Table) resolveColumnNames(r *resolver, shape *database.Table) {
	names := t.Configuration.ColumnNames
	for _, column := range slices.Sorted(maps.Keys(names)) {
		if r.column(shape, column) == nil {
			r.fail("the custom field name %q was given for the column %q, but no such column exists", names[column], column)
		}
	}
	if len(names) == 0 {
		return
	}
	columnOf := map[string]string{}
	for _, c := range shape.Columns {
		field := t.FieldOf(c.Name)
		if other, taken := columnOf[field]; taken {
			r.fail("the definitions of columns %q and %q are in conflict: they are mapped to the same field name, %q", other, c.Name, field)
		}
		columnOf[field] = c.Name
	}
}

// FieldOf returns the name of a column's field.
func (t Table) FieldOf(column string) string {
	if custom, ok := t.Configuration.ColumnNames[column]; ok {
		return custom
	}
	return column
}

// enumFaults says why a table cannot be used as an enum: it needs a primary
// key of one text column, at most one other text column, and rows whose keys
// are GraphQL names.
func enumFaults(t *database.Table) []string {
	var faults []string
	key, fault := enumKey(t)
	if fault != "" {
		faults = append(faults, fault)
	}
	if fault := enumComment(t); fault != "" {
		faults = append(faults, fault)
	}
	switch {
	case key && t.EnumRead:
		faults = append(faults, enumValueFaults(t.Enum)...)
	case len(faults) == 0:
		faults = append(faults, "the table has more rows than an enum may have values")
	}
	return faults
}

func enumKey(t *database.Table) (ok bool, fault string) {
	if t.PrimaryKey == nil {
		return false, "the table must have a primary key"
	}
	if columns := t.PrimaryKey.Columns; len(columns) != 1 {
		return false, "the table’s primary key must not span multiple columns (" + strings.Join(slices.Sorted(slices.Values(columns)), ", ") + ")"
	}
	fault = notText("primary key", t.Column(t.PrimaryKey.Columns[0]))
	return fault == "", fault
}

func enumComment(t *database.Table) (fault string) {
	var others []database.Column
	for _, c := range t.Columns {
		if t.PrimaryKey == nil || !slices.Contains(t.PrimaryKey.Columns, c.Name) {
			others = append(others, c)
		}
	}
	switch len(others) {
	case 0:
		return ""
	case 1:
		return notText("comment column", &others[0])
	}
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	slices.Sort(names)
	return fmt.Sprintf("the table must have exactly one primary key and optionally one comment column, not %d columns (%s)",
		len(names), strings.Join(names, ", "))
}

func notText(what string, c *database.Column) (fault string) {
	if c == nil || c.Type == "text" && !c.Array {
		return ""
	}
	return fmt.Sprintf("the table’s %s (%q) must have type \"text\", not type %q", what, c.Name, c.SQLType)
}

func enumValueFaults(values []database.EnumValue) []string {
	if len(values) == 0 {
		return []string{"the table must have at least one row"}
	}
	var bad []string
	for _, v := range values {
		if !isEnumValueName(v.Value) {
			bad = append(bad, strconv.Quote(v.Value))
		}
	}
	slices.Sort(bad)
	switch len(bad) {
	case 0:
		return nil
	case 1:
		return []string{"the value " + bad[0] + " is not a valid GraphQL enum value name"}
	}
	return []string{"the values " + englishList(bad) + " are not valid GraphQL enum value names"}
}

// isEnumValueName: the grammar keeps three names back.
func isEnumValueName(s string) bool {
	return domain.IsGraphQLName(s) && s != "true" && s != "false" && s != "null"
}

// englishList prints "a", "a and b", "a, b, and c".
func englishList(items []string) string {
	last := len(items) - 1
	switch last {
	case -1:
		return ""
	case 0:
		return items[0]
	case 1:
		return items[0] + " and " + items[1]
	}
	return strings.Join(items[:last], ", ") + ", and " + items[last]
}

// decodeTableEntry reads a table of the metadata document.
func decodeTableEntry(n wire.Node) Table {
	return Table{
		Name:          n.Field("table").Name(),
		IsEnum:        n.Optional("is_enum").BoolOr(false),
		Configuration: decodeTableConfiguration(n.Optional("configuration")),
	}
}

func decodeTableConfiguration(n wire.Node) TableConfiguration {
	if !n.Present() {
		return TableConfiguration{}
	}
	return TableConfiguration{
		RootFields:  decodeRootFields(n.Optional("custom_root_fields")),
		ColumnNames: decodeColumnNames(n.Optional("custom_column_names")),
		CustomName:  wire.Pointer(n.Optional("custom_name"), wire.Node.GraphQLName),
	}
}

func decodeRootFields(n wire.Node) RootFields {
	if !n.Present() {
		return RootFields{}
	}
	name := func(key string) string { return n.Optional(key).GraphQLName() }
	fields := RootFields{
		Select: name("select"), SelectByPK: name("select_by_pk"), SelectAggregate: name("select_aggregate"),
		Insert: name("insert"), InsertOne: name("insert_one"),
		Update: name("update"), UpdateByPK: name("update_by_pk"),
		Delete: name("delete"), DeleteByPK: name("delete_by_pk"),
	}
	if twice := givenTwice(fields.all()); len(twice) > 0 {
		n.Fail("the following custom root field names are duplicated: %s", englishList(twice))
	}
	return fields
}

// givenTwice returns the texts that come more than once, sorted, each once.
func givenTwice(texts []string) []string {
	count := map[string]int{}
	var twice []string
	for _, s := range texts {
		if count[s]++; s != "" && count[s] == 2 {
			twice = append(twice, s)
		}
	}
	slices.Sort(twice)
	return twice
}

func decodeColumnNames(n wire.Node) map[string]string {
	if !n.Present() {
		return nil
	}
	var names map[string]string
	for column, name := range n.Members() {
		if names == nil {
			names = map[string]string{}
		}
		names[column] = name.GraphQLName()
	}
	return names
}

// TrackTable is track_table, in all its forms.
type TrackTable struct{ Table }

// Operation implements [Command].
func (TrackTable) Operation() string { return "track_table" }

// decodeTrackTable reads a name, or {"table": name, "is_enum"}.
func decodeTrackTable(n wire.Node) Command {
	if n.Kind() == wire.Object && n.Optional("table").Present() && !n.Optional("name").Present() {
		return TrackTable{decodeTrackedTable(n)}
	}
	return TrackTable{Table{Name: n.Name()}}
}

// decodeTrackedTable reads {"table": name or {"table": name, "is_enum"}, "is_enum"}.
func decodeTrackedTable(n wire.Node) Table {
	if inner := n.Field("table"); inner.Kind() == wire.Object && inner.Optional("table").Present() {
		return decodeTrackedTable(inner)
	}
	return Table{Name: n.Field("table").Name(), IsEnum: n.Optional("is_enum").BoolOr(false)}
}

func decodeTrackTableWithConfiguration(n wire.Node) Command {
	t := decodeTrackedTable(n)
	t.Configuration = decodeTableConfiguration(n.Optional("configuration"))
	return TrackTable{t}
}

func (c TrackTable) names(World) Names { return namesOfTable(c.Table) }

// namesOfTable is the table itself, and its rows when they are an enum's.
func namesOfTable(t Table) Names {
	names := Names{Tables: []domain.QualifiedName{t.Name}}
	if t.IsEnum {
		names.Enums = names.Tables
	}
	return names
}

func (TrackTable) demand() demand { return ownStands }

// systemSchemas hold tables that are no user's: PostgreSQL's own, and ours.
var systemSchemas = map[string]string{
	"pg_catalog": "PostgreSQL's", "information_schema": "PostgreSQL's",
	"annals": "this service's", "hdb_catalog": "this service's",
}

func (c TrackTable) decide(w World) ([]Change, error) {
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyTracked, "view/table already tracked : %q", c.Name)
	}
	if owner, ok := systemSchemas[c.Name.Schema]; ok {
		return nil, refuse(domain.NotSupported, "%q cannot be tracked: the schema %q is %s own", c.Name, c.Name.Schema, owner)
	}
	if w.Catalog.Has(functionKey(c.Name)) {
		return nil, refuse(domain.NotSupported, "function with name %q already exists", c.Name)
	}
	return put(w.Catalog, c.Table), nil
}

// trackedTable returns a table that a command names at a path.
func trackedTable(w World, path string, name domain.QualifiedName) (Table, error) {
	t, ok := lookup[Table](w.Catalog, tableKey(name))
	if !ok {
		return t, domain.RefuseAt(path, domain.NotExists, "table %q does not exist", name)
	}
	return t, nil
}

// UntrackTable is untrack_table. What belongs to the table goes with it; what
// other tables have of it is in the way, unless Cascade takes that too.
type UntrackTable struct {
	Table   domain.QualifiedName `json:"table"`
	Cascade bool                 `json:"cascade"`
}

// Operation implements [Command].
func (UntrackTable) Operation() string { return "untrack_table" }

func decodeUntrackTable(n wire.Node) Command {
	return UntrackTable{n.Field("table").Name(), n.Optional("cascade").BoolOr(false)}
}

func (UntrackTable) names(World) Names { return Names{} }

func (UntrackTable) demand() demand { return noneNew }

func (c UntrackTable) decide(w World) ([]Change, error) {
	if _, system := systemSchemas[c.Table.Schema]; system {
		return nil, refuse(domain.NotSupported, "%q is system defined, cannot untrack", c.Table)
	}
	if !w.Catalog.Has(tableKey(c.Table)) {
		return nil, refuse(domain.AlreadyUntracked, "view/table already untracked : %q", c.Table)
	}
	gone := w.withOwn(c.Table)
	others := w.dependents(gone, nil)
	if err := mayDrop(others, c.Cascade); err != nil {
		return nil, err
	}
	return dropAll(w.Catalog, append(gone, droppable(others)...)), nil
}

// SetTableIsEnum is set_table_is_enum.
type SetTableIsEnum struct {
	Table  domain.QualifiedName `json:"table"`
	IsEnum bool                 `json:"is_enum"`
}

// Operation implements [Command].
func (SetTableIsEnum) Operation() string { return "set_table_is_enum" }

func decodeSetTableIsEnum(n wire.Node) Command {
	return SetTableIsEnum{n.Field("table").Name(), n.Field("is_enum").Bool()}
}

func (c SetTableIsEnum) names(World) Names {
	return namesOfTable(Table{Name: c.Table, IsEnum: c.IsEnum})
}

func (SetTableIsEnum) demand() demand { return ownStands }

func (c SetTableIsEnum) decide(w World) ([]Change, error) {
	t, err := trackedTable(w, "$.args", c.Table)
	if err != nil {
		return nil, err
	}
	t.IsEnum = c.IsEnum
	return put(w.Catalog, t), nil
}

// SetTableCustomFields is set_table_custom_fields: it replaces both wholly. A
// custom name, which it cannot say, stays.
type SetTableCustomFields struct {
	Table       domain.QualifiedName `json:"table"`
	RootFields  RootFields           `json:"custom_root_fields"`
	ColumnNames map[string]string    `json:"custom_column_names"`
}

// Operation implements [Command].
func (SetTableCustomFields) Operation() string { return "set_table_custom_fields" }

func decodeSetTableCustomFields(n wire.Node) Command {
	return SetTableCustomFields{
		Table:       n.Field("table").Name(),
		RootFields:  decodeRootFields(n.Optional("custom_root_fields")),
		ColumnNames: decodeColumnNames(n.Optional("custom_column_names")),
	}
}

func (c SetTableCustomFields) names(World) Names { return namesOfTable(Table{Name: c.Table}) }

func (SetTableCustomFields) demand() demand { return ownStands }

func (c SetTableCustomFields) decide(w World) ([]Change, error) {
	t, err := trackedTable(w, "$.args", c.Table)
	if err != nil {
		return nil, err
	}
	t.Configuration.RootFields, t.Configuration.ColumnNames = c.RootFields, c.ColumnNames
	return put(w.Catalog, t), nil
}

// SetTableCustomization is set_table_customization.
type SetTableCustomization struct {
	Table         domain.QualifiedName `json:"table"`
	Configuration TableConfiguration   `json:"configuration"`
}

// Operation implements [Command].
func (SetTableCustomization) Operation() string { return "set_table_customization" }

func decodeSetTableCustomization(n wire.Node) Command {
	return SetTableCustomization{
		Table:         n.Field("table").Name(),
		Configuration: decodeTableConfiguration(n.Field("configuration")),
	}
}

func (c SetTableCustomization) names(World) Names { return namesOfTable(Table{Name: c.Table}) }

func (SetTableCustomization) demand() demand { return ownStands }

func (c SetTableCustomization) decide(w World) ([]Change, error) {
	t, err := trackedTable(w, "$.args", c.Table)
	if err != nil {
		return nil, err
	}
	t.Configuration = c.Configuration
	return put(w.Catalog, t), nil
}
