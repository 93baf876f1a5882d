package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

// joined is a remote relationship of the author table.
func joined(name, remoteField string, columns ...string) RemoteRelationship {
	return RemoteRelationship{Name: name, Table: named("author"), HasuraFields: columns, RemoteSchema: "messages", RemoteField: json.RawMessage(remoteField)}
}

// remoteArgs are the arguments of a call that creates or updates one.
func remoteArgs(remoteField string, columns ...string) string {
	return fmt.Sprintf(`{"name":"message","table":"author","hasura_fields":%s,"remote_schema":"messages","remote_field":%s}`, encode(columns), remoteField)
}

func createRemote(remoteField string, columns ...string) string {
	return `{"type":"create_remote_relationship","args":` + remoteArgs(remoteField, columns...) + `}`
}

// world has an author table with columns of many types, and a remote schema.
func remoteWorld(t *testing.T, more ...Object) scenario {
	t.Helper()
	shape := shapeOf(
		tableOf("author", "id int4 pk", "name text", "big int8", "small int2", "key uuid", "code varchar", "at timestamptz", "tags text[]",
			"job text references jobs(value)", "plain text references author(name)", "good bool", "ratio float4"),
		enumOf("jobs", "COOK", "BAKER"), tableOf("article", "id int4 pk"))
	objects := []Object{Table{Name: named("author")}, Table{Name: named("jobs"), IsEnum: true}, Table{Name: named("article")}, messages(t)}
	return given(t, shape, append(objects, more...)...)
}

func TestARemoteRelationshipIsKept(t *testing.T) {
	remoteWorld(t).when(createRemote(`{"messages" : {"arguments":{"where":{"name":{"eq":"$name"},"id":{"eq":1}}},
			"field":{"author":{"arguments":{}}}}}`, "name", "id", "name")).
		changes("remote_relationship_created public.author.message").
		holds(remoteRelationshipKey(named("author"), "message"), `{"name":"message","table":{"schema":"public","name":"author"},
			"hasura_fields":["id","name"],"remote_schema":"messages",
			"remote_field":{"messages":{"arguments":{"where":{"name":{"eq":"$name"},"id":{"eq":1}}},"field":{"author":{"arguments":{}}}}}}`)
}

func TestValuesFitTheRemotesArguments(t *testing.T) {
	for _, field := range []string{
		`{"message":{"arguments":{"id":"$id"}}}`,
		`{"message":{"arguments":{"id":7}}}`,
		`{"message":{"arguments":{}}}`,
		`{"messages":{"arguments":{"where":{"id":{"eq":"$id","in":["$id"]},"name":{"eq":"$name"}}}}}`,
		`{"messages":{"arguments":{"where":{"name":{"eq":"literal"}}}}}`,
		`{"messages":{"arguments":{"includes":[{"id":{"eq":"$id"}}],"where":{"and":[{"name":{"eq":"$code"}}]}}}}`,
		`{"users":{"arguments":{"ids":"$id","lists":"$id"}}}`,
		`{"users":{"arguments":{"ids":["$id"],"lists":[["$id"]]}}}`,
		`{"users":{"arguments":{"ids":[]}}}`,
		`{"byID":{"arguments":{"id":"$id"}}}`,
		`{"byID":{"arguments":{"id":"$big"}}}`,
		`{"byID":{"arguments":{"id":"$small"}}}`,
		`{"byID":{"arguments":{"id":"$key"}}}`,
		`{"byID":{"arguments":{"id":"$name"}}}`,
		`{"byID":{"arguments":{"id":"text"}}}`,
		`{"byUUID":{"arguments":{"id":"$key"}}}`,
		`{"node":{"arguments":{"id":"$id"}}}`,
		`{"found":{"arguments":{"text":"$plain"}}}`,
		`{"byJob":{"arguments":{}}}`,
		`{"message":{"arguments":{"id":"$id"},"field":{"author":{"arguments":{"shout":"$good","times":1.5},"field":{"text":{"arguments":{"text":"$name"}}}}}}}`,
		`{"message":{"arguments":{"id":"$id"},"field":{"author":{"arguments":{"shout":true},"field":null}}}}`,
		`{"messages":{"arguments":{},"field":{"all":{"arguments":{},"field":{"author":{"arguments":{}}}}}}}`,
	} {
		remoteWorld(t).when(createRemote(field, "id", "name", "big", "small", "key", "code", "plain", "good")).accepted()
	}
}

