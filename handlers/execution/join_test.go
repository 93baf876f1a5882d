package execution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
	"annals/handlers/execution"
)

// joinServer is a GraphQL server behind HTTP, with what it was asked.
type joinServer struct {
	*httptest.Server
	graphql *graphqltest.Server

	mu    sync.Mutex
	asked []remoteAsked
	// instead answers in the server's place, where it is set.
	instead http.HandlerFunc
}

type remoteAsked struct {
	Query     string
	Variables map[string]any
	header    http.Header
}

func startJoinServer(t testing.TB, types string, query graphqltest.Object) *joinServer {
	t.Helper()
	s := &joinServer{graphql: graphqltest.New(types, query, nil)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *joinServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	asked := remoteAsked{header: r.Header}
	_ = json.Unmarshal(body, &asked) // the server refuses what is none
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	instead := s.instead
	s.mu.Unlock()
	if instead != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		instead(w, r)
		return
	}
	_, _ = w.Write(s.graphql.Answer(body))
}

// calls returns what was asked since the last time.
func (s *joinServer) calls() []remoteAsked {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *joinServer) answer(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = f
}

// Introspect lets commands read the schema.
func (s *joinServer) Introspect(context.Context, metadata.RemoteSchema) (json.RawMessage, error) {
	return s.graphql.Introspection(), nil
}

const messageTypes = `
	type Query { message(id: Int!): Message  messages(where: Filter, only: [Kind!]): [Message!]  user(id: ID!, tag: [String]): User  total(of: Float): Int!
		found(id: Int!): Found }
	type Message { id: Int!  msg: String  kind: Kind  author: User  broken: String }
	type User { id: ID!  tag: [String]  says(text: String = "nothing", loud: Boolean): String  friends: [User] }
	union Found = Message | User
	input Filter { id: Compare  text: String  kind: Kind  any: [Filter!] }
	input Compare { eq: Int  above: Int }
	enum Kind { NEW OLD }`

func messageOf(id int64) graphqltest.Object {
	return graphqltest.Object{
		"__typename": "Message", "id": id, "msg": fmt.Sprintf("message %d", id), "kind": []string{"NEW", "OLD"}[id%2],
		"author": graphqltest.Resolver(func(map[string]any) (any, error) { return userOf(id, nil), nil }),
		"broken": graphqltest.Fail("broken message"),
	}
}

func userOf(id, tag any) graphqltest.Object {
	return graphqltest.Object{
		"__typename": "User", "id": id, "tag": tag, "says": graphqltest.Resolver(func(a map[string]any) (any, error) {
			return fmt.Sprint(id, " says ", a["text"], a["loud"]), nil
		}),
		"friends": graphqltest.Resolver(func(map[string]any) (any, error) {
			return []graphqltest.Object{userOf(fmt.Sprint(id, "a"), nil), userOf(fmt.Sprint(id, "b"), nil)}, nil
		}),
	}
}

func messages() graphqltest.Object {
	return graphqltest.Object{
		"message": graphqltest.Resolver(func(a map[string]any) (any, error) {
			if id := a["id"].(int64); id < 1000 {
				return messageOf(id), nil
			}
			return nil, nil
		}),
		"messages": graphqltest.Resolver(func(a map[string]any) (any, error) {
			text, err := json.Marshal(a)
			return []graphqltest.Object{{"__typename": "Message", "id": 1, "msg": string(text)}}, err
		}),
		"user": graphqltest.Resolver(func(a map[string]any) (any, error) { return userOf(a["id"], a["tag"]), nil }),
		"found": graphqltest.Resolver(func(a map[string]any) (any, error) {
			if id := a["id"].(int64); id%2 == 0 {
				return userOf(id, nil), nil
			}
			return messageOf(a["id"].(int64)), nil
		}),
		"total": graphqltest.Resolver(func(a map[string]any) (any, error) { return 7, nil }),
	}
}

