package api

import (
	"io"
	"net/http"
	"time"
)

// healthz answers GET /healthz: whether the service is alive, in one of the
// three texts of v1.3. Whoever asks before the first look at the database is
// done waits for it: a service that has just begun is not ill.
func (a *API) healthz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.looked:
	case <-r.Context().Done():
	case <-time.After(a.cfg.HealthTimeout):
	}
	status, text := http.StatusOK, "OK"
	switch {
	case a.health.Load().err != nil:
		status, text = http.StatusInternalServerError, "ERROR"
	case a.state.Inconsistent() > 0:
		text = "WARN: inconsistent objects in schema"
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
