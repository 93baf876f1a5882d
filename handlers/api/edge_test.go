package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api"
)

func TestWhatIsNotServedDoesNotExistForAnybody(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	for _, c := range []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/nowhere"}, {"POST", "/v1/graphql"}, {"POST", "/v1/graphql/explain"},
		{"POST", "/v1alpha1/graphql/explain"}, {"GET", "/v1/query"}, {"PUT", "/v1/query"}, {"DELETE", "/v1/query"},
		{"PATCH", "/healthz"}, {"POST", "/v1alpha1/config"}, {"OPTIONS", "/v1/query"}, {"POST", "/v1/audit/events"},
		{"BREW", "/v1/query"}, {"GET", "/v1/audit/events/1/2/3"}, {"GET", "/v1/%2e%2e/query"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			got := s.send(t, c.method, c.path, "{", "X-Service-Admin-Secret: wrong")
			require.Equal(t, http.StatusNotFound, got.status)
			require.Equal(t, `{"path":"$","error":"resource does not exist","code":"not-found"}`, got.body)
			require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
		})
	}
}

func TestADisabledAPIDoesNotExistForAnybody(t *testing.T) {
	metadataPaths := []string{"POST /v1/query", "POST /v1/metadata", "GET /v1/audit/events", "GET /v1/audit/events/1",
		"GET /v1/audit/objects/table/public.t/history", "GET /v1/audit/verify"}
	for _, c := range []struct {
		apis   string
		absent []string
	}{
		{"graphql", append([]string{"GET /v1alpha1/config"}, metadataPaths...)},
		{"graphql,metadata", []string{"GET /v1alpha1/config"}},
		{"config", metadataPaths},
	} {
		parts, err := api.ParseAPIs(c.apis)
		require.NoError(t, err)
		s := start(t, settings{Config: api.Config{APIs: parts}})
		for _, route := range c.absent {
			method, path, _ := strings.Cut(route, " ")
			s.send(t, method, path, wellFormed).isProblem(t, 404, "not-found", "$")
		}
		require.Equal(t, http.StatusOK, s.get(t, "/v1/version").status)
		require.Equal(t, http.StatusOK, s.get(t, "/healthz").status)
		require.Empty(t, s.commands.asked)
	}
}

func TestTheListOfAPIsReplacesTheDefault(t *testing.T) {
	parts, err := api.ParseAPIs(" Metadata, CONFIG,metadata ")
	require.NoError(t, err)
	require.Equal(t, []api.Part{api.PartMetadata, api.PartConfig}, parts)
	for _, bad := range []string{"", "metadata,", "metadata,consoles"} {
		_, err := api.ParseAPIs(bad)
		require.ErrorContains(t, err, "Only expecting list of comma separated API types metadata,graphql,pgdump,developer,config")
	}
}

func TestTheVersionIsForEverybody(t *testing.T) {
	s := start(t, settings{Config: api.Config{Version: "v1.2.3"}, auth: withSecret()})
	got := s.get(t, "/v1/version")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, `{"version":"v1.2.3"}`, got.body)
}

func TestTheConfigIsReportedToAdmins(t *testing.T) {
	report := api.Report{
		AdminSecretSet: true,
		JWT:            &api.JWTReport{ClaimsNamespace: "https://example.org/claims", ClaimsFormat: "json"},
		LiveQueries:    api.LiveQueriesReport{BatchSize: 100, RefetchDelay: 1500 * time.Millisecond},
	}
	s := start(t, settings{Config: api.Config{Version: "v1", Report: report}, auth: withSecret()})
	got := s.get(t, "/v1alpha1/config", "X-Service-Admin-Secret: "+secret)
	require.Equal(t, http.StatusOK, got.status)
	require.JSONEq(t, `{"version":"v1","is_admin_secret_set":true,"is_auth_hook_set":false,"is_jwt_set":true,
		"jwt":{"claims_namespace":"https://example.org/claims","claims_format":"json","claims_map":null},
		"is_allow_list_enabled":false,"live_queries":{"batch_size":100,"refetch_delay":1.5},"console_assets_dir":null}`, got.body)

	s.get(t, "/v1alpha1/config").isProblem(t, 401, "access-denied", "$")
	got = s.get(t, "/v1alpha1/config", "X-Service-Admin-Secret: "+secret, "X-Service-Role: user")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Equal(t, `{"path":"$","error":"You have to be an admin to access this endpoint","code":"access-denied"}`, got.body)
}

func TestAConfigWithoutJWTSaysNull(t *testing.T) {
	got := start(t, settings{}).get(t, "/v1alpha1/config")
	require.JSONEq(t, `{"version":"dev","is_admin_secret_set":false,"is_auth_hook_set":false,"is_jwt_set":false,"jwt":null,
		"is_allow_list_enabled":false,"live_queries":{"batch_size":0,"refetch_delay":0},"console_assets_dir":null}`, got.body)
}

