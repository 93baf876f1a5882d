package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/command"
)

const secret = "s3cret"

// service is an API that listens, and the parts of the house behind it.
type service struct {
	*api.API
	url      string
	commands *commands
	state    *state
	lines    *lines
	registry *prometheus.Registry
}

// settings are what a test wants otherwise than usual.
type settings struct {
	api.Config
	auth       auth.Config
	history    api.History
	deliveries api.Deliveries
}

// start starts a service. The database has answered once.
func start(t *testing.T, s settings) *service {
	t.Helper()
	authenticator, err := auth.New(s.auth)
	require.NoError(t, err)
	v := &service{commands: &commands{}, state: &state{position: 7, head: 7}, lines: &lines{}, registry: prometheus.NewRegistry()}
	v.commands.answer = func(command.Request) (command.Result, error) {
		return command.Result{Body: json.RawMessage(`{"message":"success"}`), Position: 8}, nil
	}
	v.API = api.New(s.Config, api.Deps{
		Auth: authenticator, Commands: v.commands, History: s.history, Deliveries: s.deliveries, State: v.state,
		Registry: v.registry, Log: v.lines.take,
	})
	v.Look(t.Context())
	v.url = listening(t, v)
	return v
}

// listening serves a handler, and returns where.
func listening(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func withSecret() auth.Config {
	return auth.Config{Secrets: []auth.Secret{{Name: "admin-secret", Value: secret}}}
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request with headers given as "Name: value".
func (s *service) send(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()
	return s.sendReader(t, method, path, strings.NewReader(body), headers...)
}

func (s *service) sendReader(t *testing.T, method, path string, body io.Reader, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	require.NoError(t, err)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	// The transport would otherwise ask for gzip, and hide that it came.
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return reply{answer.StatusCode, answer.Header, string(text)}
}

// query posts to the metadata API.
func (s *service) query(t *testing.T, body string, headers ...string) reply {
	t.Helper()
	return s.send(t, http.MethodPost, "/v1/query", body, headers...)
}

func (s *service) get(t *testing.T, path string, headers ...string) reply {
	t.Helper()
	return s.send(t, http.MethodGet, path, "", headers...)
}

// isProblem says that a reply is an error in the form that all have.
func (r reply) isProblem(t *testing.T, status int, code, path string) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	require.Equal(t, "application/json; charset=utf-8", r.header.Get("Content-Type"))
	require.Empty(t, r.header.Get("Content-Encoding"), "errors are not compressed")
	var body struct{ Path, Error, Code string }
	require.NoError(t, json.Unmarshal([]byte(r.body), &body), r.body)
	require.Equal(t, code, body.Code, r.body)
	require.Equal(t, path, body.Path, r.body)
	require.NotEmpty(t, body.Error)
}

// commands remembers what it was asked, and answers as a test wants.
type commands struct {
	mu     sync.Mutex
	asked  []command.Request
	answer func(command.Request) (command.Result, error)
}

func (c *commands) Execute(_ context.Context, r command.Request) (command.Result, error) {
	c.mu.Lock()
	c.asked = append(c.asked, r)
	c.mu.Unlock()
	return c.answer(r)
}

// only is the one request that came so far.
func (c *commands) only(t *testing.T) command.Request {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Len(t, c.asked, 1)
	return c.asked[0]
}

func (c *commands) fails(err error) {
	c.answer = func(command.Request) (command.Result, error) { return command.Result{}, err }
}

// state is a node that stands still.
type state struct {
	position, head int64
	inconsistent   int
	drift, away    int
	err            error
}

func (s *state) Position() int64                     { return s.position }
func (s *state) Inconsistent() int                   { return s.inconsistent }
func (s *state) CaptureDrift() int                   { return s.drift }
func (s *state) RemotesAway() int                    { return s.away }
func (s *state) Head(context.Context) (int64, error) { return s.head, s.err }
func (s *state) WaitFor(ctx context.Context, position int64) error {
	if position <= s.position {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// lines keeps the log.
type lines struct {
	mu   sync.Mutex
	list []api.Line
}

func (l *lines) take(_ context.Context, line api.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
}

// ofType returns the details of the lines of a type, as JSON and decoded.
func (l *lines) ofType(t *testing.T, kind string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []map[string]any
	for _, line := range l.list {
		if line.Type != kind {
			continue
		}
		text, err := json.Marshal(line.Detail)
		require.NoError(t, err)
		var detail map[string]any
		require.NoError(t, json.Unmarshal(text, &detail))
		found = append(found, detail)
	}
	return found
}

// text is the whole log as it would be written.
func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b bytes.Buffer
	log := api.NewLog(&b, nil)
	for _, line := range l.list {
		log(context.Background(), line)
	}
	return b.String()
}
