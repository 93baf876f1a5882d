package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/handlers/api"
)

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
			`{"ready":true,"database":"ok","position":9,"head":9,"lag":0,"inconsistent_objects":0,"capture_drift":0,"remote_schemas_away":0}`},
		{"ahead of the last look", state{position: 11, head: 9, inconsistent: 1, drift: 2, away: 1}, 200,
			`{"ready":true,"database":"ok","position":11,"head":11,"lag":0,"inconsistent_objects":1,"capture_drift":2,"remote_schemas_away":1}`},
		{"a little behind", state{position: 4, head: 9}, 200,
			`{"ready":true,"database":"ok","position":4,"head":9,"lag":5,"inconsistent_objects":0,"capture_drift":0,"remote_schemas_away":0}`},
		{"far behind", state{position: 4, head: 10}, 503,
			`{"ready":false,"database":"ok","position":4,"head":10,"lag":6,"inconsistent_objects":0,"capture_drift":0,"remote_schemas_away":0}`},
		{"no database", state{position: 4, head: 10, err: errors.New("password of app@db is wrong")}, 503,
			`{"ready":false,"database":"unreachable","position":4,"head":7,"lag":3,"inconsistent_objects":0,"capture_drift":0,"remote_schemas_away":0}`},
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

func TestWatchingLooksAgainAndAgainUntilItIsStopped(t *testing.T) {
	looked := make(chan struct{})
	node := &watchedState{looked: looked}
	a := api.New(api.Config{HealthInterval: time.Millisecond, HealthTimeout: time.Hour}, api.Deps{
		State: node, Registry: prometheus.NewRegistry(), Log: (&lines{}).take,
	})
	ask := func(ctx context.Context) string {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/healthz", nil))
		return w.Body.String()
	}
	healthz := func() string { return ask(t.Context()) }
	gone, leave := context.WithCancel(t.Context())
	leave()
	require.Equal(t, "ERROR", ask(gone), "who does not wait for the first look")
	first := make(chan string)
	go func() { first <- healthz() }()

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Watch(ctx) }()
	<-looked
	<-looked // so the first look is over
	require.Equal(t, "OK", <-first, "who came before it")
	require.Equal(t, "OK", healthz())
	node.failing.Store(true)
	<-looked
	<-looked
	<-looked // so a look that began after the database failed is over
	require.Equal(t, "ERROR", healthz())
	stop()
	<-ended
}

// watchedState tells of each look at it.
type watchedState struct {
	state
	looked  chan struct{}
	failing atomic.Bool
}

func (s *watchedState) Head(ctx context.Context) (int64, error) {
	select {
	case s.looked <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if s.failing.Load() {
		return 0, errors.New("refused")
	}
	return 0, nil
}
