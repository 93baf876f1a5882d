package api

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"

	"annals/domain"
	"annals/handlers/api/auth"
)

// exchange is what is known of one request and its answer. The endpoint fills
// it in; the log line is written from it.
type exchange struct {
	requestID string
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
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
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
		return uuid.NewString()
	}
	return id
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
		RemoteAddress: middleware.GetClientIP(r.Context()),
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
