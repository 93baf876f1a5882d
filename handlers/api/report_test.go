package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/handlers/api"
)

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
