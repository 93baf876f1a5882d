package metadata

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql/graphqltest"
)

// introspectionOf is what a server with the schema answers to the
// introspection query, as far as it is read here.
func introspectionOf(t testing.TB, sdl string) json.RawMessage {
	t.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: sdl})
	require.NoError(t, err)
	return graphqltest.Introspection(schema)
}

// messages is a remote schema that remote relationships lead to.
func messages(t testing.TB) RemoteSchema {
	return RemoteSchema{Name: "messages", Definition: RemoteSchemaDefinition{URL: ptr("http://remote")}}.WithIntrospection(introspectionOf(t, `
		scalar bigint
		scalar uuid
		enum Job { COOK BAKER }
		interface Node { id: Int! }
		union Found = Message | User
		type Message implements Node { id: Int! author(shout: Boolean, times: Float): User! all: [Message!]! }
		type User { name: String messages(where: Filter): [Message] text(text: String!): String }
		input Filter { id: IntOp name: StringOp and: [Filter!] }
		input IntOp { eq: Int in: [Int!] }
		input StringOp { eq: String }
		type Query {
			message(id: Int!): Message
			messages(where: Filter, includes: [Filter]): [Message!]!
			users(ids: [Int!]!, lists: [[Int]]): [User]
			byID(id: ID!): Message
			byUUID(id: uuid): Message
			byJob(job: Job): Job
			node(id: Int): Node
			found(text: String): [Found]
		}
		type Mutation { write(id: Int): Message }`))
}

func add(t *testing.T, definition string) AddRemoteSchema {
	return command[AddRemoteSchema](t, `{"type":"add_remote_schema","args":{"name":"r","definition":`+definition+`}}`)
}

func TestARemoteSchemaIsAddedWithWhatItsServerAnswered(t *testing.T) {
	answer := introspectionOf(t, `type Query { hello: String }`)
	env := Environment{"HOST": "remote", "A": "a"}
	w := NewWorld(Catalog{}, shapeOf(), env)
	c := command[AddRemoteSchema](t, `{"type":"add_remote_schema","args":{"name":"my schema","comment":"c","definition":{
		"url":"http://{{HOST}}/v1","headers":[{"name":"x","value_from_env":"A"}],"forward_client_headers":true,"timeout_seconds":5}}}`)
	require.NoError(t, c.Check(w))
	decider := c.WithIntrospection(answer)
	require.Equal(t, Encode(c), Encode(decider), "the answer is in the change, not in the arguments")
	require.Equal(t, "add_remote_schema", decider.Operation())

	decision, err := Decide(w, 1, decider)
	require.NoError(t, err)
	require.Equal(t, "remote_schema_added", decision.Changes[0].Type)
	sameJSON(t, `{"name":"my schema","comment":"c","definition":{"url":"http://{{HOST}}/v1","headers":[{"name":"x","value_from_env":"A"}],
		"forward_client_headers":true,"timeout_seconds":5},"introspection":`+string(answer)+`}`, decision.Changes[0].Definition)
	require.True(t, decision.World.Standing.Stands(remoteSchemaKey("my schema")))

	got, err := IntrospectRemoteSchema{"my schema"}.Answer(decision.World)
	require.NoError(t, err)
	sameJSON(t, string(answer), got)

	endpoint, err := c.Definition.Resolve(env)
	require.NoError(t, err)
	require.Equal(t, RemoteEndpoint{"http://remote/v1", []HeaderValue{{"x", "a"}}, 5 * time.Second}, endpoint)
}

