package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/metadata"
	"annals/handlers/outbound"
)

// DefaultMaxIntrospection is how many bytes a server's answer to the
// introspection query may have.
const DefaultMaxIntrospection int64 = 10 << 20

// Introspector asks remote servers for their schema. It is a [RemoteSchemas].
type Introspector struct {
	Outbound *outbound.Client
	// Env gives the environment that definitions refer to.
	Env metadata.Environment
	// MaxBytes bounds an answer. 0: [DefaultMaxIntrospection].
	MaxBytes int64
	// Limits bound the schema in it.
	Limits graphql.SchemaLimits
}

// Introspect implements [RemoteSchemas]. Only configured headers are sent:
// nobody's request stands behind it.
func (i Introspector) Introspect(ctx context.Context, r metadata.RemoteSchema) (json.RawMessage, error) {
	endpoint, err := r.Definition.Resolve(i.Env)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for _, h := range endpoint.Headers {
		header.Set(h.Name, h.Value)
	}
	answer, err := i.Outbound.Send(ctx, outbound.Request{
		URL: endpoint.URL, Header: header, Timeout: endpoint.Timeout, MaxResponse: i.maxBytes(),
		Body: metadata.Encode(map[string]string{"query": graphql.IntrospectionQuery()}),
	})
	if err != nil {
		return nil, unreachable(ctx, metadata.MaskURL(endpoint.URL), err)
	}
	if err := i.usable(metadata.MaskURL(endpoint.URL), answer); err != nil {
		return nil, err
	}
	if _, err := graphql.ReadSchema(answer.Body, i.Limits); err != nil {
		return nil, err
	}
	return withoutErrors(answer.Body)
}

func (i Introspector) maxBytes() int64 { return cmp.Or(i.MaxBytes, DefaultMaxIntrospection) }

// unreachable: the URL is told without its secrets, as it is also logged; what it resolved to
// is an internal detail.
func unreachable(ctx context.Context, url string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask a remote server for its schema: %w", context.Cause(ctx))
	}
	refusal := domain.Refuse(domain.RemoteSchemaError, "HTTP exception occurred while sending the request to %s", url)
	message := err.Error()
	var failed *outbound.Error
	if errors.As(err, &failed) && failed.Timeout() {
		message = string(failed.Kind)
	}
	refusal.Internal = metadata.Encode(map[string]string{"type": "http_exception", "message": message})
	return refusal
}

func (i Introspector) usable(url string, answer outbound.Response) error {
	if answer.Status != http.StatusOK {
		refusal := domain.Refuse(domain.RemoteSchemaError, "introspection query to %s has responded with %d status code", url, answer.Status)
		refusal.Internal = quoted(answer.Body)
		return refusal
	}
	if answer.Truncated {
		return domain.Refuse(domain.RemoteSchemaError, "the answer of %s to the introspection query is larger than %d bytes: raise --remote-schema-max-size", url, i.maxBytes())
	}
	return nil
}

// maxQuoted is how much of an answer that was refused is shown.
const maxQuoted = 4000

// quoted shows an answer, as JSON where it is some.
func quoted(body []byte) json.RawMessage {
	if len(body) <= maxQuoted && json.Valid(body) && utf8.Valid(body) {
		return metadata.Encode(map[string]json.RawMessage{"response": body})
	}
	if len(body) > maxQuoted {
		body = body[:maxQuoted]
	}
	return metadata.Encode(map[string]string{"raw_body": strings.ToValidUTF8(string(body), "\uFFFD")})
}

// withoutErrors keeps of an answer what holds the schema. Extensions, such as
// traces, differ each time a server is asked.
func withoutErrors(body []byte) (json.RawMessage, error) {
	var answer struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data == nil {
		return nil, domain.Refuse(domain.RemoteSchemaError, "the answer to the introspection query holds no data")
	}
	return metadata.Encode(map[string]json.RawMessage{"data": answer.Data}), nil
}