func TestARemoteFieldThatCannotBeReadIsRefused(t *testing.T) {
	const at = "$.remote_field"
	cases := []struct{ field, path, message string }{
		{`{}`, at, "Only one field allowed, not multiple."},
		{`{"a":{"arguments":{}},"b":{"arguments":{}}}`, at, "Only one field allowed, not multiple."},
		{`"message"`, at, "Remote fields should be an object that starts with the name of a field e.g. person: ..."},
		{`null`, at, "Remote fields should be an object that starts with the name of a field e.g. person: ..."},
		{`[]`, at, "Remote fields should be an object that starts with the name of a field e.g. person: ..."},
		{`{"message":{"arguments":{},"field":[]}}`, at + ".message.field", "Remote fields should be an object that starts with the name of a field e.g. person: ..."},
		{`{"message":{"arguments":{},"field":{}}}`, at + ".message.field", "Only one field allowed, not multiple."},
		{`{"message":{}}`, at + ".message", `key "arguments" not found`},
		{`{"message":1}`, at + ".message", "parsing Object failed, expected Object, but encountered Number"},
		{`{"message":{"arguments":[]}}`, at + ".message.arguments", "Remote arguments should be an object of keys."},
		{`{"message":{"arguments":null}}`, at + ".message.arguments", "Remote arguments should be an object of keys."},
		{`{"message":{"arguments":{"a b":1}}}`, at + ".message.arguments", "a b is an invalid key name"},
		{`{"message":{"arguments":{"a":{"1":1}}}}`, at + ".message.arguments.a", "1 is an invalid key name"},
		{`{"message":{"arguments":{"id":"$"}}}`, at + ".message.arguments.id", "Invalid variable name."},
		{`{"message":{"arguments":{"id":["$a b"]}}}`, at + ".message.arguments.id[0]", "Invalid variable name."},
		{`{"a b":{"arguments":{}}}`, at, `"a b" is not a valid GraphQL name`},
	}
	for _, c := range cases {
		remoteWorld(t).when(createRemote(c.field, "id")).refuses(domain.ParseFailed, c.path, c.message)
	}
}

func TestARemoteRelationshipHasAllItsArguments(t *testing.T) {
	const full = `{"name":"m","table":"author","hasura_fields":["id"],"remote_schema":"messages","remote_field":{"message":{"arguments":{}}}}`
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(full), &members))
	for name := range members {
		args, err := decode[map[string]json.RawMessage]([]byte(full))
		require.NoError(t, err)
		delete(args, name)
		for _, operation := range []string{"create_remote_relationship", "update_remote_relationship", "pg_create_remote_relationship"} {
			remoteWorld(t).when(`{"type":"`+operation+`","args":`+string(encode(args))+`}`).refuses(domain.ParseFailed, "$", `key "`+name+`" not found`)
		}
	}
}

