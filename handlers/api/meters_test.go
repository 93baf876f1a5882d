package api_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/handlers/api"
)

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

// away is a figure that cannot be had.
type away struct{ desc *prometheus.Desc }

func (a away) Describe(to chan<- *prometheus.Desc) { to <- a.desc }
func (a away) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(a.desc, errors.New("the database is away"))
}

func TestAFigureThatCannotBeHadHidesNoOther(t *testing.T) {
	s := start(t, settings{})
	s.registry.MustRegister(away{prometheus.NewDesc("away", "Is away.", nil, nil)})
	got := s.get(t, "/metrics")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, "annals_websockets 0")
}
