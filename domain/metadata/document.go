package metadata

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/wire"
)

var documentOperations = []operation{
	{"export_metadata", 1, decodeExportMetadata},
	{"replace_metadata", 1, decodeReplaceMetadata},
	{"clear_metadata", 1, nothing[ClearMetadata]},
	{"reload_metadata", 1, decodeReloadMetadata},
	{"get_inconsistent_metadata", 1, nothing[GetInconsistentMetadata]},
	{"drop_inconsistent_metadata", 1, nothing[DropInconsistentMetadata]},
	{"dump_internal_state", 1, nothing[DumpInternalState]},
}

// documentVersion is the version of the metadata document that is exported.
const documentVersion = 2

// document is the metadata as one JSON document. Its members stand in the
// order, and are left out by the rules, that v1.3's users know.
type document struct {
	Version      int          `json:"version"`
	Tables       []tableEntry `json:"tables"`
	Functions    []any        `json:"functions,omitempty"`
	Remote       []any        `json:"remote_schemas,omitempty"`
	Collections  []any        `json:"query_collections,omitempty"`
	AllowList    []any        `json:"allowlist,omitempty"`
	Actions      []any        `json:"actions,omitempty"`
	CustomTypes  any          `json:"custom_types,omitzero"`
	CronTriggers []any        `json:"cron_triggers,omitempty"`
}

type tableEntry struct {
	Table               domain.QualifiedName `json:"table"`
	IsEnum              bool                 `json:"is_enum,omitzero"`
	Configuration       TableConfiguration   `json:"configuration,omitzero"`
	ObjectRelationships []any                `json:"object_relationships,omitempty"`
	ArrayRelationships  []any                `json:"array_relationships,omitempty"`
	ComputedFields      []any                `json:"computed_fields,omitempty"`
	RemoteRelationships []any                `json:"remote_relationships,omitempty"`
	InsertPermissions   []any                `json:"insert_permissions,omitempty"`
	SelectPermissions   []any                `json:"select_permissions,omitempty"`
	UpdatePermissions   []any                `json:"update_permissions,omitempty"`
	DeletePermissions   []any                `json:"delete_permissions,omitempty"`
	EventTriggers       []any                `json:"event_triggers,omitempty"`
}

// Export writes a catalog as a metadata document. Equal catalogs give equal
// bytes.
func Export(c Catalog) json.RawMessage {
	triggers := map[domain.QualifiedName][]EventTrigger{}
	for t := range objects[EventTrigger](c.OfKind(KindEventTrigger)) {
		triggers[t.Table] = append(triggers[t.Table], t)
	}
	doc := document{
		Version:      documentVersion,
		Tables:       []tableEntry{},
		Functions:    exportAll(objects[Function](c.OfKind(KindFunction)), byQualifiedName(func(f Function) domain.QualifiedName { return f.Name })),
		Remote:       exportAll(objects[RemoteSchema](c.OfKind(KindRemoteSchema)), byName(func(r RemoteSchema) string { return r.Name })),
		Collections:  exportAll(objects[QueryCollection](c.OfKind(KindQueryCollection)), byName(func(q QueryCollection) string { return q.Name })),
		AllowList:    exportAll(objects[AllowedCollection](c.OfKind(KindAllowedCollection)), byName(func(a AllowedCollection) string { return a.Collection })),
		Actions:      exportActions(c),
		CronTriggers: exportAll(exportedCronTriggers(c), byName(func(t CronTrigger) string { return t.Name })),
	}
	if types, ok := lookup[CustomTypes](c, customTypesKey); ok {
		doc.CustomTypes = types.exported()
	}
	tables := slices.SortedFunc(objects[Table](c.OfKind(KindTable)), byQualifiedName(func(t Table) domain.QualifiedName { return t.Name }))
	for _, t := range tables {
		doc.Tables = append(doc.Tables, exportTable(c, t, triggers[t.Name]))
	}
	return encode(doc)
}

func exportTable(c Catalog, t Table, triggers []EventTrigger) tableEntry {
	relationships := func(kind string) []any {
		return exportAll(filter(objects[Relationship](c.OfTable(KindRelationship, t.Name)), func(r Relationship) bool { return r.Type == kind }),
			byName(func(r Relationship) string { return r.Name }))
	}
	permissions := func(action string) []any {
		return exportAll(filter(objects[Permission](c.OfTable(KindPermission, t.Name)), func(p Permission) bool { return p.Action == action }),
			byName(func(p Permission) string { return p.Role }))
	}
	return tableEntry{
		Table:               t.Name,
		IsEnum:              t.IsEnum,
		Configuration:       t.Configuration,
		ObjectRelationships: relationships("object"),
		ArrayRelationships:  relationships("array"),
		ComputedFields:      exportAll(objects[ComputedField](c.OfTable(KindComputedField, t.Name)), byName(func(f ComputedField) string { return f.Name })),
		RemoteRelationships: exportAll(objects[RemoteRelationship](c.OfTable(KindRemoteRelationship, t.Name)), byName(func(r RemoteRelationship) string { return r.Name })),
		InsertPermissions:   permissions("insert"),
		SelectPermissions:   permissions("select"),
		UpdatePermissions:   permissions("update"),
		DeletePermissions:   permissions("delete"),
		EventTriggers:       exportAll(slices.Values(triggers), byName(func(t EventTrigger) string { return t.Name })),
	}
}

