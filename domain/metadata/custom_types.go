package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var customTypesSubject = subject{
	kind: KindCustomTypes, decode: decodeObject[CustomTypes],
	created: "custom_types_set", changed: "custom_types_changed", dropped: "custom_types_cleared",
}

var customTypesOperations = []operation{{"set_custom_types", 1, decodeSetCustomTypes}}

// CustomTypes are the GraphQL types that actions are made of. There is one
// set of them in a catalog, or none.
type CustomTypes struct {
	InputObjects []CustomInputObject `json:"input_objects,omitempty"`
	Objects      []CustomObject      `json:"objects,omitempty"`
	Scalars      []CustomScalar      `json:"scalars,omitempty"`
	Enums        []CustomEnum        `json:"enums,omitempty"`
}

// CustomInputObject is an input object type.
type CustomInputObject struct {
	Name        string             `json:"name"`
	Description *string            `json:"description,omitzero"`
	Fields      []CustomInputField `json:"fields"`
}

// CustomInputField is a field of an input object type.
type CustomInputField struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitzero"`
	Type        string  `json:"type"`
}

// CustomObject is an object type: what an action answers with.
type CustomObject struct {
	Name          string               `json:"name"`
	Description   *string              `json:"description,omitzero"`
	Fields        []CustomField        `json:"fields"`
	Relationships []CustomRelationship `json:"relationships,omitzero"`
}

// CustomField is a field of an object type. Arguments are kept so that they
// can be shown where they are refused.
type CustomField struct {
	Name        string          `json:"name"`
	Description *string         `json:"description,omitzero"`
	Type        string          `json:"type"`
	Arguments   json.RawMessage `json:"arguments,omitzero"`
}

// CustomRelationship leads from an object of an answer to rows of a table:
// FieldMapping maps fields of the object to columns.
type CustomRelationship struct {
	Name         string               `json:"name"`
	Type         string               `json:"type"`
	RemoteTable  domain.QualifiedName `json:"remote_table"`
	FieldMapping map[string]string    `json:"field_mapping"`
}

// CustomScalar is a scalar type.
type CustomScalar struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitzero"`
}

// CustomEnum is an enum type.
type CustomEnum struct {
	Name        string            `json:"name"`
	Description *string           `json:"description,omitzero"`
	Values      []CustomEnumValue `json:"values"`
}

// CustomEnumValue is a value of an enum type. It is written out whole
// wherever it is written.
type CustomEnumValue struct {
	Value        string  `json:"value"`
	Description  *string `json:"description"`
	IsDeprecated *bool   `json:"is_deprecated"`
}

// customTypesKey is where the catalog holds the set.
var customTypesKey = keyOf(KindCustomTypes, "custom_types")

// Key implements [Object].
func (CustomTypes) Key() Key { return customTypesKey }

func (CustomTypes) String() string { return "custom types" }

func (c CustomTypes) resolve(r *resolver) {
	v := customTypesValidation{types: c, resolver: r, leaves: c.leafTypes(), inputs: c.inputTypes()}
	v.validate()
	r.failEach("validation for the given custom types failed", v.faults)
}

// builtinScalars are the scalars that every GraphQL schema has.
var builtinScalars = [...]string{"Int", "Float", "String", "Boolean", "ID"}

// leafTypes returns the names of the scalars and enums that the set declares,
// and of the built-in scalars.
func (c CustomTypes) leafTypes() map[string]bool {
	names := map[string]bool{}
	for _, name := range builtinScalars {
		names[name] = true
	}
	for _, s := range c.Scalars {
		names[s.Name] = true
	}
	for _, e := range c.Enums {
		names[e.Name] = true
	}
	return names
}

// inputTypes are the leaf types and the input objects.
func (c CustomTypes) inputTypes() map[string]bool {
	names := c.leafTypes()
	for _, o := range c.InputObjects {
		names[o.Name] = true
	}
	return names
}

// customTypesValidation collects all that is wrong with a set of types.
type customTypesValidation struct {
	types    CustomTypes
	resolver *resolver
	leaves   map[string]bool
	inputs   map[string]bool
	faults   []string
}

func (v *customTypesValidation) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

func (v *customTypesValidation) validate() {
	if twice := duplicates(v.types.Names()); len(twice) > 0 {
		v.fault("duplicate type names: %s", strings.Join(twice, ", "))
	}
	for _, e := range v.types.Enums {
		v.enum(e)
	}
	for _, o := range v.types.InputObjects {
		v.inputObject(o)
	}
	for _, o := range v.types.Objects {
		v.object(o)
	}
}

// Names lists the names of all types of the set.
func (c CustomTypes) Names() []string {
	var names []string
	for _, o := range c.InputObjects {
		names = append(names, o.Name)
	}
	for _, o := range c.Objects {
		names = append(names, o.Name)
	}
	for _, s := range c.Scalars {
		names = append(names, s.Name)
	}
	for _, e := range c.Enums {
		names = append(names, e.Name)
	}
	return names
}

