package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/command"
)

const (
	wellFormed = `{"type":"clear_metadata","args":{}}`
	malformed  = `{"type":"drop_query_collection","args":{}}`
)

func TestACallIsCarriedOutUnderBothPaths(t *testing.T) {
	for _, path := range []string{"/v1/query", "/v1/metadata"} {
		s := start(t, settings{})
		got := s.send(t, http.MethodPost, path, wellFormed)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Equal(t, `{"message":"success"}`, got.body)
		require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
		require.Equal(t, "8", got.header.Get("X-Service-Resource-Version"))
		require.Equal(t, "clear_metadata", s.commands.only(t).Command.Operation())
	}
}

func TestACallCarriesWhoMadeIt(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	s.query(t, wellFormed, "X-Service-Admin-Secret: "+secret, "X-Request-Id: r-1", "X-Service-User-Id: 5",
		"X-Service-Refresh-Token: hush", "User-Agent: tester/1")
	got := s.commands.only(t)
	require.Equal(t, domain.Session{Role: "admin", Variables: map[string]string{
		"x-service-role": "admin", "x-service-user-id": "5", "x-service-refresh-token": "hush",
	}}, got.Session)
	require.Equal(t, domain.Actor{
		Role: "admin",
		Session: map[string]string{
			"x-service-role": "admin", "x-service-user-id": "5", "x-service-refresh-token": "<redacted>",
		},
		Credential: "admin-secret", RequestID: "r-1", RemoteAddress: "127.0.0.1", UserAgent: "tester/1",
	}, got.Actor)
}

func TestAUserAgentIsRememberedOnlySoFar(t *testing.T) {
	s := start(t, settings{})
	s.query(t, wellFormed, "User-Agent: "+strings.Repeat("é", api.MaxUserAgentBytes))
	got := s.commands.only(t).Actor.UserAgent
	require.Equal(t, strings.Repeat("é", api.MaxUserAgentBytes/2), got, "cut between two characters")
}

// The order in which a request is judged, by requests with several faults.
func TestTheFirstFaultInOrderIsTheOneTold(t *testing.T) {
	tooLarge := `{"type":"` + strings.Repeat("x", 300) + `"}`
	right, wrong := "X-Service-Admin-Secret: "+secret, "X-Service-Admin-Secret: wrong"
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
		code, path string
	}{
		{"too large, not let in", tooLarge, []string{wrong}, 413, "payload-too-large", "$"},
		{"not let in, not JSON", `{`, []string{wrong}, 401, "access-denied", "$"},
		{"no secret, not JSON", `{`, nil, 401, "access-denied", "$"},
		{"not JSON, not an admin", `{`, []string{right, "X-Service-Role: user"}, 400, "invalid-json", "$"},
		{"empty", ``, []string{right}, 400, "invalid-json", "$"},
		{"not an object", `"x"`, []string{right}, 400, "parse-failed", "$"},
		{"unknown type, not an admin", `{"type":"random","args":{}}`, []string{right, "X-Service-Role: user"}, 400, "parse-failed", "$"},
		{"arguments do not decode, not an admin", malformed, []string{right, "X-Service-Role: user"}, 400, "parse-failed", "$"},
		{"bad header, not an admin", wellFormed, []string{right, "X-Service-Role: user", "X-Service-Expected-Version: x"}, 400, "bad-request", "$"},
		{"not an admin", wellFormed, []string{right, "X-Service-Role: user"}, 400, "access-denied", "$.args"},
		{"a bulk of not an admin", `{"type":"bulk","args":[` + wellFormed + `]}`, []string{right, "X-Service-Role: user"}, 400, "access-denied", "$.args"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{Config: api.Config{MaxBodyBytes: 200}, auth: withSecret()})
			s.query(t, c.body, c.headers...).isProblem(t, c.status, c.code, c.path)
			require.Empty(t, s.commands.asked, "nothing was carried out")
		})
	}
}

func TestARoleOtherThanAdminIsRefusedInTheWordsOfV13(t *testing.T) {
	s := start(t, settings{})
	got := s.query(t, wellFormed, "X-Hasura-Role: user")
	require.JSONEq(t, `{"path":"$.args","error":"restricted access : admin only","code":"access-denied"}`, got.body)
}

