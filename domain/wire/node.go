package wire

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"annals/domain"
)

// Decode reads a value with f, starting at path $. It returns the first fault
// that f met or reported.
func Decode[T any](v Value, f func(Node) T) (T, error) { return DecodeAt("$", v, f) }

// DecodeAt is Decode for a value that lies at a path of its document.
func DecodeAt[T any](path Path, v Value, f func(Node) T) (T, error) {
	var fault *domain.Error
	result := f(Node{value: v, present: true, around: path, step: step{item: nowhere}, fault: &fault})
	if fault != nil {
		var zero T
		return zero, fault
	}
	return result, nil
}

// Node is a value being decoded, and its path. A node may be absent: then each
// question to it answers the zero value. After the first fault, all do.
type Node struct {
	value   Value
	present bool
	fault   **domain.Error
	// around is the path of the value that it is in, and step leads from there to
	// it: few paths are ever asked for.
	around Path
	step   step
}

// Present reports whether the value is there and not null.
func (n Node) Present() bool { return n.present && n.value.kind != Null && *n.fault == nil }

// Given reports whether the value is there, be it null.
func (n Node) Given() bool { return n.present && *n.fault == nil }

// Path returns the node's place.
func (n Node) Path() Path { return n.around.to(n.step) }

// Value returns the value as parsed.
func (n Node) Value() Value { return n.value }

// Kind returns the JSON type of the value.
func (n Node) Kind() Kind { return n.value.kind }

// Fail reports a fault at the node: parse-failed with the message.
func (n Node) Fail(format string, args ...any) {
	n.FailCode(domain.ParseFailed, format, args...)
}

// FailCode reports a fault with a code of its own.
func (n Node) FailCode(code domain.Code, format string, args ...any) {
	if *n.fault == nil {
		*n.fault = domain.RefuseAt(string(n.Path()), code, format, args...)
	}
}

// Failed reports whether a fault was met.
func (n Node) Failed() bool { return *n.fault != nil }

// Field returns a member that must be there. Its absence is a fault of the
// object.
func (n Node) Field(name string) Node {
	n.object()
	v, ok := n.value.Lookup(name)
	if !ok && n.present {
		n.Fail("key %q not found", name)
	}
	return Node{value: v, present: ok, around: n.Path(), step: step{name: name}, fault: n.fault}
}

// Optional returns a member that may be absent; null counts as absent.
func (n Node) Optional(name string) Node {
	n.object()
	v, ok := n.value.Lookup(name)
	return Node{value: v, present: ok && v.kind != Null, around: n.Path(), step: step{name: name}, fault: n.fault}
}

// Member is Optional for a member whose null has a meaning: see [Node.Given].
func (n Node) Member(name string) Node {
	n.object()
	v, ok := n.value.Lookup(name)
	return Node{value: v, present: ok, around: n.Path(), step: step{name: name}, fault: n.fault}
}

// Members yields the members of an object in order.
func (n Node) Members() iter.Seq2[string, Node] {
	n.object()
	path := n.Path()
	return func(yield func(string, Node) bool) {
		for name, value := range n.value.Members() {
			if !yield(name, Node{value: value, present: true, around: path, step: step{name: name}, fault: n.fault}) {
				return
			}
		}
	}
}

// Items returns the items of an array.
func (n Node) Items() []Node {
	if !n.expect(Array, "[]") {
		return nil
	}
	path := n.Path()
	items := make([]Node, len(n.value.items))
	for i, v := range n.value.items {
		items[i] = Node{value: v, present: true, around: path, step: step{item: i + 1}, fault: n.fault}
	}
	return items
}

// List decodes each item of an array. It is nil when the array is absent, and
// not nil when it is there and empty.
func List[T any](n Node, f func(Node) T) []T {
	if !n.Given() {
		return nil
	}
	items := n.Items()
	list := make([]T, 0, len(items))
	for _, item := range items {
		list = append(list, f(item))
	}
	return list
}

// Pointer decodes a value that may be absent: nil when it is.
func Pointer[T any](n Node, f func(Node) T) *T {
	if !n.Present() {
		return nil
	}
	v := f(n)
	return &v
}

