package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// answering begins every operation: it answers with the caller's role, refuses
// what asks for nothing, and fails at what asks to fail.
type answering struct{}

func (answering) Run(context.Context, execution.Request) ([]byte, error) { return nil, nil }

func (answering) Begin(_ context.Context, r execution.Request) (execution.Begun, error) {
	if r.Query.Query == "{ nothing }" {
		return execution.Begun{}, domain.RefuseAt("$.selectionSet.nothing", domain.ValidationFailed, "no such field")
	}
	return execution.Begun{Kind: plan.Query, Run: func(ctx context.Context) ([]byte, error) {
		switch r.Query.Query {
		case "{ fail }":
			return nil, domain.RefuseAt("$", domain.DataException, "failed")
		case "{ wait }":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte(`{"data":{"role":"` + r.Session.Role + `"}}`), nil
	}}, nil
}

func (answering) Subscribe(context.Context, execution.Request, func()) (*livequery.Subscription, error) {
	return nil, domain.RefuseAt("$", domain.NotSupported, "nothing is kept here")
}

// talking is a service with websockets.
func talking(t *testing.T, c api.Config) (url string, a *api.API) {
	t.Helper()
	return talkingTo(t, c, new(lines))
}

func talkingTo(t *testing.T, c api.Config, log *lines) (url string, a *api.API) {
	t.Helper()
	who, err := auth.New(withSecret())
	require.NoError(t, err)
	a = api.New(c, api.Deps{
		Auth: who, Commands: &commands{}, Operations: answering{}, Subscriptions: answering{},
		State: &state{}, Registry: prometheus.NewRegistry(), Log: log.take,
	})
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return server.URL, a
}

type client struct {
	t    *testing.T
	conn *websocket.Conn
}

func dial(t *testing.T, url string, protocols ...string) client {
	t.Helper()
	return dialWith(t, url+current, nil, protocols...)
}

func dialWith(t *testing.T, url string, h http.Header, protocols ...string) client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1), &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: h})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return client{t, conn}
}

func (c client) says(frames ...string) {
	c.t.Helper()
	for _, frame := range frames {
		require.NoError(c.t, c.conn.Write(c.t.Context(), websocket.MessageText, []byte(frame)))
	}
}

// hears wants messages, signs of life left out.
func (c client) hears(frames ...string) {
	c.t.Helper()
	for _, want := range frames {
		got := `{"type":"ka"}`
		for got == `{"type":"ka"}` || got == `{"type":"ping"}` {
			_, frame, err := c.conn.Read(c.t.Context())
			require.NoError(c.t, err)
			got = string(frame)
		}
		require.JSONEq(c.t, want, got)
	}
}

func (c client) isClosed(status int) {
	c.t.Helper()
	for {
		if _, _, err := c.conn.Read(c.t.Context()); err != nil {
			require.Equal(c.t, websocket.StatusCode(status), websocket.CloseStatus(err), err)
			return
		}
	}
}

// isClosedFor wants the connection to be closed with a status and a reason.
func (c client) isClosedFor(status websocket.StatusCode, reason string) {
	c.t.Helper()
	for {
		if _, _, err := c.conn.Read(c.t.Context()); err != nil {
			var closed websocket.CloseError
			require.ErrorAs(c.t, err, &closed)
			require.Equal(c.t, websocket.CloseError{Code: status, Reason: reason}, closed)
			return
		}
	}
}

const (
	transport = "graphql-transport-ws"
	asUser    = `{"type":"connection_init","payload":{"headers":{"X-Hasura-Admin-Secret":"` + secret + `","x-hasura-role":"user"}}}`
	ack       = `{"type":"connection_ack"}`
)

func TestTheNewerSubProtocolIsSpoken(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	c := dial(t, url, "graphql-ws", transport)
	require.Equal(t, transport, c.conn.Subprotocol())
	c.says(asUser, `{"type":"ping"}`, `{"type":"pong"}`)
	c.hears(ack, `{"type":"pong"}`)
	c.says(`{"type":"subscribe","id":"a","payload":{"query":"{ role }"}}`)
	c.hears(`{"type":"next","id":"a","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"a"}`)
	c.says(`{"type":"subscribe","id":"a","payload":{"query":"{ nothing }"}}`)
	c.hears(`{"type":"error","id":"a","payload":[{"extensions":{"path":"$.selectionSet.nothing","code":"validation-failed"},"message":"no such field"}]}`)
	c.says(`{"type":"subscribe","id":"a","payload":{"query":"{ fail }"}}`)
	c.hears(`{"type":"next","id":"a","payload":{"data":null,"errors":[{"extensions":{"path":"$","code":"data-exception"},"message":"failed"}]}}`, `{"type":"complete","id":"a"}`)
}

func TestTheNewerSubProtocolClosesWithAStatus(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	for status, frames := range map[int][]string{
		4400: {`{"type":"nonsense"}`},
		4401: {`{"type":"subscribe","id":"a","payload":{"query":"{ role }"}}`},
		4403: {`{"type":"connection_init"}`},
		4409: {asUser, `{"type":"subscribe","id":"a","payload":{"query":"{ wait }"}}`, `{"type":"subscribe","id":"a","payload":{"query":"{ wait }"}}`},
		4429: {asUser, asUser},
	} {
		c := dial(t, url, transport)
		c.says(frames...)
		c.isClosed(status)
	}
}

