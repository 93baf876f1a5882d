package api

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"annals/domain"
	"annals/handlers/api/auth"
)

// exchange is what is known of one request and its answer. The endpoint fills
// it in; the log line is written from it. It is the request's context as well,
// and the router's, which would otherwise have two copies of the request made.
type exchange struct {
	context.Context
	route     chi.Context
	requestID string
	client    netip.Addr
	caller    *auth.Caller  // nil: not asked, or not let in
	executed  time.Duration // how long the operation took; 0 when none ran
	problem   *problem      // nil: success
	query     *queryText    // what failed, where queries are logged; else nil
}

type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange {
	return r.Context().Value(exchangeKey{}).(*exchange)
}

func withExchange(r *http.Request, x *exchange) *http.Request {
	x.Context = r.Context()
	return r.WithContext(x)
}

// Value implements [context.Context].
func (x *exchange) Value(key any) any {
	switch {
	case key == exchangeKey{}:
		return x
	case key == chi.RouteCtxKey && x.route.Routes != nil:
		return &x.route
	}
	return x.Context.Value(key)
}

// address is where the request comes from, as text.
func (x *exchange) address() string {
	if !x.client.IsValid() {
		return ""
	}
	return x.client.String()
}

const requestIDHeader = "X-Request-Id"

// Limits of what a client may have remembered of itself.
const (
	MaxRequestIDBytes = 256
	MaxUserAgentBytes = 512
)

// requestID returns the id that the client gave the request, or a new one
// when it gave none that could be stored and sent back as it is.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if id == "" || len(id) > MaxRequestIDBytes || !utf8.ValidString(id) {
		return newRequestID()
	}
	return id
}

// newRequestID is a random UUID. It tells requests apart and guards nothing, so
// the runtime's own generator is good enough.
func newRequestID() string {
	var id uuid.UUID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // RFC 9562's variant
	return id.String()
}

// enter finds out who asks.
func (a *API) enter(r *http.Request) (auth.Caller, error) {
	caller, err := a.auth.Authenticate(r.Context(), a.credentials(r))
	if err != nil {
		return auth.Caller{}, err
	}
	exchangeOf(r).caller = &caller
	return caller, nil
}

// admin lets only admins pass to an endpoint.
func (a *API) admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.enter(r)
		if err == nil && !caller.Admin() {
			err = domain.RefuseAt("$", domain.AccessDenied, "You have to be an admin to access this endpoint")
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		next(w, r)
	}
}

// actor is what the history remembers of the caller.
func actor(r *http.Request, caller auth.Caller) domain.Actor {
	return domain.Actor{
		Role:          caller.Role,
		Session:       auth.Redact(caller.Variables),
		Credential:    caller.Credential,
		RequestID:     exchangeOf(r).requestID,
		RemoteAddress: exchangeOf(r).address(),
		UserAgent:     cut(strings.ToValidUTF8(r.UserAgent(), "\uFFFD"), MaxUserAgentBytes),
	}
}

// cut shortens s to n bytes at most, without cutting through a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
