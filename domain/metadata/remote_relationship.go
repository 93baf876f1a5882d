package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var remoteRelationshipSubject = subject{
	kind: KindRemoteRelationship, decode: decodeObject[RemoteRelationship],
	created: "remote_relationship_created", changed: "remote_relationship_changed", dropped: "remote_relationship_deleted",
}

var remoteRelationshipOperations = withPgAliases([]operation{
	{"create_remote_relationship", 1, decodeCreateRemoteRelationship},
	{"update_remote_relationship", 1, decodeUpdateRemoteRelationship},
	{"delete_remote_relationship", 1, decodeDeleteRemoteRelationship},
}, "create_remote_relationship", "update_remote_relationship", "delete_remote_relationship")

// RemoteRelationship leads from a table's rows to a field of a remote schema.
// HasuraFields are the columns of the row that the remote field's arguments
// may take, sorted. RemoteField is kept as it was given; [RemoteRelationship.Steps]
// reads it.
type RemoteRelationship struct {
	Name         string               `json:"name"`
	Table        domain.QualifiedName `json:"table"`
	HasuraFields []string             `json:"hasura_fields"`
	RemoteSchema string               `json:"remote_schema"`
	RemoteField  json.RawMessage      `json:"remote_field"`
	// OnError says what becomes of a row's field where the remote fails: empty
	// fails the operation, [NullOnError] answers null.
	OnError string `json:"on_error,omitzero"`
}

// NullOnError is the on_error of a remote relationship that answers null where
// the remote fails.
const NullOnError = "null"

// RemoteStep is one field on the way from the remote's query root to the
// joined field. Arguments is an object; a string "$name" in it is the value of
// a column, everything else a literal.
type RemoteStep struct {
	Field     string
	Arguments wire.Node
}

// Steps returns the way to the joined field, from the query root.
func (r RemoteRelationship) Steps() []RemoteStep {
	v, err := wire.Parse(r.RemoteField)
	if err != nil {
		return nil
	}
	steps, _ := wire.Decode(v, decodeRemoteField) // checked when the relationship was decoded
	return steps
}

func remoteRelationshipKey(table domain.QualifiedName, name string) Key {
	return keyOf(KindRemoteRelationship, table.Schema, table.Name, name)
}

// Key implements [Object].
func (r RemoteRelationship) Key() Key { return remoteRelationshipKey(r.Table, r.Name) }

func (r RemoteRelationship) String() string {
	return "remote relationship " + r.Table.String() + "." + r.Name
}

func (r RemoteRelationship) owner() domain.QualifiedName { return r.Table }

func (r RemoteRelationship) described() description { return description{"remote_relationship", r} }

func (r RemoteRelationship) exported() any {
	type definition struct {
		RemoteSchema string          `json:"remote_schema"`
		HasuraFields []string        `json:"hasura_fields"`
		RemoteField  json.RawMessage `json:"remote_field"`
		OnError      string          `json:"on_error,omitzero"`
	}
	return struct {
		Name       string     `json:"name"`
		Definition definition `json:"definition"`
	}{r.Name, definition{r.RemoteSchema, r.HasuraFields, r.RemoteField, r.OnError}}
}

func (r RemoteRelationship) renamed(to Rename) Object {
	if to.Column != "" && to.Table == r.Table && slices.Contains(r.HasuraFields, to.Column) {
		r.HasuraFields = to.columns(r.Table, r.HasuraFields)
		slices.Sort(r.HasuraFields)
		r.RemoteField = replaceStrings(r.RemoteField, "$"+to.Column, "$"+to.NewColumn)
	}
	r.Table = to.table(r.Table)
	return r
}

// replaceStrings replaces the strings of a JSON text that equal one text;
// names of members stay.
func replaceStrings(raw json.RawMessage, from, to string) json.RawMessage {
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&out)
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes())
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isName := kind == '{' && length%2 == 1
		if err == nil && token.Kind() == '"' && !isName && token.String() == from {
			token = jsontext.String(to)
		}
		if err == nil {
			err = enc.WriteToken(token)
		}
		if err != nil {
			return raw // no JSON, and nothing to replace in it
		}
	}
}

