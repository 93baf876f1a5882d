package metadata

import (
	"encoding/json"
	"maps"
	"slices"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var relationshipSubject = subject{
	kind: KindRelationship, decode: decodeObject[Relationship],
	created: "relationship_created", changed: "relationship_changed", dropped: "relationship_dropped",
}

var relationshipOperations = withPgAliases([]operation{
	{"create_object_relationship", 1, decodeCreateRelationship(ObjectRelationship)},
	{"create_array_relationship", 1, decodeCreateRelationship(ArrayRelationship)},
	{"drop_relationship", 1, decodeDropRelationship},
	{"set_relationship_comment", 1, decodeSetRelationshipComment},
	{"rename_relationship", 1, decodeRenameRelationship},
}, "create_object_relationship", "create_array_relationship", "drop_relationship", "set_relationship_comment", "rename_relationship")

// The two types of relationships: to one row, and to many.
const (
	ObjectRelationship = "object"
	ArrayRelationship  = "array"
)

// Relationship leads from a table's rows to rows of a table. What it joins on
// is looked up in the database's shape and never stored; see [World.Join].
type Relationship struct {
	Table   domain.QualifiedName `json:"table"`
	Name    string               `json:"name"`
	Type    string               `json:"type"`
	Using   RelationshipUsing    `json:"using"`
	Comment *string              `json:"comment,omitzero"`
}

// RelationshipUsing is what a relationship joins on: one of the two is set.
type RelationshipUsing struct {
	ForeignKey *ForeignKeyOn        `json:"foreign_key_constraint_on,omitzero"`
	Manual     *ManualConfiguration `json:"manual_configuration,omitzero"`
}

// ForeignKeyOn names a foreign key by its only column. An object relationship
// follows a key of its own table, written as the column alone; an array
// relationship one of another table, which Table names.
type ForeignKeyOn struct {
	Table  *domain.QualifiedName
	Column string
}

type foreignKeyOfTable struct {
	Table  domain.QualifiedName `json:"table"`
	Column string               `json:"column"`
}

// MarshalJSON writes the column, or the table and the column.
func (f ForeignKeyOn) MarshalJSON() ([]byte, error) {
	if f.Table == nil {
		return encode(f.Column), nil
	}
	return encode(foreignKeyOfTable{*f.Table, f.Column}), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *ForeignKeyOn) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &f.Column); err == nil {
		return nil
	}
	both, err := decode[foreignKeyOfTable](raw)
	f.Table, f.Column = &both.Table, both.Column
	return err
}

// ManualConfiguration joins without a foreign key: columns of the own table
// are mapped to columns of the remote table.
type ManualConfiguration struct {
	RemoteTable   domain.QualifiedName `json:"remote_table"`
	ColumnMapping map[string]string    `json:"column_mapping"`
}

func relationshipKey(table domain.QualifiedName, name string) Key {
	return keyOf(KindRelationship, table.Schema, table.Name, name)
}

// Key implements [Object].
func (r Relationship) Key() Key { return relationshipKey(r.Table, r.Name) }

func (r Relationship) String() string { return "relationship " + r.Table.String() + "." + r.Name }

func (r Relationship) owner() domain.QualifiedName { return r.Table }

func (r Relationship) described() description {
	kind := "object_relation"
	if r.Type == ArrayRelationship {
		kind = "array_relation"
	}
	return description{kind, struct {
		Table   domain.QualifiedName `json:"table"`
		Name    string               `json:"name"`
		Using   RelationshipUsing    `json:"using"`
		Comment *string              `json:"comment"`
	}{r.Table, r.Name, r.Using, r.Comment}}
}

func (r Relationship) exported() any {
	return struct {
		Name    string            `json:"name"`
		Using   RelationshipUsing `json:"using"`
		Comment *string           `json:"comment,omitzero"`
	}{r.Name, r.Using, r.Comment}
}

func (r Relationship) renamed(to Rename) Object {
	own := r.Table
	r.Table = to.table(own)
	if f := r.Using.ForeignKey; f != nil {
		r.Using.ForeignKey = f.renamed(to, own)
	}
	if m := r.Using.Manual; m != nil {
		r.Using.Manual = &ManualConfiguration{
			RemoteTable:   to.table(m.RemoteTable),
			ColumnMapping: renamedMapping(to, own, m.RemoteTable, m.ColumnMapping),
		}
	}
	return r
}

