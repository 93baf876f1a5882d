package execution_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/execution"
)

// placesEngine has rows in all the places where rows can be: of functions,
// computed fields, and actions too.
func placesEngine(t *testing.T, s *joinServer, h *handler, c execution.Config) *engine {
	return joinEngine(t, c, s,
		`{"type":"run_sql","args":{"sql":"CREATE FUNCTION starting(letter text) RETURNS SETOF author STABLE LANGUAGE sql AS $$ SELECT * FROM author WHERE name LIKE letter || '%' $$; `+
			`CREATE FUNCTION works(a author) RETURNS SETOF book STABLE LANGUAGE sql AS $$ SELECT * FROM book WHERE author_id = a.id ORDER BY id $$"}}`,
		`{"type":"track_function","args":"starting"}`,
		`{"type":"add_computed_field","args":{"table":"author","name":"works","definition":{"function":"works"}}}`,
		`{"type":"set_custom_types","args":{"objects":[{"name":"hit","fields":[{"name":"author_id","type":"Int!"}],"relationships":[
			{"name":"author","type":"object","remote_table":"author","field_mapping":{"author_id":"id"}}]}]}}`,
		`{"type":"create_action","args":{"name":"hits","definition":{"type":"query","handler":"`+h.URL+`","output_type":"[hit!]!"}}}`,
		`{"type":"create_action","args":{"name":"hit_it","definition":{"handler":"`+h.URL+`","output_type":"hit"}}}`)
}

func TestRemoteFieldsAreJoinedToRowsOfFunctionsComputedFieldsAndActions(t *testing.T) {
	s, h := startJoinServer(t, messageTypes, messages()), newHandler(t)
	e := placesEngine(t, s, h, execution.Config{})
	h.says(200, `[{"author_id":1},{"author_id":9},{"author_id":3}]`)
	for query, want := range map[string]string{
		`{ starting(args: {letter: "A"}) { message { msg } } }`:                                              `{"starting":[{"message":{"msg":"message 1"}}]}`,
		`{ starting_aggregate(args: {letter: "A"}) { nodes { m: message { id } } } }`:                        `{"starting_aggregate":{"nodes":[{"m":{"id":1}}]}}`,
		`{ author_by_pk(id: 1) { works { message { id } } } }`:                                               `{"author_by_pk":{"works":[{"message":{"id":1}},{"message":{"id":2}}]}}`,
		`{ author_by_pk(id: 1) { books_aggregate { nodes { message { id } author { message { id } } } } } }`: `{"author_by_pk":{"books_aggregate":{"nodes":[{"message":{"id":1},"author":{"message":{"id":1}}},{"message":{"id":2},"author":{"message":{"id":1}}}]}}}`,
		`{ hits { author { message { id } named { id } } } }`:                                                `{"hits":[{"author":{"message":{"id":1},"named":{"id":1}}},{"author":null},{"author":{"message":{"id":3},"named":{"id":3}}}]}`,
		`query($deep: Boolean! = true) { author_by_pk(id: 3) { ...A ... on author @include(if: $deep) { m: message { id } } ... @skip(if: $deep) { says } } } fragment A on author { books { ...B } } fragment B on book { message { ...M } } fragment M on Message { msg }`: `{"author_by_pk":{"books":[{"message":{"msg":"message 3"}}],"m":{"id":3}}}`,
	} {
		e.answers(admin(), want, query, "")
		require.Len(t, s.calls(), 1, query)
	}
	h.says(200, `{"author_id":3}`)
	e.answers(admin(), `{"hit_it":{"author_id":3,"author":{"message":{"id":3}}}}`, `mutation { hit_it { author_id author { message { id } } } }`, "")
	e.answers(admin(), `{"update_author":{"affected_rows":1,"returning":[{"books":[{"message":{"id":3}}],"message":{"id":3}}]}}`,
		`mutation { update_author(where: {id: {_eq: 3}}, _set: {ratio: 4}) { affected_rows returning { books { message { id } } message { id } } } }`, "")
}

func TestJSONsOwnNullIsNoJoinKey(t *testing.T) {
	s := startJoinServer(t, "scalar jsonb type Query { said(doc: jsonb!): String }", nil)
	e := newEngineOver(t, execution.Config{}, s, `CREATE TABLE author (id int PRIMARY KEY, doc jsonb NOT NULL); INSERT INTO author VALUES (1, 'null')`,
		`{"type":"track_table","args":"author"}`, `{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"`+s.URL+`"}}}`,
		joinedTo("author", "said", `{"said":{"arguments":{"doc":"$doc"}}}`, `"doc"`))
	e.answers(admin(), `{"author":[{"said":null}]}`, `{ author { said } }`, "")
	require.Empty(t, s.calls())
}

func TestAValueThatGraphQLCannotWriteIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	s := startJoinServer(t, "scalar jsonb type Query { said(doc: jsonb!): String }", nil)
	e := newEngineOver(t, execution.Config{}, s, `CREATE TABLE author (id int PRIMARY KEY, doc jsonb); INSERT INTO author VALUES (1, '{"two words": 1}')`,
		`{"type":"track_table","args":"author"}`, `{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"`+s.URL+`"}}}`,
		joinedTo("author", "said", `{"said":{"arguments":{"doc":"$doc"}}}`, `"doc"`))
	_, err := e.ask(admin(), `{ author { said } }`, "")
	require.Equal(t, domain.RefuseAt("$", domain.RemoteSchemaError, `"two words" is not a valid GraphQL name`), refusal(t, err))
	require.Empty(t, s.calls())
}

// fieldsOf is a type's fields and their types as introspection tells a role.
func (e *engine) fieldsOf(s domain.Session, typeName string) map[string]string {
	e.t.Helper()
	text, err := e.ask(s, `query($t: String!) { __type(name: $t) { fields { name type { ...T } } inputFields { name type { ...T } } } }
		fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }`, `{"t":"`+typeName+`"}`)
	require.NoError(e.t, err)
	type typed struct {
		Kind, Name string
		OfType     *typed
	}
	var answer struct {
		Data struct {
			Type *struct {
				Fields, InputFields []struct {
					Name string
					Type typed
				}
			} `json:"__type"`
		}
	}
	require.NoError(e.t, json.Unmarshal([]byte(text), &answer))
	if answer.Data.Type == nil {
		return nil
	}
	var written func(*typed) string
	written = func(t *typed) string {
		switch t.Kind {
		case "NON_NULL":
			return written(t.OfType) + "!"
		case "LIST":
			return "[" + written(t.OfType) + "]"
		}
		return t.Name
	}
	fields := map[string]string{}
	for _, f := range append(answer.Data.Type.Fields, answer.Data.Type.InputFields...) {
		fields[f.Name] = written(&f.Type)
	}
	return fields
}

func TestEachRoleThatSeesTheRowsSeesWhatIsJoinedToThem(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s,
		`{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["name"],"filter":{}}}}`,
		`{"type":"create_insert_permission","args":{"table":"book","role":"user","permission":{"columns":["id"],"check":{}}}}`)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-role": "user"}}
	joined := map[string]string{
		"message": "Message", "named": "Message", "lenient": "Message", "list": "[Message!]", "says": "String", "friends": "[User]",
		"friendly": "[String]", "found": "Found", "total": "Int",
	}
	all := e.fieldsOf(admin(), "author")
	for name, typeName := range joined {
		require.Equal(t, typeName, all[name], "%s is null where a key is, or a field on the way", name)
	}
	joined["name"] = "String"
	require.Equal(t, joined, e.fieldsOf(user, "author"), "a join key need not be seen")
	require.Nil(t, e.fieldsOf(user, "book"), "a role that may only insert sees no rows, nor what is joined to them")
	require.Equal(t, map[string]string{"id": "Compare_remote_rel_public_authorlist", "kind": "Kind", "any": "[Filter!]"},
		e.fieldsOf(user, "Filter_remote_rel_public_authorlist"), "what the definition fixes is not the client's to give")
	require.Equal(t, map[string]string{"above": "Int"}, e.fieldsOf(user, "Compare_remote_rel_public_authorlist"))
	require.Equal(t, "User", e.fieldsOf(user, "Message")["author"])

	for _, place := range []string{"author_bool_exp", "author_order_by", "author_max_fields", "author_insert_input", "author_set_input"} {
		require.NotContains(t, e.fieldsOf(admin(), place), "message", place)
	}
}

func TestTheAllowListAndTheLimitsHoldForJoinedFieldsToo(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	const allowed = `{ author { message { id } } }`
	c := execution.Config{AllowList: execution.AllowList{Mode: execution.AllowListEnforce}}
	c.Limits.MaxDepth = 4
	e := joinEngine(t, c, s,
		`{"type":"create_query_collection","args":{"name":"c","definition":{"queries":[{"name":"q","query":"`+allowed+`"}]}}}`,
		`{"type":"add_collection_to_allowlist","args":{"collection":"c"}}`,
		`{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["name"],"filter":{}}}}`)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-role": "user"}}
	_, err := e.ask(user, allowed, "")
	require.NoError(t, err)
	s.calls()
	_, err = e.ask(user, `{ author { message { msg } } }`, "")
	require.Equal(t, "query is not allowed", refusal(t, err).Message)
	_, err = e.ask(admin(), `{ author { message { author { id } } } }`, "")
	require.NoError(t, err)
	s.calls()
	_, err = e.ask(admin(), `{ author { message { author { friends { id } } } } }`, "")
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code)
	require.Empty(t, s.calls(), "nothing is asked for what is refused")
}