func TestARemoteSchemaIsRefusedBeforeItsServerIsAsked(t *testing.T) {
	env := Environment{"BAD": "abc", "GOOD": "http://remote"}
	w := NewWorld(catalogWith(messages(t)), shapeOf(), env)
	cases := []struct {
		definition string
		code       domain.Code
		message    string
	}{
		{`{}`, domain.InvalidParams, "both `url` and `url_from_env` can't be empty"},
		{`{"url":"http://h","url_from_env":"GOOD"}`, domain.InvalidParams, "both `url` and `url_from_env` can't be present"},
		{`{"url_from_env":"X"}`, domain.InvalidParams, "environment variable 'X' not set"},
		{`{"url":"http://{{X}}"}`, domain.Unexpected, "Value for environment variables not found: X"},
		{`{"url":"abc"}`, domain.InvalidParams, "not a valid URI: abc"},
		{`{"url":"{{BAD}}"}`, domain.InvalidParams, "not a valid URI: abc"},
		{`{"url_from_env":"BAD"}`, domain.InvalidParams, "not a valid URI: abc"},
		{`{"url":"ftp://h"}`, domain.InvalidParams, "not a valid URI: ftp://h"},
		{`{"url":"http://"}`, domain.InvalidParams, "not a valid URI: http://"},
		{`{"url":"http://h","headers":[{"name":"a","value_from_env":"X"}]}`, domain.NotFound, "environment variable 'X' not set"},
	}
	for _, c := range cases {
		refusal(t, add(t, c.definition).Check(w), c.code, "$.args", c.message)
		_, err := Decide(w, 2, add(t, c.definition).WithIntrospection(messages(t).Introspection))
		refusal(t, err, c.code, "$.args", c.message)
	}
	again := command[AddRemoteSchema](t, `{"type":"add_remote_schema","args":{"name":"messages","definition":{}}}`)
	refusal(t, again.Check(w), domain.AlreadyExists, "$.args", `remote schema with name "messages" already exists`)
	require.NoError(t, add(t, `{"url_from_env":"GOOD","headers":null,"timeout_seconds":null}`).Check(w))
}

func TestARemoteSchemaThatCannotBeReadIsRefused(t *testing.T) {
	for args, want := range map[string][2]string{
		`{"definition":{}}`:                                      {"$", `key "name" not found`},
		`{"name":"","definition":{}}`:                            {"$.name", "empty string not allowed"},
		`{"name":"r"}`:                                           {"$", `key "definition" not found`},
		`{"name":"r","definition":{"url":1}}`:                    {"$.definition.url", "parsing Text failed, expected String, but encountered Number"},
		`{"name":"r","definition":{"url":"{{A"}}`:                {"$.definition.url", `Parsing URL template failed: "{{" is not followed by "}}"`},
		`{"name":"r","definition":{"timeout_seconds":-1}}`:       {"$.definition.timeout_seconds", "negative value not allowed"},
		`{"name":"r","definition":{"headers":[{"name":"a"}]}}`:   {"$.definition.headers[0]", "expecting value or value_from_env keys"},
		`{"name":"r","definition":{"forward_client_headers":1}}`: {"$.definition.forward_client_headers", "parsing Bool failed, expected Boolean, but encountered Number"},
		`{"name":"r","definition":{"url_from_env":"HASURA_GRAPHQL_DATABASE_URL"}}`: {"$.definition.url_from_env",
			`env variables starting with "HASURA_GRAPHQL_" are not allowed in url_from_env: HASURA_GRAPHQL_DATABASE_URL`},
	} {
		_, err := Parse([]byte(`{"type":"add_remote_schema","args":` + args + `}`))
		refusal(t, err, domain.ParseFailed, want[0], want[1])
	}
}

func TestAnAnswerThatIsNoIntrospectionIsRefused(t *testing.T) {
	w := NewWorld(Catalog{}, shapeOf(), nil)
	for _, answer := range []string{``, `null`, `{}`, `{"data":{}}`, `{"data":{"__schema":null}}`, `{"data":{"__schema":{"types":5}}}`, `{"data":{"__schema":{"types":[null]}}}`, `not JSON`} {
		_, err := Decide(w, 1, add(t, `{"url":"http://h"}`).WithIntrospection(json.RawMessage(answer)))
		var e *domain.Error
		require.ErrorAs(t, err, &e, answer)
		require.Equal(t, domain.RemoteSchemaError, e.Code)
	}
}

func TestARemoteSchemaWhoseServerWasNotAskedCannotStand(t *testing.T) {
	silent := RemoteSchema{Name: "r", Definition: RemoteSchemaDefinition{URL: ptr("http://h"), Headers: []Header{{Name: "a", Value: ptr("b")}}}}
	w := NewWorld(catalogWith(silent), shapeOf(), nil)
	sameJSON(t, `[{"type":"remote_schema","reason":"the schema of the remote server has not been read","definition":{"name":"r","comment":null,
		"definition":{"url":"http://h","url_from_env":null,"headers":[{"name":"a","value":"b"}],"forward_client_headers":false,"timeout_seconds":null}}}]`,
		encode(w.Inconsistencies()))
	_, err := IntrospectRemoteSchema{"r"}.Answer(w)
	refusal(t, err, domain.NotFound, "$.args", `remote schema: "r" not found`)
}