func (f ForeignKeyOn) renamed(to Rename, own domain.QualifiedName) *ForeignKeyOn {
	if f.Table == nil {
		return &ForeignKeyOn{Column: to.column(own, f.Column)}
	}
	table := to.table(*f.Table)
	return &ForeignKeyOn{&table, to.column(*f.Table, f.Column)}
}

func renamedMapping(to Rename, own, remote domain.QualifiedName, mapping map[string]string) map[string]string {
	renamed := make(map[string]string, len(mapping))
	for column, remoteColumn := range mapping {
		renamed[to.column(own, column)] = to.column(remote, remoteColumn)
	}
	return renamed
}

func (r Relationship) resolve(res *resolver) {
	res.within("in table %q: in relationship %q: ", r.Table, r.Name)
	table, shape, ok := res.ownTable(r.Table)
	if !ok {
		return
	}
	res.field(r.Key(), table, shape, r.Name)
	switch {
	case r.Using.Manual != nil:
		resolveManual(res, shape, *r.Using.Manual)
	case r.Using.ForeignKey.Table != nil:
		resolveForeignKeyOf(res, shape, *r.Using.ForeignKey)
	default:
		resolveForeignKey(res, shape, r.Using.ForeignKey.Column)
	}
}

func resolveManual(res *resolver, own *database.Table, m ManualConfiguration) {
	_, remote, ok := res.standingTable(m.RemoteTable)
	if !ok {
		res.fail("table %q is not tracked", m.RemoteTable)
		return
	}
	for _, column := range slices.Sorted(maps.Keys(m.ColumnMapping)) {
		for _, side := range []struct {
			table *database.Table
			name  string
		}{{own, column}, {remote, m.ColumnMapping[column]}} {
			if res.column(side.table, side.name) == nil {
				res.fail("table %q has no field named %q", side.table.Name, side.name)
			}
		}
	}
}

// resolveForeignKey looks up a key of the own table, and where it leads.
func resolveForeignKey(res *resolver, own *database.Table, column string) {
	keys := foreignKeysOn(res, own, column)
	if key := onlyKey(res, keys); key != nil {
		if _, _, ok := res.standingTable(key.To); !ok {
			res.fail("table %q is not tracked", key.To)
		}
	}
}

// resolveForeignKeyOf looks up a key of another table that leads to ours.
func resolveForeignKeyOf(res *resolver, own *database.Table, f ForeignKeyOn) {
	_, remote, ok := res.table(*f.Table)
	if !ok {
		return
	}
	keys := slices.DeleteFunc(foreignKeysOn(res, remote, f.Column), func(k database.ForeignKey) bool { return k.To != own.Name })
	onlyKey(res, keys)
}

func foreignKeysOn(res *resolver, t *database.Table, column string) []database.ForeignKey {
	res.column(t, column)
	res.need(needForeignKey(t.Name, column))
	return keysOn(t, column)
}

// keysOn returns the foreign keys of just one column.
func keysOn(t *database.Table, column string) []database.ForeignKey {
	var keys []database.ForeignKey
	for _, k := range t.ForeignKeys {
		if len(k.Columns) == 1 && k.Columns[0] == column {
			keys = append(keys, k)
		}
	}
	return keys
}

func onlyKey(res *resolver, keys []database.ForeignKey) *database.ForeignKey {
	switch len(keys) {
	case 0:
		res.fail("no foreign constraint exists on the given column")
	case 1:
		return &keys[0]
	default:
		res.fail("more than one foreign key constraint exists on the given column")
	}
	return nil
}

// needForeignKey is a foreign key of a table on one column. It is what a drop
// of the constraint touches.
func needForeignKey(t domain.QualifiedName, column string) Need {
	return Need("foreign-key " + domain.JoinKey(t.Schema, t.Name, column))
}

// Join returns the table that a relationship leads to, and the columns it
// joins on: those of the own table, each with its counterpart. It is ok when
// the relationship stands.
func (w World) Join(r Relationship) (table domain.QualifiedName, columns map[string]string, ok bool) {
	if !w.Standing.Stands(r.Key()) {
		return domain.QualifiedName{}, nil, false
	}
	return join(w.Shape, r)
}