// duplicates returns, in quotes, the names that come more than once.
func duplicates(names []string) []string {
	twice := givenTwice(names)
	for i, name := range twice {
		twice[i] = strconv.Quote(name)
	}
	return twice
}

func (v *customTypesValidation) enum(e CustomEnum) {
	var values []string
	for _, value := range e.Values {
		values = append(values, value.Value)
	}
	if twice := duplicates(values); len(twice) > 0 {
		v.fault("the enum type %q has duplicate values: %s", e.Name, strings.Join(twice, ", "))
	}
}

func (v *customTypesValidation) inputObject(o CustomInputObject) {
	var names []string
	for _, f := range o.Fields {
		names = append(names, f.Name)
	}
	if twice := duplicates(names); len(twice) > 0 {
		v.fault("the input object %q has duplicate fields: %s", o.Name, strings.Join(twice, ", "))
	}
	for _, f := range o.Fields {
		if name, _ := baseType(f.Type); !v.inputs[name] && !v.databaseType(name) {
			v.fault("the type %q for field %q in  input object type %q does not exist", name, f.Name, o.Name)
		}
	}
}

// databaseType reports whether the user's database has a scalar type of that
// name: such types need no declaration.
func (v *customTypesValidation) databaseType(name string) bool {
	return v.resolver.world.Shape.HasType(name)
}

func (v *customTypesValidation) object(o CustomObject) {
	var names []string
	lists := map[string]bool{}
	for _, f := range o.Fields {
		names = append(names, f.Name)
		_, lists[f.Name] = baseType(f.Type)
	}
	for _, rel := range o.Relationships {
		names = append(names, rel.Name)
	}
	if twice := duplicates(names); len(twice) > 0 {
		v.fault("the object %q has duplicate fields: %s", o.Name, strings.Join(twice, ", "))
	}
	for _, f := range o.Fields {
		v.field(o, f)
	}
	for _, rel := range o.Relationships {
		v.relationship(o, rel, lists)
	}
}

func (v *customTypesValidation) field(o CustomObject, f CustomField) {
	if f.Arguments != nil {
		v.fault("the object %q can't have arguments", o.Name)
	}
	name, _ := baseType(f.Type)
	switch {
	case v.types.Object(name) != nil:
		v.fault("the type %q of the field %q in the object type %q is object type which isn't allowed", name, f.Name, o.Name)
	case !v.leaves[name] && !v.databaseType(name):
		v.fault("the type %q for field %q in  object type %q does not exist", name, f.Name, o.Name)
	}
}

// relationship checks a relationship of an object whose fields are known to
// be lists or not.
func (v *customTypesValidation) relationship(o CustomObject, rel CustomRelationship, lists map[string]bool) {
	_, table, ok := v.resolver.standingTable(rel.RemoteTable)
	if !ok {
		v.fault("the remote table %q for relationship %q of object type %q does not exist", rel.RemoteTable, rel.Name, o.Name)
		table = &database.Table{Name: rel.RemoteTable}
	}
	for _, field := range slices.Sorted(maps.Keys(rel.FieldMapping)) {
		if list, known := lists[field]; !known {
			v.fault("the field %q for relationship %q in object type %q does not exist", field, rel.Name, o.Name)
		} else if list {
			v.fault("the type of the field %q for relationship %q in object type %q is a list type", field, rel.Name, o.Name)
		}
		column := rel.FieldMapping[field]
		if v.resolver.column(table, column) == nil && ok {
			v.fault("the column %q of remote table %q for relationship %q of object type %q does not exist",
				column, rel.RemoteTable, rel.Name, o.Name)
		}
	}
}

// described shows what is absent as null, as v1.3 does.
func (c CustomTypes) described() description {
	return description{"custom_types", map[string]any{
		"input_objects": showEach(c.InputObjects, func(o CustomInputObject) map[string]any {
			shown := withNulls(o, "description")
			shown["fields"] = showEach(o.Fields, func(f CustomInputField) map[string]any { return withNulls(f, "description") })
			return shown
		}),
		"objects": showEach(c.Objects, func(o CustomObject) map[string]any {
			shown := withNulls(o, "description", "relationships")
			shown["fields"] = showEach(o.Fields, func(f CustomField) map[string]any { return withNulls(f, "description", "arguments") })
			return shown
		}),
		"scalars": showEach(c.Scalars, func(s CustomScalar) map[string]any { return withNulls(s, "description") }),
		"enums":   showEach(c.Enums, func(e CustomEnum) map[string]any { return withNulls(e, "description") }),
	}}
}

// withNulls returns the members of a value, and null for those named that are
// absent.
func withNulls(v any, names ...string) map[string]any {
	members, _ := decode[map[string]any](encode(v)) // an object, as encode wrote it
	for _, name := range names {
		if _, ok := members[name]; !ok {
			members[name] = nil
		}
	}
	return members
}

// showEach shows a list, null when there is none.
func showEach[T any](list []T, show func(T) map[string]any) any {
	if list == nil {
		return nil
	}
	shown := make([]map[string]any, len(list))
	for i, item := range list {
		shown[i] = show(item)
	}
	return shown
}

