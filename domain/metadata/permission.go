package metadata

import (
	"encoding/json"
	"maps"
	"slices"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var permissionSubject = subject{
	kind: KindPermission, decode: decodeObject[Permission],
	created: "permission_created", changed: "permission_changed", dropped: "permission_dropped",
}

// The four things that a role may be allowed to do with a table's rows.
const (
	MayInsert = "insert"
	MaySelect = "select"
	MayUpdate = "update"
	MayDelete = "delete"
)

var permissionOperations = withPgAliases([]operation{
	{"create_insert_permission", 1, decodeCreatePermission(MayInsert)},
	{"create_select_permission", 1, decodeCreatePermission(MaySelect)},
	{"create_update_permission", 1, decodeCreatePermission(MayUpdate)},
	{"create_delete_permission", 1, decodeCreatePermission(MayDelete)},
	{"drop_insert_permission", 1, decodeDropPermission(MayInsert)},
	{"drop_select_permission", 1, decodeDropPermission(MaySelect)},
	{"drop_update_permission", 1, decodeDropPermission(MayUpdate)},
	{"drop_delete_permission", 1, decodeDropPermission(MayDelete)},
	{"set_permission_comment", 1, decodeSetPermissionComment},
}, "create_insert_permission", "create_select_permission", "create_update_permission", "create_delete_permission",
	"drop_insert_permission", "drop_select_permission", "drop_update_permission", "drop_delete_permission", "set_permission_comment")

// Permission is what a role may do with a table's rows.
type Permission struct {
	Table      domain.QualifiedName `json:"table"`
	Role       string               `json:"role"`
	Action     string               `json:"action"`
	Definition PermissionDefinition `json:"permission"`
	Comment    *string              `json:"comment,omitzero"`
}

// PermissionDefinition is the rule; which members it has depends on the
// action. Expressions and presets are kept as they were given.
type PermissionDefinition struct {
	// Columns that may be read or written. Of an insert permission it may be
	// absent, which means all.
	Columns *ColumnSpec `json:"columns,omitzero"`
	// ComputedFields that may be read.
	ComputedFields []string `json:"computed_fields,omitzero"`
	// Filter says which rows: of a select, an update or a delete permission.
	Filter json.RawMessage `json:"filter,omitzero"`
	// Check is what a row has to fulfil after the insert or update.
	Check json.RawMessage `json:"check,omitzero"`
	// Set presets columns, to literals or session variables.
	Set               map[string]json.RawMessage `json:"set,omitzero"`
	Limit             *int                       `json:"limit,omitzero"`
	AllowAggregations bool                       `json:"allow_aggregations,omitzero"`
	BackendOnly       *bool                      `json:"backend_only,omitzero"`
}

// ColumnSpec is a list of columns, or all, written "*".
type ColumnSpec struct {
	All   bool
	Names []string
}

// MarshalJSON writes "*" or the list.
func (s ColumnSpec) MarshalJSON() ([]byte, error) {
	if s.All {
		return []byte(`"*"`), nil
	}
	return encode(s.Names), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ColumnSpec) UnmarshalJSON(raw []byte) (err error) {
	if s.All = string(raw) == `"*"`; s.All {
		return nil
	}
	s.Names, err = decode[[]string](raw)
	return err
}

func decodeColumnSpec(n wire.Node) ColumnSpec {
	if n.Kind() == wire.String && n.String() == "*" {
		return ColumnSpec{All: true}
	}
	return ColumnSpec{Names: wire.List(n, wire.Node.Column)}
}

func permissionKey(table domain.QualifiedName, role, action string) Key {
	return keyOf(KindPermission, table.Schema, table.Name, role, action)
}

// Key implements [Object].
func (p Permission) Key() Key { return permissionKey(p.Table, p.Role, p.Action) }

func (p Permission) String() string {
	return "permission " + p.Table.String() + "." + p.Role + "." + p.Action
}

func (p Permission) owner() domain.QualifiedName { return p.Table }

func (p Permission) described() description {
	return description{p.Action + "_permission", struct {
		Table      domain.QualifiedName `json:"table"`
		Role       string               `json:"role"`
		Permission any                  `json:"permission"`
		Comment    *string              `json:"comment"`
	}{p.Table, p.Role, p.Definition.described(p.Action), p.Comment}}
}

// described shows a select permission with all defaults filled in.
func (d PermissionDefinition) described(action string) any {
	if action != MaySelect {
		return d.exported(action)
	}
	fields := d.ComputedFields
	if fields == nil {
		fields = []string{}
	}
	return struct {
		Columns           *ColumnSpec     `json:"columns"`
		ComputedFields    []string        `json:"computed_fields"`
		Filter            json.RawMessage `json:"filter"`
		Limit             *int            `json:"limit,omitzero"`
		AllowAggregations bool            `json:"allow_aggregations"`
	}{d.Columns, fields, d.Filter, d.Limit, d.AllowAggregations}
}

func (p Permission) exported() any {
	return struct {
		Role       string  `json:"role"`
		Permission any     `json:"permission"`
		Comment    *string `json:"comment,omitzero"`
	}{p.Role, p.Definition.exported(p.Action), p.Comment}
}

// exported is the definition with its members in the document's order. An
// update permission always shows its check, null when it has none.
func (d PermissionDefinition) exported(action string) any {
	switch action {
	case MayInsert:
		return struct {
			Check       json.RawMessage            `json:"check"`
			Set         map[string]json.RawMessage `json:"set,omitempty"`
			Columns     *ColumnSpec                `json:"columns,omitzero"`
			BackendOnly *bool                      `json:"backend_only,omitzero"`
		}{d.Check, d.Set, d.Columns, d.BackendOnly}
	case MayUpdate:
		return struct {
			Columns *ColumnSpec                `json:"columns"`
			Filter  json.RawMessage            `json:"filter"`
			Check   json.RawMessage            `json:"check"`
			Set     map[string]json.RawMessage `json:"set,omitempty"`
		}{d.Columns, d.Filter, d.Check, d.Set}
	}
	return struct {
		Columns           *ColumnSpec     `json:"columns,omitzero"`
		ComputedFields    []string        `json:"computed_fields,omitempty"`
		Filter            json.RawMessage `json:"filter"`
		Limit             *int            `json:"limit,omitzero"`
		AllowAggregations bool            `json:"allow_aggregations,omitzero"`
	}{d.Columns, d.ComputedFields, d.Filter, d.Limit, d.AllowAggregations}
}

// hasAllColumns reports whether the permission is for whatever columns the
// table has.
func (p Permission) hasAllColumns() bool {
	if p.Definition.Columns == nil {
		return p.Action == MayInsert
	}
	return p.Definition.Columns.All
}

func (p Permission) renamed(r Rename) Object {
	own := p.Table
	p.Table = r.table(own)
	p.Definition = p.Definition.rewritten(own, rewriting{world: r.world, table: r.table, field: r.column})
	return p
}

// withRelationship is the permission after a relationship got another name.
func (p Permission) withRelationship(w World, rel Relationship, name string) Permission {
	p.Definition = p.Definition.rewritten(p.Table, rewriting{
		world: w,
		table: func(t domain.QualifiedName) domain.QualifiedName { return t },
		field: func(t domain.QualifiedName, field string) string {
			if t == rel.Table && field == rel.Name {
				return name
			}
			return field
		},
	})
	return p
}

func (d PermissionDefinition) rewritten(own domain.QualifiedName, w rewriting) PermissionDefinition {
	if d.Columns != nil && !d.Columns.All {
		names := make([]string, len(d.Columns.Names))
		for i, c := range d.Columns.Names {
			names[i] = w.field(own, c)
		}
		d.Columns = &ColumnSpec{Names: names}
	}
	if d.Filter != nil {
		d.Filter = w.expression(d.Filter, own)
	}
	if d.Check != nil {
		d.Check = w.expression(d.Check, own)
	}
	if len(d.Set) > 0 {
		set := make(map[string]json.RawMessage, len(d.Set))
		for column, v := range d.Set {
			set[w.field(own, column)] = v
		}
		d.Set = set
	}
	return d
}

func (p Permission) resolve(r *resolver) {
	r.within("in table %q: in permission for role %q: ", p.Table, p.Role)
	_, shape, ok := r.ownTable(p.Table)
	if !ok {
		return
	}
	if p.Role == domain.AdminRole {
		r.fail("cannot define permission for admin role")
	}
	p.resolveAction(r, shape)
	p.Definition.resolve(r, shape)
}

// resolveAction makes sure that a view lets the action through.
func (p Permission) resolveAction(r *resolver, t *database.Table) {
	able, adjective := true, ""
	switch p.Action {
	case MayInsert:
		able, adjective = t.Insertable, "insertable"
	case MayUpdate:
		able, adjective = t.Updatable, "updatable"
	case MayDelete:
		able, adjective = t.Deletable, "deletable"
	}
	if !able {
		r.fail("view %q is not %s", t.Name, adjective)
	}
}

func (d PermissionDefinition) resolve(r *resolver, t *database.Table) {
	if d.Columns != nil {
		for _, name := range d.Columns.Names {
			if r.column(t, name) == nil {
				r.fail("column %q does not exist", name)
			}
		}
	}
	for _, field := range d.ComputedFields {
		resolveReadableField(r, t, field)
	}
	for _, expression := range []json.RawMessage{d.Filter, d.Check} {
		if expression != nil {
			r.boolean(t, expression)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(d.Set)) {
		resolvePreset(r, t, column, d.Set[column])
	}
	if d.Limit != nil && *d.Limit < 0 {
		r.fail("unexpected negative value")
	}
}

// resolveReadableField looks up a computed field that is to be read. A field
// that returns rows of a table has that table's permissions.
func resolveReadableField(r *resolver, t *database.Table, name string) {
	key := computedFieldKey(t.Name, name)
	stands := r.stands(key)
	field, ok := lookup[ComputedField](r.world.Catalog, key)
	if !ok || !stands {
		r.fail("computed field %q does not exist", name)
		return
	}
	r.need(needDatabaseFunction(field.Definition.Function))
	if table := field.returnsTable(r.world); table != nil {
		r.fail("select permissions on computed field %q are auto-derived from the permissions on its returning table %q and cannot be specified manually",
			name, *table)
	}
}

func resolvePreset(r *resolver, t *database.Table, column string, value json.RawMessage) {
	c := r.column(t, column)
	if c == nil {
		r.fail("column %q does not exist", column)
		return
	}
	r.decoding(value, func(n wire.Node) {
		if c.Type == "json" || c.Type == "jsonb" {
			expressionResolver{r}.literal(n, t, c, func() {})
			return
		}
		expressionResolver{r}.one(n, t, c, c.Type)
	})
}

// decodePermissionEntry reads a permission of the metadata document.
func decodePermissionEntry(n wire.Node, table domain.QualifiedName, action string) Permission {
	return Permission{
		Table:      table,
		Role:       n.Field("role").Text(),
		Action:     action,
		Definition: decodePermissionDefinition(n.Field("permission"), action),
		Comment:    decodeComment(n),
	}
}

func decodePermissionDefinition(n wire.Node, action string) PermissionDefinition {
	switch action {
	case MayInsert:
		return PermissionDefinition{
			Check:       decodeExpression(n.Field("check")),
			Set:         decodePresets(n.Optional("set")),
			Columns:     wire.Pointer(n.Optional("columns"), decodeColumnSpec),
			BackendOnly: wire.Pointer(n.Optional("backend_only"), wire.Node.Bool),
		}
	case MaySelect:
		return PermissionDefinition{
			Columns:           wire.Pointer(n.Field("columns"), decodeColumnSpec),
			Filter:            decodeExpression(n.Field("filter")),
			Limit:             wire.Pointer(n.Optional("limit"), wire.Node.Int),
			AllowAggregations: n.Optional("allow_aggregations").BoolOr(false),
			ComputedFields:    decodeFieldNames(n.Optional("computed_fields")),
		}
	case MayUpdate:
		return PermissionDefinition{
			Columns: wire.Pointer(n.Field("columns"), decodeColumnSpec),
			Filter:  decodeExpression(n.Field("filter")),
			Check:   decodeExpression(n.Optional("check")),
			Set:     decodePresets(n.Optional("set")),
		}
	}
	return PermissionDefinition{Filter: decodeExpression(n.Field("filter"))}
}

// decodeExpression reads a boolean expression as it is; what it names is
// looked up when the permission is resolved, or in the world that the command
// meets.
func decodeExpression(n wire.Node) json.RawMessage {
	if !n.Given() {
		return nil
	}
	n.Members() // makes sure that it is an object
	return n.Raw()
}

func decodePresets(n wire.Node) map[string]json.RawMessage {
	if !n.Present() {
		return nil
	}
	var presets map[string]json.RawMessage
	for column, value := range n.Members() {
		if presets == nil {
			presets = map[string]json.RawMessage{}
		}
		presets[column] = value.Raw()
	}
	return presets
}

// decodeFieldNames reads a list of names, nil when it has none.
func decodeFieldNames(n wire.Node) []string {
	if names := wire.List(n, wire.Node.Text); len(names) > 0 {
		return names
	}
	return nil
}

// CreatePermission is one of the four create_*_permission.
type CreatePermission struct{ Permission }

// Operation implements [Command].
func (c CreatePermission) Operation() string { return "create_" + c.Action + "_permission" }

func decodeCreatePermission(action string) func(wire.Node) Command {
	return func(n wire.Node) Command {
		return CreatePermission{decodePermissionEntry(n, n.Field("table").Name(), action)}
	}
}

func (c CreatePermission) names(World) Names { return namesOfTable(Table{Name: c.Table}) }

func (CreatePermission) demand() demand { return ownStands }

func (c CreatePermission) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args", c.Table); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "%s permission already defined on table %q with role %q", c.Action, c.Table, c.Role)
	}
	return put(w.Catalog, c.Permission), nil
}

