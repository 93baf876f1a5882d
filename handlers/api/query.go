package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/api/auth"
	"annals/handlers/command"
)

// Commands carries out calls of the metadata API.
type Commands interface {
	Execute(context.Context, command.Request) (command.Result, error)
}

const resourceVersionHeader = "X-Service-Resource-Version"

// query answers POST /v1/query and its other name, POST /v1/metadata.
//
// The order of its checks is a promise: the body's size, who asks, whether the
// body is an operation, whether its caller may, and only then what it is about.
func (a *API) query(w http.ResponseWriter, r *http.Request) {
	a.answerQuery(w, r, func(body []byte) ([]byte, error) { return body, nil })
}

// answerQuery answers with what became of the call that a body stands for.
func (a *API) answerQuery(w http.ResponseWriter, r *http.Request, callOf func(body []byte) ([]byte, error)) {
	result, err := a.runQuery(w, r, callOf)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	w.Header().Set(resourceVersionHeader, strconv.FormatInt(result.Position, 10))
	a.succeed(w, r, result.Body)
}

func (a *API) runQuery(w http.ResponseWriter, r *http.Request, callOf func(body []byte) ([]byte, error)) (command.Result, error) {
	caller, denied := a.enter(r)
	body, err := a.readBody(w, r, denied == nil)
	if err == nil {
		err = denied
	}
	if err != nil {
		return command.Result{}, err
	}
	call, err := callOf(body)
	if err != nil {
		return command.Result{}, err
	}
	parsed, err := metadata.Parse(call)
	if err != nil {
		return command.Result{}, err
	}
	if err := applyHeaders(&parsed, r.Header); err != nil {
		return command.Result{}, err
	}
	if needsAdmin(parsed.Command) && !caller.Admin() {
		return command.Result{}, domain.Refuse(domain.AccessDenied, "restricted access : admin only")
	}
	if err := a.awaitVersion(r); err != nil {
		return command.Result{}, err
	}
	return a.execute(r, command.Request{
		Request: parsed, Session: caller.Session, BackendOnly: caller.BackendOnly, Actor: actor(r, caller), Trace: domain.TraceOf(r.Header.Get),
	})
}

func (a *API) execute(r *http.Request, req command.Request) (command.Result, error) {
	start := time.Now()
	result, err := a.commands.Execute(r.Context(), req)
	exchangeOf(r).executed = time.Since(start)
	return result, atArgs(err)
}

// atArgs gives a refusal that does not know its place the one it has when
// nothing else is said: the arguments.
func atArgs(err error) error {
	var refusal *domain.Error
	if errors.As(err, &refusal) && refusal.Path == "" {
		placed := *refusal
		placed.Path = "$.args"
		return &placed
	}
	return err
}

// readBody reads the whole body. It is read to its end even if it is not to be
// kept, so that the answer's order does not depend on the body's length, and
// the client is done sending when it comes.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, keep bool) ([]byte, error) {
	limit := a.cfg.MaxBodyBytes
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength, keep)
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	}
	return nil, domain.RefuseAt("$", domain.BadRequest, "the request's body ended early")
}

// readAll reads a body that was announced to be so long; below 0: of any length.
func readAll(body io.Reader, length int64, keep bool) ([]byte, error) {
	switch {
	case !keep:
		_, err := io.Copy(io.Discard, body)
		return nil, err
	case length <= 0 || length > firstBuffer:
		return io.ReadAll(body)
	}
	kept := make([]byte, length)
	_, err := io.ReadFull(body, kept)
	return kept, err
}

// firstBuffer is how much memory a body gets before any of it has come: a
// client that announces much and sends nothing shall not cost much.
const firstBuffer = 1 << 20

func tooLarge(limit int64) error {
	return domain.RefuseAt("$", domain.TooLarge, "the request's body is larger than %d bytes: send less at a time, or raise --max-body-size", limit)
}

// applyHeaders adds to a call what its headers say of it.
func applyHeaders(req *metadata.Request, h http.Header) error {
	comment, err := auth.Single(h, auth.HeaderComment)
	if err != nil {
		return err
	}
	if comment != "" {
		req.Comment = comment
	}
	expected, err := positionHeader(h, auth.HeaderExpectedVersion)
	if err != nil || expected == nil {
		return err
	}
	if req.Expected != nil && *req.Expected != *expected {
		return domain.RefuseAt("$", domain.BadRequest,
			"x-service-expected-version says %d, and resource_version says %d: send one of them", *expected, *req.Expected)
	}
	req.Expected = expected
	return nil
}

// positionHeader reads a header that holds a position of the history; nil when
// it is not there.
func positionHeader(h http.Header, name string) (*int64, error) {
	value, err := auth.Single(h, name)
	if err != nil || value == "" {
		return nil, err
	}
	position, err := strconv.ParseInt(value, 10, 64)
	if err != nil || position < 0 {
		return nil, domain.RefuseAt("$", domain.BadRequest, "%s: %q is no version: expected a whole number, 0 or more",
			domain.OwnPrefix+strings.ToLower(name), value)
	}
	return &position, nil
}

// needsAdmin reports whether a call is for admins only. Reading and writing
// rows is for every role, under its permissions; of a bulk, all items are
// looked at.
func needsAdmin(c metadata.Command) bool {
	if bulk, ok := c.(metadata.Bulk); ok {
		for _, item := range bulk.Items {
			if needsAdmin(item) {
				return true
			}
		}
		return false
	}
	return !metadata.IsRowOperation(c.Operation())
}

// awaitVersion waits until this node has come to the version that the request
// wants to see at least.
func (a *API) awaitVersion(r *http.Request) error {
	least, err := positionHeader(r.Header, auth.HeaderMinVersion)
	if err != nil || least == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.cfg.MinVersionWait)
	defer cancel()
	err = a.state.WaitFor(ctx, *least)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		return domain.RefuseAt("$", domain.Timeout, "this node is at version %d and did not reach %d within %s: ask again, or raise --min-version-wait",
			a.state.Position(), *least, a.cfg.MinVersionWait)
	}
	return err
}
