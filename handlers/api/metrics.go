package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics answers GET /metrics with what the registry holds, in the text form
// of Prometheus.
func (a *API) metrics() http.HandlerFunc {
	show := promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}).ServeHTTP
	if a.cfg.ProtectMetrics {
		return a.admin(show)
	}
	return show
}