func (n Node) object() { n.expect(Object, "Object") }

// expect reports whether the value is there and of the kind; when it is there
// and is not, that is a fault that calls the wanted type by its v1.3 name.
func (n Node) expect(kind Kind, called string) bool {
	if !n.Given() {
		return false
	}
	if n.value.kind != kind {
		n.Fail("parsing %s failed, expected %s, but encountered %s", called, kind, n.value.kind)
		return false
	}
	return true
}

// String returns a string, which may be empty. A NUL character in it is a
// fault: PostgreSQL can hold none.
func (n Node) String() string {
	if !n.expect(String, "Text") {
		return ""
	}
	if strings.ContainsRune(n.value.text, 0) {
		n.Fail("a NUL character (\\u0000) is not allowed here")
		return ""
	}
	return n.value.text
}

// Text returns a string that must not be empty.
func (n Node) Text() string {
	s := n.String()
	if s == "" && n.Given() {
		n.Fail("empty string not allowed")
	}
	return s
}

// Bool returns a boolean.
func (n Node) Bool() bool {
	return n.expect(Bool, "Bool") && n.value.text == "true"
}

// BoolOr returns a boolean, or a default when it is absent.
func (n Node) BoolOr(missing bool) bool {
	if !n.Present() {
		return missing
	}
	return n.Bool()
}

// Int returns a whole number. 3.0 and 3e0 count as 3.
func (n Node) Int() int {
	if !n.expect(Number, "Int") {
		return 0
	}
	if i, err := strconv.Atoi(n.value.text); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(n.value.text, 64)
	if err != nil || f != float64(int(f)) || f > 1<<53 || f < -1<<53 {
		n.Fail("parsing Int failed, the value is either floating or will cause over or underflow: %s", n.value.text)
		return 0
	}
	return int(f)
}

// IntOr returns a whole number, or a default when it is absent.
func (n Node) IntOr(missing int) int {
	if !n.Present() {
		return missing
	}
	return n.Int()
}

// Number returns a number as it was written.
func (n Node) Number() json.Number {
	if !n.expect(Number, "Number") {
		return ""
	}
	return json.Number(n.value.text)
}

// Raw returns the value as compact JSON, nil when it is absent.
func (n Node) Raw() json.RawMessage {
	if !n.Given() {
		return nil
	}
	return n.value.Raw()
}

// Name returns the name of a table or function: a string in the public
// schema, or an object {"schema"?, "name"}.
func (n Node) Name() domain.QualifiedName {
	if n.Given() && n.value.kind == String {
		return domain.QualifiedName{Schema: domain.PublicSchema, Name: n.identifier()}
	}
	name := domain.QualifiedName{Schema: domain.PublicSchema, Name: n.Field("name").identifier()}
	if schema := n.Optional("schema"); schema.Present() {
		name.Schema = schema.identifier()
	}
	return name
}

// Column returns a name that PostgreSQL can know something by.
func (n Node) Column() string { return n.identifier() }

func (n Node) identifier() string {
	s := n.Text()
	if len(s) > domain.MaxIdentifierBytes {
		n.Fail("a name can be at most %d bytes long; this one has %d", domain.MaxIdentifierBytes, len(s))
	}
	return s
}

// GraphQLName returns a name of the GraphQL grammar.
func (n Node) GraphQLName() string {
	s := n.Text()
	if n.Given() && !domain.IsGraphQLName(s) {
		n.Fail("%q is not a valid GraphQL name", s)
	}
	return s
}

// OneOf returns a string that must be one of the choices.
func (n Node) OneOf(choices ...string) string {
	s := n.String()
	if !n.Given() {
		return s
	}
	for _, c := range choices {
		if s == c {
			return s
		}
	}
	n.Fail("expected one of %s, but found %q", strings.Join(choices, ", "), s)
	return s
}

// GoString lets a node print readably in a failed test.
func (n Node) GoString() string { return fmt.Sprintf("wire.Node(%s)", n.Path()) }

// At returns the node as if it lay at another path.
func (n Node) At(path Path) Node {
	n.around, n.step = path, step{item: nowhere}
	return n
}
