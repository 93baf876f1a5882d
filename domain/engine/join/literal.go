package join

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
	"annals/domain/wire"
)

// Quote writes a text as a literal of GraphQL.
func Quote(text string) string { return string(wire.AppendString(nil, text)) }

func appendQuoted(out, text []byte) []byte {
	out, _ = jsontext.AppendQuote(out, text) // fails only on text that is not UTF-8, and then writes replacement runes
	return out
}

// appendJSON writes a JSON value as a literal of GraphQL.
func appendJSON(out, raw []byte) ([]byte, error) {
	return appendLiteral(out, jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true)))
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
