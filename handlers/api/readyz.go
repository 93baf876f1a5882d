package api

import "net/http"

type readyBody struct {
	Ready        bool   `json:"ready"`
	Database     string `json:"database"`
	Position     int64  `json:"position"`
	Head         int64  `json:"head"`
	Lag          int64  `json:"lag"`
	Inconsistent int    `json:"inconsistent_objects"`
	CaptureDrift int    `json:"capture_drift"`
	RemotesAway  int    `json:"remote_schemas_away"`
}

// readyz answers GET /readyz: whether requests should be sent to this node. It
// is ready when the database answered the last time it was looked at, and this
// node is not far behind the history.
func (a *API) readyz(w http.ResponseWriter, _ *http.Request) {
	seen := a.health.Load()
	body := readyBody{
		Database:     databaseWord(seen.err),
		Position:     a.state.Position(),
		Inconsistent: a.state.Inconsistent(),
		CaptureDrift: a.state.CaptureDrift(),
		RemotesAway:  a.state.RemotesAway(),
	}
	// The head may be older than the position, which is read now.
	body.Head = max(seen.head, body.Position)
	body.Lag = body.Head - body.Position
	body.Ready = seen.err == nil && body.Lag <= a.cfg.ReadyLag
	status := http.StatusOK
	if !body.Ready {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, encode(body))
}
