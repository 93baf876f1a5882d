package api_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/command"
)

// served is a service behind the server that it has in production.
func served(t *testing.T) (address string, asked *commands) {
	t.Helper()
	s := start(t, settings{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := s.Server()
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), s.commands
}

// says sends bytes as they are, and returns the statuses of what is answered
// until the server hangs up.
func says(t *testing.T, address, text string) (statuses []int) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	go func() { _, _ = io.WriteString(conn, text) }() // a server that has heard enough hangs up
	reader := bufio.NewReader(conn)
	for {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		statuses = append(statuses, answer.StatusCode)
	}
}

func TestAClientThatTakesNoAnswerInIsGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, settings{Config: api.Config{AnswerTimeout: 50 * time.Millisecond}})
	long := bytes.Repeat([]byte(" "), 64<<20) // more than the buffers of both ends can hold
	s.commands.answer = func(command.Request) (command.Result, error) { return command.Result{Body: long}, nil }
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/query HTTP/1.1\r\nHost: annals\r\nContent-Length: %d\r\n\r\n%s", len(wellFormed), wellFormed)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.lines.ofType(t, api.LineHTTP)) == 1 }, soon, time.Millisecond)

	patient := start(t, settings{})
	patient.commands.answer = s.commands.answer
	require.Len(t, patient.query(t, wellFormed).body, len(long), "who takes it in gets all of it")
}

func TestARequestThatTwoServersCouldReadDifferentlyIsRefused(t *testing.T) {
	t.Parallel()
	address, asked := served(t)
	const begin, end = "POST /v1/query HTTP/1.1\r\nHost: annals\r\n", "\r\n" + wellFormed
	length := fmt.Sprintf("Content-Length: %d\r\n", len(wellFormed))
	for name, request := range map[string]string{
		"two lengths":             begin + length + "Content-Length: 5\r\n" + end,
		"a length with a sign":    begin + "Content-Length: +5\r\n" + end,
		"a space before a colon":  begin + "Content-Length : 5\r\n" + end,
		"an encoding nobody has":  begin + "Transfer-Encoding: xchunked\r\n" + end,
		"two encodings":           begin + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" + end,
		"a chunk without a size":  begin + "Transfer-Encoding: chunked\r\n\r\nx\r\n",
		"two hosts":               "POST /v1/query HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + length + end,
		"a NUL in a header":       begin + "X-Hasura-Role: a\x00b\r\n" + length + end,
		"a line feed in a header": begin + "X-Hasura-Role: a\n b: c\rd\r\n" + length + end,
	} {
		t.Run(name, func(t *testing.T) {
			statuses := says(t, address, request)
			require.NotEmpty(t, statuses)
			require.GreaterOrEqual(t, statuses[0], http.StatusBadRequest)
		})
	}
	require.Empty(t, asked.asked)
}