func TestTheOlderSubProtocolAnswersWithErrors(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	c := dial(t, url)
	c.says(`{"type":"start","id":"1","payload":{"query":"{ role }"}}`)
	c.hears(`{"type":"error","id":"1","payload":{"errors":[{"extensions":{"path":"$","code":"start-failed"},"message":"start received before the connection is initialised"}]}}`, `{"type":"complete","id":"1"}`)
	c.says(asUser, `{"type":"start","id":"1","payload":{"query":"{ wait }"}}`, `{"type":"start","id":"1","payload":{"query":"{ role }"}}`)
	c.hears(ack, `{"type":"error","id":"1","payload":{"errors":[{"extensions":{"path":"$","code":"start-failed"},"message":"an operation already exists with this id: 1"}]}}`, `{"type":"complete","id":"1"}`)
	c.says(`{"type":"stop","id":"1"}`, `{"type":"start","id":"1","payload":{"query":"{ role }"}}`)
	c.hears(`{"type":"data","id":"1","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"1"}`)
	c.says(`{"type":"connection_terminate"}`)
	c.isClosed(1000)
}

func TestEachAddressOfGraphQLHasItsOwnErrors(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	listed := func(path, code, message string) string {
		return `{"extensions":{"path":"` + path + `","code":"` + code + `"},"message":"` + message + `"}`
	}
	bare := func(path, code, message string) string {
		return `{"path":"` + path + `","error":"` + message + `","code":"` + code + `"}`
	}
	for address, spell := range map[string]struct {
		one            func(path, code, message string) string
		before, behind string // around an error that stands alone
	}{
		"/v1/graphql": {listed, `{"errors":[`, `]}`}, "/v1alpha1/graphql": {bare, "", ""},
	} {
		refused := func(id, path, code, message string) []string {
			return []string{`{"type":"error","id":"` + id + `","payload":` + spell.before + spell.one(path, code, message) + spell.behind + `}`, `{"type":"complete","id":"` + id + `"}`}
		}
		c := dialWith(t, url+address, nil, "graphql-ws")
		c.says(`{"type":"start","id":"1","payload":{"query":"{ role }"}}`)
		c.hears(refused("1", "$", "start-failed", "start received before the connection is initialised")...)
		c.says(asUser, `{"type":"start","id":"1","payload":{"query":"{ nothing }"}}`)
		c.hears(append([]string{ack}, refused("1", "$.selectionSet.nothing", "validation-failed", "no such field")...)...)
		c.says(`{"type":"start","id":"1","payload":{"query":"{ fail }"}}`)
		c.hears(`{"type":"data","id":"1","payload":{"data":null,"errors":[`+spell.one("$", "data-exception", "failed")+`]}}`, `{"type":"complete","id":"1"}`)
		c.says(`{"type":"start","id":"2","payload":{"query":"{ wait }"}}`, `{"type":"start","id":"2","payload":{"query":"{ wait }"}}`)
		c.hears(refused("2", "$", "start-failed", "an operation already exists with this id: 2")...)
	}
}

func TestClientsOfRelayAreToldThatThereIsNone(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	const refused = `{"errors":[{"extensions":{"path":"$","code":"not-supported"},"message":"there is no schema for Relay: ask /v1/graphql, whose schema has no connections"}]}`
	c := dialWith(t, url+"/v1beta1/relay", nil, "graphql-ws")
	c.says(asUser, `{"type":"start","id":"1","payload":{"query":"{ node }"}}`)
	c.hears(ack, `{"type":"error","id":"1","payload":`+refused+`}`, `{"type":"complete","id":"1"}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1beta1/relay", strings.NewReader(`{"query":"{ node }"}`))
	require.NoError(t, err)
	request.Header.Set("X-Hasura-Admin-Secret", secret)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, refused, string(body))
}

func TestAMessageThatTwoReadersCouldReadDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	for _, frame := range []string{
		`{"type":"ping","type":"connection_init"}`,
		`{"TYPE":"ping"}`,
		`{"type":"connection_init","payload":{"headers":{"x-hasura-role":"user","x-hasura-role":"admin"}}}`,
		`{"type":"connection_init","payload":{"headers":{"x-hasura-role":7}}}`,
		`{"type":"connection_init","payload":{"headers":["x-hasura-role"]}}`,
		"{\"type\":\"p\xff\"}",
		strings.Repeat(`{"payload":`, 5_000),
	} {
		c := dial(t, url, transport)
		c.says(frame)
		c.isClosed(4400)
	}
}

func TestASocketStaysDeniedOnceItWas(t *testing.T) {
	t.Parallel()
	url, _ := talking(t, api.Config{})
	c := dial(t, url, "graphql-ws")
	const denied = `{"type":"connection_error","payload":"x-service-admin-secret/x-hasura-access-key required, but not found"}`
	c.says(`{"type":"connection_init"}`, asUser)
	c.hears(denied, denied)
}

func TestAStoppedServerEndsItsSockets(t *testing.T) {
	t.Parallel()
	url, a := talking(t, api.Config{})
	c := dial(t, url, transport)
	c.says(asUser)
	c.hears(ack)
	go a.StopSockets(t.Context())
	c.isClosed(1001)
}

func TestAHandshakeElsewhereOrFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	cors, err := api.ParseCORS("https://app.example.com")
	require.NoError(t, err)
	url, _ := talking(t, api.Config{CORS: cors})
	for path, c := range map[string]struct {
		status  int
		message string
	}{
		"/elsewhere":  {http.StatusNotFound, "only '/v1/graphql', '/v1alpha1/graphql' and '/v1beta1/relay' are supported on websockets"},
		"/v1/graphql": {http.StatusBadRequest, `"code":"access-denied"},"message":"received origin header does not match configured CORS domains"`},
	} {
		_, answer, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+path, &websocket.DialOptions{
			HTTPHeader: http.Header{"Origin": {"https://evil.example.org"}},
		})
		require.Error(t, err)
		require.Equal(t, c.status, answer.StatusCode)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), c.message)
	}
}
