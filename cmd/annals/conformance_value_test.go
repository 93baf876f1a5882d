package main_test

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vektah/gqlparser/v2/ast"
	"go.yaml.in/yaml/v3"
)

// A value is a JSON value as it was written: nil, bool, string, number,
// []any or *object. Go's own map would forget the order of the keys, its
// float64 the digits of a number; both are compared here.
type (
	number string
	object struct {
		keys   []string
		fields map[string]any
	}
)

func newObject() *object { return &object{fields: map[string]any{}} }

func (o *object) set(key string, value any) {
	if _, known := o.fields[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.fields[key] = value
}

// get returns the field of an object, and nil of anything else.
func get(value any, key string) any {
	if o, ok := value.(*object); ok {
		return o.fields[key]
	}
	return nil
}

func has(value any, key string) bool {
	o, ok := value.(*object)
	if !ok {
		return false
	}
	_, ok = o.fields[key]
	return ok
}

// text returns a string, and "" of anything else.
func text(value any) string {
	s, _ := value.(string)
	return s
}

// list returns the elements of a list, and of anything else none.
func list(value any) []any {
	elements, _ := value.([]any)
	return elements
}

func makeObject(pairs ...any) *object {
	o := newObject()
	for i := 0; i < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func parseYAML(source []byte) (any, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, err
	}
	return fromYAML(&document)
}

func fromYAML(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.DocumentNode:
		return fromYAML(node.Content[0])
	case yaml.AliasNode:
		return fromYAML(node.Alias)
	case yaml.SequenceNode:
		return listFromYAML(node)
	case yaml.MappingNode:
		return objectFromYAML(node)
	case yaml.ScalarNode:
		return scalarFromYAML(node)
	}
	return nil, nil // an empty file
}

func listFromYAML(node *yaml.Node) (any, error) {
	elements := make([]any, len(node.Content))
	for i, child := range node.Content {
		element, err := fromYAML(child)
		if err != nil {
			return nil, err
		}
		elements[i] = element
	}
	return elements, nil
}

// objectFromYAML makes strings of keys that are numbers, as JSON does, and
// lays the keys of a merge ("<<") under the mapping's own.
func objectFromYAML(node *yaml.Node) (any, error) {
	o := newObject()
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		child, err := fromYAML(value)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			o.merge(child)
			continue
		}
		o.set(key.Value, child)
	}
	return o, nil
}

func (o *object) merge(from any) {
	under, ok := from.(*object)
	if !ok {
		return
	}
	for _, key := range under.keys {
		if !has(o, key) {
			o.set(key, under.fields[key])
		}
	}
}

func scalarFromYAML(node *yaml.Node) (any, error) {
	switch node.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := node.Decode(&b)
		return b, err
	case "!!int", "!!float":
		return numberFromYAML(node)
	}
	return node.Value, nil
}

// numberFromYAML keeps the digits where JSON can spell them.
func numberFromYAML(node *yaml.Node) (any, error) {
	if jsontext.Value(node.Value).IsValid() {
		return number(node.Value), nil
	}
	var decoded any
	if err := node.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("line %d: %w", node.Line, err)
	}
	return number(fmt.Sprint(decoded)), nil
}

// parseJSON refuses what a client would have to guess about: repeated keys,
// broken UTF-8, anything after the value.
func parseJSON(source []byte) (any, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(source))
	value, err := fromJSON(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON value: %w", err)
	}
	return value, nil
}

func fromJSON(decoder *jsontext.Decoder) (any, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String()), nil
	case '[':
		return listFromJSON(decoder)
	}
	return objectFromJSON(decoder)
}

func listFromJSON(decoder *jsontext.Decoder) (any, error) {
	elements := []any{}
	for decoder.PeekKind() != ']' {
		element, err := fromJSON(decoder)
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	_, err := decoder.ReadToken()
	return elements, err
}

func objectFromJSON(decoder *jsontext.Decoder) (any, error) {
	o := newObject()
	for decoder.PeekKind() != '}' {
		key, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if o.fields[name], err = fromJSON(decoder); err != nil {
			return nil, err
		}
		o.keys = append(o.keys, name)
	}
	_, err := decoder.ReadToken()
	return o, err
}

func toJSON(value any) []byte { return appendJSON(nil, value) }

func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return fmt.Append(b, v)
	case number:
		return append(b, v...)
	case string:
		return appendQuoted(b, v)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			b = appendJSON(appendComma(b, i), element)
		}
		return append(b, ']')
	case *object:
		b = append(b, '{')
		for i, key := range v.keys {
			b = append(appendQuoted(appendComma(b, i), key), ':')
			b = appendJSON(b, v.fields[key])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("%T is no JSON value", value))
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendQuoted(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic(fmt.Sprintf("the cases hold text that is not UTF-8: %q", s))
	}
	return quoted
}

// canonical writes a value so that two bodies mean the same exactly when
// their texts are equal: one spelling of the header prefix, one spelling of
// each number, keys sorted except where the selection makes their order count.
func canonical(value any, selection ast.SelectionSet) string {
	var b strings.Builder
	writeCanonical(&b, value, selection, "")
	return b.String()
}

func writeCanonical(b *strings.Builder, value any, selection ast.SelectionSet, indent string) {
	switch v := value.(type) {
	case string:
		b.Write(appendQuoted(nil, oneSpelling(v)))
	case number:
		b.WriteString(oneNumber(v))
	case []any:
		writeCanonicalList(b, v, selection, indent)
	case *object:
		writeCanonicalObject(b, v, selection, indent)
	default:
		b.Write(toJSON(v))
	}
}

func writeCanonicalList(b *strings.Builder, elements []any, selection ast.SelectionSet, indent string) {
	b.WriteString("[")
	for _, element := range elements {
		b.WriteString("\n" + indent + "  ")
		writeCanonical(b, element, selection, indent+"  ")
	}
	b.WriteString("]")
}

func writeCanonicalObject(b *strings.Builder, o *object, selection ast.SelectionSet, indent string) {
	keys := o.keys
	if selection == nil {
		keys = slices.Sorted(slices.Values(keys))
	}
	b.WriteString("{")
	for _, key := range keys {
		fmt.Fprintf(b, "\n%s  %s: ", indent, appendQuoted(nil, oneSpelling(key)))
		writeCanonical(b, o.fields[key], selectionOf(selection, key), indent+"  ")
	}
	b.WriteString("}")
}

// oneSpelling reads both spellings of header names and variables as one.
func oneSpelling(s string) string {
	return strings.NewReplacer(
		"x-service-", "x-hasura-",
		"X-Service-", "X-Hasura-",
		"SERVICE_GRAPHQL_", "HASURA_GRAPHQL_",
	).Replace(s)
}

// oneNumber writes 1, 1.0 and 1e0 alike. Fractions are told apart as far as a
// double can hold them: the cases were written down from doubles.
func oneNumber(n number) string {
	exact, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return string(n)
	}
	if exact.IsInt() {
		return exact.Num().String()
	}
	double, _ := exact.Float64()
	return strconv.FormatFloat(double, 'g', -1, 64)
}
