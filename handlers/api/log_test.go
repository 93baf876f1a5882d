package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api"
)

func TestOneLineIsLoggedForEachRequest(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	s.send(t, http.MethodPost, "/v1/query?token=hush", wellFormed, "X-Service-Admin-Secret: "+secret, "X-Request-Id: r-1",
		"X-Service-User-Id: 5", "X-Service-Api-Key: hush", "Accept-Encoding: gzip")
	logged := s.lines.ofType(t, api.LineHTTP)
	require.Len(t, logged, 1)
	operation := logged[0]["operation"].(map[string]any)
	require.Equal(t, "r-1", operation["request_id"])
	require.Greater(t, operation["query_execution_time"], 0.0)
	require.Equal(t, map[string]any{"x-service-role": "admin", "x-service-user-id": "5", "x-service-api-key": "<redacted>"}, operation["user_vars"])
	require.Equal(t, map[string]any{
		"status": 200.0, "http_version": "HTTP/1.1", "url": "/v1/query", "ip": "127.0.0.1", "method": "POST", "content_encoding": "gzip",
	}, logged[0]["http_info"])
	require.NotContains(t, s.lines.text(), "hush")
	require.NotContains(t, s.lines.text(), secret)
	require.NotContains(t, s.lines.text(), "clear_metadata", "bodies are not logged")
}

func TestARefusedRequestIsLoggedWithItsErrorAndWithoutItsDetails(t *testing.T) {
	s := start(t, settings{})
	refusal := domain.Refuse(domain.ConstraintViolation, "inconsistent")
	refusal.Internal = json.RawMessage(`{"row":"hush"}`)
	s.commands.fails(refusal)
	s.query(t, wellFormed)
	logged := s.lines.ofType(t, api.LineHTTP)
	require.Equal(t, map[string]any{"path": "$.args", "error": "inconsistent", "code": "constraint-violation"},
		logged[0]["operation"].(map[string]any)["error"])
	require.Equal(t, slog.LevelError, s.lines.list[len(s.lines.list)-1].Level)
	require.NotContains(t, s.lines.text(), "hush")
}

func TestLinesHaveTheShapeOfV13(t *testing.T) {
	var b bytes.Buffer
	log := api.NewLog(&b, slog.LevelInfo)
	log(t.Context(), api.Line{Type: "startup", Level: slog.LevelInfo, Detail: map[string]any{"kind": "<k>", "level": 1}})
	log(t.Context(), api.Line{Type: "quiet", Level: slog.LevelDebug})
	require.Regexp(t, regexp.MustCompile(
		`^\{"type":"startup","timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}","level":"info","detail":\{"kind":"<k>","level":1\}\}\n$`), b.String())
}
