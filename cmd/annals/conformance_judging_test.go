package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is judged equal and what is not, without a server.

func yamlValue(t *testing.T, source string) any {
	t.Helper()
	value, err := parseYAML([]byte(source))
	require.NoError(t, err)
	return value
}

func jsonValue(t *testing.T, source string) any {
	t.Helper()
	value, err := parseJSON([]byte(source))
	require.NoError(t, err)
	return value
}

func graphQL(query string) any { return makeObject("query", query) }

func TestYAMLKeepsItsOwnTypesAndTheOrderOfItsKeys(t *testing.T) {
	value := yamlValue(t, "b: 1\na: '1'\nc: [true, 'true', null, 1.50, 0x10]\n2: x\nd:\n")
	assert.Equal(t, `{"b":1,"a":"1","c":[true,"true",null,1.50,16],"2":"x","d":null}`, string(toJSON(value)))
}

func TestYAMLMergesAndAliasesAreResolved(t *testing.T) {
	value := yamlValue(t, "base: &base {x: 1, y: 2}\nuse:\n  <<: *base\n  y: 3\nlist: [*base]\n")
	want := `{"base":{"x":1,"y":2},"use":{"x":1,"y":3},"list":[{"x":1,"y":2}]}`
	assert.Equal(t, canonical(jsonValue(t, want), nil), canonical(value, nil))
}

func TestJSONWithRepeatedKeysIsNoAnswer(t *testing.T) {
	_, err := parseJSON([]byte(`{"a":1,"a":1}`))
	assert.Error(t, err)
}

func TestJSONWithATailIsNoAnswer(t *testing.T) {
	_, err := parseJSON([]byte(`{} {}`))
	assert.Error(t, err)
}