func TestHealthIsOneOfThreeTexts(t *testing.T) {
	for _, c := range []struct {
		name         string
		err          error
		inconsistent int
		status       int
		text         string
	}{
		{"well", nil, 0, 200, "OK"},
		{"inconsistent", nil, 2, 200, "WARN: inconsistent objects in schema"},
		{"no database", errors.New("refused"), 0, 500, "ERROR"},
		{"no database and inconsistent", errors.New("refused"), 2, 500, "ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{auth: withSecret()})
			s.state.err, s.state.inconsistent = c.err, c.inconsistent
			s.Look(t.Context())
			got := s.get(t, "/healthz")
			require.Equal(t, c.status, got.status)
			require.Equal(t, c.text, got.body)
			require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
		})
	}
}

func TestHealthIsAnsweredFromMemory(t *testing.T) {
	s := start(t, settings{})
	s.state.err = errors.New("refused")
	require.Equal(t, "OK", s.get(t, "/healthz").body, "nobody looked since")
	s.Look(t.Context())
	require.Equal(t, "ERROR", s.get(t, "/healthz").body)
	require.Equal(t, http.StatusInternalServerError, s.send(t, http.MethodHead, "/healthz", "").status)
}

func TestReadinessSaysWhatItRestsOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  state
		status int
		body   string
	}{
		{"caught up", state{position: 9, head: 9}, 200,
			`{"ready":true,"database":"ok","position":9,"head":9,"lag":0,"inconsistent_objects":0}`},
		{"ahead of the last look", state{position: 11, head: 9, inconsistent: 1}, 200,
			`{"ready":true,"database":"ok","position":11,"head":11,"lag":0,"inconsistent_objects":1}`},
		{"a little behind", state{position: 4, head: 9}, 200,
			`{"ready":true,"database":"ok","position":4,"head":9,"lag":5,"inconsistent_objects":0}`},
		{"far behind", state{position: 4, head: 10}, 503,
			`{"ready":false,"database":"ok","position":4,"head":10,"lag":6,"inconsistent_objects":0}`},
		{"no database", state{position: 4, head: 10, err: errors.New("password of app@db is wrong")}, 503,
			`{"ready":false,"database":"unreachable","position":4,"head":7,"lag":3,"inconsistent_objects":0}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{Config: api.Config{ReadyLag: 5}, auth: withSecret()})
			*s.state = c.state
			s.Look(t.Context())
			got := s.get(t, "/readyz")
			require.Equal(t, c.status, got.status)
			require.Equal(t, c.body, got.body)
		})
	}
}

func TestTheDatabaseGoingAndComingIsLoggedOnce(t *testing.T) {
	s := start(t, settings{})
	for _, err := range []error{errors.New("refused"), errors.New("refused"), nil, nil} {
		s.state.err = err
		s.Look(t.Context())
	}
	require.Equal(t, []map[string]any{
		{"database": "ok"}, {"database": "unreachable", "error": "refused"}, {"database": "ok"},
	}, s.lines.ofType(t, api.LineHealth))
}

func TestMetricsCountRequestsByRoute(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	s.query(t, wellFormed, "X-Service-Admin-Secret: "+secret)
	s.query(t, wellFormed)
	s.get(t, "/v1/audit/events/12")
	s.get(t, "/some/random/path")
	s.send(t, "BREW", "/another", "")
	got := s.get(t, "/metrics")
	require.Equal(t, http.StatusOK, got.status)
	for _, line := range []string{
		`annals_http_request_duration_seconds_count{method="POST",route="/v1/query",status="200"} 1`,
		`annals_http_request_duration_seconds_count{method="POST",route="/v1/query",status="401"} 1`,
		`annals_http_request_duration_seconds_count{method="GET",route="/v1/audit/events/{position}",status="401"} 1`,
		`annals_http_request_duration_seconds_count{method="GET",route="other",status="404"} 1`,
		`annals_http_request_duration_seconds_count{method="other",route="other",status="404"} 1`,
		`annals_http_requests_in_flight 1`,
	} {
		require.Contains(t, got.body, line)
	}
	require.NotContains(t, got.body, "random")
}

func TestMetricsCanBeForAdminsOnly(t *testing.T) {
	s := start(t, settings{Config: api.Config{ProtectMetrics: true}, auth: withSecret()})
	s.get(t, "/metrics").isProblem(t, 401, "access-denied", "$")
	s.get(t, "/metrics", "X-Service-Admin-Secret: "+secret, "X-Service-Role: user").isProblem(t, 400, "access-denied", "$")
	require.Equal(t, http.StatusOK, s.get(t, "/metrics", "X-Service-Admin-Secret: "+secret).status)
}

func TestASuccessIsCompressedForWhoCanReadIt(t *testing.T) {
	s := start(t, settings{})
	for _, c := range []struct {
		accept     string
		compressed bool
	}{
		{"", false}, {"gzip", true}, {"deflate, gzip;q=0.5, br", true}, {"GZIP", true},
		{"identity", false}, {"gzip;q=0", false}, {"gzip; q=0.000", false}, {"gzipped", false}, {"br", false},
	} {
		t.Run(c.accept, func(t *testing.T) {
			for range 2 { // the second time with a used compressor
				got := s.query(t, wellFormed, "Accept-Encoding: "+c.accept)
				require.Equal(t, http.StatusOK, got.status)
				require.Contains(t, got.header.Values("Vary"), "Accept-Encoding")
				if !c.compressed {
					require.Empty(t, got.header.Get("Content-Encoding"))
					require.Equal(t, `{"message":"success"}`, got.body)
					continue
				}
				require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
				require.Equal(t, `{"message":"success"}`, gunzip(t, got.body))
			}
		})
	}
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

func TestPagesOfAllowedOriginsMayCall(t *testing.T) {
	const list = "http://*.localhost, http://localhost:3000, https://*.foo.bar.com, https://example.org:443"
	listed, err := api.ParseCORS(list)
	require.NoError(t, err)
	all, err := api.ParseCORS(" * ")
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		cors    api.CORS
		origin  string
		allowed bool
	}{
		{"all: any", all, "https://anything.example", true},
		{"default: any", api.CORS{}, "https://anything.example", true},
		{"none", api.NoCORS(), "https://anything.example", false},
		{"no origin", api.CORS{}, "", false},
		{"exact", listed, "http://localhost:3000", true},
		{"another port", listed, "http://localhost:3001", false},
		{"another scheme", listed, "https://localhost:3000", false},
		{"one label for the wildcard", listed, "https://app.foo.bar.com", true},
		{"in another case", listed, "https://App.Foo.bar.com", true},
		{"no label for the wildcard", listed, "https://foo.bar.com", false},
		{"two labels for the wildcard", listed, "https://a.b.foo.bar.com", false},
		{"another domain with the same end", listed, "https://evilfoo.bar.com", false},
		{"the allowed domain as a label", listed, "https://app.foo.bar.com.evil.example", false},
		{"a wildcard with another port", listed, "https://app.foo.bar.com:8443", false},
		{"a wildcard before a bare name", listed, "http://app.localhost", true},
		{"the default port left out", listed, "https://example.org", true},
		{"unknown", listed, "https://example.com", false},
		{"an opaque origin", listed, "null", false},
		{"with credentials in it", listed, "https://user@app.foo.bar.com", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{Config: api.Config{CORS: c.cors}, auth: withSecret()})
			for _, path := range []string{"/v1/version", "/v1/query", "/nowhere"} { // on success, on refusal, where nothing is
				got := s.get(t, path, "Origin: "+c.origin)
				require.Equal(t, c.allowed, got.header.Get("Access-Control-Allow-Origin") == c.origin && c.origin != "")
				if !c.allowed {
					require.NotContains(t, headerNames(got.header), "Access-Control")
					continue
				}
				require.Equal(t, "true", got.header.Get("Access-Control-Allow-Credentials"))
				require.Equal(t, "GET,POST,PUT,PATCH,DELETE,OPTIONS", got.header.Get("Access-Control-Allow-Methods"))
			}
			require.Equal(t, http.StatusOK, s.get(t, "/v1/version", "Origin: "+c.origin).status, "the request is served all the same")
		})
	}
}

func headerNames(h http.Header) string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestAPreflightIsAnsweredBeforeAuthentication(t *testing.T) {
	s := start(t, settings{auth: withSecret()})
	got := s.send(t, http.MethodOptions, "/v1/query", "", "Origin: https://app.example",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,x-service-admin-secret")
	require.Equal(t, http.StatusNoContent, got.status)
	require.Empty(t, got.body)
	require.Equal(t, "https://app.example", got.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "1728000", got.header.Get("Access-Control-Max-Age"))
	require.Equal(t, "content-type,x-service-admin-secret", got.header.Get("Access-Control-Allow-Headers"))
	require.Equal(t, "text/plain charset=UTF-8", got.header.Get("Content-Type"))
}

func TestAnOriginThatCannotBeMeantIsRefusedAtTheStart(t *testing.T) {
	for _, bad := range []string{"", "example.com", "https://", "https://a.*.com", "https://*foo.com", "https://*.*.com", "*, https://a.com",
		"https://a.com/path", "https://a.com?x=1", "https://me@a.com"} {
		_, err := api.ParseCORS(bad)
		require.Error(t, err, bad)
	}
}

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

func TestTheClientsAddressIsTheProxysWordOnlyIfItIsTrusted(t *testing.T) {
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, c := range []struct {
		name      string
		proxies   []netip.Prefix
		forwarded string
		want      string
	}{
		{"nobody is trusted", nil, "203.0.113.9", "127.0.0.1"},
		{"the proxy is trusted", local, "203.0.113.9", "203.0.113.9"},
		{"what a client claims to the proxy is not", local, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"another proxy is", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "203.0.113.9", "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{Config: api.Config{TrustedProxies: c.proxies}})
			s.query(t, wellFormed, "X-Forwarded-For: "+c.forwarded)
			require.Equal(t, c.want, s.commands.only(t).Actor.RemoteAddress)
		})
	}
}
