package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/handlers/execution"
)

// handler is an action's handler, which answers what it is told to; with the
// status 0, nothing.
type handler struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	answer string
	bodies []string
	header http.Header
}

func newHandler(t testing.TB) *handler {
	h := &handler{status: http.StatusOK}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bodies, h.header = append(h.bodies, string(body)), r.Header
		if h.status == 0 {
			hangsUp(w, r)
			return
		}
		w.Header().Set("Set-Cookie", fmt.Sprintf("call=%d", len(h.bodies)))
		w.WriteHeader(h.status)
		_, _ = io.WriteString(w, h.answer)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *handler) says(status int, answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status, h.answer = status, answer
}

func (h *handler) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bodies[len(h.bodies)-1]
}

func (h *handler) calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.bodies)
}

const actionTypes = `{"type":"set_custom_types","args":{
	"scalars":[{"name":"anything"}],
	"enums":[{"name":"mood","values":[{"value":"calm"},{"value":"merry"}]}],
	"input_objects":[{"name":"person","fields":[
		{"name":"name","type":"String!"},{"name":"mood","type":"mood"},{"name":"friends","type":"[person!]"},{"name":"extra","type":"anything"}]}],
	"objects":[{"name":"found","fields":[{"name":"id","type":"Int!"},{"name":"note","type":"anything"}],"relationships":[
		{"name":"artist","type":"object","remote_table":"artist","field_mapping":{"id":"id"}},
		{"name":"albums","type":"array","remote_table":"album","field_mapping":{"id":"artist_id"}}]}]}}`

// actionEngine has the actions greet (a mutation), find_one and find (queries),
// all of one handler.
func actionEngine(t testing.TB, h *handler) *engine {
	return actionEngineWith(t, h, execution.Config{})
}

func actionEngineWith(t testing.TB, h *handler, c execution.Config) *engine {
	e := musicalEngineWith(t, c)
	e.Do(actionTypes)
	action := func(name, definition string) {
		e.Do(fmt.Sprintf(`{"type":"create_action","args":{"name":%q,"definition":{"handler":%q,%s}}}`, name, h.URL+"/"+name, definition))
		e.Do(fmt.Sprintf(`{"type":"create_action_permission","args":{"action":%q,"role":"user"}}`, name))
	}
	action("greet", `"arguments":[{"name":"who","type":"person!"},{"name":"times","type":"Int"},{"name":"ids","type":"[ID]"}],"output_type":"found",`+
		`"headers":[{"name":"Authorization","value":"ours"}],"forward_client_headers":true`)
	action("find_one", `"type":"query","arguments":[],"output_type":"found!"`)
	action("find", `"type":"query","arguments":[{"name":"ids","type":"[uuid!]"}],"output_type":"[found]!"`)
	return e
}

func admin() domain.Session { return domain.Session{Role: domain.AdminRole} }

func member(artist string) domain.Session {
	return domain.Session{Role: "user", Variables: map[string]string{"x-service-role": "user", "x-service-artist": artist}}
}

func TestAHandlerGetsWhatTheClientWrote(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	h.says(200, `{"id":1}`)
	query := `mutation($name: String!, $mood: mood, $who: person!, $x: Int, $any: [Int]) {
		a: greet(who: {name: $name, mood: $mood, friends: {name: "F"}, extra: {deep: [1, calm, $x]}}, times: 2, ids: [7, "8", null]) { id }
		b: greet(who: $who, times: $x) { id __typename }
		c: greet(who: {name: "n", mood: merry, extra: $any}, ids: null) { note }
	}`
	want := []string{
		`{"who":{"name":"N","friends":[{"name":"F"}],"extra":{"deep":[1,"calm",null]}},"times":2,"ids":["7","8",null]}`,
		`{"who":{"name":"W","friends":[{"name":"G","mood":"calm"}]}}`,
		`{"who":{"name":"n","mood":"merry"},"ids":null}`,
	}
	variables := `{"name":"N","who":{"name":"W","friends":[{"name":"G","mood":"calm"}]}}`
	query = strings.Replace(query, "$any: [Int]", "$any: anything", 1)
	for range 2 { // the second is of the kept plan
		h.bodies = nil
		e.answers(admin(), `{"a":{"id":1},"b":{"id":1,"__typename":"found"},"c":{"note":null}}`, query, variables)
		for i, body := range h.bodies {
			require.JSONEq(t, `{"action":{"name":"greet"},"session_variables":{"x-service-role":"admin"},"input":`+want[i]+`}`, body)
		}
	}
	e.answers(member("3"), `{"greet":{"id":1}}`, `mutation($n: String!) { greet(who: {name: $n}) { id } }`, `{"n":"one"}`)
	require.JSONEq(t, `{"action":{"name":"greet"},"session_variables":{"x-service-role":"user","x-service-artist":"3"},"input":{"who":{"name":"one"}}}`, h.last())
	e.answers(member("3"), `{"greet":{"id":1}}`, `mutation($n: String!) { greet(who: {name: $n}) { id } }`, `{"n":"two"}`)
	require.Contains(t, h.last(), `"two"`, "a kept plan holds no value of another request")
}