func TestARemoteSchemaFallsWithItsEnvironment(t *testing.T) {
	schema := messages(t)
	schema.Definition = RemoteSchemaDefinition{URLFromEnv: ptr("GONE")}
	w := NewWorld(catalogWith(schema), shapeOf(), nil)
	require.Equal(t, "environment variable 'GONE' not set", w.Inconsistencies()[0].Reason)
}

func TestRemovingARemoteSchema(t *testing.T) {
	const body = `{"type":"remove_remote_schema","args":{"name":"messages"}}`
	given(t, shapeOf(), messages(t)).when(body).changes("remote_schema_removed messages")
	given(t, shapeOf()).when(body).refuses(domain.NotExists, "$.args", "no such remote schema")
	given(t, shapeOf(authors()...), append(tracked("author"), messages(t), joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))...).
		when(body).
		refuses(domain.DependencyError, "$.args", "cannot drop due to the following dependent objects : remote relationship author.message")
}

func TestARemoteSchemaThatCannotStandCanBeRemoved(t *testing.T) {
	given(t, shapeOf(), RemoteSchema{Name: "messages"}).when(`{"type":"remove_remote_schema","args":{"name":"messages"}}`).
		changes("remote_schema_removed messages")
}

func TestReloadingARemoteSchemaTakesTheNewAnswer(t *testing.T) {
	c := command[ReloadRemoteSchema](t, `{"type":"reload_remote_schema","args":{"name":"messages"}}`)
	refusal(t, c.Check(World{}), domain.NotExists, "$.args", `remote schema with name "messages" does not exist`)

	w := NewWorld(catalogWith(append(tracked("author"), messages(t), joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))...), shapeOf(authors()...), nil)
	require.NoError(t, c.Check(w))
	decider := c.WithIntrospection(messages(t).Introspection)
	require.Equal(t, `{"name":"messages"}`, string(Encode(decider)))

	other := strings.Replace(string(messages(t).Introspection), `"message"`, `"letter"`, 1)
	_, err := Decide(w, 4, c.WithIntrospection(json.RawMessage(other)))
	refusal(t, err, domain.Unexpected, "$.args", "cannot continue due to newly found inconsistent metadata")

	more := introspectionOf(t, `type Query { message(id: Int): Int, more: Int }`)
	decision, err := Decide(w, 4, c.WithIntrospection(more))
	require.NoError(t, err)
	require.Equal(t, "remote_schema_changed", decision.Changes[0].Type)
	same, err := Decide(decision.World, 5, c.WithIntrospection(more))
	require.NoError(t, err)
	require.Empty(t, same.Changes)
}

func TestWhatBecameOfARemoteSchemaAndWhatItBreaksIsRecorded(t *testing.T) {
	const body = `{"type":"reload_metadata","args":{"reload_remote_schemas":true}}`
	collection := QueryCollection{Name: "c", Definition: QueryCollectionQueries{Queries: []CollectionQuery{
		{"fits", "{ users(ids: [1], lists: []) { name } author { id } }"}, {"falls", "{ message(id: 1) { id } }"}}}}
	w := NewWorld(catalogWith(append(tracked("author"), messages(t), collection, joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))...), shapeOf(authors()...), nil)
	more := introspectionOf(t, `type Query { users(ids: [Int!]!, lists: [[Int]]): [User] more: Int } type User { name: String }`)
	decision, err := Decide(w, 4, command[ReloadMetadata](t, body).WithIntrospections([]RemoteSchema{messages(t).WithIntrospection(more)}))
	require.NoError(t, err)
	d := decision.Changes[0].Difference
	require.Equal(t, []string{"Query.more"}, d.Added)
	require.Contains(t, d.Removed, "Query.message")
	require.Contains(t, d.Removed, "Message")
	require.Equal(t, []string{"query falls of query collection c, by Query.message", "remote relationship author.message"}, d.Breaks)

	stored, err := DecodeChanges(EncodeChanges(decision.Changes))
	require.NoError(t, err)
	require.Equal(t, decision.Changes, stored)
	require.Contains(t, string(EncodeChanges(decision.Changes)), `"difference":{"added":["Query.more"],"removed":[`)

	told := introspectionOf(t, `"told" type Query { users(ids: [Int!]!, lists: [[Int]]): [User] more: Int } type User { name: String }`)
	decision, err = Decide(decision.World, 5, command[ReloadRemoteSchema](t, `{"type":"reload_remote_schema","args":{"name":"messages"}}`).WithIntrospection(told))
	require.NoError(t, err)
	require.Len(t, decision.Changes, 1)
	require.Nil(t, decision.Changes[0].Difference, "no part is another")
}