const authorTables = `
	CREATE TABLE author (id int PRIMARY KEY, name text, ratio real, born timestamptz, doc jsonb, big bigint);
	CREATE TABLE book (id int PRIMARY KEY, author_id int REFERENCES author, title text NOT NULL);
	INSERT INTO author VALUES (1, 'Ann', 1.5, NULL, '{"a": [1]}', 9007199254740993), (2, NULL, NULL, NULL, NULL, NULL), (3, 'Cy "x"', 2, NULL, NULL, 3);
	INSERT INTO book VALUES (1, 1, 'A'), (2, 1, 'B'), (3, 3, 'C'), (4, NULL, 'D')`

// joinedTo is a call that joins a table to the remote called messages.
func joinedTo(table, name, field, columns string, more ...string) string {
	return fmt.Sprintf(`{"type":"create_remote_relationship","args":{"name":%q,"table":%q,"hasura_fields":[%s],"remote_schema":"messages","remote_field":%s%s}}`,
		name, table, columns, field, strings.Join(more, ""))
}

func joinEngine(t testing.TB, c execution.Config, s *joinServer, commands ...string) *engine {
	t.Helper()
	all := append([]string{
		`{"type":"track_table","args":"author"}`, `{"type":"track_table","args":"book"}`,
		`{"type":"create_object_relationship","args":{"table":"book","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}`,
		`{"type":"create_array_relationship","args":{"table":"author","name":"books","using":{"foreign_key_constraint_on":{"table":"book","column":"author_id"}}}}`,
		`{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"` + s.URL + `"}}}`,
		joinedTo("author", "message", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`),
		joinedTo("author", "named", `{"message":{"arguments":{"id":"$id"}}}`, `"id","name"`),
		joinedTo("author", "list", `{"messages":{"arguments":{"where":{"id":{"eq":"$id"},"text":"fixed"}}}}`, `"id"`),
		joinedTo("author", "says", `{"user":{"arguments":{"id":"$id","tag":["$name"]},"field":{"says":{"arguments":{"text":"$name"}}}}}`, `"id","name"`),
		joinedTo("author", "friends", `{"user":{"arguments":{"id":"$big"},"field":{"friends":{"arguments":{}}}}}`, `"big"`),
		joinedTo("author", "friendly", `{"user":{"arguments":{"id":"$id"},"field":{"friends":{"arguments":{},"field":{"says":{"arguments":{}}}}}}}`, `"id"`),
		joinedTo("author", "found", `{"found":{"arguments":{"id":"$id"}}}`, `"id"`),
		joinedTo("author", "total", `{"total":{"arguments":{"of":"$ratio"}}}`, `"ratio"`),
		joinedTo("author", "lenient", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`, `,"on_error":null`),
		joinedTo("book", "message", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`),
	}, commands...)
	return newEngineOver(t, c, s, authorTables, all...)
}

func TestRemoteFieldsAreJoinedWhereverRowsAre(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	for query, want := range map[string]string{
		`{ author(order_by: {id: asc}) { id message { msg } } }`:                                                                                     `{"author":[{"id":1,"message":{"msg":"message 1"}},{"id":2,"message":{"msg":"message 2"}},{"id":3,"message":{"msg":"message 3"}}]}`,
		`{ author_by_pk(id: 2) { message { msg } named { msg } says } }`:                                                                             `{"author_by_pk":{"message":{"msg":"message 2"},"named":null,"says":null}}`,
		`{ author_by_pk(id: 9) { message { msg } } }`:                                                                                                `{"author_by_pk":null}`,
		`{ author_by_pk(id: 3) { says total } }`:                                                                                                     `{"author_by_pk":{"says":"3 says Cy \"x\"\u003cnil\u003e","total":7}}`,
		`{ author_by_pk(id: 1) { friends { id } friendly } }`:                                                                                        `{"author_by_pk":{"friends":[{"id":"9007199254740993a"},{"id":"9007199254740993b"}],"friendly":["1a says nothing\u003cnil\u003e","1b says nothing\u003cnil\u003e"]}}`,
		`{ author_by_pk(id: 1) { id: name name: id m: message { x: id } } }`:                                                                         `{"author_by_pk":{"id":"Ann","name":1,"m":{"x":1}}}`,
		`{ author(order_by: {id: asc}, limit: 1) { books(order_by: {id: desc}) { title message { id } author { message { id } } } } }`:               `{"author":[{"books":[{"title":"B","message":{"id":2},"author":{"message":{"id":1}}},{"title":"A","message":{"id":1},"author":{"message":{"id":1}}}]}]}`,
		`{ book(where: {id: {_eq: 4}}) { author { message { id } } message { id } } }`:                                                               `{"book":[{"author":null,"message":{"id":4}}]}`,
		`{ author_aggregate(order_by: {id: asc}) { aggregate { count } nodes { message { id } } } }`:                                                 `{"author_aggregate":{"aggregate":{"count":3},"nodes":[{"message":{"id":1}},{"message":{"id":2}},{"message":{"id":3}}]}}`,
		`{ author(where: {id: {_lt: 3}}, order_by: {id: asc}) { found { __typename ... on User { id } ...M } } } fragment M on Message { msg kind }`: `{"author":[{"found":{"__typename":"Message","msg":"message 1","kind":"OLD"}},{"found":{"__typename":"User","id":2}}]}`,
		`{ a: author_by_pk(id: 1) { message { id } } b: author_by_pk(id: 1) { message { msg } } t: __typename message(id: 5) { id } }`:               `{"a":{"message":{"id":1}},"b":{"message":{"msg":"message 1"}},"t":"query_root","message":{"id":5}}`,
	} {
		e.answers(admin(), want, query, "")
	}
}

func TestEachRemoteIsAskedOnceForAllRows(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	e.answers(admin(), `{"book":[{"author":{"message":{"id":1}}},{"author":{"message":{"id":1}}},{"author":{"message":{"id":3}}},{"author":null}]}`,
		`{ book(order_by: {id: asc}) { author { message { id } } } }`, "")
	asked := s.calls()
	require.Len(t, asked, 1)
	require.Equal(t, "query  { author_message__0: message(id: 1) { id  } author_message__1: message(id: 3) { id  } }", asked[0].Query)
	require.Equal(t, "application/json", asked[0].header.Get("Content-Type"))

	e.answers(admin(), `{"author":[]}`, `{ author(where: {id: {_eq: 9}}) { message { id } } }`, "")
	e.answers(admin(), `{"author":[{"id":2,"says":null}]}`, `{ author(where: {id: {_eq: 2}}) { id says } }`, "")
	require.Empty(t, s.calls(), "there is nothing to ask")
}

func TestKeysAreAskedInBatches(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{Joins: execution.Joins{Batch: 2, Concurrency: 1}}, s)
	e.answers(admin(), `{"author":[{"message":{"id":1}},{"message":{"id":2}},{"message":{"id":3}}]}`, `{ author(order_by: {id: asc}) { message { id } } }`, "")
	require.Len(t, s.calls(), 2)
	e = joinEngine(t, execution.Config{Joins: execution.Joins{MaxKeys: 2}}, s)
	_, err := e.ask(admin(), `{ author { message { id } } }`, "")
	require.Equal(t, domain.RefuseAt("$", domain.TooLarge, "the remote relationships of the operation have 3 different keys; at most 2 are joined: ask for fewer rows at a time, or raise --remote-join-max-keys"), refusal(t, err))
}

func TestArgumentsOfTheOperationJoinThoseOfTheDefinition(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	ask := func(query, variables string) string {
		t.Helper()
		got, err := e.ask(admin(), query, variables)
		require.NoError(t, err, query)
		require.True(t, json.Valid([]byte(got)))
		asked := s.calls()
		require.Len(t, asked, 1)
		return asked[0].Query
	}
	require.Contains(t, ask(`{ author_by_pk(id: 1) { list { id } } }`, ""), `messages(where: {id: {eq: 1}, text: "fixed"}) { id  }`)
	require.Contains(t, ask(`{ author_by_pk(id: 1) { list(only: [NEW], where: {id: {above: 3}, kind: OLD, any: [{text: "a"}]}) { id } } }`, ""),
		`messages(where: {id: {eq: 1, above: 3}, text: "fixed", kind: OLD, any: [{text: "a"}]}, only: [NEW])`)
	require.Contains(t, ask(`query($w: Filter_remote_rel_public_authorlist, $k: [Kind!]) { author_by_pk(id: 1) { list(where: $w, only: $k) { id } } }`,
		`{"w":{"kind":"NEW","id":{"above":2}},"k":["OLD"]}`), `query ($k: [Kind!]) { list__0: messages(where: {id: {eq: 1, above: 2}, text: "fixed", kind: NEW}, only: $k)`)
	require.Contains(t, ask(`query($c: Compare_remote_rel_public_authorlist, $on: Boolean!) { author_by_pk(id: 1) { list(where: {id: $c}) { id @include(if: $on) msg @skip(if: $on) } } }`,
		`{"c":{"above":9},"on":true}`), `(where: {id: {eq: 1, above: 9}, text: "fixed"}) { id  }`)
	require.Contains(t, ask(`{ author_by_pk(id: 1) { says(loud: true) } }`, ""), `user(id: 1, tag: ["Ann"]) { says(text: "Ann", loud: true)  }`)
}

func TestWhatTheRemoteDoesNotTakeIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	for query, want := range map[string]*domain.Error{
		`{ author { message { none } } }`:                         domain.RefuseAt("$.selectionSet.author.selectionSet.message.selectionSet.none", domain.ValidationFailed, "field \"none\" not found in type: 'Message'"),
		`{ author { message } }`:                                  domain.RefuseAt("$.selectionSet.author.selectionSet.message", domain.ValidationFailed, `missing selection set for "message"`),
		`{ author { total { x } } }`:                              domain.RefuseAt("$.selectionSet.author.selectionSet.total", domain.ValidationFailed, "unexpected subselection set for non-object field"),
		`{ author { message(id: 3) { id } } }`:                    domain.RefuseAt("$.selectionSet.author.selectionSet.message", domain.ValidationFailed, `"message" has no argument named "id"`),
		`{ author { list(where: {text: "x"}) { id } } }`:          domain.RefuseAt("$.selectionSet.author.selectionSet.list.args.where.text", domain.ValidationFailed, "field \"text\" not found in type: 'Filter_remote_rel_public_authorlist'"),
		`{ author { list(where: {id: {eq: 1}}) { id } } }`:        domain.RefuseAt("$.selectionSet.author.selectionSet.list.args.where.id.eq", domain.ValidationFailed, "field \"eq\" not found in type: 'Compare_remote_rel_public_authorlist'"),
		`{ author { list(where: {id: {above: "x"}}) { id } } }`:   domain.RefuseAt("$.selectionSet.author.selectionSet.list.args.where.id.above", domain.ValidationFailed, `expected a 32-bit integer for type "Int", but found a string`),
		`query($w: Filter) { author { list(where: $w) { id } } }`: domain.RefuseAt("$.selectionSet.author.selectionSet.list.args.where", domain.ValidationFailed, `variable "w" is declared as Filter, but used where Filter_remote_rel_public_authorlist is expected`),
		`subscription { author { message { id } } }`:              domain.RefuseAt("$", domain.NotSupported, "Remote relationships are not allowed in subscriptions"),
		`{ author(where: {message: {}}) { id } }`:                 domain.RefuseAt("$.selectionSet.author.args.where.message", domain.ValidationFailed, "field \"message\" not found in type: 'author_bool_exp'"),
		`{ author(order_by: {message: asc}) { id } }`:             domain.RefuseAt("$.selectionSet.author.args.order_by[0].message", domain.ValidationFailed, "field \"message\" not found in type: 'author_order_by'"),
	} {
		_, err := e.ask(admin(), query, "")
		require.Equal(t, want, refusal(t, err), query)
	}
	require.Empty(t, s.calls())
}

func TestThePermissionOfTheRowDecidesWhatIsJoined(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s,
		`{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["name"],"filter":{"id":{"_eq":"X-Hasura-User-Id"}}}}}`)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-user-id": "3"}}
	e.answers(user, `{"author":[{"message":{"id":3},"named":{"id":3}}]}`, `{ author { message { id } named { id } } }`, "")
	asked := s.calls()
	require.Len(t, asked, 1)
	require.Equal(t, "3", asked[0].header.Get("x-service-user-id"))
	require.Equal(t, "user", asked[0].header.Get("x-service-role"))
	_, err := e.ask(user, `{ author { id } }`, "")
	require.Equal(t, "field \"id\" not found in type: 'author'", refusal(t, err).Message, "a join key is not shown")
}

func TestMutationsAnswerWithJoinedFields(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	e.answers(admin(), `{"insert_author_one":{"name":"New","message":{"msg":"message 10"}},"insert_author":{"affected_rows":2,"returning":[{"m":{"id":11}},{"m":{"id":12}}]}}`,
		`mutation { insert_author_one(object: {id: 10, name: "New"}) { name message { msg } } insert_author(objects: [{id: 11}, {id: 12}]) { affected_rows returning { m: message { id } } } }`, "")
	asked := s.calls()
	require.Len(t, asked, 1)
	require.Contains(t, asked[0].Query, " returning_m__2: message(id: 12)")
	e.answers(admin(), `{"update_author_by_pk":{"message":{"id":10}},"delete_author":{"returning":[{"message":{"id":11}}]}}`,
		`mutation { update_author_by_pk(pk_columns: {id: 10}, _set: {name: "x"}) { message { id } } delete_author(where: {id: {_eq: 11}}) { returning { message { id } } } }`, "")
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"errors":[{"message":"no"}]}`)
	})
	_, err := e.ask(admin(), `mutation { delete_author(where: {id: {_eq: 12}}) { returning { message { id } } } }`, "")
	require.Equal(t, "Errors from remote server", refusal(t, err).Message)
	e.answers(admin(), `{"author_by_pk":null}`, `{ author_by_pk(id: 12) { id } }`, "")
}