func TestWhatAnActionCannotTakeIsRefusedBeforeAnybodyIsCalled(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	for query, want := range map[string]string{
		`mutation { greet { id } }`:                                              `$.selectionSet.greet.args.who missing required field "who"`,
		`mutation { greet(who: {}) { id } }`:                                     `$.selectionSet.greet.args.who.name missing required field "name"`,
		`mutation { greet(who: {name: 1}) { id } }`:                              `$.selectionSet.greet.args.who.name expected a string for type "String", but found an integer`,
		`mutation { greet(who: {name: "a", age: 1}) { id } }`:                    `$.selectionSet.greet.args.who.age field "age" not found in type: 'person'`,
		`mutation { greet(who: {name: "a", mood: sad}) { id } }`:                 `$.selectionSet.greet.args.who.mood expected one of the values calm or merry for type "mood", but found "sad"`,
		`mutation { greet(who: {name: "a", friends: [null]}) { id } }`:           `$.selectionSet.greet.args.who.friends[0] expected an object for type "person", but found null`,
		`mutation($n: String) { greet(who: {name: $n}) { id } }`:                 `$.selectionSet.greet.args.who.name variable "n" is declared as String, but used where String! is expected`,
		`mutation($f: [person]) { greet(who: {name: "a", friends: $f}) { id } }`: `$.selectionSet.greet.args.who.friends variable "f" is declared as [person], but used where [person!] is expected`,
		`mutation { greet(who: {name: "a"}, ids: [true]) { id } }`:               `$.selectionSet.greet.args.ids[0] expected a string or an integer for type "ID", but found a boolean`,
		`mutation { greet(who: {name: "a"}) { id age } }`:                        `$.selectionSet.greet.selectionSet.age field "age" not found in type: 'found'`,
		`mutation { greet(who: {name: "a"}) }`:                                   `$.selectionSet.greet missing selection set for "greet"`,
		`mutation { greet(who: {name: "a"}) { id { x } } }`:                      `$.selectionSet.greet.selectionSet.id unexpected subselection set for non-object field`,
		`{ greet(who: {name: "a"}) { id } }`:                                     `$.selectionSet.greet field "greet" not found in type: 'query_root'`,
		`mutation { find { id } }`:                                               `$.selectionSet.find field "find" not found in type: 'mutation_root'`,
		`query { find(ids: "a") { id artist(limit: 1) { name } } }`:              `$.selectionSet.find.selectionSet.artist.args "artist" has no argument named "limit"`,
	} {
		_, err := e.ask(admin(), query, "")
		var refusal *domain.Error
		var placed domain.Error
		switch {
		case errors.As(err, &refusal):
			placed = *refusal
		default:
			require.ErrorAs(t, err, &placed, query)
		}
		if got := placed.Path + " " + placed.Message; !strings.Contains(got, strings.SplitN(want, " ", 2)[1]) {
			t.Errorf("%s\nwanted %s\ngot    %s", query, want, got)
		}
	}
	_, err := e.ask(domain.Session{Role: "stranger"}, `{ find { id } }`, "")
	require.ErrorContains(t, err, `"find" not found`)
	require.Zero(t, h.calls())
}

