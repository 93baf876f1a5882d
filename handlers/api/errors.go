package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"annals/domain"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// problem is an error as a client sees it.
type problem struct {
	status   int
	Internal json.RawMessage `json:"internal,omitempty"`
	Path     string          `json:"path"`
	Error    string          `json:"error"`
	Code     domain.Code     `json:"code"`
}

// noSuchResource is the refusal of a URL that stands for nothing.
type noSuchResource struct{ message string }

func (e *noSuchResource) Error() string { return e.message }

// errGone is what becomes of an error that only says that its request ended:
// the client hung up, or this node is being stopped.
var errGone = domain.RefuseAt("$", domain.Timeout,
	"the request was cancelled before it was answered; the history tells whether it took effect")

// describe is the one table from errors to answers. Everything that is not a
// refusal is an internal error; known tells the two apart.
//
//	unknown URL                              404 not-found
//	not let in                               401 access-denied
//	conflict, payload-too-large, timeout     409, 413, 503
//	refusals of an action's handler          the handler's status
//	refusals that are the server's fault     500, their code
//	all other refusals                       400, their code
//	anything else                            500 unexpected
func describe(err error) (p problem, known bool) {
	var (
		missing *noSuchResource
		denied  *auth.Denied
		refused *execution.HandlerRefusal
		refusal *domain.Error
	)
	switch {
	case errors.As(err, &missing):
		return problem{status: http.StatusNotFound, Path: "$", Error: missing.message, Code: domain.NotFound}, true
	case errors.As(err, &denied):
		return problem{status: http.StatusUnauthorized, Path: "$", Error: denied.Message, Code: domain.AccessDenied}, true
	case errors.As(err, &refused):
		return problem{refused.Status, nil, refused.Refusal.Path, refused.Refusal.Message, refused.Refusal.Code}, true
	case errors.As(err, &refusal):
		return problem{statusOf(refusal), refusal.Internal, refusal.Path, refusal.Message, refusal.Code}, true
	}
	return problem{status: http.StatusInternalServerError, Path: "$", Error: "internal error", Code: domain.Unexpected}, false
}

func statusOf(e *domain.Error) int {
	switch {
	case e.Fault:
		return http.StatusInternalServerError
	case e.Code == domain.Conflict:
		return http.StatusConflict
	case e.Code == domain.TooLarge:
		return http.StatusRequestEntityTooLarge
	case e.Code == domain.Timeout:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// refuse answers with an error.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := a.problemOf(r, err, errGone)
	answer(w, p.status, encode(p))
}

// problemOf describes an error for the caller, and for the request's line of
// the log. The cause of an internal one is written to the log, as the client
// is not told; gone is the error of a request that nobody waits for any more.
func (a *API) problemOf(r *http.Request, err, gone error) problem {
	p, known := describe(err)
	if !known && r.Context().Err() != nil {
		p, known = describe(gone)
	}
	if !known {
		a.logInternal(r, err)
	}
	if p.Path == "" {
		p.Path = "$"
	}
	x := exchangeOf(r)
	if !a.showsInternal(x) {
		p.Internal = nil
	}
	x.problem = &p
	return p
}

// showsInternal reports whether the internal details of an error may be told.
// They never are to somebody who was not let in.
func (a *API) showsInternal(x *exchange) bool {
	if x.caller == nil {
		return false
	}
	return a.cfg.DevMode || x.caller.Admin() && !a.cfg.HideInternal
}
