package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/handlers/api"
)

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