func TestALengthBesideChunksDoesNotHideASecondRequest(t *testing.T) {
	t.Parallel()
	address, asked := served(t)
	hidden := "0\r\n\r\nPOST /v1/query HTTP/1.1\r\nHost: annals\r\nContent-Length: 2\r\n\r\n{}"
	says(t, address, "POST /v1/query HTTP/1.1\r\nHost: annals\r\nConnection: close\r\n"+
		fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n", len(hidden))+hidden)
	require.Empty(t, asked.asked)
}

func TestHeadersMayBeOnlySoLong(t *testing.T) {
	t.Parallel()
	address, _ := served(t)
	statuses := says(t, address, "GET /healthz HTTP/1.1\r\nHost: annals\r\nX: "+strings.Repeat("x", 2*api.MaxHeaderBytes)+"\r\n\r\n")
	require.Equal(t, []int{http.StatusRequestHeaderFieldsTooLarge}, statuses)
}

func TestAClientThatIsSlowIsGivenUp(t *testing.T) {
	t.Parallel()
	server := start(t, settings{}).Server()
	for what, limit := range map[string]time.Duration{
		"header": server.ReadHeaderTimeout, "whole request": server.ReadTimeout, "next request": server.IdleTimeout,
	} {
		require.Positive(t, limit, what)
		require.LessOrEqual(t, limit, 10*time.Minute, what)
	}
	server.ReadHeaderTimeout = 10 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	says(t, listener.Addr().String(), "GET /healthz HTTP/1.1\r\nHost: annals\r\n")
}

func TestAPackedBodyIsNotUnpacked(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	_, err := packer.Write(bytes.Repeat([]byte(" "), 64<<20))
	require.NoError(t, err)
	_, err = io.WriteString(packer, wellFormed)
	require.NoError(t, err)
	require.NoError(t, packer.Close())
	s := start(t, settings{})
	s.sendReader(t, http.MethodPost, "/v1/query", &bomb, "Content-Encoding: gzip").isProblem(t, http.StatusBadRequest, "invalid-json", "$")
	require.Empty(t, s.commands.asked)
}

func TestAPathThatClimbsLeadsNowhere(t *testing.T) {
	t.Parallel()
	s := start(t, settings{})
	for _, path := range []string{
		"/v1/../v1/query", "/../../etc/passwd", "/v1/%2e%2e/healthz", "/v1//query", "/v1/query/", "/v1/query%00", "/V1/QUERY",
		"/console/../v1/query", "/v1/audit/objects/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
	} {
		s.send(t, http.MethodPost, path, wellFormed).isProblem(t, http.StatusNotFound, "not-found", "$")
	}
	require.Empty(t, s.commands.asked)
}

// withCookie is a service whose tokens come in a cookie.
func withCookie(t *testing.T, c api.Config) *service {
	t.Helper()
	jwt, err := auth.ParseJWTConfig(`{"type":"HS256","key":"an example secret of 32 bytes !!","header":{"type":"Cookie","name":"token"}}`)
	require.NoError(t, err)
	c.GuardCookies = jwt.InCookie()
	return start(t, settings{Config: c, auth: auth.Config{Secrets: withSecret().Secrets, JWT: &jwt}})
}

// adminToken is signed with the key of [withCookie].
const adminToken = "eyJhbGciOiJIUzI1NiJ9.eyJodHRwczovL2hhc3VyYS5pby9qd3QvY2xhaW1zIjp7IngtaGFzdXJhLWFsbG93ZWQtcm9sZXMiOlsiYWRtaW4iLCJ1c2VyIl0sIngtaGFzdXJhLWRlZmF1bHQtcm9sZSI6ImFkbWluIn19.7D_kNq7oiO_kexhdIIFYzS8kfBBCuXkqGkni1MhaSTk"

func TestACookieOfAnotherSitesPageLetsNobodyIn(t *testing.T) {
	t.Parallel()
	named, err := api.ParseCORS("https://app.example.com")
	require.NoError(t, err)
	for _, test := range []struct {
		name, origin string
		cors         api.CORS
		taken        bool
	}{
		{"no page", "", api.CORS{}, true},
		{"a page of our own", "http://annals.example.com:8080", api.CORS{}, true},
		{"a page of another site, where all may call", "https://evil.example.org", api.CORS{}, false},
		{"a page of nowhere", "null", api.CORS{}, false},
		{"a page of our host on another port", "http://annals.example.com", api.CORS{}, false},
		{"a page that the settings name", "https://app.example.com", named, true},
		{"a page that they do not name", "https://evil.example.org", named, false},
		{"a page of another site, without CORS", "https://evil.example.org", api.NoCORS(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := withCookie(t, api.Config{CORS: test.cors})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/query", strings.NewReader(wellFormed))
			require.NoError(t, err)
			r.Host = "annals.example.com:8080"
			r.Header.Set("Cookie", "token="+adminToken)
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, test.taken, answer.StatusCode == http.StatusOK)
			require.Equal(t, test.taken, len(s.commands.asked) == 1)
		})
	}
}

// refusing lets nobody in.
type refusing struct{ err error }

func (r refusing) Authenticate(context.Context, http.Header) (auth.Caller, error) {
	return auth.Caller{}, r.err
}

func TestWhoIsNotLetInIsToldByEachEndpointInItsOwnWay(t *testing.T) {
	t.Parallel()
	const bare, graphQL = `{"path":"$","error":"no","code":"%s"}`, `{"errors":[{"extensions":{"path":"$","code":"%s"},"message":"no"}]}`
	for _, refusal := range []struct {
		err    error
		status int
		code   string
	}{
		{&auth.Denied{Message: "no"}, http.StatusUnauthorized, "access-denied"},
		{domain.RefuseAt("$", auth.InvalidJWT, "no"), http.StatusBadRequest, "invalid-jwt"},
		{&domain.Error{Code: domain.Unexpected, Path: "$", Message: "no", Fault: true}, http.StatusInternalServerError, "unexpected"},
	} {
		a := api.New(api.Config{}, api.Deps{
			Auth: refusing{refusal.err}, Commands: &commands{}, Operations: answering{}, State: &state{},
			Registry: prometheus.NewRegistry(), Log: new(lines).take,
		})
		s := &service{API: a, url: listening(t, a)}
		for _, endpoint := range []struct {
			method, path, form string
			status             int
		}{
			{http.MethodPost, "/v1/query", bare, refusal.status},
			{http.MethodPost, "/v1/metadata", bare, refusal.status},
			{http.MethodGet, "/v1alpha1/config", bare, refusal.status},
			{http.MethodGet, "/v1/audit/events", bare, refusal.status},
			{http.MethodPost, "/v1/graphql", graphQL, http.StatusOK},
			{http.MethodPost, "/v1alpha1/graphql", graphQL, refusal.status},
		} {
			got := s.send(t, endpoint.method, endpoint.path, `{"query":"{ role }"}`)
			require.Equal(t, endpoint.status, got.status, endpoint.path)
			require.JSONEq(t, fmt.Sprintf(endpoint.form, refusal.code), got.body, endpoint.path)
		}
	}
}