// decodeRemoteRelationshipEntry reads a relationship's entry in the metadata
// document.
func decodeRemoteRelationshipEntry(n wire.Node, table domain.QualifiedName) RemoteRelationship {
	return decodeRemoteRelationship(n.Field("name").GraphQLName(), table, n.Field("definition"))
}

func decodeRemoteRelationship(name string, table domain.QualifiedName, n wire.Node) RemoteRelationship {
	r := RemoteRelationship{Name: name, Table: table}
	r.HasuraFields = wire.List(n.Field("hasura_fields"), wire.Node.Column)
	slices.Sort(r.HasuraFields)
	r.HasuraFields = slices.Compact(r.HasuraFields)
	r.RemoteSchema = n.Field("remote_schema").Text()
	remoteField := n.Field("remote_field")
	decodeRemoteField(remoteField)
	r.RemoteField = remoteField.Raw()
	r.OnError = decodeOnError(n.Member("on_error"))
	return r
}

// decodeOnError reads "error", which is the default, or null, written as
// itself or as a string.
func decodeOnError(n wire.Node) string {
	switch {
	case !n.Given():
		return ""
	case n.Kind() == wire.Null:
		return NullOnError
	case n.OneOf("error", NullOnError) == NullOnError:
		return NullOnError
	}
	return ""
}

// decodeRemoteField reads the tree whose only branch leads to the joined
// field.
func decodeRemoteField(n wire.Node) []RemoteStep {
	var steps []RemoteStep
	for n.Given() {
		if n.Kind() != wire.Object {
			n.Fail("Remote fields should be an object that starts with the name of a field e.g. person: ...")
			return nil
		}
		name, call, ok := onlyMember(n)
		if !ok {
			n.Fail("Only one field allowed, not multiple.")
			return nil
		}
		if !domain.IsGraphQLName(name) {
			n.Fail("%q is not a valid GraphQL name", name)
		}
		arguments := call.Field("arguments")
		if arguments.Given() && arguments.Kind() != wire.Object {
			arguments.Fail("Remote arguments should be an object of keys.")
		}
		checkRemoteArguments(arguments)
		steps = append(steps, RemoteStep{name, arguments})
		n = call.Optional("field")
	}
	return steps
}

// onlyMember returns the member of an object that has one.
func onlyMember(n wire.Node) (name string, member wire.Node, ok bool) {
	count := 0
	for name, member = range n.Members() {
		count++
	}
	return name, member, count == 1
}

// checkRemoteArguments checks the names in a value: of the keys, and of the
// columns.
func checkRemoteArguments(n wire.Node) {
	switch n.Kind() {
	case wire.Object:
		for name, value := range n.Members() {
			if !domain.IsGraphQLName(name) {
				n.Fail("%s is an invalid key name", name)
			}
			checkRemoteArguments(value)
		}
	case wire.Array:
		for _, item := range n.Items() {
			checkRemoteArguments(item)
		}
	case wire.String:
		if column, ok := columnVariable(n); ok && !domain.IsGraphQLName(column) {
			n.Fail("Invalid variable name.")
		}
	}
}

// columnVariable returns the column that a string stands for.
func columnVariable(n wire.Node) (column string, ok bool) {
	if n.Kind() != wire.String {
		return "", false
	}
	return strings.CutPrefix(n.String(), "$")
}

// CreateRemoteRelationship is create_remote_relationship.
type CreateRemoteRelationship struct{ RemoteRelationship }

// Operation implements [Command].
func (CreateRemoteRelationship) Operation() string { return "create_remote_relationship" }

func decodeCreateRemoteRelationship(n wire.Node) Command {
	return CreateRemoteRelationship{decodeRemoteRelationshipArgs(n)}
}

func decodeRemoteRelationshipArgs(n wire.Node) RemoteRelationship {
	return decodeRemoteRelationship(n.Field("name").GraphQLName(), n.Field("table").Name(), n)
}

func (c CreateRemoteRelationship) names(World) Names {
	return Names{Tables: []domain.QualifiedName{c.Table}}
}