func TestACallerNotLetInIsRefusedInTheWordsOfV13(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	require.Equal(t, `{"path":"$","error":"x-service-admin-secret/x-hasura-access-key required, but not found","code":"access-denied"}`,
		s.query(t, wellFormed).body)
	require.Equal(t, `{"path":"$","error":"invalid x-service-admin-secret/x-hasura-access-key","code":"access-denied"}`,
		s.query(t, wellFormed, "X-Hasura-Access-Key: nope").body)
}

func TestAnUnauthorizedRoleIsLetInAndMayNotChangeMetadata(t *testing.T) {
	s := start(t, settings{auth: auth.Config{Secrets: withSecret().Secrets, UnauthorizedRole: "anonymous"}})
	s.query(t, wellFormed, "X-Service-Role: admin").isProblem(t, 400, "access-denied", "$.args")
}

func TestEachKindOfFailureHasItsStatusAndBody(t *testing.T) {
	internal := json.RawMessage(`{"detail":"a row"}`)
	fault := domain.Refuse(domain.Unexpected, "our fault")
	fault.Fault = true
	for _, c := range []struct {
		name string
		err  error
		want int
		body string
	}{
		{"a refusal", domain.Refuse(domain.NotExists, "table %q does not exist", "t"), 400,
			`{"path":"$.args","error":"table \"t\" does not exist","code":"not-exists"}`},
		{"a refusal that was wrapped", fmt.Errorf("carry out: %w", domain.Refuse(domain.AlreadyExists, "there")), 400,
			`{"path":"$.args","error":"there","code":"already-exists"}`},
		{"a refusal without a place", &domain.Error{Code: domain.NotSupported, Message: "no"}, 400,
			`{"path":"$.args","error":"no","code":"not-supported"}`},
		{"a refusal for lack of permission", domain.Refuse(domain.AccessDenied, "no"), 400,
			`{"path":"$.args","error":"no","code":"access-denied"}`},
		{"a name that is not found", domain.Refuse(domain.NotFound, "no"), 400,
			`{"path":"$.args","error":"no","code":"not-found"}`},
		{"a refusal with details", &domain.Error{Code: domain.PostgresError, Path: "$.args[1].args", Message: "<failed>", Internal: internal}, 400,
			`{"internal":{"detail":"a row"},"path":"$.args[1].args","error":"<failed>","code":"postgres-error"}`},
		{"a refusal that is the server's fault", fault, 500, `{"path":"$.args","error":"our fault","code":"unexpected"}`},
		{"a conflict", domain.RefuseAt("$", domain.Conflict, "moved"), 409, `{"path":"$","error":"moved","code":"conflict"}`},
		{"something too large", domain.Refuse(domain.TooLarge, "big"), 413, `{"path":"$.args","error":"big","code":"payload-too-large"}`},
		{"a wait that ended", domain.Refuse(domain.Timeout, "late"), 503, `{"path":"$.args","error":"late","code":"timeout"}`},
		{"an unknown error", errors.New("dial tcp db.internal:5432: refused"), 500,
			`{"path":"$","error":"internal error","code":"unexpected"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{})
			s.commands.fails(c.err)
			got := s.query(t, wellFormed, "X-Request-Id: r-9", "Accept-Encoding: gzip")
			require.Equal(t, c.want, got.status)
			require.Equal(t, c.body, got.body)
			require.Equal(t, "r-9", got.header.Get("X-Request-Id"))
			require.Empty(t, got.header.Get("Content-Encoding"))
			require.Empty(t, got.header.Get("X-Service-Resource-Version"))
		})
	}
}

func TestTheCauseOfAnInternalErrorIsOnlyInTheLog(t *testing.T) {
	s := start(t, settings{Config: api.Config{DevMode: true}})
	s.commands.fails(errors.New("dial tcp db.internal:5432: refused"))
	got := s.query(t, wellFormed, "X-Request-Id: r-9")
	require.NotContains(t, got.body, "db.internal")
	require.Equal(t, []map[string]any{{"request_id": "r-9", "error": "dial tcp db.internal:5432: refused"}}, s.lines.ofType(t, api.LineInternal))
}

func TestDetailsOfAnErrorCanBeHidden(t *testing.T) {
	s := start(t, settings{Config: api.Config{HideInternal: true}})
	refusal := domain.Refuse(domain.PostgresError, "failed")
	refusal.Internal = json.RawMessage(`{"hint":"h"}`)
	s.commands.fails(refusal)
	require.Equal(t, `{"path":"$.args","error":"failed","code":"postgres-error"}`, s.query(t, wellFormed).body)
}

func TestARequestIdComesBackOnSuccessAndError(t *testing.T) {
	s := start(t, settings{})
	for _, body := range []string{wellFormed, malformed} {
		require.Equal(t, "my-id", s.query(t, body, "X-Request-Id: my-id").header.Get("X-Request-Id"))

		made := s.query(t, body).header.Get("X-Request-Id")
		id, err := uuid.Parse(made)
		require.NoError(t, err)
		require.EqualValues(t, 4, id.Version())
		require.NotEqual(t, made, s.query(t, body).header.Get("X-Request-Id"))
	}
	require.Equal(t, "my-id", s.get(t, "/nowhere", "X-Request-Id: my-id").header.Get("X-Request-Id"))
}

func TestARequestIdThatCannotBeKeptIsReplaced(t *testing.T) {
	s := start(t, settings{})
	for _, hostile := range []string{strings.Repeat("x", api.MaxRequestIDBytes+1), "not \xff text", ""} {
		got := s.query(t, wellFormed, "X-Request-Id: "+hostile).header.Get("X-Request-Id")
		_, err := uuid.Parse(got)
		require.NoError(t, err, "%q", got)
	}
}

func TestHeadersSpeakForTheCall(t *testing.T) {
	seven := int64(7)
	for _, c := range []struct {
		name, body string
		headers    []string
		comment    string
		expected   *int64
		plan       bool
	}{
		{"none", wellFormed, nil, "", nil, false},
		{"a comment", wellFormed, []string{"X-Service-Comment: ticket 12"}, "ticket 12", nil, false},
		{"a comment in the other spelling", wellFormed, []string{"X-Hasura-Comment: ticket 12"}, "ticket 12", nil, false},
		{"our comment wins", wellFormed, []string{"X-Hasura-Comment: theirs", "X-Service-Comment: ours"}, "ours", nil, false},
		{"a comment goes before the body's", `{"type":"clear_metadata","args":{},"comment":"b"}`, []string{"X-Service-Comment: h"}, "h", nil, false},
		{"the body's comment", `{"type":"clear_metadata","args":{},"comment":"b"}`, nil, "b", nil, false},
		{"a comment that is not text", wellFormed, []string{"X-Service-Comment: \xff"}, "\uFFFD", nil, false},
		{"an expected version", wellFormed, []string{"X-Service-Expected-Version: 7"}, "", &seven, false},
		{"an expected version in the other spelling", wellFormed, []string{"X-Hasura-Expected-Version: 7"}, "", &seven, false},
		{"our expected version wins", wellFormed, []string{"X-Hasura-Expected-Version: 6", "X-Service-Expected-Version: 7"}, "", &seven, false},
		{"a resource version", `{"type":"clear_metadata","args":{},"resource_version":7}`, nil, "", &seven, false},
		{"both, alike", `{"type":"clear_metadata","args":{},"resource_version":7}`, []string{"X-Service-Expected-Version: 7"}, "", &seven, false},
		{"a plan", `{"type":"clear_metadata","args":{},"plan":true}`, nil, "", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{})
			got := s.query(t, c.body, c.headers...)
			require.Equal(t, http.StatusOK, got.status, got.body)
			asked := s.commands.only(t)
			require.Equal(t, c.comment, asked.Comment)
			require.Equal(t, c.expected, asked.Expected)
			require.Equal(t, c.plan, asked.Plan)
		})
	}
}

func TestHeadersThatMakeNoSenseAreRefused(t *testing.T) {
	for name, headers := range map[string][]string{
		"an expected version that is no number": {"X-Service-Expected-Version: seven"},
		"a negative expected version":           {"X-Service-Expected-Version: -1"},
		"an expected version beyond numbers":    {"X-Service-Expected-Version: 99999999999999999999"},
		"two expected versions":                 {"X-Service-Expected-Version: 6", "X-Service-Expected-Version: 7"},
		"a version unlike the body's":           {"X-Service-Expected-Version: 6"},
		"two comments":                          {"X-Service-Comment: a", "X-Service-Comment: b"},
		"a least version that is no number":     {"X-Service-Min-Version: 1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, settings{})
			s.query(t, `{"type":"clear_metadata","args":{},"resource_version":7}`, headers...).isProblem(t, 400, "bad-request", "$")
			require.Empty(t, s.commands.asked)
		})
	}
}

func TestALeastVersionThatIsReachedIsNoWait(t *testing.T) {
	s := start(t, settings{})
	require.Equal(t, http.StatusOK, s.query(t, wellFormed, "X-Service-Min-Version: 7").status)
	require.Equal(t, http.StatusOK, s.query(t, wellFormed, "X-Hasura-Min-Version: 3").status)
}

func TestALeastVersionThatDoesNotComeIsRefusedAfterTheLimit(t *testing.T) {
	s := start(t, settings{Config: api.Config{MinVersionWait: time.Millisecond}})
	got := s.query(t, wellFormed, "X-Service-Min-Version: 8")
	got.isProblem(t, 503, "timeout", "$")
	require.Contains(t, got.body, "this node is at version 7 and did not reach 8 within 1ms")
	require.Empty(t, s.commands.asked)
}

func TestABodyMayBeAsLargeAsTheLimitAndNotLarger(t *testing.T) {
	body := wellFormed + strings.Repeat(" ", 2<<20)
	for _, c := range []struct {
		name  string
		limit int
		want  int
	}{{"the limit", len(body), 200}, {"one byte more", len(body) - 1, 413}} {
		for transfer, reader := range map[string]io.Reader{
			"announced": strings.NewReader(body),
			"chunked":   struct{ io.Reader }{strings.NewReader(body)},
		} {
			t.Run(c.name+" "+transfer, func(t *testing.T) {
				s := start(t, settings{Config: api.Config{MaxBodyBytes: int64(c.limit)}})
				got := s.sendReader(t, http.MethodPost, "/v1/query", reader)
				require.Equal(t, c.want, got.status, got.body)
			})
		}
	}
}

func TestABodyThatEndsEarlyIsNotCarriedOut(t *testing.T) {
	s := start(t, settings{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/query",
		io.MultiReader(strings.NewReader(wellFormed), failingReader{}))
	require.NoError(t, err)
	r.ContentLength = int64(len(wellFormed)) + 10
	_, err = http.DefaultTransport.RoundTrip(r)
	require.Error(t, err)
	require.Empty(t, s.commands.asked)
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("the client's disk failed") }

func TestHostileBodiesGetAClearError(t *testing.T) {
	for name, body := range map[string][]byte{
		"NUL bytes":      []byte("\x00\x00"),
		"not UTF-8":      []byte("{\"type\":\"\xff\"}"),
		"deep nesting":   bytes.Repeat([]byte("["), 100_000),
		"a key twice":    []byte(`{"type":"clear_metadata","type":"clear_metadata","args":{}}`),
		"two documents":  []byte(wellFormed + wellFormed),
		"a lone bracket": []byte("]"),
	} {
		t.Run(name, func(t *testing.T) {
			got := start(t, settings{}).sendReader(t, http.MethodPost, "/v1/query", bytes.NewReader(body))
			require.Equal(t, http.StatusBadRequest, got.status, got.body)
			require.Contains(t, got.body, `"code":"`)
		})
	}
}

