package execution_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema/schematest"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
	"annals/domain/wire"
	"annals/handlers/execution"
)

// remoteServer is a GraphQL server that remembers what it was asked.
type remoteServer struct {
	*httptest.Server
	graphql *graphqltest.Server
	mu      sync.Mutex
	asked   []string
	headers []http.Header
	instead http.HandlerFunc
}

// answerWith has somebody answer in place of the server. A request that its
// client gave up may still be in the hands of whoever answered before.
func (s *remoteServer) answerWith(instead http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = instead
}

func (s *remoteServer) remember(r *http.Request, body []byte) (instead http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.headers = append(s.asked, string(body)), append(s.headers, r.Header)
	return s.instead
}

func serveRemote(t *testing.T, s *graphqltest.Server) *remoteServer {
	r := &remoteServer{graphql: s}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (s *remoteServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is missing is no operation
	if instead := s.remember(r, body); instead != nil {
		instead(w, r)
		return
	}
	w.Header().Add("Set-Cookie", "abcd")
	_, _ = w.Write(s.graphql.Answer(body)) // the client is gone otherwise
}

// times is how often it was asked.
func (s *remoteServer) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// operations are the texts of what was asked.
func (s *remoteServer) operations(t *testing.T) (texts []string) {
	for _, body := range s.asked {
		var r struct{ Query string }
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		texts = append(texts, r.Query)
	}
	return texts
}

func people() *graphqltest.Server {
	jane := graphqltest.Object{"id": 1, "name": "jane", "broken": graphqltest.Fail("out of order")}
	droid := graphqltest.Object{"__typename": "Droid", "id": "1", "name": "R2-D2", "primaryFunction": "Astromech"}
	return graphqltest.New(`
		type Query { person(id: Int!, tags: [String!]): Person  hero(episode: Int = 4): Character  echo(as: Size = SMALL, in: Box): String }
		type Mutation { rename(id: Int!, name: String!): Person }
		type Person { id: Int  name: String  broken: String }
		interface Character { id: ID!  name: String! }
		type Human implements Character { id: ID!  name: String!  homePlanet: String }
		type Droid implements Character { id: ID!  name: String!  primaryFunction: String @deprecated(reason: "none has one") }
		enum Size { SMALL LARGE }
		input Box { width: Int!  height: Int = 3  inner: Box }`,
		graphqltest.Object{
			"person": graphqltest.Must(jane), "hero": graphqltest.Must(droid),
			"echo": graphqltest.Resolver(func(args map[string]any) (any, error) {
				text, err := json.Marshal(args)
				return string(text), err
			}),
		},
		graphqltest.Object{"rename": graphqltest.Resolver(func(args map[string]any) (any, error) {
			return graphqltest.Object{"id": 1, "name": args["name"]}, nil
		})})
}

// remoteFixture is an executor over a table of authors and a remote.
type remoteFixture struct {
	*fixture
	server *remoteServer
	world  metadata.World
}

func withRemote(t *testing.T, definition string) *remoteFixture {
	f := &remoteFixture{server: serveRemote(t, people())}
	f.fixture = given(t, `create table author (id int primary key, name text); insert into author values (1, 'ann')`, "author")
	f.world = schematest.World(t, `table author: id int4 pk, name text null`, `{"type":"track_table","args":"author"}`)
	f.world.Shape = f.world.Shape.With(database.Found{Tables: map[domain.QualifiedName]*database.Table{
		{Schema: "public", Name: "author"}: f.tables["author"]}})
	f.world = addRemote(t, f.world, "people", f.server.URL, definition, people())
	f.run = execution.New(f.pool, func() metadata.World { return f.world }, execution.Config{})
	return f
}

func addRemote(t *testing.T, w metadata.World, name, url, more string, s *graphqltest.Server) metadata.World {
	request, err := metadata.Parse([]byte(`{"type":"add_remote_schema","args":{"name":"` + name + `","definition":{"url":"` + url + `"` + more + `}}}`))
	require.NoError(t, err)
	d, err := metadata.Decide(w, 10, request.Command.(metadata.AddRemoteSchema).WithIntrospection(s.Introspection()))
	require.NoError(t, err)
	return d.World
}

func (f *remoteFixture) ask(query, variables string, client ...execution.Client) (string, error) {
	r := execution.Request{Session: domain.Session{Role: "user", Variables: map[string]string{"x-service-user-id": "7"}}}
	r.Query = plan.Request{Query: query, Variables: wire.MustParse(variables)}
	if len(client) > 0 {
		r.Client = client[0]
	}
	if strings.Contains(query, "author") {
		r.Session.Role = domain.AdminRole
	}
	body, err := f.run.Run(f.t.Context(), r)
	return string(body), err
}

func (f *remoteFixture) answers(query, variables, want string) {
	f.t.Helper()
	got, err := f.ask(query, variables)
	require.NoError(f.t, err)
	require.Equal(f.t, want, got)
}

func TestRemoteFieldsAreAnsweredBesideRowsInTheOrderOfTheSelection(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`query q($id: Int!, $with: Boolean!) { a: person(id: $id) { ...p } author { name } hero { __typename name ... on Droid { primaryFunction } ... on Human { homePlanet } }
		__typename } fragment p on Person { n: name id @include(if: $with) }`, `{"id":1,"with":false}`,
		`{"data":{"a":{"n":"jane"},"author":[{"name":"ann"}],"hero":{"__typename":"Droid","name":"R2-D2","primaryFunction":"Astromech"},"__typename":"query_root"}}`)
	require.Equal(t, []string{`query ($id: Int!) { a: person(id: $id) { n: name  } hero { __typename  name  ... on Droid { primaryFunction  } ... on Human { homePlanet  } } }`},
		f.server.operations(t), "one operation for both fields")
	f.answers(`{ person(id: 1) { name @skip(if: true) } }`, "", `{"data":{"person":{}}}`)
}

