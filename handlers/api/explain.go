package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/graphql"
	"annals/domain/metadata"
	"annals/domain/wire"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// Explainer tells how GraphQL operations would be run, as JSON.
type Explainer interface {
	Explain(context.Context, execution.ExplainRequest) ([]byte, error)
}

// Past tells what the metadata was.
type Past interface {
	WorldAt(context.Context, metadata.Moment) (metadata.World, error)
}

// explain answers POST /v1/graphql/explain: how an operation would be run for
// a role and its session, which are the admin's to choose. Its errors have the
// form and the status of the metadata API.
func (a *API) explain(w http.ResponseWriter, r *http.Request) {
	answer, err := a.runExplain(w, r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.succeed(w, r, answer)
}

func (a *API) runExplain(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := a.readBody(w, r, true)
	if err != nil {
		return nil, err
	}
	request, err := parseExplain(body)
	if err != nil {
		return nil, err
	}
	if err := a.awaitVersion(r); err != nil {
		return nil, err
	}
	start := time.Now()
	answer, err := a.explainAsOf(r.Context(), request)
	exchangeOf(r).executed = time.Since(start)
	return answer, err
}

// explainRequest is what to explain, and under the metadata of which moment.
type explainRequest struct {
	execution.ExplainRequest
	asOf metadata.Moment
}

func (a *API) explainAsOf(ctx context.Context, r explainRequest) ([]byte, error) {
	if !r.asOf.IsNow() {
		world, err := a.past.WorldAt(ctx, r.asOf)
		if err != nil {
			return nil, err
		}
		r.World = &world
	}
	return a.explainer.Explain(ctx, r.ExplainRequest)
}

func parseExplain(body []byte) (explainRequest, error) {
	value, err := wire.Parse(body)
	if err != nil {
		return explainRequest{}, err
	}
	return wire.Decode(value, decodeExplain)
}

// The forms that plans come in.
const (
	planText = "text"
	planJSON = "json"
)

func decodeExplain(n wire.Node) explainRequest {
	r := explainRequest{asOf: metadata.DecodeMoment(n.Optional("as_of"))}
	r.ExplainRequest = execution.ExplainRequest{Request: execution.Request{
		// The role is looked at with all it may have, the permissions of backends included.
		BackendOnly: true,
		Query:       explainedOperation(n.Field("query")),
		Session:     explainedSession(n.Optional("user")),
	}}
	if format := n.Optional("format"); format.Present() {
		r.JSON = format.OneOf(planText, planJSON) == planJSON
	}
	r.Analyze = n.Optional("analyze").BoolOr(false)
	if relay := n.Optional("is_relay"); relay.BoolOr(false) {
		relay.FailCode(domain.NotSupported, "there is no relay schema to explain a query of")
	}
	return r
}

// explainedOperation reads an operation: its text alone, or an object as
// /v1/graphql has it.
func explainedOperation(n wire.Node) plan.Request {
	text, operation := n, plan.Request{}
	if n.Given() && n.Kind() == wire.String {
		operation.Query = n.Text()
	} else {
		text = n.Field("query")
		operation = parseOperation(n)
	}
	if _, err := graphql.Parse(operation.Query); err != nil && !errors.Is(err, graphql.ErrTooLong) { // the limit of operations is another
		text.Fail("parsing the graphql query failed")
	}
	return operation
}

// explainedSession reads a role and session variables, in either spelling. Who
// names no role is the admin.
func explainedSession(n wire.Node) domain.Session {
	s := domain.Session{Role: domain.AdminRole, Variables: map[string]string{}}
	if n.Present() {
		own := map[string]bool{}
		for name, value := range n.Members() {
			text, canonical := value.String(), domain.SessionVariable(name)
			if !domain.IsSessionVariable(name) || own[canonical] {
				continue // our spelling wins over the other
			}
			s.Variables[canonical] = text
			own[canonical] = strings.EqualFold(name, canonical)
		}
	}
	if role := s.Variables[auth.RoleVariable]; role != "" {
		s.Role = role
	}
	s.Variables[auth.RoleVariable] = s.Role
	return s
}