func TestAQueryBreaksByWhatIsJoinedToItsRows(t *testing.T) {
	const before = `type Query { message(id: Int!, in: Box): Message } type Message { id: Int text: String } input Box { size: Int }`
	remote := RemoteSchema{Name: "messages", Definition: RemoteSchemaDefinition{URL: ptr("http://remote")}}.WithIntrospection(introspectionOf(t, before))
	article := Relationship{Table: named("author"), Name: "articles", Type: ArrayRelationship, Using: RelationshipUsing{
		Manual: &ManualConfiguration{RemoteTable: named("article"), ColumnMapping: map[string]string{"id": "id"}}}}
	author := article
	author.Table, author.Name, author.Type = named("article"), "author", ObjectRelationship
	author.Using = RelationshipUsing{Manual: &ManualConfiguration{RemoteTable: named("author"), ColumnMapping: map[string]string{"id": "id"}}}
	breaks := func(query, types string) []string {
		t.Helper()
		collection := QueryCollection{Name: "c", Definition: QueryCollectionQueries{Queries: []CollectionQuery{{"q", query}}}}
		w := NewWorld(catalogWith(append(tracked("author", "article"), remote, article, author, collection,
			joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))...), shapeOf(tableOf("author", "id int4 pk"), tableOf("article", "id int4 pk")), nil)
		require.Empty(t, w.Inconsistencies())
		changes := putReloaded(w, remote.WithIntrospection(introspectionOf(t, types)))
		return changes[0].Difference.Breaks
	}
	const after = `type Query { message(id: Int!, in: Box, also: Int): Message } type Message { id: Int } input Box { size: Int must: Int! }`
	for query, want := range map[string]string{
		`{ author { id message { id __typename } } }`:                                             "",
		`{ author { message { text } } }`:                                                         "Message.text",
		`{ a: author_by_pk(id: 1) { m: message { ...f } } } fragment f on Message { t: text }`:    "Message.text",
		`{ author_aggregate { aggregate { count } nodes { message { text } } } }`:                 "Message.text",
		`{ article { author { articles_aggregate { nodes { author { message { text } } } } } } }`: "Message.text",
		`{ ...r } fragment r on query_root { article { ... on article { author { ...a } } } } fragment a on author { articles { author { ...a } } message { text } }`: "Message.text",
		`mutation { delete_author(where: {}) { affected_rows returning { message(in: {size: 1}) { id } } } }`:                                                         "Box.must",
		`mutation { insert_author_one(object: {}) { message { text } } }`:                                                                                             "Message.text",
		`query ($b: Box) { author { message(in: $b) { id } } }`:                                                                                                       "Box.must",
		`{ author { gone { text } articles { message { text } } } nobody { message { text } } }`:                                                                      "",
		`{ other: message(id: 1) { id } author { id } }`:                                                                                                              "",
		`subscription { author { message { text } } }`:                                                                                                                "Message.text",
		`mutation { author { message { text } } }`:                                                                                                                    "",
	} {
		got := breaks(query, after)
		if want == "" {
			require.Empty(t, got, query)
		} else {
			require.Equal(t, []string{"query q of query collection c, by " + want}, got, query)
		}
	}
	require.Equal(t, []string{"query q of query collection c, by Query.message(also:)"},
		breaks(`{ author { message { id } } }`, `type Query { message(id: Int!, also: Int!): Message } type Message { id: Int }`))
	require.Equal(t, []string{"query q of query collection c, by Query.message", "remote relationship author.message"},
		breaks(`{ author { message { id } } }`, `type Query { other(id: Int!): Message } type Message { id: Int }`))
}

