package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain/graphql/graphqltest"
	"annals/migrations/pgtest"
)

// settleLimit is how long a test waits for what a server does on its own.
const settleLimit = 60 * time.Second

// A station is one server of the built program, which a test kills and starts again.
type station struct {
	t      *testing.T
	launch launch
	*server
}

func newStation(t *testing.T, flags ...string) *station {
	s := &station{t: t, launch: launch{program: buildAnnals(t), database: pgtest.Empty(t), flags: flags}}
	s.up()
	t.Cleanup(func() { s.kill() })
	return s
}

func (s *station) up() {
	s.t.Helper()
	var err error
	s.server, err = s.launch.start(s.t.Context())
	require.NoError(s.t, err)
}

// send posts a body and returns the answer, whatever it is.
func (s *station) send(path, body string, headers ...string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(text)
}

// call makes a call of the metadata API that must succeed.
func (s *station) call(body string) {
	s.t.Helper()
	status, answer := s.send("/v1/query", body)
	require.Equal(s.t, http.StatusOK, status, "%s\n%s", body, answer)
}

// graphql asks an operation, with variables as JSON.
func (s *station) graphql(query, variables string, headers ...string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": json.RawMessage(variables)})
	require.NoError(s.t, err)
	_, answer := s.send("/v1/graphql", string(body), headers...)
	return answer
}

func (s *station) fetch(path string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(s.t, err)
	return string(send(s.t, r))
}

// eventually asks until the answer is the wanted one.
func (s *station) eventually(want string, ask func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), settleLimit)
	defer cancel()
	for got := ask(); !strings.Contains(got, want); got = ask() {
		if !waited(ctx, 20*time.Millisecond) {
			require.Contains(s.t, got, want)
		}
	}
}

// serveGraphQL serves on an address, which may be one that was served on before.
func serveGraphQL(t *testing.T, address string, g *graphqltest.Server) (stop func(), at string) {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)  // what is missing is no operation
		_, _ = w.Write(g.Answer(body)) // the client is gone otherwise
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return func() { _ = server.Close() }, listener.Addr().String()
}

func TestANodeStartsAndServesWhileARemoteServerIsAway(t *testing.T) {
	t.Parallel()
	weather := graphqltest.New(`type Query { sky(at: Int): String }`, graphqltest.Object{"sky": "blue"}, nil)
	leave, address := serveGraphQL(t, "127.0.0.1:0", weather)
	s := newStation(t)
	s.call(`{"type":"run_sql","args":{"sql":"create table town (id int primary key); insert into town values (1)"}}`)
	s.call(`{"type":"track_table","args":"town"}`)
	s.call(`{"type":"add_remote_schema","args":{"name":"weather","definition":{"url":"http://` + address + `"}}}`)
	s.call(`{"type":"create_remote_relationship","args":{"name":"sky","table":"town","hasura_fields":["id"],"remote_schema":"weather","remote_field":{"sky":{"arguments":{"at":"$id"}}}}}`)
	require.Equal(t, `{"data":{"sky":"blue","town":[{"sky":"blue"}]}}`, s.graphql(`{ sky town { sky } }`, "null"))

	leave()
	s.kill()
	s.up()
	require.Equal(t, `{"data":{"town":[{"id":1}]}}`, s.graphql(`{ town { id } }`, "null"), "the rest is served")
	require.Contains(t, s.graphql(`{ __type(name: "query_root") { fields { name } } }`, "null"), `{"name":"sky"}`, "the schema is the one it had")
	require.Contains(t, s.graphql(`{ sky }`, "null"), `"message":"ConnectionFailure`)
	require.Contains(t, s.graphql(`{ town { sky } }`, "null"), `"code":"unexpected"`)
	_, inconsistent := s.send("/v1/query", `{"type":"get_inconsistent_metadata","args":{}}`)
	require.Contains(t, inconsistent, `"is_consistent":true`)
	s.eventually(`"remote_schemas_away":1`, func() string { return s.fetch("/readyz") })
	require.Regexp(t, `annals_remote_schema_age_seconds\{remote_schema="weather"\} [0-9]`, s.fetch("/metrics"))
	require.Contains(t, s.fetch("/metrics"), `annals_remote_schema_away{remote_schema="weather"} 1`)
	status, refused := s.send("/v1/query", `{"type":"reload_remote_schema","args":{"name":"weather"}}`)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, refused, "cannot continue due to newly found inconsistent metadata")

	leave, _ = serveGraphQL(t, address, graphqltest.New(`type Query { sky(at: Int): String  wind: Int }`, graphqltest.Object{"sky": "grey", "wind": 7}, nil))
	defer leave()
	require.Equal(t, `{"data":{"sky":"grey","town":[{"sky":"grey"}]}}`, s.graphql(`{ sky town { sky } }`, "null"))
	s.eventually(`"remote_schemas_away":0`, func() string { return s.fetch("/readyz") })
	require.Contains(t, s.fetch("/metrics"), `annals_remote_schema_changed{remote_schema="weather"} 1`)
	require.Contains(t, s.graphql(`{ wind }`, "null"), `field \"wind\" not found`)
	s.call(`{"type":"reload_remote_schema","args":{"name":"weather"}}`)
	require.Equal(t, `{"data":{"wind":7}}`, s.graphql(`{ wind }`, "null"))
	require.Contains(t, s.fetch("/v1/audit/events?limit=1"), `reload_remote_schema`)
	history := s.fetch("/v1/audit/objects/remote_schema/weather/history")
	require.Contains(t, history, `"reload_remote_schema"`)
}

// TestTheCallOfAnActionOutlivesItsNode kills a node with SIGKILL while a handler
// works for an asynchronous action: the next one has it called again.
func TestTheCallOfAnActionOutlivesItsNode(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	called, held := make(chan struct{}), make(chan struct{})
	hook := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body) // what is missing changes the answer
		if calls.Add(1) == 1 {
			close(called)
			<-held
			return
		}
		_, _ = fmt.Fprintf(w, `{"id":%d}`, body.Len())
	})}
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = hook.Serve(listener) }() // ends with Close
	defer hook.Close()
	defer close(held)

	s := newStation(t, "--events-lease-margin", "1s")
	s.call(`{"type":"set_custom_types","args":{"objects":[{"name":"thing","fields":[{"name":"id","type":"Int!"}]}]}}`)
	s.call(`{"type":"create_action","args":{"name":"later","definition":{"kind":"asynchronous","timeout":5,"output_type":"thing","handler":"http://` + listener.Addr().String() + `"}}}`)
	var answer struct{ Data struct{ Later string } }
	require.NoError(t, json.Unmarshal([]byte(s.graphql(`mutation { later }`, "null")), &answer))
	result := func() string {
		return s.graphql(`query($id: uuid!) { later(id: $id) { errors output { id } } }`, `{"id":"`+answer.Data.Later+`"}`)
	}
	<-called
	s.kill()
	s.up()
	require.Equal(t, `{"data":{"later":{"errors":null,"output":null}}}`, result())
	s.eventually(`{"data":{"later":{"errors":null,"output":{"id":`, result)
	require.EqualValues(t, 2, calls.Load())
	s.eventually(`"state":"delivered"`, func() string { return s.fetch("/v1/audit/deliveries/" + answer.Data.Later) })
	story := s.fetch("/v1/audit/deliveries/" + answer.Data.Later)
	require.Contains(t, story, `"status":200`)
}
