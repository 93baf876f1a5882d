package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// telling tells of each operation that it is run by one statement.
type telling struct{}

func (telling) Run(_ context.Context, r execution.Request) ([]byte, error) {
	if r.Query.Query == "refused" {
		return nil, domain.RefuseAt("$", domain.ValidationFailed, "no")
	}
	if r.Told != nil {
		r.Told([]execution.Told{{Field: "people", Statements: []string{"SELECT $1, $2", "SELECT $1, $2"}, Arguments: []execution.Argument{
			{Value: []byte("a")}, {}, {Value: []byte("hush"), Session: "x-service-api-key"}, {Value: []byte("{}"), AllSession: true},
		}}})
	}
	return []byte(`{"data":{}}`), nil
}

// logged asks for an operation and returns the lines of the log.
func logged(t *testing.T, c Config, body string) map[string]json.RawMessage {
	t.Helper()
	who, err := auth.New(auth.Config{})
	require.NoError(t, err)
	found := map[string]json.RawMessage{}
	a := New(c, Deps{Auth: who, Registry: prometheus.NewRegistry(), Log: func(_ context.Context, l Line) {
		text, err := json.Marshal(l.Detail)
		require.NoError(t, err)
		found[l.Type] = text
	}})
	r := httptest.NewRequest(http.MethodPost, "/v1/graphql", strings.NewReader(body))
	r.Header.Set("X-Request-Id", "r-1")
	r.Header.Set("X-Hasura-Role", "user")
	r.Header.Set("X-Hasura-Api-Key", "hush")
	a.tell(graphQL{a, telling{}, alwaysOK}).ServeHTTP(httptest.NewRecorder(), r)
	return found
}

func TestAnOperationIsLoggedWithItsSQLWhereThatIsWanted(t *testing.T) {
	const asked = `{"query":"{ people }","variables":{"a":1},"operationName":"n"}`
	require.NotContains(t, logged(t, Config{}, asked), LineQuery)
	require.JSONEq(t, `{"request_id":"r-1","query":{"query":"{ people }","variables":{"a":1},"operationName":"n"},
		"generated_sql":{"people":{"query":"SELECT $1, $2;\nSELECT $1, $2","prepared_arguments":["a",null,"<redacted>",
			"{\"x-service-api-key\":\"<redacted>\",\"x-service-role\":\"user\"}"]}}}`,
		string(logged(t, Config{LogQueries: true}, asked)[LineQuery]))
}

func TestTheLineOfARequestHasTheTextOfWhatFailedWhereQueriesAreLogged(t *testing.T) {
	text := func(c Config, body string) string {
		var line struct{ Operation map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal(logged(t, c, body)[LineHTTP], &line))
		require.Contains(t, line.Operation, "error")
		return string(line.Operation["query"])
	}
	require.Equal(t, "null", text(Config{}, `{"query":"refused"}`))
	require.Equal(t, "null", text(Config{LogQueries: true}, `{"query":"taken"}`))
	require.JSONEq(t, `{"query":"refused","variables":null,"operationName":null}`, text(Config{LogQueries: true}, `{"query":"refused"}`))
}

func TestACallOfTheWebhookIsLoggedWithoutWhatItMayHide(t *testing.T) {
	line := HookLine(auth.HookCall{URL: "https://me:hush@example.org/who?key=hush#hush", Mode: auth.HookGET, Status: http.StatusTeapot})
	text, err := json.Marshal(line.Detail)
	require.NoError(t, err)
	require.JSONEq(t, `{"status_code":418,"url":"https://example.org/who","method":"GET","http_error":null,"response":null}`, string(text))
}