func TestARemoteRelationshipMustFitBothSides(t *testing.T) {
	cases := []struct {
		field  string
		reason string
	}{
		{`{"message_wrong":{"arguments":{}}}`, `remote field with name "message_wrong" and type "Query" not found`},
		{`{"write":{"arguments":{"id":"$id"}}}`, `remote field with name "write" and type "Query" not found`},
		{`{"message":{"arguments":{},"field":{"none":{"arguments":{}}}}}`, `remote field with name "none" and type "Message" not found`},
		{`{"byJob":{"arguments":{},"field":{"none":{"arguments":{}}}}}`, `remote field with name "none" and type "Job" not found`},
		{`{"message":{"arguments":{"id_wrong":"$id"}}}`, `argument with name "id_wrong" not found in remote schema`},
		{`{"messages":{"arguments":{"where":{"wrong":1}}}}`, `argument with name "wrong" not found in remote schema`},
		{`{"message":{"arguments":{"id":"$id_wrong"}}}`, `variable "id_wrong" is not found`},
		{`{"byID":{"arguments":{"id":"$at"}}}`, `Only ID, Int, uuid or String scalar types can be joined to the ID type, but recieved "timestamptz"`},
		{`{"byID":{"arguments":{"id":true}}}`, `Only ID, Int, uuid or String scalar types can be joined to the ID type, but recieved "Boolean"`},
		{`{"message":{"arguments":{"id":"$name"}}}`, `expected type "Int" but got "String"`},
		{`{"message":{"arguments":{"id":"$big"}}}`, `expected type "Int" but got "bigint"`},
		{`{"found":{"arguments":{"text":"$tags"}}}`, `expected type "String" but got "_text"`},
		{`{"message":{"arguments":{"id":"7"}}}`, `expected type "Int" but got "String"`},
		{`{"message":{"arguments":{"id":7.5}}}`, `expected type "Int" but got "Float"`},
		{`{"message":{"arguments":{"id":true}}}`, `expected type "Int" but got "Boolean"`},
		{`{"message":{"arguments":{},"field":{"author":{"arguments":{"times":1}}}}}`, `expected type "Float" but got "Int"`},
		{`{"message":{"arguments":{"id":null}}}`, `null is not allowed here`},
		{`{"users":{"arguments":{"ids":[1,2]}}}`, `multiple elements in list value is not supported`},
		{`{"message":{"arguments":{"id":["$id"]}}}`, `type "Int"is not a list type`},
		{`{"users":{"arguments":{"ids":[["$id"]]}}}`, `type "Int"is not a list type`},
		{`{"message":{"arguments":{"id":{"eq":1}}}}`, `type "id"not an input object type`},
		{`{"messages":{"arguments":{"includes":{"id":{"eq":1}}}}}`, `type "[Filter]" is invalid for stripping`},
		{`{"byJob":{"arguments":{"job":"COOK"}}}`, `enum value is not supported`},
		{`{"found":{"arguments":{"text":"$job"}}}`, `enum value is not supported`},
	}
	for _, c := range cases {
		remoteWorld(t).when(createRemote(c.field, "id", "name", "big", "at", "tags", "job")).
			refuses(domain.ConstraintViolation, "$.args", `in table "author": in remote relationship"message": `+c.reason)
	}
}

func TestEveryJoinKeyIsAmongTheHasuraFields(t *testing.T) {
	remoteWorld(t).when(createRemote(`{"message":{"arguments":{"id":"$id"}}}`, "name")).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in remote relationship"message": variable "id" is not found`)
	remoteWorld(t).when(createRemote(`{"message":{"arguments":{"id":"$id"}}}`, "id", "id_wrong")).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in remote relationship"message": field with name "id_wrong" not found in table "author"`)
	remoteWorld(t).when(createRemote(`{"message":{"arguments":{}}}`)).accepted()
}

func TestAJoinKeyHasAGraphQLName(t *testing.T) {
	given(t, shapeOf(tableOf("author", "my-id int4")), append(tracked("author"), messages(t))...).
		when(createRemote(`{"message":{"arguments":{}}}`, "my-id")).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in remote relationship"message": "my-id" is not a valid GraphQL identifier`)
}

func TestARemoteRelationshipNeedsItsRemoteSchema(t *testing.T) {
	const field = `{"message":{"arguments":{"id":"$id"}}}`
	const reason = `in table "author": in remote relationship"message": remote schema with name "messages" not found`
	given(t, shapeOf(authors()...), tracked("author")...).when(createRemote(field, "id")).
		refuses(domain.ConstraintViolation, "$.args", reason).
		internal(`[{"type":"remote_relationship","reason":"in table \"author\": in remote relationship\"message\": remote schema with name \"messages\" not found",
			"definition":` + string(encode(joined("message", field, "id"))) + `}]`)
	given(t, shapeOf(authors()...), append(tracked("author"), RemoteSchema{Name: "messages"})...).when(createRemote(field, "id")).
		refuses(domain.ConstraintViolation, "$.args", reason)
}

func TestARemoteSchemaWhoseTypesDoNotHoldTogetherCannotBeJoined(t *testing.T) {
	for _, schema := range []string{
		`{"types":[]}`,
		`{"queryType":{"name":"Q"},"types":[{"kind":"SCALAR","name":"Q"}]}`,
		`{"queryType":{"name":"Q"},"types":[{"kind":"OBJECT","name":"Q","fields":[{"name":"message","args":[],"type":{"kind":"OBJECT","name":"Gone"}}]}]}`,
	} {
		remote := messages(t).WithIntrospection(json.RawMessage(`{"__schema":` + schema + `}`))
		world := given(t, shapeOf(authors()...), append(tracked("author"), remote)...)
		world.when(createRemote(`{"message":{"arguments":{"id":"$id"}}}`, "id")).refuses(domain.ConstraintViolation, "$.args",
			`in table "author": in remote relationship"message": remote schema with name "messages" not found`)
	}
	const typed = `{"queryType":{"name":"Q"},"types":[{"kind":"INPUT_OBJECT","name":"I"},{"kind":"OBJECT","name":"Q","fields":[
		{"name":"input","type":{"kind":"INPUT_OBJECT","name":"I"}}]}]}`
	remote := messages(t).WithIntrospection(json.RawMessage(`{"__schema":` + typed + `}`))
	given(t, shapeOf(authors()...), append(tracked("author"), remote)...).when(createRemote(`{"input":{"arguments":{}}}`)).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in remote relationship"message": type "I"only output type is expected`)
}