func TestAKeptPlanSendsEachRequestsOwnVariables(t *testing.T) {
	f := withRemote(t, "")
	const query = `query($box: Box, $as: Size = LARGE) { echo(as: $as, in: $box) }`
	f.answers(query, `{"box":{"width":1}}`, `{"data":{"echo":"{\"as\":\"LARGE\",\"in\":{\"width\":1}}"}}`)
	f.answers(query, `{"box":{"width":2,"height":5},"as":"SMALL"}`, `{"data":{"echo":"{\"as\":\"SMALL\",\"in\":{\"height\":5,\"width\":2}}"}}`)
	_, err := f.ask(query, `{"box":{"width":"wide"}}`)
	require.Equal(t, `expected a 32-bit integer for type "Int", but found a string`, refusal(t, err).Message)
	require.Equal(t, "$.selectionSet.echo.args.in.width", refusal(t, err).Path)
	require.Len(t, f.server.asked, 2)
}

func TestWhatDoesNotFitTheRemotesTypesIsNotSent(t *testing.T) {
	f := withRemote(t, "")
	for query, want := range map[string][2]string{
		`{ person(id: 1) { gone } }`:                     {"$.selectionSet.person.selectionSet.gone", `field "gone" not found in type: 'Person'`},
		`{ hero { ... on Droid { homePlanet } } }`:       {"$.selectionSet.hero.selectionSet.homePlanet", `field "homePlanet" not found in type: 'Droid'`},
		`{ person(id: 1, foo: 2) { id } }`:               {"$.selectionSet.person", `"person" has no argument named "foo"`},
		`{ person { id } }`:                              {"$.selectionSet.person.args.id", `missing required field "id"`},
		`{ person(id: "1") { id } }`:                     {"$.selectionSet.person.args.id", `expected a 32-bit integer for type "Int", but found a string`},
		`{ person(id: null) { id } }`:                    {"$.selectionSet.person.args.id", `expected a value for type "Int", but found null`},
		`{ person(id: 1) }`:                              {"$.selectionSet.person", `missing selection set for "person"`},
		`{ echo { x } }`:                                 {"$.selectionSet.echo", `unexpected subselection set for non-object field`},
		`{ echo(as: TINY) }`:                             {"$.selectionSet.echo.args.as", `expected one of the values SMALL or LARGE for type "Size", but found "TINY"`},
		`{ echo(in: {width: 1, depth: 2}) }`:             {"$.selectionSet.echo.args.in.depth", `field "depth" not found in type: 'Box'`},
		`query($id: String!) { person(id: $id) { id } }`: {"$", `expecting a value for non-nullable variable: "id"`},
		`query($id: String) { person(id: $id) { id } }`:  {"$.selectionSet.person.args.id", `variable "id" is declared as String, but used where Int! is expected`},
		`subscription { person(id: 1) { id } }`:          {"$", `subscription to remote server is not supported`},
		`{ person(id: 1) { id } person: hero { id } }`:   {"$.selectionSet", `selection of both "person" and "hero" specify the same response name, "person"`},
		`mutation { gone }`:                              {"$.selectionSet.gone", `field "gone" not found in type: 'mutation_root'`},
		`{ person(id: 1, tags: ["a", 2]) { id } }`:       {"$.selectionSet.person.args.tags[1]", `expected a string for type "String", but found an integer`},
		`{ person(id: 1) { id } no_queries_available }`:  {"$.selectionSet.no_queries_available", `field "no_queries_available" not found in type: 'query_root'`},
	} {
		_, err := f.ask(query, "")
		refused := refusal(t, err)
		require.Equal(t, want, [2]string{refused.Path, refused.Message}, query)
	}
	require.Empty(t, f.server.asked)
}

