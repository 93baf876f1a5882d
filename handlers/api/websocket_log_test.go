package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"annals/handlers/api"
)

// A line is written soon after the client could know of it.
const (
	soon = 10 * time.Second
	tick = 5 * time.Millisecond
)

// phases are what was logged of the operations of sockets, one after the other.
func phases(t *testing.T, log *lines) (found []map[string]any) {
	t.Helper()
	for _, detail := range log.ofType(t, api.LineWebSocket) {
		if event := detail["event"].(map[string]any); event["type"] == "operation" {
			found = append(found, event["detail"].(map[string]any))
		}
	}
	return found
}

func TestWhatBecomesOfAWebsocketIsLogged(t *testing.T) {
	t.Parallel()
	log := new(lines)
	url, _ := talkingTo(t, api.Config{}, log)
	c := dial(t, url, "graphql-ws")
	c.says(asUser)
	c.hears(ack)
	c.says(`{"type":"connection_terminate"}`)
	c.isClosed(1000)
	require.Eventually(t, func() bool { return len(log.ofType(t, api.LineWebSocket)) == 2 }, soon, tick)
	accepted, closed := log.ofType(t, api.LineWebSocket)[0], log.ofType(t, api.LineWebSocket)[1]
	require.Equal(t, map[string]any{"type": "accepted"}, accepted["event"])
	require.Nil(t, accepted["user_vars"])
	connection := accepted["connection_info"].(map[string]any)
	require.NotEmpty(t, connection["websocket_id"])
	require.Contains(t, connection, "token_expiry")
	require.Contains(t, connection, "msg")
	require.Equal(t, map[string]any{"type": "closed"}, closed["event"])
	require.Equal(t, map[string]any{"x-service-role": "user"}, closed["user_vars"])
}

func TestTheOperationsOfAWebsocketAreLoggedWithoutTheirText(t *testing.T) {
	t.Parallel()
	log := new(lines)
	url, _ := talkingTo(t, api.Config{}, log)
	c := dial(t, url)
	c.says(asUser, `{"type":"start","id":"1","payload":{"query":"{ role }","operationName":"Who"}}`)
	c.hears(ack, `{"type":"data","id":"1","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"1"}`)
	c.says(`{"type":"start","id":"2","payload":{"query":"{ nothing }"}}`)
	c.hears(`{"type":"error","id":"2","payload":{"errors":[{"extensions":{"path":"$.selectionSet.nothing","code":"validation-failed"},"message":"no such field"}]}}`, `{"type":"complete","id":"2"}`)
	logged := phases(t, log)
	require.Len(t, logged, 4)
	for i, phase := range []any{
		map[string]any{"type": "started"}, map[string]any{"type": "completed"}, map[string]any{"type": "started"},
		map[string]any{"type": "query_err", "detail": map[string]any{"path": "$.selectionSet.nothing", "error": "no such field", "code": "validation-failed"}},
	} {
		require.Equal(t, phase, logged[i]["operation_type"])
		require.NotEmpty(t, logged[i]["request_id"])
		require.Nil(t, logged[i]["query"])
	}
	require.Equal(t, "1", logged[0]["operation_id"])
	require.Equal(t, "Who", logged[0]["operation_name"])
	require.Nil(t, logged[2]["operation_name"])
}

func TestAStoppedOperationIsLogged(t *testing.T) {
	t.Parallel()
	log := new(lines)
	url, _ := talkingTo(t, api.Config{}, log)
	c := dial(t, url)
	c.says(asUser, `{"type":"start","id":"1","payload":{"query":"{ wait }"}}`)
	c.hears(ack)
	require.Eventually(t, func() bool { return len(phases(t, log)) == 1 }, soon, tick)
	c.says(`{"type":"stop","id":"1"}`)
	stopped := func() bool {
		for _, p := range phases(t, log) {
			if p["operation_type"].(map[string]any)["type"] == "stopped" {
				return true
			}
		}
		return false
	}
	require.Eventually(t, stopped, soon, tick)
}

func TestAWebsocketThatIsRefusedIsLogged(t *testing.T) {
	t.Parallel()
	cors, err := api.ParseCORS("https://app.example.com")
	require.NoError(t, err)
	log := new(lines)
	url, _ := talkingTo(t, api.Config{CORS: cors}, log)
	_, _, err = websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+"/v1/graphql", &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://evil.example.org"}},
	})
	require.Error(t, err)
	c := dial(t, url)
	c.says(`{"type":"connection_init"}`)
	c.hears(`{"type":"connection_error","payload":"x-service-admin-secret/x-hasura-access-key required, but not found"}`)
	logged := log.ofType(t, api.LineWebSocket)
	require.Len(t, logged, 3)
	require.Equal(t, map[string]any{"type": "rejected", "detail": map[string]any{
		"path": "$", "error": "received origin header does not match configured CORS domains", "code": "access-denied",
	}}, logged[0]["event"])
	require.Equal(t, map[string]any{"type": "conn_err", "detail": "x-service-admin-secret/x-hasura-access-key required, but not found"}, logged[2]["event"])
}