func TestExplainShowsWhatRemotesWouldBeSentForRows(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	explained := func(query string) string {
		text, err := e.run.Explain(t.Context(), execution.ExplainRequest{Request: execution.Request{Session: admin(), Query: plan.Request{Query: query}}})
		require.NoError(t, err)
		var fields []struct {
			Field string
			SQL   string
			Joins json.RawMessage `json:"remote_joins"`
		}
		require.NoError(t, json.Unmarshal(text, &fields))
		require.Len(t, fields, 1)
		require.Contains(t, fields[0].SQL, "author")
		return string(fields[0].Joins)
	}
	require.JSONEq(t, `[{"field":"books_m","remote_schema":"messages","query":"query  { books_m__0: message(id: $id) { id  } }"},
		{"field":"says","remote_schema":"messages","query":"query  { says__0: user(id: $id, tag: [$name]) { says(text: $name)  } }"}]`,
		explained(`{ author { books { m: message { id } } says } }`))
	require.JSONEq(t, `[{"field":"returning_message","remote_schema":"messages","query":"query  { returning_message__0: message(id: $id) { id  } }"}]`,
		explained(`mutation { delete_author(where: {id: {_eq: 2}}) { returning { message { id } } } }`))
	require.Empty(t, s.calls())
}

func TestErrorsOfTheRemoteAndItsAbsenceFailTheOperation(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	_, err := e.ask(admin(), `{ author(order_by: {id: asc}) { message { id broken } } }`, "")
	refused := refusal(t, err)
	require.Equal(t, []any{domain.Unexpected, "$", "Errors from remote server"}, []any{refused.Code, refused.Path, refused.Message})
	require.JSONEq(t, `{"errors":[
		{"message":"broken message","path":["message__0","broken"],"locations":[{"line":1,"column":43}]},
		{"message":"broken message","path":["message__1","broken"],"locations":[{"line":1,"column":86}]},
		{"message":"broken message","path":["message__2","broken"],"locations":[{"line":1,"column":129}]}]}`, string(refused.Internal))

	s.Close()
	_, err = e.ask(admin(), `{ author { message { id } } }`, "")
	require.Equal(t, domain.Unexpected, refusal(t, err).Code)
	e.answers(admin(), `{"author_by_pk":{"lenient":null}}`, `{ author_by_pk(id: 1) { lenient { id } } }`, "")
}