func TestAFragmentOnAnInterfaceMayStandWhereNotAllObjectsAreKnown(t *testing.T) {
	f := withRemote(t, "")
	cat := graphqltest.Object{"__typename": "Cat", "id": "1", "name": "Tom"}
	pets := serveRemote(t, graphqltest.New(`type Query { found: Found  named: Named }
		union Found = Cat | Stone  interface Named { name: String }  interface Node { id: ID! }
		type Cat implements Named & Node { id: ID!  name: String }  type Stone implements Node { id: ID! }`,
		graphqltest.Object{"found": cat, "named": cat}, nil))
	f.world = addRemote(t, f.world, "pets", pets.URL, "", pets.graphql)
	f.answers(`{ found { ... on Named { name } ... on Node { id } } named { ... on Node { id } ... on Cat { ... on Node { again: id } } } }`, "",
		`{"data":{"found":{"name":"Tom","id":"1"},"named":{"id":"1","again":"1"}}}`)
}

func TestErrorsOfARemoteAreTheWholeAnswer(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`{ person(id: 1) { name broken } author { name } }`, "",
		`{"data":null,"errors":[{"message":"out of order","locations":[{"column":32,"line":1}],"path":["person","broken"]}]}`)
}

func TestAMutationAsksRemotesInItsOrder(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`mutation { a: rename(id: 1, name: "x") { name } b: rename(id: 1, name: "y") { name }
		insert_author(objects: [{id: 2, name: "bob"}]) { affected_rows } c: rename(id: 1, name: "z") { name } }`, "",
		`{"data":{"a":{"name":"x"},"b":{"name":"y"},"insert_author":{"affected_rows":1},"c":{"name":"z"}}}`)
	require.Equal(t, []string{
		`mutation  { a: rename(id: 1, name: "x") { name  } b: rename(id: 1, name: "y") { name  } }`,
		`mutation  { c: rename(id: 1, name: "z") { name  } }`,
	}, f.server.operations(t))
	_, err := f.ask(`mutation { insert_author(objects: [{id: 2}]) { affected_rows } a: rename(id: 1, name: "never") { name } }`, "")
	require.Equal(t, domain.ConstraintViolation, refusal(t, err).Code)
	require.Len(t, f.server.asked, 2, "what comes after a failure is not sent")
}

func TestARemoteThatMayHaveCarriedAMutationOutIsNotAskedAgain(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`{ person(id: 1) { name } }`, "", `{"data":{"person":{"name":"jane"}}}`)
	f.server.answerWith(hangsUp)
	_, err := f.ask(`mutation { rename(id: 1, name: "x") { name } }`, "") // over the connection that was kept
	require.Error(t, err)
	require.Equal(t, 2, f.server.times())
}