func (c CustomTypes) exported() any { return c }

func (c CustomTypes) renamed(r Rename) Object {
	c.Objects = slices.Clone(c.Objects)
	for i, o := range c.Objects {
		o.Relationships = slices.Clone(o.Relationships)
		for j, rel := range o.Relationships {
			rel.FieldMapping = maps.Clone(rel.FieldMapping)
			for field, column := range rel.FieldMapping {
				rel.FieldMapping[field] = r.column(rel.RemoteTable, column)
			}
			rel.RemoteTable = r.table(rel.RemoteTable)
			o.Relationships[j] = rel
		}
		c.Objects[i] = o
	}
	return c
}

// decodeCustomTypesEntry reads a set of types as calls and documents have it.
// A list that is empty counts as not given.
func decodeCustomTypesEntry(n wire.Node) CustomTypes {
	return CustomTypes{
		InputObjects: wire.List(n.Optional("input_objects"), decodeCustomInputObject),
		Objects:      wire.List(n.Optional("objects"), decodeCustomObject),
		Scalars:      wire.List(n.Optional("scalars"), decodeCustomScalar),
		Enums:        wire.List(n.Optional("enums"), decodeCustomEnum),
	}
}

// nonEmptyList reads a list that must hold something.
func nonEmptyList[T any](n wire.Node, f func(wire.Node) T) []T {
	list := wire.List(n, f)
	if n.Given() && len(list) == 0 {
		n.Fail("parsing NonEmpty failed, unexpected empty list")
	}
	return list
}

func decodeDescription(n wire.Node) *string {
	return wire.Pointer(n.Optional("description"), wire.Node.String)
}

func decodeCustomInputObject(n wire.Node) CustomInputObject {
	return CustomInputObject{
		Name:        n.Field("name").GraphQLName(),
		Description: decodeDescription(n),
		Fields: nonEmptyList(n.Field("fields"), func(n wire.Node) CustomInputField {
			return CustomInputField{n.Field("name").GraphQLName(), decodeDescription(n), decodeGraphQLType(n.Field("type"))}
		}),
	}
}

func decodeCustomObject(n wire.Node) CustomObject {
	return CustomObject{
		Name:        n.Field("name").GraphQLName(),
		Description: decodeDescription(n),
		Fields: nonEmptyList(n.Field("fields"), func(n wire.Node) CustomField {
			return CustomField{
				Name:        n.Field("name").GraphQLName(),
				Description: decodeDescription(n),
				Type:        decodeGraphQLType(n.Field("type")),
				Arguments:   n.Optional("arguments").Raw(),
			}
		}),
		Relationships: nonEmptyList(n.Optional("relationships"), decodeCustomRelationship),
	}
}

func decodeCustomRelationship(n wire.Node) CustomRelationship {
	rel := CustomRelationship{
		Name:         n.Field("name").GraphQLName(),
		Type:         n.Field("type").String(),
		RemoteTable:  n.Field("remote_table").Name(),
		FieldMapping: decodeMapping(n.Field("field_mapping")),
	}
	if rel.Type != ObjectRelationship && rel.Type != ArrayRelationship {
		n.Field("type").Fail("expecting either 'object' or 'array' for rel_type")
	}
	return rel
}

func decodeCustomScalar(n wire.Node) CustomScalar {
	return CustomScalar{n.Field("name").GraphQLName(), decodeDescription(n)}
}

func decodeCustomEnum(n wire.Node) CustomEnum {
	return CustomEnum{
		Name:        n.Field("name").GraphQLName(),
		Description: decodeDescription(n),
		Values: nonEmptyList(n.Field("values"), func(n wire.Node) CustomEnumValue {
			return CustomEnumValue{
				Value:        n.Field("value").GraphQLName(),
				Description:  decodeDescription(n),
				IsDeprecated: wire.Pointer(n.Optional("is_deprecated"), wire.Node.Bool),
			}
		}),
	}
}

// SetCustomTypes is set_custom_types: the set becomes what is given. With no
// list given there is no set any more.
type SetCustomTypes struct {
	CustomTypes
	given bool
}

// Operation implements [Command].
func (SetCustomTypes) Operation() string { return "set_custom_types" }

func decodeSetCustomTypes(n wire.Node) Command {
	c := SetCustomTypes{CustomTypes: decodeCustomTypesEntry(n)}
	c.given = c.InputObjects != nil || c.Objects != nil || c.Scalars != nil || c.Enums != nil
	return c
}

func (c SetCustomTypes) names(World) Names {
	names := Names{Types: true}
	for _, o := range c.Objects {
		for _, rel := range o.Relationships {
			names.Tables = append(names.Tables, rel.RemoteTable)
		}
	}
	return names
}

func (SetCustomTypes) demand() demand { return ownStands }

func (c SetCustomTypes) decide(w World) ([]Change, error) {
	if !c.given {
		return drop(w.Catalog, customTypesKey), nil
	}
	return put(w.Catalog, c.CustomTypes), nil
}