// join reads a relationship's join off the shape alone.
func join(s database.Shape, r Relationship) (table domain.QualifiedName, columns map[string]string, ok bool) {
	if m := r.Using.Manual; m != nil {
		return m.RemoteTable, m.ColumnMapping, true
	}
	f := r.Using.ForeignKey
	if f.Table == nil {
		key := firstKey(s.Table(r.Table), f.Column, nil)
		if key == nil {
			return domain.QualifiedName{}, nil, false
		}
		return key.To, map[string]string{f.Column: key.RefColumns[0]}, true
	}
	key := firstKey(s.Table(*f.Table), f.Column, &r.Table)
	if key == nil {
		return *f.Table, nil, false
	}
	return *f.Table, map[string]string{key.RefColumns[0]: f.Column}, true
}

func firstKey(t *database.Table, column string, to *domain.QualifiedName) *database.ForeignKey {
	if t == nil {
		return nil
	}
	for _, k := range keysOn(t, column) {
		if to == nil || k.To == *to {
			return &k
		}
	}
	return nil
}

// decodeRelationshipEntry reads a relationship of the metadata document.
func decodeRelationshipEntry(n wire.Node, table domain.QualifiedName, kind string) Relationship {
	return Relationship{
		Table:   table,
		Name:    n.Field("name").Text(),
		Type:    kind,
		Using:   decodeUsing(n.Field("using"), kind),
		Comment: decodeComment(n),
	}
}

func decodeUsing(n wire.Node, kind string) RelationshipUsing {
	if n.Given() && n.Kind() != wire.Object {
		n.Fail("using should be an object")
	}
	key, manual := n.Optional("foreign_key_constraint_on"), n.Optional("manual_configuration")
	switch {
	case key.Present() && manual.Present():
		n.Fail("only one of foreign_key_constraint_on/manual_configuration should be present")
	case key.Present():
		return RelationshipUsing{ForeignKey: decodeForeignKeyOn(key, kind)}
	case manual.Present():
		return RelationshipUsing{Manual: &ManualConfiguration{
			RemoteTable:   manual.Field("remote_table").Name(),
			ColumnMapping: decodeMapping(manual.Field("column_mapping")),
		}}
	case n.Given():
		n.Fail("atleast one of foreign_key_constraint_on/manual_configuration should be present")
	}
	return RelationshipUsing{}
}

func decodeForeignKeyOn(n wire.Node, kind string) *ForeignKeyOn {
	if kind == ObjectRelationship {
		return &ForeignKeyOn{Column: n.Column()}
	}
	table := n.Field("table").Name()
	return &ForeignKeyOn{&table, n.Field("column").Column()}
}

func decodeMapping(n wire.Node) map[string]string {
	mapping := map[string]string{}
	for column, remote := range n.Members() {
		mapping[column] = remote.Column()
	}
	return mapping
}

// CreateRelationship is create_object_relationship or
// create_array_relationship.
type CreateRelationship struct{ Relationship }

// Operation implements [Command].
func (c CreateRelationship) Operation() string { return "create_" + c.Type + "_relationship" }

func decodeCreateRelationship(kind string) func(wire.Node) Command {
	return func(n wire.Node) Command {
		return CreateRelationship{decodeRelationshipEntry(n, n.Field("table").Name(), kind)}
	}
}

func (c CreateRelationship) names(w World) Names {
	names := Names{Tables: []domain.QualifiedName{c.Table}}
	if remote, _, ok := join(w.Shape, c.Relationship); ok {
		return names.add(Names{Tables: []domain.QualifiedName{remote}})
	}
	if f := c.Using.ForeignKey; f.Table != nil {
		names.Tables = append(names.Tables, *f.Table)
	}
	return names
}

func (CreateRelationship) demand() demand { return ownStands }

func (c CreateRelationship) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args", c.Table); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "relationship %q already exists in table %q", c.Name, c.Table)
	}
	return put(w.Catalog, c.Relationship), nil
}

// trackedRelationship returns a relationship that a command names, of a table
// that is tracked.
func trackedRelationship(w World, table domain.QualifiedName, name string) (Relationship, error) {
	if _, err := trackedTable(w, "$.args", table); err != nil {
		return Relationship{}, err
	}
	r, ok := lookup[Relationship](w.Catalog, relationshipKey(table, name))
	if !ok {
		return r, refuse(domain.NotExists, "relationship %q does not exist", name)
	}
	return r, nil
}