func TestTheRowsOfAMutationAreCountedOverAllItsTransactions(t *testing.T) {
	f := withRemote(t, "")
	f.run = execution.New(f.pool, func() metadata.World { return f.world }, execution.Config{MaxRows: 3})
	_, err := f.ask(`mutation { a: insert_author(objects: [{id: 2, name: "b"}, {id: 3, name: "c"}]) { affected_rows }
		rename(id: 1, name: "x") { name } b: insert_author(objects: [{id: 4, name: "d"}, {id: 5, name: "e"}]) { affected_rows } }`, "")
	require.Equal(t, domain.NotSupported, refusal(t, err).Code)
	require.Contains(t, refusal(t, err).Message, "--max-rows")
}

func TestARemoteIsToldTheDefinitionsHeadersThenTheSessionThenTheClients(t *testing.T) {
	f := withRemote(t, `,"forward_client_headers":true,"headers":[{"name":"x-hasura-user-id","value":"configured"},{"name":"X-Team","value":"configured"}]`)
	heard := http.Header{}
	_, err := f.ask(`{ person(id: 1) { id } }`, "", execution.Client{
		Header: http.Header{"Authorization": {"Bearer abc"}, "X-Team": {"client"}, "X-Hasura-Role": {"admin"}, "User-Agent": {"curl"}, "X-Service-Admin-Secret": {"s"},
			"X-B3-Traceid": {"00000000000000ff"}, "X-B3-Spanid": {"000000000000000a"}},
		Host: "api.example.com", Answer: heard,
	})
	require.NoError(t, err)
	got := f.server.headers[0]
	require.Regexp(t, "^[0-9a-f]{16}$", got.Get("X-B3-SpanId"))
	for _, name := range []string{"Content-Length", "Accept-Encoding", "X-B3-SpanId"} {
		got.Del(name)
	}
	require.Equal(t, http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer abc"}, "X-Team": {"configured"}, "X-Hasura-User-Id": {"configured"},
		"X-Service-Role": {"user"}, "X-Forwarded-Host": {"api.example.com"}, "X-Forwarded-User-Agent": {"curl"},
		"X-B3-Traceid": {"00000000000000ff"}, "X-B3-Parentspanid": {"000000000000000a"}, "X-Remote-Hops": {"1"}, "User-Agent": {"annals"},
	}, got)
	require.Equal(t, http.Header{"Set-Cookie": {"abcd"}}, heard)
}

func TestARemoteThatIsNotToldOfTheClientIsStillToldTheSession(t *testing.T) {
	f := withRemote(t, "")
	_, err := f.ask(`{ person(id: 1) { id } }`, "", execution.Client{Header: http.Header{"Authorization": {"Bearer abc"}, "Cookie": {"a=b"}}, Host: "api.example.com"})
	require.NoError(t, err)
	got := f.server.headers[0]
	require.Equal(t, []string{"user", "7"}, []string{got.Get("X-Service-Role"), got.Get("X-Service-User-Id")})
	require.Regexp(t, "^[0-9a-f]{16}$", got.Get("X-B3-TraceId"))
	for _, name := range []string{"Authorization", "Cookie", "X-Forwarded-Host", "X-B3-ParentSpanId"} {
		require.Empty(t, got.Get(name), name)
	}
}