func exportedCronTriggers(c Catalog) iter.Seq[CronTrigger] {
	return filter(objects[CronTrigger](c.OfKind(KindCronTrigger)), func(t CronTrigger) bool { return t.IncludeInMetadata })
}

func exportAll[T Object](seq iter.Seq[T], order func(a, b T) int) []any {
	var entries []any
	for _, o := range slices.SortedFunc(seq, order) {
		entries = append(entries, o.exported())
	}
	return entries
}

func filter[T any](seq iter.Seq[T], keep func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if keep(v) && !yield(v) {
				return
			}
		}
	}
}

func byName[T any](name func(T) string) func(a, b T) int {
	return func(a, b T) int { return strings.Compare(name(a), name(b)) }
}

func byQualifiedName[T any](name func(T) domain.QualifiedName) func(a, b T) int {
	return func(a, b T) int {
		x, y := name(a), name(b)
		return cmp.Or(strings.Compare(x.Schema, y.Schema), strings.Compare(x.Name, y.Name))
	}
}

// decodeDocument reads a metadata document as the objects it declares.
func decodeDocument(n wire.Node) []Object {
	version := n.Optional("version").IntOr(1)
	if version != 1 && version != 2 {
		n.Optional("version").Fail("expected 1 or 2, encountered %d", version)
	}
	var list []Object
	for _, table := range n.Field("tables").Items() {
		list = append(list, decodeTableObjects(table)...)
	}
	add := func(section string, decode func(wire.Node) Object) {
		list = append(list, wire.List(n.Optional(section), decode)...)
	}
	add("functions", func(n wire.Node) Object { return decodeFunctionEntry(n, version) })
	add("remote_schemas", func(n wire.Node) Object { return decodeRemoteSchemaEntry(n) })
	add("query_collections", func(n wire.Node) Object { return decodeCollection(n) })
	add("allowlist", func(n wire.Node) Object { return decodeAllowedCollection(n) })
	add("cron_triggers", func(n wire.Node) Object { return decodeCronTriggerEntry(n) })
	for _, entry := range wire.List(n.Optional("actions"), func(n wire.Node) wire.Node { return n }) {
		action, permissions := decodeActionEntry(entry)
		list = append(list, action)
		for _, p := range permissions {
			list = append(list, p)
		}
	}
	if types := n.Optional("custom_types"); types.Present() {
		list = append(list, decodeCustomTypesEntry(types))
	}
	return list
}

// tableSections are the lists of a table's entry, each with its decoder.
var tableSections = []struct {
	name   string
	decode func(wire.Node, domain.QualifiedName) Object
}{
	{"object_relationships", func(n wire.Node, t domain.QualifiedName) Object { return decodeRelationshipEntry(n, t, "object") }},
	{"array_relationships", func(n wire.Node, t domain.QualifiedName) Object { return decodeRelationshipEntry(n, t, "array") }},
	{"computed_fields", func(n wire.Node, t domain.QualifiedName) Object { return decodeComputedFieldEntry(n, t) }},
	{"remote_relationships", func(n wire.Node, t domain.QualifiedName) Object { return decodeRemoteRelationshipEntry(n, t) }},
	{"insert_permissions", func(n wire.Node, t domain.QualifiedName) Object { return decodePermissionEntry(n, t, "insert") }},
	{"select_permissions", func(n wire.Node, t domain.QualifiedName) Object { return decodePermissionEntry(n, t, "select") }},
	{"update_permissions", func(n wire.Node, t domain.QualifiedName) Object { return decodePermissionEntry(n, t, "update") }},
	{"delete_permissions", func(n wire.Node, t domain.QualifiedName) Object { return decodePermissionEntry(n, t, "delete") }},
	{"event_triggers", func(n wire.Node, t domain.QualifiedName) Object { return decodeEventTriggerEntry(n, t) }},
}

func decodeTableObjects(n wire.Node) []Object {
	refuseUnknownTableKeys(n)
	table := decodeTableEntry(n)
	list := []Object{table}
	for _, section := range tableSections {
		for _, item := range wire.List(n.Optional(section.name), func(n wire.Node) wire.Node { return n }) {
			list = append(list, section.decode(item, table.Name))
		}
	}
	return list
}

func refuseUnknownTableKeys(n wire.Node) {
	known := []string{"table", "is_enum", "configuration"}
	for _, s := range tableSections {
		known = append(known, s.name)
	}
	var unknown []string
	for name := range n.Members() {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		n.Fail("unexpected keys when parsing TableMetadata : [%s]", strings.Join(unknown, ", "))
	}
}

// exportActions writes the actions, each with its permissions by role.
func exportActions(c Catalog) []any {
	actions := slices.SortedFunc(objects[Action](c.OfKind(KindAction)), byName(func(a Action) string { return a.Name }))
	var entries []any
	for _, a := range actions {
		entry := a.entry()
		entry.Permissions = exportAll(objects[ActionPermission](c.permissionsOfAction(a.Name)), byName(func(p ActionPermission) string { return p.Role }))
		entries = append(entries, entry)
	}
	return entries
}