// DropRelationship is drop_relationship. Permissions that use it are in the
// way, unless Cascade drops them too.
type DropRelationship struct {
	Table        domain.QualifiedName `json:"table"`
	Relationship string               `json:"relationship"`
	Cascade      bool                 `json:"cascade"`
}

// Operation implements [Command].
func (DropRelationship) Operation() string { return "drop_relationship" }

func decodeDropRelationship(n wire.Node) Command {
	return DropRelationship{n.Field("table").Name(), n.Field("relationship").Text(), n.Optional("cascade").BoolOr(false)}
}

func (DropRelationship) names(World) Names { return Names{} }

func (DropRelationship) demand() demand { return noneNew }

func (c DropRelationship) decide(w World) ([]Change, error) {
	r, err := trackedRelationship(w, c.Table, c.Relationship)
	if err != nil {
		return nil, err
	}
	return w.dropWithDependents(r.Key(), c.Cascade)
}

// SetRelationshipComment is set_relationship_comment; without a comment it
// takes the comment away.
type SetRelationshipComment struct {
	Table        domain.QualifiedName `json:"table"`
	Relationship string               `json:"relationship"`
	Comment      *string              `json:"comment"`
}

// Operation implements [Command].
func (SetRelationshipComment) Operation() string { return "set_relationship_comment" }

func decodeSetRelationshipComment(n wire.Node) Command {
	return SetRelationshipComment{
		n.Field("table").Name(), n.Field("relationship").Text(), decodeComment(n),
	}
}

func (SetRelationshipComment) names(World) Names { return Names{} }

func (SetRelationshipComment) demand() demand { return noneNew }

func (c SetRelationshipComment) decide(w World) ([]Change, error) {
	r, err := trackedRelationship(w, c.Table, c.Relationship)
	if err != nil {
		return nil, err
	}
	r.Comment = c.Comment
	return put(w.Catalog, r), nil
}

// RenameRelationship is rename_relationship. Permissions that mention the
// relationship are rewritten.
type RenameRelationship struct {
	Table   domain.QualifiedName `json:"table"`
	Name    string               `json:"name"`
	NewName string               `json:"new_name"`
}

// Operation implements [Command].
func (RenameRelationship) Operation() string { return "rename_relationship" }

func decodeRenameRelationship(n wire.Node) Command {
	return RenameRelationship{n.Field("table").Name(), n.Field("name").Text(), n.Field("new_name").Text()}
}

func (c RenameRelationship) names(World) Names { return namesOfTable(Table{Name: c.Table}) }

func (RenameRelationship) demand() demand { return noneNew }

func (c RenameRelationship) decide(w World) ([]Change, error) {
	r, err := trackedRelationship(w, c.Table, c.Name)
	if err != nil {
		return nil, err
	}
	if c.NewName == c.Name {
		return nil, nil
	}
	if w.hasField(c.Table, c.NewName) {
		return nil, refuse(domain.AlreadyExists,
			"cannot rename relationship %q to %q in table %q as a column/relationship with the name already exists",
			c.Name, c.NewName, c.Table)
	}
	changes := drop(w.Catalog, r.Key())
	for key := range w.Standing.dependentsOf(needObject(r.Key())) {
		if p, ok := lookup[Permission](w.Catalog, key); ok {
			changes = append(changes, put(w.Catalog, p.withRelationship(w, r, c.NewName))...)
		}
	}
	stood := w.Standing.Stands(r.Key())
	r.Name = c.NewName
	renamed := put(w.Catalog, r)
	changes = append(changes, renamed...)
	if stood {
		return changes, nil
	}
	// A new name may be what an inconsistent relationship lacks. If not, that
	// is no fault of the server.
	if own := ownInconsistencies(w.Evolve(0, changes), renamed); len(own) > 0 {
		return nil, notStanding(own)
	}
	return changes, nil
}

// hasField reports whether a name is taken among the columns and fields of a
// table.
func (w World) hasField(table domain.QualifiedName, name string) bool {
	for _, kind := range fieldKinds {
		if w.Catalog.Has(keyOf(kind, table.Schema, table.Name, name)) {
			return true
		}
	}
	if shape := w.Shape.Table(table); shape != nil && shape.Column(name) != nil {
		return true
	}
	t, _ := lookup[Table](w.Catalog, tableKey(table))
	for _, custom := range t.Configuration.ColumnNames {
		if custom == name {
			return true
		}
	}
	return false
}
