package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	rightSecret = "conformance secret"
	wrongSecret = "not the conformance secret"

	adminSecretHeader = "X-Hasura-Admin-Secret"

	answerLimit = 60 * time.Second
	shownOfBody = 2 << 10 // bytes of a request shown with a failure
)

// A mode is one way the same cases are run.
type mode struct {
	name   string
	secret string // "" in the mode without one
	flags  bool   // settings are given as flags, not as variables
	gate   gateKind
}

// modes are the ones of most cases; see [modesOf].
func modes() []mode {
	return []mode{{name: "no secret"}, {name: "admin secret", secret: rightSecret, flags: true}}
}

// A client sends requests to one server in one mode.
type client struct {
	base string
	mode mode
	gate gate // nil: nobody is told apart but by the secret
	http *http.Client
}

func newClient(base string, m mode) *client {
	return &client{base: base, mode: m, http: &http.Client{Timeout: answerLimit}}
}

type answer struct {
	status int
	header http.Header
	body   any
	raw    []byte
}

func (c *client) post(ctx context.Context, url string, body any, headers map[string]string) (answer, error) {
	return c.send(ctx, http.MethodPost, url, toJSON(body), headers)
}

func (c *client) send(ctx context.Context, method, url string, body []byte, headers map[string]string) (answer, error) {
	a, err := c.exchange(ctx, method, url, body, headers)
	if err != nil {
		return a, err
	}
	return a.decoded()
}

// exchange returns the answer as it came, its body not yet read as JSON.
func (c *client) exchange(ctx context.Context, method, url string, body []byte, headers map[string]string) (answer, error) {
	ask, err := http.NewRequestWithContext(ctx, method, c.base+url, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, url, err)
	}
	ask.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		ask.Header.Set(name, value)
	}
	response, err := c.http.Do(ask)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.raw, err = io.ReadAll(response.Body); err != nil {
		return a, fmt.Errorf("read the answer: %w", err)
	}
	return a, nil
}

func (a answer) decoded() (answer, error) {
	if len(a.raw) == 0 {
		return a, nil
	}
	var err error
	if a.body, err = parseJSON(a.raw); err != nil {
		return a, fmt.Errorf("status %d with a body that is no JSON: %w: %s", a.status, err, a.raw)
	}
	return a, nil
}

// admin posts a metadata operation with admin rights and wants the status.
func (c *client) admin(ctx context.Context, operation any, status int) (answer, error) {
	a, err := c.post(ctx, "/v1/query", operation, c.withSecret(nil))
	if err != nil {
		return a, err
	}
	if a.status != status {
		return a, fmt.Errorf("wanted status %d, got %d: %s\nasked: %s", status, a.status, a.raw, start(toJSON(operation)))
	}
	return a, nil
}

func (c *client) runSQL(ctx context.Context, sql string) (answer, error) {
	return c.admin(ctx, makeObject("type", "run_sql", "args", makeObject("sql", sql)), http.StatusOK)
}

// check sends one request as its authorisation wants it and judges the answer.
func (c *client) check(ctx context.Context, r request, auth string) error {
	if auth == "normal" && c.mode.secret != "" && c.gate == nil {
		if err := c.tryWithoutRight(ctx, r); err != nil {
			return err
		}
	}
	headers, err := c.asCaller(r.headers, auth)
	if err != nil {
		return err
	}
	a, err := c.post(ctx, r.url, r.query, headers)
	if err != nil {
		return fmt.Errorf("POST %s: %w", r.url, err)
	}
	return r.judge(a)
}

// asCaller returns the headers that a case is sent with.
func (c *client) asCaller(headers map[string]string, auth string) (map[string]string, error) {
	switch {
	case auth == "none":
		return headers, nil
	case auth == "normal" && c.gate != nil && hasHeader(headers, "X-Hasura-Role"):
		return c.gate.headers(headers)
	}
	return c.withSecret(headers), nil
}

func hasHeader(headers map[string]string, wanted string) bool {
	for name := range headers {
		if strings.EqualFold(name, wanted) {
			return true
		}
	}
	return false
}

func (r request) judge(a answer) error {
	if a.status != r.status {
		return fmt.Errorf("POST %s: wanted status %d, got %d\nasked:  %s\nwanted: %s\ngot:    %s",
			r.url, r.status, a.status, start(toJSON(r.query)), toJSON(r.want), a.raw)
	}
	if !r.judged {
		return nil
	}
	if err := judge(r.url, r.query, r.want, r.judgedPart(a.body)); err != nil {
		return fmt.Errorf("POST %s: %w\nasked: %s", r.url, err, start(toJSON(r.query)))
	}
	return nil
}

// judgedPart is the body, or, where a bare list is expected of run_sql, which
// never answers one, the rows without the heading.
func (r request) judgedPart(body any) any {
	_, bare := r.want.([]any)
	if rows := list(get(body, "result")); bare && text(get(r.query, "type")) == "run_sql" && len(rows) > 0 {
		return rows[1:]
	}
	return body
}

// start returns as much of a request as a reader of a failure wants to see.
func start(body []byte) []byte {
	if len(body) <= shownOfBody {
		return body
	}
	return append(bytes.Clone(body[:shownOfBody]), "..."...)
}

func (c *client) withSecret(headers map[string]string) map[string]string {
	return secretAdded(headers, c.mode.secret)
}

func secretAdded(headers map[string]string, secret string) map[string]string {
	added := map[string]string{}
	maps.Copy(added, headers)
	if secret != "" {
		added[adminSecretHeader] = secret
	}
	return added
}

// tryWithoutRight sends the request without a secret and with a wrong one:
// both are refused, and neither leaves a trace in the log.
func (c *client) tryWithoutRight(ctx context.Context, r request) error {
	before, err := c.newestEvent(ctx)
	if err != nil {
		return err
	}
	for _, secret := range []string{"", wrongSecret} {
		a, err := c.post(ctx, r.url, r.query, secretAdded(r.headers, secret))
		if err != nil {
			return fmt.Errorf("POST %s with secret %q: %w", r.url, secret, err)
		}
		if err := refused(r, a); err != nil {
			return fmt.Errorf("POST %s with secret %q: %w", r.url, secret, err)
		}
	}
	after, err := c.newestEvent(ctx)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("POST %s: a refused request was recorded as %s", r.url, after)
	}
	return nil
}

// refused wants GraphQL's own way of refusing from GraphQL's addresses.
func refused(r request, a answer) error {
	allowed := []int{http.StatusUnauthorized, http.StatusNotFound}
	answersErrors := r.url == "/v1/graphql" || r.url == "/v1beta1/relay"
	switch {
	case r.status == http.StatusNotFound:
		allowed = []int{http.StatusNotFound}
	case answersErrors:
		allowed = []int{http.StatusOK}
	}
	if !slices.Contains(allowed, a.status) {
		return fmt.Errorf("wanted status %v, got %d: %s", allowed, a.status, a.raw)
	}
	if !has(a.body, "errors") && !has(a.body, "error") {
		return fmt.Errorf("wanted an error body, got %s", a.raw)
	}
	return nil
}

// newestEvent returns the last row of the log as the audit shows it, or the
// refusal of a server whose metadata API is off.
func (c *client) newestEvent(ctx context.Context) (string, error) {
	a, err := c.send(ctx, http.MethodGet, "/v1/audit/events?limit=1", nil, c.withSecret(nil))
	if err != nil {
		return "", fmt.Errorf("read the newest event: %w", err)
	}
	return string(a.raw), nil
}
