// Package wire reads the JSON of the admin API as its users know it: the
// messages, and the path at which each fault lies, are those of v1.3.
//
// [Parse] turns a body into a tree of values, strictly: a member given twice,
// text that is not UTF-8 and nesting deeper than [MaxDepth] are refused, so
// that no two readers can see two different requests. [Decode] then walks the
// tree with a [Node], which knows its path. The first fault is kept and every
// later question answered with a zero value, so a decoder reads like the
// shape it decodes:
//
//	wire.Decode(value, func(n wire.Node) CreateCronTrigger {
//		return CreateCronTrigger{
//			Name:    n.Field("name").Text(),
//			Comment: n.Optional("comment").String(),
//		}
//	})
//
// Package wire knows JSON only, and no operation.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
)

// MaxDepth is how deep objects and arrays may nest in a request.
const MaxDepth = 500

// Kind is the JSON type of a value.
type Kind byte

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String is how messages call the kind.
func (k Kind) String() string {
	return [...]string{"Null", "Boolean", "Number", "String", "Array", "Object"}[k]
}

// Value is one JSON value of a parsed document. The zero Value is null.
type Value struct {
	kind    Kind
	text    string // of a string, decoded; of a number, as written; of a boolean, "true" when it is
	items   []Value
	members []Member
}

// Member is one name and value of an object, in the order of the document.
type Member struct {
	Name  string
	Value Value
}

// Kind returns the value's JSON type.
func (v Value) Kind() Kind { return v.kind }

// Members yields the members of an object, in the order of the document.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, m := range v.members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Lookup returns a member of an object; ok is false when it is not there or v
// is no object.
func (v Value) Lookup(name string) (value Value, ok bool) {
	for _, m := range v.members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Parse reads one JSON document. It refuses text that is not JSON with
// invalid-json, and a member given twice or too deep a nesting with
// parse-failed at the object's path.
func Parse(data []byte) (Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Value{}, domain.RefuseAt("$", domain.InvalidJSON, "Error in $: not enough input")
	}
	p := parsers.Get().(*parser)
	if len(data) <= keptText {
		defer parsers.Put(p)
	}
	p.begin(data)
	v, err := p.value()
	if err == nil {
		err = p.end()
	}
	if err == nil {
		return v, nil
	}
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return Value{}, refusal
	}
	return Value{}, notJSON(err)
}

// parsers are used again, unless they hold a text that is longer than keptText.
var parsers = sync.Pool{New: func() any { return new(parser) }}

const keptText = 64 << 10

// MustParse is Parse of a text that is known to be JSON, or empty for null. It
// panics when it is neither.
func MustParse(text string) Value {
	if text == "" {
		return Value{}
	}
	v, err := Parse([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("parse %q: %v", text, err))
	}
	return v
}

func notJSON(err error) *domain.Error {
	e := domain.RefuseAt("$", domain.InvalidJSON, "Error in $: Failed reading: not a valid json value")
	var at *jsontext.SyntacticError
	if errors.As(err, &at) {
		reason := "unexpected end of text"
		if at.Err != nil && !errors.Is(at.Err, io.ErrUnexpectedEOF) {
			reason = at.Err.Error()
		}
		e.Message += " (at byte " + strconv.Itoa(int(at.ByteOffset)) + ": " + reason + ")"
	}
	return e
}

// parser reads values off a text, and knows where it is.
type parser struct {
	text bytes.Buffer
	dec  jsontext.Decoder
	at   []step
}

func (p *parser) begin(data []byte) {
	p.text, p.at = *bytes.NewBuffer(data), p.at[:0]
	p.dec.Reset(&p.text, jsontext.AllowDuplicateNames(true))
}

// fail refuses the text because of the value that is being read.
func (p *parser) fail(format string, args ...any) error {
	path := Path("$")
	for _, s := range p.at {
		path = path.to(s)
	}
	return domain.RefuseAt(string(path), domain.ParseFailed, format, args...)
}

func (p *parser) below(s step) (Value, error) {
	p.at = append(p.at, s)
	v, err := p.value()
	p.at = p.at[:len(p.at)-1]
	return v, err
}

func (p *parser) end() error {
	_, err := p.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return domain.RefuseAt("$", domain.InvalidJSON, "Error in $: Failed reading: there is more text after the JSON value")
	}
	return err
}

func (p *parser) value() (Value, error) {
	if len(p.at) > MaxDepth {
		return Value{}, p.fail("the JSON nests deeper than %d levels", MaxDepth)
	}
	tok, err := p.dec.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch tok.Kind() {
	case 'n':
		return Value{kind: Null}, nil
	case 't', 'f':
		return Value{kind: Bool, text: tok.String()}, nil
	case '"':
		return Value{kind: String, text: tok.String()}, nil
	case '0':
		return Value{kind: Number, text: tok.String()}, nil
	case '[':
		return p.array()
	default:
		return p.object()
	}
}

func (p *parser) array() (Value, error) {
	v := Value{kind: Array}
	for p.dec.PeekKind() != ']' {
		item, err := p.below(step{item: len(v.items) + 1})
		if err != nil {
			return Value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err := p.dec.ReadToken()
	return v, err
}

func (p *parser) object() (Value, error) {
	v := Value{kind: Object}
	seen := seenNames{}
	for p.dec.PeekKind() != '}' {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return Value{}, err
		}
		name := tok.String()
		if seen.again(name, v.members) {
			return Value{}, p.fail("the key %q is given twice", name)
		}
		value, err := p.below(step{name: name})
		if err != nil {
			return Value{}, err
		}
		v.members = append(v.members, Member{name, value})
	}
	_, err := p.dec.ReadToken()
	return v, err
}

// seenNames finds a name that comes again. Small objects are searched, larger
// ones get a set, so that neither pays for the other.
type seenNames struct{ set map[string]struct{} }

const smallObject = 16

func (s *seenNames) again(name string, members []Member) bool {
	if len(members) < smallObject {
		for _, m := range members {
			if m.Name == name {
				return true
			}
		}
		return false
	}
	if s.set == nil {
		s.set = make(map[string]struct{}, 2*smallObject)
		for _, m := range members {
			s.set[m.Name] = struct{}{}
		}
	}
	if _, ok := s.set[name]; ok {
		return true
	}
	s.set[name] = struct{}{}
	return false
}

// MarshalJSON writes the value compactly, members in the document's order.
func (v Value) MarshalJSON() ([]byte, error) { return v.Append(nil), nil }

// Append writes the value compactly to the end of b.
func (v Value) Append(b []byte) []byte {
	switch v.kind {
	case Bool, Number:
		return append(b, v.text...)
	case String:
		return AppendString(b, v.text)
	case Array:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.Append(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendString(b, m.Name), ':')
			b = m.Value.Append(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// AppendString writes s as a JSON string.
func AppendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // fails only on text that is not UTF-8, and then writes replacement runes
	return b
}

// Raw returns the value as compact JSON.
func (v Value) Raw() json.RawMessage { return v.Append(nil) }