func TestRowsAreJoinedToWhatAHandlerAnsweredUnderTheRolesPermissions(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist (id, name) values (901, 'A'), (902, 'B'); insert into album (id, title, artist_id) values (801, 'x', 901), (802, 'y', 901), (803, 'z', 902)"}}`)
	h.says(200, ` [ {"id": 901, "note": {"a": [1, 2.50]}}, {"id": "902"}, {"id": 7}, {"id": 901} ] `)
	const query = `{ find { id note artist { name albums(order_by: {id: desc}) { title } } albums(order_by: {id: asc}) { title } } ok: artist(where: {id: {_eq: 902}}) { name } }`
	e.answers(admin(), `{"find":[`+
		`{"id":901,"note":{"a":[1,2.50]},"artist":{"name":"A","albums":[{"title":"y"},{"title":"x"}]},"albums":[{"title":"x"},{"title":"y"}]},`+
		`{"id":"902","note":null,"artist":{"name":"B","albums":[{"title":"z"}]},"albums":[{"title":"z"}]},`+
		`{"id":7,"note":null,"artist":null,"albums":[]},`+
		`{"id":901,"note":null,"artist":{"name":"A","albums":[{"title":"y"},{"title":"x"}]},"albums":[{"title":"x"},{"title":"y"}]}],`+
		`"ok":[{"name":"B"}]}`, query, "")
	e.answers(member("902"), `{"find":[{"artist":null,"albums":[]},{"artist":{"name":"B"},"albums":[{"title":"z"}]},{"artist":null,"albums":[]},{"artist":null,"albums":[]}]}`,
		`{ find { artist { name } albums { title } } }`, "")

	h.says(200, `{"id":902}`)
	e.answers(admin(), `{"insert_artist_one":{"name":"new"},"greet":{"artist":{"name":"B"},"albums":[{"title":"z"}]}}`,
		`mutation { insert_artist_one(object: {id: 903, name: "new"}) { name } greet(who: {name: "a"}) { artist { name } albums { title } } }`, "")

	h.says(200, `{"id":"no number"}`)
	_, err := e.ask(admin(), `{ find_one { artist { name } } }`, "")
	require.ErrorContains(t, err, "invalid input syntax")
}

func TestManyObjectsOfAnAnswerAreJoinedByOneStatement(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist (id, name) select g, 'a' || g from generate_series(1001, 3000) g"}}`)
	var answer, want strings.Builder
	for i := 1001; i <= 3000; i++ {
		fmt.Fprintf(&answer, `,{"id":%d}`, i)
		fmt.Fprintf(&want, `,{"artist":{"name":"a%d"}}`, i)
	}
	h.says(200, "["+answer.String()[1:]+"]")
	e.answers(admin(), `{"find":[`+want.String()[1:]+`]}`, `{ find { artist { name } } }`, "")
	items := e.explains(admin(), `{ find { artist { name } } }`, "")
	require.Equal(t, 1, strings.Count(*items[0].SQL, "unnest("))
	require.NotContains(t, *items[0].SQL, ";", "one statement")
}

func TestAnAnswerThatIsNotAsTheActionSaysIsRefusedInTheWordsOfV1(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	for _, c := range []struct {
		status        int
		answer, query string
		code, message string
		internal      string
	}{
		{200, `[{"id":1}]`, `{ find_one { id } }`, "unexpected", "expecting object for action webhook response but got array", `"unexpected response"`},
		{200, `{"id":1}`, `{ find { id } }`, "unexpected", "expecting array for action webhook response but got object", `"unexpected response"`},
		{200, `"text"`, `{ find_one { id } }`, "parse-failed", "expecting object or array of objects for action webhook response", `"unexpected response"`},
		{200, `null`, `{ find { id } }`, "parse-failed", "expecting object or array of objects for action webhook response", `"unexpected response"`},
		{200, `[1]`, `{ find { id } }`, "parse-failed", "expecting object or array of objects for action webhook response", `"unexpected response"`},
		{200, `[null]`, `{ find { id } }`, "parse-failed", "expecting object or array of objects for action webhook response", `"unexpected response"`},
		{200, `{"id":1,"zeta":1,"age":2}`, `{ find_one { id } }`, "unexpected", "unexpected fields in webhook response: age, zeta", `"unexpected response"`},
		{200, `{"note":1}`, `{ find_one { id } }`, "unexpected", `field "id" expected in webhook response, but not found`, `"unexpected response"`},
		{201, `{"id":null}`, `{ find_one { id } }`, "unexpected", `expecting not null value for field "id"`, `"unexpected response"`},
		{400, `{"message":"no","code":"mine"}`, `{ find_one { id } }`, "mine", "no", ""},
		{422, `{"message":"no","extensions":{"code":"inner"}}`, `{ find_one { id } }`, "unexpected", "no", ""},
		{404, `{"message":"no"}`, `{ find_one { id } }`, "unexpected", "no", ""},
		{404, `{"error":"no"}`, `{ find_one { id } }`, "parse-failed", `the key message was not present`, `"unexpected response"`},
		{404, `["no"]`, `{ find_one { id } }`, "parse-failed", `expected Object`, `"unexpected response"`},
		{404, `{"message":7}`, `{ find_one { id } }`, "parse-failed", `expected String`, `"unexpected response"`},
		{404, `{"message":"no","code":7}`, `{ find_one { id } }`, "parse-failed", `expected String`, `"unexpected response"`},
		{500, `{"message":"no"}`, `{ find_one { id } }`, "unexpected", "internal error", `"expecting 2xx or 4xx status code, but found 500"`},
		{302, `{}`, `{ find_one { id } }`, "unexpected", "internal error", `"expecting 2xx or 4xx status code, but found 302"`},
		{200, `<html>`, `{ find_one { id } }`, "unexpected", "not a valid json response from webhook", `invalid json: `},
		{500, ``, `{ find_one { id } }`, "unexpected", "not a valid json response from webhook", `invalid json: `},
	} {
		h.says(c.status, c.answer)
		_, err := e.ask(admin(), c.query, "")
		var refusal *domain.Error
		require.ErrorAs(t, err, &refusal, c.answer)
		require.Equal(t, c.code, string(refusal.Code), c.answer)
		require.Contains(t, refusal.Message, c.message, c.answer)
		require.Equal(t, "$", refusal.Path)
		if c.internal == "" {
			require.Nil(t, refusal.Internal, c.answer)
			continue
		}
		require.Contains(t, string(refusal.Internal), c.internal, c.answer)
		var internal struct {
			Request struct {
				URL     string
				Headers []json.RawMessage
			}
			Response struct{ Status int }
		}
		require.NoError(t, json.Unmarshal(refusal.Internal, &internal))
		require.Equal(t, c.status, internal.Response.Status)
		require.Contains(t, internal.Request.URL, h.URL)
		require.Empty(t, internal.Request.Headers)
	}
}

