package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"unicode/utf8"

	"annals/domain"
	"annals/domain/metadata"
	"annals/domain/wire"
	"annals/handlers/outbound"
)

// Caller is for whom a server is asked.
type Caller struct {
	Session domain.Session
	Client  Client
}

// RemoteRequest is an operation for the server of a remote schema.
type RemoteRequest struct {
	// Schema names the remote schema.
	Schema    string
	Query     string
	Variables map[string]json.RawMessage
	// Mutation says that it is one, which must not be carried out twice.
	Mutation bool
	// begun is the body, with the query, as far as the variables.
	begun []byte
}

// body is the request as GraphQL has it in HTTP. The text may be long: it is
// written as it is read.
func (r RemoteRequest) body() ([]byte, error) {
	text := r.begun
	if text == nil {
		text = make([]byte, 0, len(r.Query)+len(r.Query)/8)
		text = wire.AppendString(append(text, `{"query":`...), r.Query)
	}
	if len(r.Variables) == 0 {
		return append(text, '}'), nil
	}
	variables, err := json.Marshal(r.Variables)
	if err != nil {
		return nil, fmt.Errorf("write the variables of a remote operation: %w", err)
	}
	return append(append(append(text, `,"variables":`...), variables...), '}'), nil
}

// RemoteAnswer is what a server made of an operation.
type RemoteAnswer struct {
	// Data is what stands in data: an object, or null.
	Data json.RawMessage
	// Errors are those that the server reported, as it wrote them.
	Errors []json.RawMessage
	// Header is the answer's.
	Header http.Header
}

// Send asks the server of a remote schema. It fails with a [domain.Error] when
// there is no answer, or none that GraphQL has; errors that the server reports
// are part of its answer. The status of the answer means nothing, as in v1.3.
func (e *Executor) Send(ctx context.Context, caller Caller, r RemoteRequest) (RemoteAnswer, error) {
	answer, err := e.post(ctx, caller, r)
	if err != nil {
		return RemoteAnswer{}, err
	}
	return readRemote(answer)
}

// post carries an operation to the server of a remote schema, and brings back
// whatever it answered.
func (e *Executor) post(ctx context.Context, caller Caller, r RemoteRequest) (outbound.Response, error) {
	w := e.world()
	remote, ok := w.RemoteSchema(r.Schema)
	if !ok {
		return outbound.Response{}, domain.RefuseAt("$", domain.NotExists, "remote schema with name %q does not exist", r.Schema)
	}
	endpoint, err := remote.Definition.Resolve(w.Env)
	if err != nil {
		return outbound.Response{}, err
	}
	body, err := r.body()
	if err != nil {
		return outbound.Response{}, err
	}
	header := e.remoteHeader(caller, remote.Definition, endpoint.Headers)
	if err := e.countHop(header, caller.Client); err != nil {
		return outbound.Response{}, err
	}
	answer, err := e.config.Outbound.Send(ctx, outbound.Request{URL: endpoint.URL, Timeout: endpoint.Timeout, Body: body, Header: header, Once: r.Mutation})
	if err != nil {
		return outbound.Response{}, unanswered(ctx, err)
	}
	return answer, nil
}

// remoteHeader is what a remote server is told beside the operation. Where a
// name comes from more than one side, the definition's value goes before the
// session's, and that before the client's.
func (e *Executor) remoteHeader(caller Caller, d metadata.RemoteSchemaDefinition, configured []metadata.HeaderValue) http.Header {
	h := http.Header{}
	if d.ForwardClientHeaders {
		h = caller.Client.Forwarded()
	}
	h.Set("Content-Type", "application/json")
	continueTrace(h, domain.TraceOf(caller.Client.Header.Get))
	session := maps.Clone(caller.Session.Variables)
	if session == nil {
		session = map[string]string{}
	}
	session[domain.OwnPrefix+"role"] = caller.Session.Role
	for _, c := range configured {
		delete(session, domain.SessionVariable(c.Name))
	}
	for name, value := range session {
		h.Set(e.config.spelled(name), value)
	}
	for _, c := range configured {
		h.Set(c.Name, c.Value)
	}
	return h
}

// unanswered says that a server gave no answer. What kept it is for those who
// may see internals: it has addresses in it.
func unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask a remote server: %w", context.Cause(ctx))
	}
	refusal := &domain.Error{Code: domain.Unexpected, Message: err.Error(), Path: "$", Fault: true}
	var failed *outbound.Error
	if errors.As(err, &failed) {
		refusal.Message = string(failed.Kind)
		refusal.Internal = metadata.Encode(map[string]string{"type": "http_exception", "message": failed.Error()})
	}
	return refusal
}

// maxShown is how much of an answer that is none is shown to who may see it.
const maxShown = 1000

// tooLarge is the refusal of an answer of which only the beginning was read.
func tooLarge(answer outbound.Response) error {
	return domain.RefuseAt("$", domain.RemoteSchemaError,
		"the answer of the remote server is larger than %d bytes: ask for less, or raise --outbound-max-response", len(answer.Body))
}

// readRemote reads an answer. Where v1.3 refuses everything that is not data
// alone, extensions and an empty list of errors are taken: GraphQL has them.
func readRemote(answer outbound.Response) (RemoteAnswer, error) {
	if answer.Truncated {
		return RemoteAnswer{}, tooLarge(answer)
	}
	var said struct {
		Data   json.RawMessage   `json:"data"`
		Errors []json.RawMessage `json:"errors"`
	}
	err := json.Unmarshal(answer.Body, &said)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax) || !utf8.Valid(answer.Body):
		return RemoteAnswer{}, notTaken(answer.Body, "Error in $: Failed reading: not a valid json value")
	case err != nil || said.Errors == nil && said.Data == nil:
		return RemoteAnswer{}, notTaken(answer.Body, "Received invalid JSON value from remote")
	}
	return RemoteAnswer{said.Data, said.Errors, answer.Header}, nil
}

func notTaken(body []byte, message string) error {
	refusal := domain.RefuseAt("$", domain.RemoteSchemaError, "%s", message)
	refusal.Internal = metadata.Encode(map[string]string{"raw_body": shown(body)})
	return refusal
}

func shown(body []byte) string {
	if len(body) > maxShown {
		body = body[:maxShown]
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

// spelled gives a session variable the spelling that messages have, and that
// other servers are sent.
func (c Config) spelled(name string) string {
	if rest, ok := strings.CutPrefix(name, domain.OwnPrefix); ok && c.HeaderPrefix != "" {
		return c.HeaderPrefix + rest
	}
	return name
}