func TestTheNameOfARemoteRelationshipIsItsOwn(t *testing.T) {
	const field = `{"message":{"arguments":{"id":"$id"}}}`
	remoteWorld(t, joined("message", field, "id")).when(createRemote(field, "id")).
		refuses(domain.AlreadyExists, "$.args", `remote relationship "message" already exists in table "author"`)
	given(t, shapeOf(tableOf("author", "id int4", "message text")), append(tracked("author"), messages(t))...).when(createRemote(field, "id")).
		refuses(domain.ConstraintViolation, "$.args", "field definition conflicts with postgres column")
	relationship := Relationship{Table: named("author"), Name: "message", Type: ObjectRelationship, Using: RelationshipUsing{
		Manual: &ManualConfiguration{RemoteTable: named("article"), ColumnMapping: map[string]string{"id": "id"}}}}
	remoteWorld(t, relationship).when(createRemote(field, "id")).
		refuses(domain.ConstraintViolation, "$.args", `conflicting definitions for field "message"`)
}

func TestUpdatingARemoteRelationshipReplacesIt(t *testing.T) {
	const field = `{"messages":{"arguments":{"where":{"id":{"eq":"$id"}}}}}`
	update := func(name, table string) string {
		return fmt.Sprintf(`{"type":"update_remote_relationship","args":{"name":%q,"table":%q,"hasura_fields":["id"],"remote_schema":"messages","remote_field":%s}}`, name, table, field)
	}
	world := remoteWorld(t, joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id", "name"))
	world.when(update("message", "author")).
		changes("remote_relationship_changed public.author.message").
		holds(remoteRelationshipKey(named("author"), "message"), string(encode(joined("message", field, "id"))))
	world.when(update("rel", "author")).refuses(domain.NotExists, "$.args", `"rel" does not exist`)
	world.when(update("name", "author")).refuses(domain.UnexpectedPayload, "$.args", "expecting a remote relationship")
	world.when(update("message", "x")).refuses(domain.NotExists, "$.args", `table "x" does not exist`)
}

func TestDeletingARemoteRelationship(t *testing.T) {
	del := func(name, table string) string {
		return fmt.Sprintf(`{"type":"delete_remote_relationship","args":{"name":%q,"table":%q}}`, name, table)
	}
	world := remoteWorld(t, joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))
	world.when(del("message", "author")).changes("remote_relationship_deleted public.author.message")
	world.when(del("rel", "author")).refuses(domain.NotExists, "$.args", `"rel" does not exist`)
	world.when(del("id", "author")).refuses(domain.UnexpectedPayload, "$.args", "expecting a remote relationship")
	world.when(del("message", "x")).refuses(domain.NotExists, "$.args", `table "x" does not exist`)
	remoteWorld(t).when(createRemote(`{"message":{"arguments":{"id":"$id"}}}`, "id")).then().
		when(`{"type":"pg_delete_remote_relationship","args":{"name":"message","table":"author","source":"default"}}`).
		changes("remote_relationship_deleted public.author.message")
}