// DropPermission is one of the four drop_*_permission.
type DropPermission struct {
	Table  domain.QualifiedName `json:"table"`
	Role   string               `json:"role"`
	Action string               `json:"-"`
}

// Operation implements [Command].
func (c DropPermission) Operation() string { return "drop_" + c.Action + "_permission" }

func decodeDropPermission(action string) func(wire.Node) Command {
	return func(n wire.Node) Command {
		return DropPermission{n.Field("table").Name(), n.Field("role").Text(), action}
	}
}

func (DropPermission) names(World) Names { return Names{} }

func (DropPermission) demand() demand { return noneNew }

func (c DropPermission) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args", c.Table); err != nil {
		return nil, err
	}
	key := permissionKey(c.Table, c.Role, c.Action)
	if !w.Catalog.Has(key) {
		return nil, refuse(domain.PermissionDenied, "%s permission on %q for role %q does not exist", c.Action, c.Table, c.Role)
	}
	return drop(w.Catalog, key), nil
}

// SetPermissionComment is set_permission_comment; without a comment it takes
// the comment away.
type SetPermissionComment struct {
	Table   domain.QualifiedName `json:"table"`
	Role    string               `json:"role"`
	Action  string               `json:"permission"`
	Comment *string              `json:"comment"`
}

// Operation implements [Command].
func (SetPermissionComment) Operation() string { return "set_permission_comment" }

func decodeSetPermissionComment(n wire.Node) Command {
	return SetPermissionComment{
		Table:   n.Field("table").Name(),
		Role:    n.Field("role").Text(),
		Action:  n.Field("permission").OneOf(MayInsert, MaySelect, MayUpdate, MayDelete),
		Comment: decodeComment(n),
	}
}

func (SetPermissionComment) names(World) Names { return Names{} }

func (SetPermissionComment) demand() demand { return noneNew }

func (c SetPermissionComment) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args", c.Table); err != nil {
		return nil, err
	}
	p, ok := lookup[Permission](w.Catalog, permissionKey(c.Table, c.Role, c.Action))
	if !ok {
		return nil, refuse(domain.PermissionDenied, "'%s' permission on %q for role %q does not exist", c.Action, c.Table, c.Role)
	}
	p.Comment = c.Comment
	return put(w.Catalog, p), nil
}
