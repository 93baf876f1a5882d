package execution

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/handlers/outbound"
)

// DefaultParallelActions is how many handlers one query has called at the same time.
const DefaultParallelActions = 10

// ActionCall is one call of an action's handler.
type ActionCall struct {
	Name       string
	Definition metadata.ActionDefinition
	Session    domain.Session
	// Input is a JSON object. Client holds the headers that the handler gets of the client.
	Input  json.RawMessage
	Client http.Header
	// Prefix is how session variables are spelled. Empty: as ours.
	Prefix string
}

// actionBody is what a handler gets.
type actionBody struct {
	Action  actionName        `json:"action"`
	Input   json.RawMessage   `json:"input"`
	Session map[string]string `json:"session_variables"`
}

type actionName struct {
	Name string `json:"name"`
}

// Body is what the handler gets, as JSON.
func (c ActionCall) Body() []byte {
	spelled, config := map[string]string{}, Config{HeaderPrefix: c.Prefix}
	for name, value := range variablesAndRole(c.Session) {
		spelled[config.spelled(name)] = value
	}
	body, _ := json.Marshal(actionBody{actionName{c.Name}, c.Input, spelled}) // all of it has a JSON form
	return body
}

// variablesAndRole is the session's variables with the role among them.
func variablesAndRole(s domain.Session) map[string]string {
	all := map[string]string{domain.OwnPrefix + "role": s.Role}
	maps.Copy(all, s.Variables)
	return all
}

// Request is the HTTP request that calls the handler. What the definition says
// wins over what the client said.
func (c ActionCall) Request(env metadata.Environment) (outbound.Request, error) {
	url, err := metadata.ResolveURL(c.Definition.Handler, env)
	if err != nil {
		return outbound.Request{}, inRequest(err)
	}
	configured, err := metadata.ResolveHeaders(c.Definition.Headers, env)
	if err != nil {
		return outbound.Request{}, inRequest(err)
	}
	header := http.Header{}
	if c.Definition.ForwardClientHeaders {
		maps.Copy(header, c.Client)
	}
	header.Set("Content-Type", "application/json")
	continueTrace(header, domain.TraceOf(c.Client.Get))
	own := http.Header{}
	for _, h := range configured {
		own.Add(h.Name, h.Value)
	}
	maps.Copy(header, own)
	return outbound.Request{
		URL: url, Header: header, Body: c.Body(), Timeout: time.Duration(c.Definition.Timeout) * time.Second,
		Once: c.Definition.Type == metadata.MutationAction,
	}, nil
}

// inRequest places a refusal about the metadata in the GraphQL request that met it.
func inRequest(err error) error {
	var refusal *domain.Error
	if !errors.As(err, &refusal) {
		return err
	}
	placed := *refusal
	placed.Path = "$"
	return &placed
}

// HandlerAnswered is what the log is told of a handler that answered: sizes are
// of bodies, in bytes.
type HandlerAnswered struct {
	Action       string `json:"action_name"`
	RequestSize  int    `json:"request_size"`
	ResponseSize int    `json:"response_size"`
}

// CallAction calls a handler and returns its answer, which is as the output
// demands. What the handler or the way to it did wrong is told by a [domain.Error].
func (e *Executor) CallAction(ctx context.Context, c ActionCall, out *plan.Output) (ActionAnswer, error) {
	c.Prefix = e.config.HeaderPrefix
	request, err := c.Request(e.world().Env)
	if err != nil {
		return ActionAnswer{}, err
	}
	response, err := e.config.Outbound.Send(ctx, request)
	if err == nil && e.config.Called != nil {
		e.config.Called(ctx, HandlerAnswered{c.Name, len(request.Body), len(response.Body)})
	}
	answer, err := readActionAnswer(c, request, response, err, out)
	answer.Sent = request.Body
	return answer, err
}

// callActions calls the handlers of an operation's synchronous actions: those
// of a query side by side, those of a mutation one after the other, as their
// order may matter. No connection to the database is held meanwhile.
func (e *Executor) callActions(ctx context.Context, op Operation) (outside, error) {
	known := newOutside(op)
	if !hasActions(op.Plan) {
		return known, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.parallelActions(op.Plan.Kind))
	client, headers := op.Client.Forwarded(), make([]http.Header, len(known))
	for i, f := range op.Plan.Fields {
		step, ok := f.Step.(*plan.Action)
		if !ok {
			continue
		}
		call := ActionCall{
			Name: step.Name, Definition: step.Definition, Session: op.Session, Input: step.Input.JSON(op.Variables), Client: client,
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err // an earlier one failed
			}
			answer, err := e.CallAction(ctx, call, &step.Output)
			known[i], headers[i] = &found{objects: answer.Objects}, answer.Header
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, h := range headers {
		op.Client.PassOn(h)
	}
	return known, nil
}

func (e *Executor) parallelActions(kind plan.Kind) int {
	if kind == plan.Mutation {
		return 1
	}
	return cmp.Or(max(0, e.config.ParallelActions), DefaultParallelActions)
}

// hasActions reports whether some root field is an action that is called now.
func hasActions(op *plan.Operation) bool {
	for _, f := range op.Fields {
		if _, ok := f.Step.(*plan.Action); ok {
			return true
		}
	}
	return false
}

// ActionAnswer is the objects that a handler answered with.
type ActionAnswer struct {
	Objects []map[string]json.RawMessage
	// Status is that of the answer, whatever it says; 0 where none came. Header
	// is that of the answer, Body its body.
	Status int
	// Sent is the body of the request; nil where none could be made.
	Sent   json.RawMessage
	Header http.Header
	Body   json.RawMessage
}

// keyRows are the texts of the members that join the objects to rows.
func keyRows(objects []map[string]json.RawMessage, keys []string) [][][]byte {
	rows := make([][][]byte, len(objects))
	for i, o := range objects {
		rows[i] = make([][]byte, len(keys))
		for n, key := range keys {
			rows[i][n] = keyText(o[key])
		}
	}
	return rows
}

// keyText is a JSON value as PostgreSQL reads it; nil for null.
func keyText(v json.RawMessage) []byte {
	v = bytes.TrimSpace(v)
	if len(v) == 0 || bytes.Equal(v, []byte("null")) {
		return nil
	}
	var text string
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		return []byte(text)
	}
	return v
}