func TestARemoteRelationshipFallsWithItsColumns(t *testing.T) {
	r := joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id", "name")
	w := remoteWorld(t, r).world
	require.True(t, w.Standing.Stands(r.Key()))
	require.Equal(t, "remote relationship author.message", r.String())
	for _, column := range r.HasuraFields {
		var users []Key
		for key := range w.Standing.dependentsOf(needColumn(named("author"), column)) {
			users = append(users, key)
		}
		require.Equal(t, []Key{r.Key()}, users)
	}
	w = w.WithShape(foundOf(tableOf("author", "id int4")))
	require.False(t, w.Standing.Stands(r.Key()))
}

func TestARemoteRelationshipFollowsRenames(t *testing.T) {
	r := joined("message", `{"message":{"arguments":{"id":"$id","$id":"$id_2","x":["$id",1.50,null,{"a":"id"}]},"field":{"id":{"arguments":{"b":"$id"}}}}}`, "id", "name")
	column := r.renamed(Rename{Table: named("author"), Column: "id", NewColumn: "zid"}).(RemoteRelationship)
	require.Equal(t, []string{"name", "zid"}, column.HasuraFields)
	require.Equal(t, `{"message":{"arguments":{"id":"$zid","$id":"$id_2","x":["$zid",1.50,null,{"a":"id"}]},"field":{"id":{"arguments":{"b":"$zid"}}}}}`, string(column.RemoteField))
	table := r.renamed(Rename{Table: named("author"), NewTable: named("writer")}).(RemoteRelationship)
	require.Equal(t, named("writer"), table.Table)
	require.Equal(t, encode(r), encode(r.renamed(Rename{Table: named("author"), Column: "other", NewColumn: "x"})))
	require.Equal(t, []string{"id", "name"}, r.HasuraFields)
}

func TestTheStepsOfARemoteRelationshipAreReadFromWhatIsKept(t *testing.T) {
	steps := joined("m", `{"user":{"arguments":{"id":"$id"},"field":{"text":{"arguments":{}}}}}`, "id").Steps()
	require.Len(t, steps, 2)
	require.Equal(t, "user", steps[0].Field)
	require.Equal(t, `{"id":"$id"}`, string(steps[0].Arguments.Raw()))
	require.Equal(t, "text", steps[1].Field)
}

func TestARemoteRelationshipMaySayThatErrorsAreNull(t *testing.T) {
	const field = `{"message":{"arguments":{"id":"$id"}}}`
	for written, kept := range map[string]string{`null`: NullOnError, `"null"`: NullOnError, `"error"`: ""} {
		want := joined("message", field, "id")
		want.OnError = kept
		args := strings.TrimSuffix(remoteArgs(field, "id"), "}") + `,"on_error":` + written + "}"
		remoteWorld(t).when(`{"type":"create_remote_relationship","args":`+args+`}`).
			changes("remote_relationship_created public.author.message").
			holds(remoteRelationshipKey(named("author"), "message"), string(encode(want)))
		again := decodeEntry(t, encode(want.exported()), func(n node) RemoteRelationship { return decodeRemoteRelationshipEntry(n, named("author")) })
		require.Equal(t, encode(want), encode(again))
	}
	args := strings.TrimSuffix(remoteArgs(field, "id"), "}") + `,"on_error":"later"}`
	remoteWorld(t).when(`{"type":"create_remote_relationship","args":`+args+`}`).
		refuses(domain.ParseFailed, "$.on_error", `expected one of error, null, but found "later"`)
}

func TestARemoteRelationshipComesBackFromTheDocumentAsItWas(t *testing.T) {
	r := joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id")
	sameJSON(t, `{"name":"message","definition":{"remote_schema":"messages","hasura_fields":["id"],"remote_field":{"message":{"arguments":{"id":"$id"}}}}}`, encode(r.exported()))
	again := decodeEntry(t, encode(r.exported()), func(n node) RemoteRelationship { return decodeRemoteRelationshipEntry(n, named("author")) })
	require.Equal(t, encode(r), encode(again))
}