func TestTheHandlersOfAnOperationAreCalledWhenItIsBegun(t *testing.T) {
	h := newHandler(t)
	var called []execution.HandlerAnswered
	e := actionEngineWith(t, h, execution.Config{Called: func(_ context.Context, a execution.HandlerAnswered) { called = append(called, a) }})
	begin := func() (execution.Begun, error) {
		return e.run.Begin(t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: `{ find_one { id } }`}})
	}
	h.says(409, `{"message":"not now"}`)
	_, err := begin()
	var refused *execution.HandlerRefusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 409, refused.Status)

	h.says(200, `{"id":1}`)
	begun, err := begin()
	require.NoError(t, err)
	require.Equal(t, 2, h.calls())
	body, err := begun.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"data":{"find_one":{"id":1}}}`, string(body))
	require.Equal(t, 2, h.calls(), "it is not called again")
	require.Equal(t, execution.HandlerAnswered{Action: "find_one", RequestSize: len(h.last()), ResponseSize: len(`{"id":1}`)}, called[1])
}

func TestAHandlerThatDoesNotAnswerIsTold(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	gone := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then is the end of the client noticed
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(slow.Close)
	e.Do(fmt.Sprintf(`{"type":"update_action","args":{"name":"find_one","definition":{"handler":%q,"type":"query","output_type":"found","timeout":1}}}`, slow.URL))
	_, err := e.ask(admin(), `{ find_one { id } }`, "")
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.True(t, refusal.Fault)
	require.Equal(t, "http exception when calling webhook", refusal.Message)
	require.Contains(t, string(refusal.Internal), `"error":{"type":"http_exception","message":"ResponseTimeout"}`)
	require.Contains(t, string(refusal.Internal), `"response":null`)
	<-gone

	h.Close()
	_, err = e.ask(admin(), `{ find { id } }`, "")
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, string(refusal.Internal), "ConnectionFailure")
}

func TestTheHandlersOfAQueryAreCalledSideBySideAndThoseOfAMutationInTurn(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	var inside, most atomic.Int32
	both := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := inside.Add(1)
		defer inside.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if r.URL.Path == "/meet" {
			if n == 2 {
				close(both)
			}
			<-both
		}
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	t.Cleanup(server.Close)
	update := func(name, path, kind string) {
		e.Do(fmt.Sprintf(`{"type":"update_action","args":{"name":%q,"definition":{"handler":%q,"type":%q,"output_type":"found"}}}`, name, server.URL+path, kind))
	}
	update("find_one", "/meet", "query")
	e.answers(admin(), `{"a":{"id":1},"b":{"id":1}}`, `{ a: find_one { id } b: find_one { id } }`, "")
	require.EqualValues(t, 2, most.Load())
	most.Store(0)
	update("greet", "/turn", "mutation")
	e.answers(admin(), `{"a":{"id":1},"b":{"id":1}}`, `mutation { a: greet { id } b: greet { id } }`, "")
	require.EqualValues(t, 1, most.Load())
}

func TestAFailingHandlerKeepsTheRestOfAMutationFromHappening(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	h.says(400, `{"message":"no"}`)
	_, err := e.ask(admin(), `mutation { insert_artist_one(object: {id: 77, name: "never"}) { id } greet(who: {name: "a"}) { id } }`, "")
	require.ErrorContains(t, err, "no")
	e.answers(admin(), `{"artist":[]}`, `{ artist(where: {id: {_eq: 77}}) { id } }`, "")
}

func TestAHandlerThatMayHaveDoneWhatAMutationAsksIsNotAskedAgain(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	calls := func(query string) int {
		h.says(200, `{"id":1}`)
		_, err := e.ask(admin(), query, "")
		require.NoError(t, err)
		before := h.calls()
		h.says(0, "")
		_, err = e.ask(admin(), query, "") // over the connection that was kept
		require.Error(t, err)
		return h.calls() - before
	}
	require.Equal(t, 1, calls(`mutation { greet(who: {name: "a"}) { id } }`))
	require.Equal(t, 2, calls(`{ find_one { id } }`))
}

func TestHeadersGoBothWaysAsTheActionSays(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	h.says(200, `{"id":1}`)
	heard := http.Header{}
	client := execution.Client{Header: http.Header{"Authorization": {"theirs"}, "X-Request-Id": {"9"}, "X-Hasura-Admin-Secret": {"s"}}, Host: "h", Answer: heard}
	ask := func(query string) {
		t.Helper()
		_, err := e.run.Run(t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: query}, Client: client})
		require.NoError(t, err)
	}
	ask(`mutation { a: greet(who: {name: "a"}) { id } b: greet(who: {name: "a"}) { id } }`)
	require.Equal(t, []string{"ours"}, h.header.Values("Authorization"))
	require.Equal(t, "9", h.header.Get("X-Request-Id"))
	require.Equal(t, "application/json", h.header.Get("Content-Type"))
	require.Empty(t, h.header.Get("X-Hasura-Admin-Secret"))
	require.Regexp(t, "^[0-9a-f]{16}$", h.header.Get("X-B3-TraceId"))
	require.Equal(t, []string{"call=1", "call=2"}, heard.Values("Set-Cookie"))
	ask(`{ find_one { id } }`)
	require.Empty(t, h.header.Get("Authorization"), "this action forwards nothing")
}

func TestAHandlerGetsSessionVariablesInTheSpellingThatIsSet(t *testing.T) {
	call := execution.ActionCall{Name: "find", Session: member("3"), Input: json.RawMessage(`{}`), Prefix: domain.AliasPrefix}
	require.JSONEq(t, `{"action":{"name":"find"},"session_variables":{"x-hasura-role":"user","x-hasura-artist":"3"},"input":{}}`, string(call.Body()))
}

func TestExplainShowsTheCallOfAnActionAndCallsNobody(t *testing.T) {
	h := newHandler(t)
	e := actionEngine(t, h)
	text, err := e.run.Explain(t.Context(), execution.ExplainRequest{Request: execution.Request{Session: admin(), Query: plan.Request{
		Query: `{ artist { id } find_one { id artist { name } } }`,
	}}})
	require.NoError(t, err)
	require.Contains(t, string(text), `"field":"find_one"`)
	require.Contains(t, string(text), `"action":{"name":"find_one","handler":"`+h.URL+`/find_one","timeout":30,"asynchronous":false,`+
		`"request":{"action":{"name":"find_one"},"input":{},"session_variables":{"x-service-role":"admin"}}}`)
	text, err = e.run.Explain(t.Context(), execution.ExplainRequest{Request: execution.Request{Session: admin(), Query: plan.Request{
		Query: `mutation { greet(who: {name: "a"}) { id } delete_artist(where: {id: {_eq: -1}}) { affected_rows } }`,
	}}})
	require.NoError(t, err)
	require.Contains(t, string(text), `"action":{"name":"greet"`)
	require.Zero(t, h.calls())
}
