package execution_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// number is a number as JSON spells it.
type number string

func (n number) rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic("no number: " + n)
	}
	return r
}

// document is a value of json or jsonb, as text.
type document string

func (d document) value() any {
	var v any
	if err := json.Unmarshal([]byte(d), &v); err != nil {
		panic(err)
	}
	return v
}

// roughly is a number that is equal to others near it.
type roughly float64

// pair and object are what JSON calls an object; here its entries have an order.
type pair struct {
	key   string
	value any
}
type entries []pair

// answers is a list in an answer; loose where any order of its items is right.
type answers struct {
	items []any
	loose bool
}

// typ is a type of columns: what its values are, and what can be done with them.
type typ struct {
	sql, graphql string
	pool         []any
	numeric      bool
	// greatest is true where max and min are offered.
	greatest bool
	ordered  bool // orders of this type are tried
	like     bool
	jsonb    bool
	enum     bool
}

func types() []*typ {
	return []*typ{
		{sql: "int", graphql: "Int", pool: []any{number("-2"), number("0"), number("1"), number("2"), number("3")}, numeric: true, greatest: true, ordered: true},
		{sql: "bigint", graphql: "bigint", pool: []any{number("0"), number("7"), number("9007199254740993"), number("-5")}, numeric: true, greatest: true, ordered: true},
		{sql: "numeric(24,2)", graphql: "numeric", pool: []any{number("0.50"), number("1.25"), number("-3.00"), number("12345678901234567890.12")}, numeric: true, greatest: true, ordered: true},
		{sql: "float8", graphql: "float8", pool: []any{number("0.25"), number("-1.5"), number("4")}, numeric: true, greatest: true, ordered: true},
		{sql: "text", graphql: "String", pool: []any{"", "a", "b", "ab", "A%b", `x_\y`, "it's", `q"q`, "é✓", "{}"}, greatest: true, ordered: true, like: true},
		{sql: "boolean", graphql: "Boolean", pool: []any{true, false}, ordered: true},
		{sql: "date", graphql: "date", pool: []any{"2024-01-01", "2024-02-29", "1999-12-31"}, greatest: true, ordered: true},
		{sql: "timestamptz", graphql: "timestamptz", pool: []any{"2024-01-01T00:00:00+00:00", "2024-01-01T10:30:00.5+00:00"}, greatest: true, ordered: true},
		{sql: "uuid", graphql: "uuid", pool: []any{"11111111-1111-4111-8111-111111111111", "aaaaaaaa-0000-4000-8000-00000000000f"}, ordered: true},
		{sql: "jsonb", graphql: "jsonb", pool: []any{document(`{"a":1,"b":[1,2]}`), document(`{"a":1}`), document(`[1,"a"]`), document(`"a"`), document(`{}`), document(`{"b":null}`)}, jsonb: true},
		{sql: "text[]", graphql: "_text", pool: []any{document(`["a","b"]`), document(`[]`), document(`["it's","q\"q","x\\y"]`)}},
		{sql: "text", graphql: "color_enum", pool: []any{"red", "green"}, enum: true, ordered: true},
	}
}

// literal is a value as SQL has it.
func (t *typ) literal(v any) string {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case number:
		return string(v)
	case document:
		if t.sql == "text[]" {
			return quoted(arrayOf(v))
		}
		return quoted(string(v))
	}
	return quoted(v.(string))
}

// arrayOf is a list as PostgreSQL reads an array.
func arrayOf(d document) string {
	var items []string
	for _, item := range d.value().([]any) {
		items = append(items, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(item.(string))+`"`)
	}
	return "{" + strings.Join(items, ",") + "}"
}

// order compares two values that are not null.
func order(a, b any) int {
	switch a := a.(type) {
	case number:
		return a.rat().Cmp(b.(number).rat())
	case bool:
		return cmp.Compare(asInt(a), asInt(b.(bool)))
	case document:
		return strings.Compare(string(a), string(b.(document)))
	case roughly:
		return cmp.Compare(a, b.(roughly))
	case *big.Rat:
		return a.Cmp(b.(*big.Rat))
	}
	return strings.Compare(a.(string), b.(string))
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// same compares two values, either of which may be null.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if d, ok := a.(document); ok {
		return reflect.DeepEqual(d.value(), b.(document).value())
	}
	return order(a, b) == 0
}

// unlike says how an answer differs from the one that is right; empty: in nothing.
func unlike(path string, want any, got json.RawMessage) string {
	switch want := want.(type) {
	case entries:
		return unlikeObject(path, want, got)
	case answers:
		var items []json.RawMessage
		if err := json.Unmarshal(got, &items); err != nil || got[0] != '[' || len(items) != len(want.items) {
			return fmt.Sprintf("%s: wanted %d items: %s, got %s", path, len(want.items), shown(want), got)
		}
		if want.loose {
			return unlikeLoose(path, want, items)
		}
		for i, item := range items {
			if diff := unlike(fmt.Sprintf("%s[%d]", path, i), want.items[i], item); diff != "" {
				return diff
			}
		}
		return ""
	}
	if !sameJSON(want, got) {
		return fmt.Sprintf("%s: wanted %v, got %s", path, want, got)
	}
	return ""
}

func unlikeObject(path string, want entries, got json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(got)))
	if t, _ := d.Token(); t != json.Delim('{') {
		return fmt.Sprintf("%s: wanted %s, got %s", path, shown(want), got)
	}
	for _, p := range want {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || key != p.key || d.Decode(&value) != nil {
			return fmt.Sprintf("%s: wanted the key %q, got %v in %s", path, p.key, key, got)
		}
		if diff := unlike(path+"."+p.key, p.value, value); diff != "" {
			return diff
		}
	}
	if d.More() {
		return fmt.Sprintf("%s: more keys than wanted: %s", path, got)
	}
	return ""
}

func unlikeLoose(path string, want answers, got []json.RawMessage) string {
	rest := slices.Clone(want.items)
	for _, item := range got {
		i := slices.IndexFunc(rest, func(w any) bool { return unlike(path, w, item) == "" })
		if i < 0 {
			return fmt.Sprintf("%s: wanted any of %s, got %s", path, shown(answers{items: rest}), item)
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return ""
}

// shown shows what was wanted.
func shown(v any) string {
	switch v := v.(type) {
	case entries:
		var parts []string
		for _, p := range v {
			parts = append(parts, p.key+":"+shown(p.value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case answers:
		var parts []string
		for _, item := range v.items {
			parts = append(parts, shown(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(v)
}

func sameJSON(want any, got json.RawMessage) bool {
	if want == nil || string(got) == "null" {
		return want == nil && string(got) == "null"
	}
	switch want := want.(type) {
	case number:
		r, ok := new(big.Rat).SetString(string(got))
		return ok && r.Cmp(want.rat()) == 0
	case roughly:
		var f float64
		return json.Unmarshal(got, &f) == nil && math.Abs(f-float64(want)) <= 1e-9*max(1, math.Abs(float64(want)))
	case document:
		var v any
		return json.Unmarshal(got, &v) == nil && reflect.DeepEqual(v, want.value())
	}
	var v any
	return json.Unmarshal(got, &v) == nil && v == want
}
