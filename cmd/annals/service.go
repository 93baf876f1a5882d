package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/user"
	"strconv"
)

// service is a service that a tool talks to, over HTTP or as if.
type service struct {
	http   http.Client
	base   string
	secret string
	// app is the service in this process; nil when it is elsewhere.
	app *App
}

// remote is the service behind a URL. No redirect is followed: the secret goes
// where the user said, and nowhere else.
func remote(url, secret string) *service {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &service{http: http.Client{CheckRedirect: stay}, base: baseURL(url), secret: secret}
}

// local is the service in this process.
func local(app *App, secret string) *service {
	return &service{http: http.Client{Transport: inProcess{app.api}}, base: "http://annals", secret: secret, app: app}
}

// answer is what the service said.
type answer struct {
	body []byte
	// position is the history's head after a call of the metadata API.
	position int64
}

// refused is an answer that is no success.
type refused struct {
	status  int
	sentOn  string          // where a redirect leads; empty for other answers
	Path    string          `json:"path"`
	Message string          `json:"error"`
	Code    string          `json:"code"`
	Details json.RawMessage `json:"internal"`
}

func (r *refused) Error() string {
	if r.sentOn != "" {
		return fmt.Sprintf("the server answered %d %s, and leads to %s: name that with --url if it is to be trusted", r.status, http.StatusText(r.status), r.sentOn)
	}
	if r.Code == "" {
		return fmt.Sprintf("the server answered %d %s", r.status, http.StatusText(r.status))
	}
	text := fmt.Sprintf("%s (%s at %s)", r.Message, r.Code, r.Path)
	if reason := r.reason(); reason != "" {
		text += ": " + reason
	}
	return text
}

// reason is what the database said, where that was the reason.
func (r *refused) reason() string {
	var details struct {
		Error struct{ Message string } `json:"error"`
	}
	_ = json.Unmarshal(r.Details, &details) // details come in many forms
	return details.Error.Message
}

// get asks for a resource.
func (s *service) get(ctx context.Context, path string, query url.Values) (answer, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return s.send(ctx, http.MethodGet, path, nil)
}

// call is a call of the metadata API.
type call struct {
	Type     string `json:"type"`
	Args     any    `json:"args"`
	Plan     bool   `json:"plan,omitempty"`
	Comment  string `json:"comment,omitempty"`
	Expected *int64 `json:"resource_version,omitempty"`
}

func (s *service) execute(ctx context.Context, c call) (answer, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return answer{}, fmt.Errorf("write the call: %w", err)
	}
	return s.post(ctx, body)
}

func (s *service) post(ctx context.Context, body []byte) (answer, error) {
	return s.send(ctx, http.MethodPost, "/v1/query", body)
}

func (s *service) send(ctx context.Context, method, path string, body []byte) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("--url: %w", err)
	}
	s.sign(r.Header)
	got, err := s.http.Do(r)
	if err != nil {
		return answer{}, unreachable(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	if got.StatusCode != http.StatusOK {
		no := &refused{status: got.StatusCode, sentOn: got.Header.Get("Location")}
		_ = json.Unmarshal(text, no) // what is no JSON is told by its status
		return answer{}, no
	}
	position, _ := strconv.ParseInt(got.Header.Get("X-Service-Resource-Version"), 10, 64) // 0 where there is none
	return answer{bytes.TrimRight(text, "\n"), position}, nil
}

// userVariable is the session variable in which the history keeps who typed a
// command.
const userVariable = "x-service-os-user"

// sign says who asks.
func (s *service) sign(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "annals/"+Version)
	if s.secret != "" {
		h.Set("X-Service-Admin-Secret", s.secret)
	}
	if u, err := user.Current(); err == nil {
		h.Set(userVariable, u.Username)
	}
}

// unreachable says plainly that nobody answered, without the noise around it.
func unreachable(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("ask the server: %w", wrapped.Err)
	}
	return err
}

// read decodes an answer.
func read[T any](a answer) (T, error) {
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		return v, fmt.Errorf("the answer cannot be read; is this an annals server? %w", err)
	}
	return v, nil
}

// inProcess carries requests to a handler in this process.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &written{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}, nil
}

// written is an answer that is being written.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header         { return w.header }
func (w *written) WriteHeader(status int)      { w.status = status }
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
