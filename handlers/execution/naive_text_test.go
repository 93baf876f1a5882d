package execution_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// val is a value of a request, to be written as GraphQL, as JSON, or as a variable.
type val struct {
	kind  valKind
	text  string
	keys  []string
	items []val
	// typ is the GraphQL type that a variable in its place has; empty: there is none.
	typ string
}

type valKind byte

const (
	plainVal valKind = iota // a number, a boolean, null
	enumVal                 // a name; in JSON a string
	textVal
	listVal
	objectVal
)

// val is a value of a column.
func (c *column) val(v any) val {
	switch v := v.(type) {
	case nil:
		return val{kind: plainVal, text: "null", typ: c.graphql}
	case number:
		return val{kind: plainVal, text: string(v), typ: c.graphql}
	case bool:
		return val{kind: plainVal, text: fmt.Sprint(v), typ: c.graphql}
	case document:
		if c.sql == "text[]" {
			return val{kind: textVal, text: arrayOf(v), typ: c.graphql}
		}
		return documentVal(v.value(), c.graphql)
	}
	kind := textVal
	if c.enum {
		kind = enumVal
	}
	return val{kind: kind, text: v.(string), typ: c.graphql}
}

func documentVal(v any, typ string) val {
	switch v := v.(type) {
	case map[string]any:
		out := val{kind: objectVal, typ: typ}
		for k, item := range v {
			out.keys, out.items = append(out.keys, k), append(out.items, documentVal(item, ""))
		}
		return out
	case []any:
		out := val{kind: listVal, typ: typ}
		for _, item := range v {
			out.items = append(out.items, documentVal(item, ""))
		}
		return out
	case string:
		return val{kind: textVal, text: v, typ: typ}
	case nil:
		return val{kind: plainVal, text: "null", typ: typ}
	}
	return val{kind: plainVal, text: fmt.Sprint(v), typ: typ}
}

// json writes the value as JSON.
func (v val) json() string {
	var parts []string
	for i, item := range v.items {
		part := item.json()
		if v.kind == objectVal {
			part = encoded(v.keys[i]) + ":" + part
		}
		parts = append(parts, part)
	}
	switch v.kind {
	case listVal:
		return "[" + strings.Join(parts, ",") + "]"
	case objectVal:
		return "{" + strings.Join(parts, ",") + "}"
	case textVal, enumVal:
		return encoded(v.text)
	}
	return v.text
}

// writing is an operation as it is written down, with its variables and fragments.
type writing struct {
	*rand.Rand
	declared  []string
	variables map[string]json.RawMessage
	fragments []string
}

func newText(chance *rand.Rand) *writing {
	return &writing{Rand: chance, variables: map[string]json.RawMessage{}}
}

// value writes a value, now and then by a variable.
func (t *writing) value(v val) string {
	if v.typ != "" && t.IntN(5) == 0 {
		return t.variable(v)
	}
	var parts []string
	for i, item := range v.items {
		if v.kind == listVal && item.typ != "" {
			item.typ += "!" // no item of a list may be null
		}
		part := t.value(item)
		if v.kind == objectVal {
			part = v.keys[i] + ": " + part
		}
		parts = append(parts, part)
	}
	switch v.kind {
	case listVal:
		if len(parts) == 1 && v.items[0].kind != listVal && v.typ != "" && strings.HasPrefix(v.typ, "[") && t.IntN(4) == 0 {
			if !strings.HasPrefix(parts[0], "$") { // a variable would have to be a list
				return parts[0]
			}
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case objectVal:
		return "{" + strings.Join(parts, ", ") + "}"
	case textVal:
		return graphqlString(v.text)
	}
	return v.text
}

func (t *writing) variable(v val) string {
	name := fmt.Sprintf("v%d", len(t.declared)+1)
	typ, strict := strings.CutSuffix(v.typ, "!")
	declared := "$" + name + ": " + typ
	switch n := t.IntN(3); {
	case n == 0: // by its default
		t.declared = append(t.declared, declared+" = "+(&writing{Rand: rand.New(fixed{})}).value(v))
		return "$" + name
	case v.kind == plainVal && v.text == "null":
	case n == 1 || strict:
		declared += "!"
	default:
		declared += " = null"
	}
	t.declared = append(t.declared, declared)
	t.variables[name] = json.RawMessage(v.json())
	return "$" + name
}

// fixed is no chance at all: no variable stands in a variable's default.
type fixed struct{}

func (fixed) Uint64() uint64 { return 1 << 63 }

func graphqlString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// operation is the whole text.
func (t *writing) operation(kind, selection string) string {
	head := kind
	if len(t.declared) > 0 {
		head += " (" + strings.Join(t.declared, ", ") + ")"
	}
	return head + " {" + selection + "}\n" + strings.Join(t.fragments, "\n")
}

func (t *writing) given() string {
	return encoded(t.variables)
}
