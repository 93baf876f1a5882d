package metadata

import (
	"strings"

	"annals/domain"
	"annals/domain/wire"
)

// Header is a header that a webhook or remote server is sent: its value
// stands here, or in a variable of the environment.
type Header struct {
	Name         string  `json:"name"`
	Value        *string `json:"value,omitzero"`
	ValueFromEnv *string `json:"value_from_env,omitzero"`
}

// decodeHeaders reads a list of headers; nil when it is absent or empty.
func decodeHeaders(n wire.Node) []Header {
	if headers := wire.List(n, decodeHeader); len(headers) > 0 {
		return headers
	}
	return nil
}

func decodeHeader(n wire.Node) Header {
	if n.Given() && n.Kind() != wire.Object {
		n.Fail("expecting object for headers")
		return Header{}
	}
	h := Header{
		Name:         n.Field("name").String(),
		Value:        wire.Pointer(n.Optional("value"), wire.Node.String),
		ValueFromEnv: wire.Pointer(n.Optional("value_from_env"), wire.Node.String),
	}
	switch {
	case h.Value == nil && h.ValueFromEnv == nil:
		n.Fail("expecting value or value_from_env keys")
	case h.Value != nil && h.ValueFromEnv != nil:
		n.Fail("expecting only one of value or value_from_env keys")
	case h.ValueFromEnv != nil:
		refuseReserved(n, *h.ValueFromEnv, "value_from_env")
	case strings.ContainsAny(*h.Value, "\r\n"):
		n.Fail("the value of a header cannot hold a line break")
	}
	if !isHeaderName(h.Name) {
		n.Fail("%q is not the name of an HTTP header", h.Name)
	}
	return h
}

// refuseReserved refuses the service's own variables: a definition that could
// read them could send the service's secrets away.
func refuseReserved(n wire.Node, variable, where string) {
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(strings.ToUpper(variable), prefix) {
			n.Fail("env variables starting with %q are not allowed in %s: %s", prefix, where, variable)
		}
	}
}

// isHeaderName reports whether a name is a token of RFC 9110.
func isHeaderName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return name != ""
}

// decodeVariable reads the name of an environment variable.
func decodeVariable(n wire.Node) string {
	name := n.Text()
	refuseReserved(n, name, lastStep(n.Path()))
	return name
}

func lastStep(p wire.Path) string { return string(p[strings.LastIndexByte(string(p), '.')+1:]) }

// HeaderValue is a header ready to be sent.
type HeaderValue struct{ Name, Value string }

// ResolveHeaders looks up the values of headers. A variable that is not set
// is a refusal with not-found.
func ResolveHeaders(headers []Header, env Environment) ([]HeaderValue, error) {
	values := make([]HeaderValue, 0, len(headers))
	for _, h := range headers {
		value, err := h.resolve(env)
		if err != nil {
			return nil, err
		}
		values = append(values, HeaderValue{h.Name, value})
	}
	return values, nil
}

func (h Header) resolve(env Environment) (string, error) {
	if h.Value != nil {
		return *h.Value, nil
	}
	return env.Variable(*h.ValueFromEnv)
}

// Variable returns the value of a variable, which must be set: one that is not
// is a refusal with not-found.
func (env Environment) Variable(name string) (string, error) {
	value, ok := env[name]
	if !ok {
		return "", refuse(domain.NotFound, "environment variable '%s' not set", name)
	}
	return value, nil
}

// headers makes sure that the variables of headers are set.
func (r *resolver) headers(headers []Header) {
	for _, h := range headers {
		if h.ValueFromEnv != nil {
			r.env(*h.ValueFromEnv)
		}
	}
}
