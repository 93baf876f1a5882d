package api

import "net/http"

// version answers GET /v1/version.
func (a *API) version(w http.ResponseWriter, r *http.Request) {
	a.succeed(w, r, encode(struct {
		Version string `json:"version"`
	}{a.cfg.Version}))
}