func TestServersThatHaveEachOtherAsRemotesAskNoLongerThanTheyMay(t *testing.T) {
	f := withRemote(t, "")
	types := graphqltest.New(`type Query { ping: Int }`, nil, nil)
	var asked atomic.Int32
	var servers [2]*execution.Executor
	serve := func(at int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			var said struct{ Query string }
			_ = json.NewDecoder(r.Body).Decode(&said) // what is none is no operation
			body, err := servers[at].Run(r.Context(), execution.Request{
				Session: domain.Session{Role: "user"}, Query: plan.Request{Query: said.Query}, Client: execution.Client{Header: r.Header},
			})
			var refused *domain.Error
			if errors.As(err, &refused) {
				body, _ = json.Marshal(map[string]any{"errors": []any{map[string]string{"message": refused.Message}}})
			}
			_, _ = w.Write(body) // the client is gone otherwise
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for at, other := range []string{serve(1), serve(0)} {
		world := addRemote(t, f.world, "other", other, "", types)
		servers[at] = execution.New(f.pool, func() metadata.World { return world }, execution.Config{MaxHops: 5})
	}
	body, err := servers[0].Run(t.Context(), execution.Request{Session: domain.Session{Role: "user"}, Query: plan.Request{Query: `{ ping }`}})
	require.NoError(t, err)
	require.Contains(t, string(body), `{"data":null,"errors":[{"message":"the operation came by way of 5 servers`)
	require.EqualValues(t, 5, asked.Load())
	for said, want := range map[string]int{"5": 0, "4": 1, "-3": 5, "many": 5} {
		asked.Store(0)
		_, err := servers[0].Run(t.Context(), execution.Request{
			Session: domain.Session{Role: "user"}, Query: plan.Request{Query: `{ ping }`}, Client: execution.Client{Header: http.Header{"X-Remote-Hops": {said}}},
		})
		if want == 0 {
			require.Equal(t, domain.RemoteSchemaError, refusal(t, err).Code)
		} else {
			require.NoError(t, err)
		}
		require.EqualValues(t, want, asked.Load(), said)
	}
}

func TestARemoteThatGivesNoAnswerIsToldApart(t *testing.T) {
	f := withRemote(t, `,"timeout_seconds":1`)
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client is gone otherwise
		}
	}
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for _, c := range []struct {
		handler http.HandlerFunc
		code    domain.Code
		message string
	}{
		{answer(200, "<html>hello</html>"), domain.RemoteSchemaError, "Error in $: Failed reading: not a valid json value"},
		{answer(200, `[]`), domain.RemoteSchemaError, "Received invalid JSON value from remote"},
		{answer(200, `{"data":7}`), domain.RemoteSchemaError, "Received invalid JSON value from remote"},
		{answer(200, `{"data":{"other":1}}`), domain.RemoteSchemaError, "expecting key person"},
		{answer(200, `{"data":`+deep+`}`), domain.RemoteSchemaError, "Error in $: Failed reading: not a valid json value"},
		{answer(200, "{\"data\":{\"person\":\"\xff\"}}"), domain.RemoteSchemaError, "Error in $: Failed reading: not a valid json value"},
		{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, domain.Unexpected, "ResponseTimeout"},
		{func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, domain.Unexpected, "NoResponseDataReceived"},
		{func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		}, domain.RemoteSchemaError, "the answer of the remote server is larger than 10485760 bytes: ask for less, or raise --outbound-max-response"},
	} {
		f.server.answerWith(c.handler)
		_, err := f.ask(`{ person(id: 1) { id } author { id } }`, "")
		refused := refusal(t, err)
		require.Equal(t, c.message, refused.Message)
		require.Equal(t, c.code, refused.Code)
		require.Equal(t, "$", refused.Path)
	}
	f.server.answerWith(answer(500, `{"data":{"person":{"id":"a lie"}},"extensions":{"took":1},"errors":[]}`))
	f.answers(`{ person(id: 1) { id } }`, "", `{"data":{"person":{"id":"a lie"}}}`)
	f.server.Close()
	_, err := f.ask(`{ person(id: 1) { id } }`, "")
	require.Equal(t, "ConnectionFailure", refusal(t, err).Message)
}

func TestRemoteServersAreAskedSideBySide(t *testing.T) {
	f := withRemote(t, "")
	other := serveRemote(t, graphqltest.New(`type Query { country: String }`, graphqltest.Object{"country": "India"}, nil))
	f.world = addRemote(t, f.world, "countries", other.URL, "", other.graphql)
	var both sync.WaitGroup
	both.Add(2)
	for _, s := range []*remoteServer{f.server, other} {
		s.answerWith(func(w http.ResponseWriter, _ *http.Request) {
			both.Done()
			both.Wait() // comes to its end only when both are being asked
			if s == other {
				_, _ = w.Write([]byte(`{"data":{"country":"India"}}`)) // the client is gone otherwise
				return
			}
			_, _ = w.Write([]byte(`{"data":{"person":{"id":1}}}`)) // as above
		})
	}
	f.answers(`{ country person(id: 1) { id } }`, "", `{"data":{"country":"India","person":{"id":1}}}`)
}

