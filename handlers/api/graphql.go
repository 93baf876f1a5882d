package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// Operations runs GraphQL operations. Its answer is a whole one, {"data": ...}.
type Operations interface {
	Run(context.Context, execution.Request) ([]byte, error)
}

// graphQL answers GraphQL operations over HTTP.
type graphQL struct {
	*API
	operations Operations
	// status is what errors are answered with: /v1/graphql says 200 whatever
	// happens, /v1alpha1/graphql says what went wrong.
	status func(problem) int
}

func alwaysOK(problem) int          { return http.StatusOK }
func asItIs(p problem) (status int) { return p.status }

// ServeHTTP implements [http.Handler].
func (g graphQL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, items, err := g.read(w, r)
	switch {
	case err != nil:
		g.refuseGraphQL(w, r, err)
	case items.batch:
		g.succeed(w, r, g.runAll(r, caller, items.requests))
	default:
		body, err := g.run(r, caller, items.requests[0], w.Header())
		if err != nil {
			g.refuseGraphQL(w, r, err)
			return
		}
		g.succeed(w, r, body)
	}
}

// read finds out who asks, and for what.
func (g graphQL) read(w http.ResponseWriter, r *http.Request) (auth.Caller, graphQLBody, error) {
	caller, denied := g.enter(r)
	body, err := g.readBody(w, r, denied == nil)
	if err == nil {
		err = denied
	}
	if err != nil {
		return auth.Caller{}, graphQLBody{}, err
	}
	items, err := parseGraphQL(body, g.cfg.MaxBatch)
	if err != nil {
		return auth.Caller{}, graphQLBody{}, err
	}
	return caller, items, g.awaitVersion(r)
}

// runAll answers each item of a batch in its place, one after the other: one that
// fails does not keep the others from running.
func (g graphQL) runAll(r *http.Request, caller auth.Caller, requests []plan.Request) []byte {
	answers := make([][]byte, len(requests))
	for i, request := range requests {
		body, err := g.run(r, caller, request, nil)
		if err != nil {
			body = encode(graphQLErrors(g.problemOf(r, err)))
		}
		answers[i] = body
	}
	return append(append([]byte("["), bytes.Join(answers, []byte(","))...), ']')
}

// run runs an operation. The headers that come with its answer go to heard; nil: nowhere.
func (g graphQL) run(r *http.Request, caller auth.Caller, request plan.Request, heard http.Header) ([]byte, error) {
	start := time.Now()
	body, err := g.operations.Run(r.Context(), execution.Request{
		Session: caller.Session, BackendOnly: caller.BackendOnly, Query: request,
		Client: execution.Client{Header: r.Header, Host: r.Host, Answer: heard},
		Told:   g.telling(r, caller, request),
	})
	if err != nil && g.cfg.LogQueries {
		exchangeOf(r).query = new(textOf(request))
	}
	exchangeOf(r).executed += time.Since(start)
	return body, err
}

// graphQLBody is one request, or a list of requests.
type graphQLBody struct {
	requests []plan.Request
	batch    bool
}

func parseGraphQL(body []byte, maxBatch int) (graphQLBody, error) {
	value, err := wire.Parse(body)
	if err != nil {
		return graphQLBody{}, err
	}
	return wire.Decode(value, func(n wire.Node) graphQLBody {
		if n.Kind() == wire.Array {
			if len(n.Items()) > maxBatch {
				n.FailCode(domain.TooLarge, "the request has %d operations, and may have %d: send them in several, or raise --max-batch-size", len(n.Items()), maxBatch)
			}
			return graphQLBody{wire.List(n, parseOperation), true}
		}
		return graphQLBody{[]plan.Request{parseOperation(n)}, false}
	})
}

func parseOperation(n wire.Node) plan.Request {
	request := plan.Request{Query: n.Field("query").Text()}
	if name := n.Optional("operationName"); name.Present() {
		request.OperationName = name.Text()
	}
	if variables := n.Optional("variables"); variables.Present() {
		if variables.Kind() != wire.Object {
			variables.Fail("parsing HashMap failed, expected Object")
		}
		request.Variables = variables.Value()
	}
	return request
}

// graphQLError is an error as GraphQL spells it.
type graphQLError struct {
	Extensions graphQLExtensions `json:"extensions"`
	Message    string            `json:"message"`
}

type graphQLExtensions struct {
	Internal json.RawMessage `json:"internal,omitempty"`
	Path     string          `json:"path"`
	Code     domain.Code     `json:"code"`
}

type graphQLErrorBody struct {
	Errors []graphQLError `json:"errors"`
}

func graphQLErrors(p problem) graphQLErrorBody {
	return graphQLErrorBody{[]graphQLError{{graphQLExtensions{p.Internal, p.Path, p.Code}, p.Error}}}
}

// errOperationGone is what becomes of an operation whose client hung up.
var errOperationGone = domain.RefuseAt("$", domain.Timeout, "the request was cancelled before it was answered")

func (g graphQL) problemOf(r *http.Request, err error) problem {
	return g.API.problemOf(r, err, errOperationGone)
}

func (g graphQL) refuseGraphQL(w http.ResponseWriter, r *http.Request, err error) {
	p := g.problemOf(r, err)
	answer(w, g.status(p), encode(graphQLErrors(p)))
}