func TestAPanicIsAnInternalErrorWithItsStackInTheLog(t *testing.T) {
	s := start(t, settings{})
	s.commands.answer = func(command.Request) (command.Result, error) { panic("at the disco") }
	got := s.query(t, wellFormed)
	got.isProblem(t, 500, "unexpected", "$")
	require.Contains(t, got.body, `"internal error"`)
	logged := s.lines.ofType(t, api.LineInternal)
	require.Len(t, logged, 1)
	require.Equal(t, "panic: at the disco", logged[0]["error"])
	require.Contains(t, logged[0]["stack"], "query_test.go")

	s.commands.answer = func(command.Request) (command.Result, error) {
		return command.Result{Body: json.RawMessage(`{}`)}, nil
	}
	require.Equal(t, http.StatusOK, s.query(t, wellFormed).status, "the service goes on")
}

func TestARequestThatIsCancelledIsNotTheServicesFault(t *testing.T) {
	s := start(t, settings{})
	ctx, hangUp := context.WithCancel(t.Context())
	s.commands.answer = func(command.Request) (command.Result, error) {
		hangUp()
		return command.Result{}, fmt.Errorf("begin: %w", context.Canceled)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/query", strings.NewReader(wellFormed)))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), `"code":"timeout"`)
	require.Empty(t, s.lines.ofType(t, api.LineInternal))
}