func TestASlowRemoteIsGivenUpAndHoldsNoConnection(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var idle int32
	s.answer(func(_ http.ResponseWriter, r *http.Request) {
		idle = e.conns.Stat().TotalConns() - e.conns.Stat().AcquiredConns()
		cancel()
		<-r.Context().Done()
	})
	_, err := e.run.Run(ctx, execution.Request{Session: admin(), Query: plan.Request{Query: `{ author { message { id } lenient { id } } }`}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, e.conns.Stat().TotalConns(), idle)
	_, err = e.run.Run(ctx, execution.Request{Session: admin(), Query: plan.Request{Query: `{ author { lenient { id } } }`}})
	require.Error(t, err, "whoever has gone gets no null")
}

func TestTenThousandKeysAreJoined(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	_, err := e.conns.Exec(t.Context(), "BEGIN READ WRITE; INSERT INTO author (id) SELECT generate_series(1000, 10999); COMMIT", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	got, err := e.ask(admin(), `{ author(where: {id: {_gte: 1000}}) { message { id } } }`, "")
	require.NoError(t, err)
	require.Equal(t, 10_000, strings.Count(got, `{"message":null}`))
	require.Len(t, s.calls(), 10_000/execution.DefaultJoinBatch)
}

// otherRemotes reads the schema of each remote from its own server.
type otherRemotes map[string]*joinServer

func (o otherRemotes) Introspect(ctx context.Context, r metadata.RemoteSchema) (json.RawMessage, error) {
	return o[r.Name].Introspect(ctx, r)
}

func TestSeveralRemotesAreAskedSideBySide(t *testing.T) {
	a := startJoinServer(t, messageTypes, messages())
	b := startJoinServer(t, "type Query { welcome(id: Int!): Welcome } type Welcome { id: Int }", nil)
	var met sync.WaitGroup
	met.Add(2)
	together := func(alias string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			met.Done()
			met.Wait() // for the other to be asked too
			_, _ = io.WriteString(w, `{"data":{"`+alias+`":{"id":1}}}`)
		}
	}
	e := newEngineOver(t, execution.Config{}, otherRemotes{"messages": a, "others": b}, authorTables,
		`{"type":"track_table","args":"author"}`,
		`{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"`+a.URL+`"}}}`,
		`{"type":"add_remote_schema","args":{"name":"others","definition":{"url":"`+b.URL+`"}}}`,
		joinedTo("author", "message", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`),
		strings.Replace(joinedTo("author", "other", `{"welcome":{"arguments":{"id":"$id"}}}`, `"id"`), `"messages"`, `"others"`, 1))
	a.answer(together("message__0"))
	b.answer(together("other__1"))
	e.answers(admin(), `{"author_by_pk":{"message":{"id":1},"other":{"id":1}}}`, `{ author_by_pk(id: 1) { message { id } other { id } } }`, "")
}

func TestWhatARemoteSaysBesideJoinedValuesIsNotTheClients(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	const query = `{ author_by_pk(id: 1) { message { id } } }`
	_, err := e.ask(admin(), query, "")
	require.NoError(t, err)
	answer := cannedAnswer(s, s.calls()[0].Query)
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "theirs")
		_, _ = w.Write(answer) // the client is gone otherwise
	})
	heard := http.Header{}
	_, err = e.run.Run(t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: query}, Client: execution.Client{Answer: heard}})
	require.NoError(t, err)
	require.Empty(t, heard)
}