func TestARemoteSchemaHasAMinuteToAnswerUnlessItSaysOtherwise(t *testing.T) {
	endpoint, err := RemoteSchemaDefinition{URL: ptr("http://h")}.Resolve(nil)
	require.NoError(t, err)
	require.Equal(t, time.Minute, endpoint.Timeout)
}

func TestARootFieldOfARemoteIsNobodyElses(t *testing.T) {
	adding := func(types string, objects ...Object) error {
		_, err := Decide(NewWorld(catalogWith(objects...), shapeOf(authors()...), nil), 9, add(t, `{"url":"http://h"}`).WithIntrospection(introspectionOf(t, types)))
		return err
	}
	refusal(t, adding(`type Query { other: Int message: Int }`, messages(t)), domain.Unexpected, "$.args", "cannot continue due to new inconsistent metadata")
	var duplicate *domain.Error
	require.ErrorAs(t, adding(`type Query { message: Int }`, messages(t)), &duplicate)
	require.Contains(t, string(duplicate.Internal), `"reason":"Duplicate remote field 'message'"`)
	refusal(t, adding(`type Query { author_by_pk: Int }`, tracked("author")...), domain.ConstraintViolation, "$.args", "Field cannot be overwritten by remote field 'author_by_pk'")
	refusal(t, adding(`type Query { a: Int } type Mutation { insert_author: Int }`, tracked("author")...), domain.ConstraintViolation, "$.args",
		"Field cannot be overwritten by remote field 'insert_author'")
	require.NoError(t, adding(`schema { query: Q subscription: S } type Q { a: Int } type S { author: Int message: Int }`, append(tracked("author"), messages(t))...),
		"subscriptions of remotes are nobody's")
	remote := messages(t).WithIntrospection(introspectionOf(t, `type Query { author: Int }`))
	given(t, shapeOf(authors()...), remote).when(`{"type":"track_table","args":"author"}`).
		refuses(domain.RemoteConflicts, "$.args", "node author already exists in current graphql schema")
}

func TestClearingTheMetadataTakesRemoteSchemasAndWhatIsJoinedToThem(t *testing.T) {
	w := append(tracked("author"), messages(t), joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))
	given(t, shapeOf(authors()...), w...).when(`{"type":"clear_metadata","args":{}}`).
		changes("remote_relationship_deleted public.author.message", "remote_schema_removed messages", "table_untracked public.author")
}

func TestAllRelationshipsThatKeepARemoteSchemaAreNamed(t *testing.T) {
	const field = `{"message":{"arguments":{"id":"$id"}}}`
	given(t, shapeOf(authors()...), append(tracked("author"), messages(t), joined("one", field, "id"), joined("two", field, "id"))...).
		when(`{"type":"remove_remote_schema","args":{"name":"messages"}}`).
		refuses(domain.DependencyError, "$.args", "cannot drop due to the following dependent objects : remote relationship author.one, remote relationship author.two")
}

func TestIntrospectingAnUnknownRemoteSchema(t *testing.T) {
	c := command[IntrospectRemoteSchema](t, `{"type":"introspect_remote_schema","args":{"name":"none"}}`)
	refusal(t, c.Check(World{}), domain.NotFound, "$.args", `remote schema: "none" not found`)
}

func TestARemoteSchemaComesBackFromTheDocumentAsItWas(t *testing.T) {
	full := RemoteSchema{Name: "r", Comment: ptr("c"), Definition: RemoteSchemaDefinition{
		URLFromEnv: ptr("X"), TimeoutSeconds: ptr(5), Headers: []Header{{Name: "a", Value: ptr("b")}}, ForwardClientHeaders: true,
	}}
	sameJSON(t, `{"name":"r","comment":"c","definition":{"url_from_env":"X","timeout_seconds":5,"headers":[{"name":"a","value":"b"}],"forward_client_headers":true}}`,
		encode(full.exported()))
	sameJSON(t, `{"name":"messages","definition":{"url":"http://remote"}}`, encode(messages(t).exported()))
	for _, schema := range []RemoteSchema{full, messages(t)} {
		again := decodeEntry(t, encode(schema.exported()), decodeRemoteSchemaEntry)
		require.True(t, again.SameDefinition(schema))
		require.Equal(t, encode(schema), encode(again.WithIntrospection(schema.Introspection)))
	}
	require.False(t, full.SameDefinition(messages(t)))
}