func (CreateRemoteRelationship) demand() demand { return ownStands }

func (c CreateRemoteRelationship) decide(w World) ([]Change, error) {
	if _, err := trackedTable(w, "$.args", c.Table); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "remote relationship %q already exists in table %q", c.Name, c.Table)
	}
	return put(w.Catalog, c.RemoteRelationship), nil
}

// UpdateRemoteRelationship is update_remote_relationship: the relationship
// becomes what is given.
type UpdateRemoteRelationship struct{ RemoteRelationship }

// Operation implements [Command].
func (UpdateRemoteRelationship) Operation() string { return "update_remote_relationship" }

func decodeUpdateRemoteRelationship(n wire.Node) Command {
	return UpdateRemoteRelationship{decodeRemoteRelationshipArgs(n)}
}

func (c UpdateRemoteRelationship) names(World) Names {
	return Names{Tables: []domain.QualifiedName{c.Table}}
}

func (UpdateRemoteRelationship) demand() demand { return ownStands }

func (c UpdateRemoteRelationship) decide(w World) ([]Change, error) {
	if err := knownRemoteRelationship(w, c.Table, c.Name); err != nil {
		return nil, err
	}
	return put(w.Catalog, c.RemoteRelationship), nil
}

// knownRemoteRelationship refuses a name that is no remote relationship of a
// tracked table.
func knownRemoteRelationship(w World, table domain.QualifiedName, name string) error {
	_, err := trackedTable(w, "$.args", table)
	switch {
	case err != nil:
		return err
	case w.Catalog.Has(remoteRelationshipKey(table, name)):
		return nil
	case w.hasField(table, name):
		return refuse(domain.UnexpectedPayload, "expecting a remote relationship")
	}
	return refuse(domain.NotExists, "%q does not exist", name)
}

// DeleteRemoteRelationship is delete_remote_relationship.
type DeleteRemoteRelationship struct {
	Table domain.QualifiedName `json:"table"`
	Name  string               `json:"name"`
}

// Operation implements [Command].
func (DeleteRemoteRelationship) Operation() string { return "delete_remote_relationship" }

func decodeDeleteRemoteRelationship(n wire.Node) Command {
	return DeleteRemoteRelationship{n.Field("table").Name(), n.Field("name").Text()}
}

func (c DeleteRemoteRelationship) names(World) Names {
	return Names{Tables: []domain.QualifiedName{c.Table}}
}

func (DeleteRemoteRelationship) demand() demand { return ownStands }

func (c DeleteRemoteRelationship) decide(w World) ([]Change, error) {
	if err := knownRemoteRelationship(w, c.Table, c.Name); err != nil {
		return nil, err
	}
	return drop(w.Catalog, remoteRelationshipKey(c.Table, c.Name)), nil
}

func (r RemoteRelationship) resolve(res *resolver) {
	res.within("in table %q: in remote relationship%q: ", r.Table, r.Name)
	table, shape, ok := res.ownTable(r.Table)
	if !ok {
		return
	}
	res.field(r.Key(), table, shape, r.Name)
	schemaKey := remoteSchemaKey(r.RemoteSchema)
	join := remoteJoin{resolver: res, table: shape, columns: r.columns(res, shape)}
	if !res.stands(schemaKey) {
		res.fail("remote schema with name %q not found", r.RemoteSchema)
		return
	}
	schema, _ := lookup[RemoteSchema](res.world.Catalog, schemaKey)
	if join.schema = schema.introspected(); join.schema == nil {
		res.fail("remote schema with name %q not found", r.RemoteSchema)
		return
	}
	join.follow(r.Steps())
}

// columns looks up the join keys.
func (r RemoteRelationship) columns(res *resolver, t *database.Table) map[string]*database.Column {
	columns := map[string]*database.Column{}
	for _, name := range r.HasuraFields {
		column := res.column(t, name)
		switch {
		case column == nil:
			res.fail("field with name %q not found in table %q", name, t.Name)
		case !domain.IsGraphQLName(name):
			res.fail("%q is not a valid GraphQL identifier", name)
		default:
			columns[name] = column
		}
	}
	return columns
}
