package join

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
	"annals/domain/wire"
)

// Quote writes a text as a literal of GraphQL.
func Quote(text []byte) string { return string(wire.AppendString(nil, string(text))) }

// Literal writes a JSON value as a literal of GraphQL. Objects whose members
// GraphQL cannot name have none.
func Literal(raw []byte) (string, error) {
	var out []byte
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	out, err := appendLiteral(out, dec)
	return string(out), err
}

func appendLiteral(out []byte, dec *jsontext.Decoder) ([]byte, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return out, fmt.Errorf("read a join key: %w", err)
	}
	switch token.Kind() {
	case '[':
		return appendItems(append(out, '['), dec)
	case '{':
		return appendMembers(append(out, '{'), dec)
	case '"':
		return wire.AppendString(out, token.String()), nil
	}
	return append(out, token.String()...), nil // as it was written
}

func appendItems(out []byte, dec *jsontext.Decoder) (_ []byte, err error) {
	for first := true; dec.PeekKind() != ']'; first = false {
		if !first {
			out = append(out, ',')
		}
		if out, err = appendLiteral(out, dec); err != nil {
			return out, err
		}
	}
	_, err = dec.ReadToken()
	return append(out, ']'), err
}

func appendMembers(out []byte, dec *jsontext.Decoder) (_ []byte, err error) {
	for first := true; dec.PeekKind() != '}'; first = false {
		name, err := dec.ReadToken()
		if err != nil {
			return out, fmt.Errorf("read a join key: %w", err)
		}
		if !domain.IsGraphQLName(name.String()) {
			return out, domain.RefuseAt("$", domain.RemoteSchemaError, "%q is not a valid GraphQL name", name.String())
		}
		if !first {
			out = append(out, ',')
		}
		out = append(append(out, name.String()...), ": "...)
		if out, err = appendLiteral(out, dec); err != nil {
			return out, err
		}
	}
	_, err = dec.ReadToken()
	return append(out, '}'), err
}
