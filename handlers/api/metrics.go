package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics answers GET /metrics with what the registry holds, in the text form
// of Prometheus. Figures that cannot be had at the moment, as the database is away, are
// left out: the others are needed then more than ever.
func (a *API) metrics() http.HandlerFunc {
	show := promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}).ServeHTTP
	if a.cfg.ProtectMetrics {
		return a.admin(show)
	}
	return show
}
