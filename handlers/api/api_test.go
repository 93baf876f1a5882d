package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