func TestLimitsAndTheAllowListHoldForFieldsOfRemotes(t *testing.T) {
	f := withRemote(t, "")
	world := func() metadata.World { return f.world }
	f.run = execution.New(f.pool, world, execution.Config{Limits: plan.Limits{MaxDepth: 2, MaxNodes: 4}})
	f.answers(`{ hero { name } person(id: 1) { id } }`, "", `{"data":{"hero":{"name":"R2-D2"},"person":{"id":1}}}`)
	_, err := f.ask(`{ hero { ... on Droid { name } } }`, "")
	require.NoError(t, err, "a fragment is no level")
	_, err = f.ask(`{ hero { name id } person(id: 1) { id name } }`, "")
	require.Contains(t, refusal(t, err).Message, "the operation selects more than 4 fields")
	f.run = execution.New(f.pool, world, execution.Config{Limits: plan.Limits{MaxDepth: 1}})
	_, err = f.ask(`{ hero { name } }`, "")
	require.Contains(t, refusal(t, err).Message, "the operation nests deeper than 1 levels")
	asked := len(f.server.asked)
	f.run = execution.New(f.pool, world, execution.Config{AllowList: execution.AllowList{Mode: execution.AllowListEnforce}})
	_, err = f.ask(`{ hero { name } }`, "")
	require.Equal(t, "query is not allowed", refusal(t, err).Message)
	_, err = f.ask(`mutation { rename(id: 1, name: "x") { id } }`, "")
	require.Equal(t, "query is not allowed", refusal(t, err).Message)
	require.Len(t, f.server.asked, asked, "nobody is asked for what is refused")
}

func TestExplainShowsWhatARemoteWouldBeSent(t *testing.T) {
	f := withRemote(t, "")
	explain := func(query string) string {
		r := execution.ExplainRequest{Request: execution.Request{Session: domain.Session{Role: domain.AdminRole}, Query: plan.Request{
			Query: query, Variables: wire.MustParse(`{"id":1}`)}}}
		body, err := f.run.Explain(t.Context(), r)
		require.NoError(t, err)
		return string(body)
	}
	got := explain(`query($id: Int!) { person(id: $id) { id } author { id } }`)
	require.Contains(t, got, `{"field":"person","sql":null,"plan":null,"remote":{"remote_schema":"people","query":"query ($id: Int!) { person(id: $id) { id  } }","variables":{"id":1}}}`)
	require.Contains(t, got, `{"field":"author","sql":"SELECT`)
	require.Contains(t, explain(`mutation($id: Int!) { rename(id: $id, name: "x") { id } }`), `"query":"mutation ($id: Int!) { rename(id: $id, name: \"x\") { id  } }"`)
	require.Empty(t, f.server.asked)
}

func TestEveryRoleSeesTheTypesOfRemotes(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`{ __type(name: "Character") { kind possibleTypes { name } fields { name type { kind ofType { name } } } } }`, "",
		`{"data":{"__type":{"kind":"INTERFACE","possibleTypes":[{"name":"Droid"},{"name":"Human"}],`+
			`"fields":[{"name":"id","type":{"kind":"NON_NULL","ofType":{"name":"ID"}}},{"name":"name","type":{"kind":"NON_NULL","ofType":{"name":"String"}}}]}}}`)
	f.answers(`{ __type(name: "query_root") { fields { name args { name defaultValue } } } }`, "",
		`{"data":{"__type":{"fields":[{"name":"echo","args":[{"name":"as","defaultValue":"SMALL"},{"name":"in","defaultValue":null}]},`+
			`{"name":"hero","args":[{"name":"episode","defaultValue":"4"}]},{"name":"person","args":[{"name":"id","defaultValue":null},{"name":"tags","defaultValue":null}]}]}}}`)
	require.True(t, slices.Equal(nil, f.server.asked), "introspection asks nobody")
}

func TestOfARemoteNoFieldIsDeprecatedAndNoDirectiveOfItsOwnIsSentToIt(t *testing.T) {
	f := withRemote(t, "")
	f.answers(`{ __type(name: "Droid") { fields { name isDeprecated } } }`, "",
		`{"data":{"__type":{"fields":[{"name":"id","isDeprecated":false},{"name":"name","isDeprecated":false},{"name":"primaryFunction","isDeprecated":false}]}}}`)
	f.answers(`{ person(id: 1) { name @foreign } }`, "", `{"data":{"person":{"name":"jane"}}}`)
	require.NotContains(t, f.server.operations(t)[0], "@")
}