func TestBodiesAreComparedWhole(t *testing.T) {
	tests := []struct {
		name      string
		want, got string
		equal     bool
	}{
		{"the same", `{"a":[1,"x",null,true]}`, `{"a":[1,"x",null,true]}`, true},
		{"an extra key", `{"a":1}`, `{"a":1,"b":2}`, false},
		{"a missing key", `{"a":1,"b":null}`, `{"a":1}`, false},
		{"another order of a list", `[1,2]`, `[2,1]`, false},
		{"another order of keys", `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"1 and 1.0", `[1, 1.50, 100]`, `[1.0, 1.5, 1e2]`, true},
		{"a number and its text", `1`, `"1"`, false},
		{"a digit far behind", `0.1000000000001`, `0.1`, false},
		{"a digit that no double holds", `0.70710678118654752440`, `0.7071067811865476`, true},
		{"a large whole number", `9007199254740993`, `9007199254740992`, false},
		{"the internal part of an error", `{"error":"x","internal":{"a":1}}`, `{"error":"x","internal":{"a":2}}`, false},
		{"both spellings in a value", `"not found: \"x-hasura-user-id\""`, `"not found: \"x-service-user-id\""`, true},
		{"both spellings in a key", `{"X-Hasura-Role":1}`, `{"X-Service-Role":1}`, true},
		{"both spellings of a variable", `"HASURA_GRAPHQL_JWT_SECRET"`, `"SERVICE_GRAPHQL_JWT_SECRET"`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := judge("/v1/query", nil, jsonValue(t, test.want), jsonValue(t, test.got))
			assert.Equal(t, test.equal, err == nil, "%v", err)
		})
	}
}

func TestKeyOrderCountsInSelectedObjectsOnly(t *testing.T) {
	const (
		plain    = `query { author { id name details } article { id } }`
		want     = `{"data":{"author":[{"id":1,"name":"x","details":{"a":1,"b":2}}],"article":[]}}`
		swapped  = `{"data":{"author":[{"name":"x","id":1,"details":{"a":1,"b":2}}],"article":[]}}`
		topLevel = `{"data":{"article":[],"author":[{"id":1,"name":"x","details":{"a":1,"b":2}}]}}`
		leaf     = `{"data":{"author":[{"id":1,"name":"x","details":{"b":2,"a":1}}],"article":[]}}`
	)
	tests := []struct {
		name, url, query, want, got string
		equal                       bool
	}{
		{"the same order", "/v1/graphql", plain, want, want, true},
		{"swapped keys of an object", "/v1/graphql", plain, want, swapped, false},
		{"swapped fields of the root", "/v1/graphql", plain, want, topLevel, false},
		{"swapped keys inside a json column", "/v1/graphql", plain, want, leaf, true},
		{"another address of GraphQL", "/v1beta1/relay", plain, want, swapped, false},
		{"another API", "/v1/query", plain, want, swapped, true},
		{"an alias", "/v1/graphql", `{ author { id name: title details } article { id } }`, want, swapped, true},
		{"a fragment", "/v1/graphql", `{ author { ...f } article { id } } fragment f on author { id name details }`, want, swapped, true},
		{"an inline fragment", "/v1/graphql", `{ author { id ... on author { name details } } article { id } }`, want, swapped, true},
		{"two operations", "/v1/graphql", `query a { author { id name } } query b { article { id } }`, want, swapped, true},
		{"text that is no GraphQL", "/v1/graphql", `{ author {`, want, swapped, true},
		{"a field that is selected twice", "/v1/graphql", `{ author { id } author { name details } article { id } }`, want, swapped, false},
		{"the order of the selection, which the expected body lacks", "/v1/graphql", `{ author { name id details } article { id } }`, want, swapped, true},
		{"neither order", "/v1/graphql", `{ author { name id details } article { id } }`, want,
			`{"data":{"author":[{"details":{"a":1,"b":2},"name":"x","id":1}],"article":[]}}`, false},
		{"errors", "/v1/graphql", plain,
			`{"errors":[{"message":"x","extensions":{"path":"$","code":"c"}}]}`,
			`{"errors":[{"extensions":{"code":"c","path":"$"},"message":"x"}]}`, true},
		{"the top level", "/v1/graphql", `{ a }`, `{"data":{"a":1},"errors":[]}`, `{"errors":[],"data":{"a":1}}`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := judge(test.url, graphQL(test.query), jsonValue(t, test.want), jsonValue(t, test.got))
			assert.Equal(t, test.equal, err == nil, "%v", err)
		})
	}
}

func TestExplainIsComparedByTheFirstStatementOnly(t *testing.T) {
	want := jsonValue(t, `[{"field":"a","sql":"SELECT 1","plan":["Result"]}]`)
	same := jsonValue(t, `[{"field":"a","sql":"SELECT 1","plan":["Seq Scan"]}]`)
	other := jsonValue(t, `[{"field":"a","sql":"SELECT 2","plan":["Result"]}]`)
	assert.NoError(t, judge("/v1/graphql/explain", nil, want, same))
	assert.Error(t, judge("/v1/graphql/explain", nil, want, other))
	assert.Error(t, judge("/v1/graphql/explain", nil, want, jsonValue(t, `{}`)))
}

func TestAQueryBecomesASubscriptionOnTheSameFields(t *testing.T) {
	got, err := asSubscription(makeObject("query", "query {\n  author { id }\n}", "variables", newObject()))
	require.NoError(t, err)
	want := `{"query":"subscription @_multiple_top_level_fields {\n  author { id }\n}","variables":{}}`
	assert.Equal(t, canonical(jsonValue(t, want), nil), canonical(got, nil))
}

func TestSettingsAreSpelledAsVariablesAndAsFlags(t *testing.T) {
	open, locked := launch{}, launch{}
	open.with(modes()[0], settings("only with enabled-apis=graphql"))
	locked.with(modes()[1], settings("only with enabled-apis=graphql"))
	assert.Equal(t, []string{"SERVICE_GRAPHQL_ENABLED_APIS=graphql"}, open.environment)
	assert.Empty(t, open.flags)
	assert.Equal(t, []string{"--admin-secret", rightSecret, "--enabled-apis", "graphql"}, locked.flags)
	assert.Empty(t, locked.environment)
}

func TestTheListOfKnownFailuresOnlyShrinks(t *testing.T) {
	known, err := parseKnown("# why\n\na::b[http]\tno engine yet\nfeature:f\tno ground\n")
	require.NoError(t, err)
	assert.NoError(t, known.settle("a::b[http]", assert.AnError), "a known failure")
	assert.NoError(t, known.settle("a::c[http]", nil), "a case that passes")
	assert.ErrorIs(t, known.settle("a::c[http]", assert.AnError), assert.AnError, "an unknown failure")
	assert.ErrorContains(t, known.settle("a::b[http]", nil), "remove this line")

	indexed := []caseClass{{cases: []indexedCase{{feature: "f", class: "a", name: "c", transports: []string{"http"}}}}}
	assert.Equal(t, []string{"a::b[http]"}, known.strangers(indexed))
}

func TestAKnownFailureWithoutAReasonIsRefused(t *testing.T) {
	for _, source := range []string{"a::b[http]", "a::b[http]\t ", "a\tx\na\ty"} {
		_, err := parseKnown(source)
		assert.Error(t, err, "%q", source)
	}
}

// A speaker answers each request with the next of its answers, and the
// audit with a log that grows by what it is told to have recorded.
type speaker struct {
	asked    []http.Header
	statuses []int
	bodies   []string
	records  bool
}

func (s *speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/audit/events" {
		recorded := 0
		if s.records {
			recorded = len(s.asked)
		}
		_, _ = w.Write(toJSON(makeObject("events", []any{}, "next", string(rune('a'+recorded)))))
		return
	}
	at := len(s.asked)
	s.asked = append(s.asked, r.Header)
	w.WriteHeader(s.statuses[at])
	_, _ = w.Write([]byte(s.bodies[at]))
}

func (s *speaker) client(t *testing.T, m mode) *client {
	t.Helper()
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	return newClient(listening.URL, m)
}

func TestACaseIsRefusedWithoutTheSecretAndThenAsked(t *testing.T) {
	const no, yes = `{"path":"$","error":"no","code":"access-denied"}`, `{"message":"success"}`
	r := request{url: "/v1/query", status: 200, query: newObject(), want: jsonValue(t, yes), judged: true}
	s := &speaker{statuses: []int{401, 401, 200}, bodies: []string{no, no, yes}}
	require.NoError(t, s.client(t, modes()[1]).check(t.Context(), r, "normal"))

	sent := []string{}
	for _, header := range s.asked {
		sent = append(sent, header.Get(adminSecretHeader))
	}
	assert.Equal(t, []string{"", wrongSecret, rightSecret}, sent)
}

func TestACaseFailsWhenTheServerAnswersAStranger(t *testing.T) {
	const no, yes = `{"path":"$","error":"no","code":"access-denied"}`, `{"message":"success"}`
	tests := []struct {
		name    string
		url     string
		speaker speaker
	}{
		{"the request is taken without a secret", "/v1/query",
			speaker{statuses: []int{200, 401, 200}, bodies: []string{yes, no, yes}}},
		{"the request is taken with a wrong secret", "/v1/query",
			speaker{statuses: []int{401, 200, 200}, bodies: []string{no, yes, yes}}},
		{"a refused request is recorded", "/v1/query",
			speaker{statuses: []int{401, 401, 200}, bodies: []string{no, no, yes}, records: true}},
		{"GraphQL refuses with another status than 200", "/v1/graphql",
			speaker{statuses: []int{401, 401, 200}, bodies: []string{no, no, yes}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request{url: test.url, status: 200, query: newObject()}
			assert.Error(t, test.speaker.client(t, modes()[1]).check(t.Context(), r, "normal"))
		})
	}
}

func TestABareListExpectedOfRunSQLIsItsRowsWithoutTheHeading(t *testing.T) {
	wanted := yamlValue(t, `{url: /v1/query, query: {type: run_sql, args: {sql: select 1}}, response: []}`)
	r, err := newRequest(wanted)
	require.NoError(t, err)
	for body, fine := range map[string]bool{
		`{"result_type":"TuplesOk","result":[["a"]]}`:       true,
		`{"result_type":"TuplesOk","result":[["a"],["1"]]}`: false,
		`{"result_type":"CommandOk","result":null}`:         false,
	} {
		assert.Equal(t, fine, r.judge(answer{status: 200, body: jsonValue(t, body)}) == nil, body)
	}
}

func TestACaseWithoutAnExpectedBodyIsJudgedByItsStatus(t *testing.T) {
	r := request{url: "/v1/query", status: 400, query: newObject()}
	s := &speaker{statuses: []int{400, 200}, bodies: []string{`{"any":"thing"}`, `{"any":"thing"}`}}
	asking := s.client(t, modes()[0])
	assert.NoError(t, asking.check(t.Context(), r, "normal"))
	assert.ErrorContains(t, asking.check(t.Context(), r, "normal"), "wanted status 400, got 200")
}

// A partner answers each message of a websocket as its script says: the
// messages in the order they come, each with what is sent back.
type partner struct {
	t      *testing.T
	script []scripted
}

type scripted struct{ wants, sends string }

func (p partner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{subProtocol}})
	if !assert.NoError(p.t, err) {
		return
	}
	defer conn.CloseNow()
	for _, line := range p.script {
		_, got, err := conn.Read(r.Context())
		if err != nil {
			return // the client has given up
		}
		assert.JSONEq(p.t, line.wants, string(got))
		for message := range strings.Lines(line.sends) {
			assert.NoError(p.t, conn.Write(r.Context(), websocket.MessageText, []byte(message)))
		}
	}
}

func socketTo(t *testing.T, script []scripted) *socket {
	t.Helper()
	listening := httptest.NewServer(partner{t, script})
	t.Cleanup(listening.Close)
	s, err := dialSocket(t.Context(), listening.URL)
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

func TestAQueryOverAWebsocketWantsDataThenComplete(t *testing.T) {
	const start = `{"id":"1","type":"start","payload":{"query":"query { a }"}}`
	init := scripted{`{"type":"connection_init","payload":{}}`, `{"type":"connection_ack"}` + "\n" + `{"type":"ka"}`}
	tests := []struct {
		name, sends string
		fine        bool
	}{
		{"data, then complete", `{"type":"data","id":"1","payload":{"data":{"a":1}}}
			{"type":"ka"}
			{"type":"complete","id":"1"}`, true},
		{"other data", `{"type":"data","id":"1","payload":{"data":{"a":2}}}
			{"type":"complete","id":"1"}`, false},
		{"data of another operation", `{"type":"data","id":"2","payload":{"data":{"a":1}}}
			{"type":"complete","id":"2"}`, false},
		{"data twice", `{"type":"data","id":"1","payload":{"data":{"a":1}}}
			{"type":"data","id":"1","payload":{"data":{"a":1}}}`, false},
		{"an error that is not expected", `{"type":"error","id":"1","payload":{"errors":[]}}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := socketTo(t, []scripted{init, {start, test.sends}})
			r := request{url: "/v1/graphql", query: graphQL("query { a }"), want: jsonValue(t, `{"data":{"a":1}}`), judged: true}
			err := s.query(t.Context(), r)
			assert.Equal(t, test.fine, err == nil, "%v", err)
		})
	}
}

func TestAnExpectedErrorOverAWebsocketMayComeAsAnError(t *testing.T) {
	s := socketTo(t, []scripted{
		{`{"type":"connection_init","payload":{"headers":{"X-Hasura-Role":"user"}}}`, `{"type":"connection_ack"}`},
		{`{"id":"1","type":"start","payload":{"query":"query { a }"}}`, `{"type":"error","id":"1","payload":{"errors":[]}}` + "\n" + `{"type":"complete","id":"1"}`},
	})
	r := request{
		url: "/v1/graphql", headers: map[string]string{"X-Hasura-Role": "user"},
		query: graphQL("query { a }"), want: jsonValue(t, `{"errors":[]}`), judged: true,
	}
	assert.NoError(t, s.query(t.Context(), r))
}

func TestAStoppedSubscriptionStaysSilent(t *testing.T) {
	const (
		data = `{"type":"data","id":"1","payload":{"data":{"a":1}}}`
		ack  = `{"type":"connection_ack"}`
	)
	for late, fine := range map[string]bool{"": true, data + "\n": false} {
		s := socketTo(t, []scripted{
			{`{"type":"connection_init","payload":{}}`, ack},
			{`{"id":"1","type":"start","payload":{"query":"subscription @_multiple_top_level_fields { a }"}}`, data},
			{`{"id":"1","type":"stop"}`, ""},
			{`{"type":"connection_init","payload":{}}`, late + ack},
		})
		r := request{url: "/v1/graphql", query: graphQL("query { a }"), want: jsonValue(t, `{"data":{"a":1}}`), judged: true}
		err := s.subscribe(t.Context(), r)
		assert.Equal(t, fine, err == nil, "%v", err)
	}
}
