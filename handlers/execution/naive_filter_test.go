package execution_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// truth is what a condition is of a row.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

type condition func(who, row) truth

func always(who, row) truth { return yes }

// both is AND, either is OR.
func both(list []condition) condition {
	return func(asks who, r row) truth {
		result := yes
		for _, c := range list {
			result = min(result, c(asks, r))
		}
		return result
	}
}

func either(list []condition) condition {
	return func(asks who, r row) truth {
		result := no
		for _, c := range list {
			result = max(result, c(asks, r))
		}
		return result
	}
}

func negated(c condition) condition {
	return func(asks who, r row) truth { return yes - c(asks, r) }
}

// filters makes random conditions: of requests, or stored ones, of permissions.
type filters struct {
	*world
	asks   who
	stored bool
	names  int
}

func (f *filters) columns(t *table) []*column {
	if f.stored {
		return t.columns
	}
	return t.readable(f.asks)
}

func (f *filters) name(c *column) string {
	if f.stored {
		return c.name
	}
	return c.field
}

// of makes a condition on the rows of a table.
func (f *filters) of(t *table, depth int) (val, condition) {
	value, all := val{kind: objectVal, typ: t.field + "_bool_exp"}, []condition{}
	for range []int{0, 1, 1, 1, 2}[f.IntN(5)] {
		key, v, c := f.member(t, depth)
		if key != "" && !slices.Contains(value.keys, key) {
			value.keys, value.items, all = append(value.keys, key), append(value.items, v), append(all, c)
		}
	}
	return value, both(all)
}

func (f *filters) member(t *table, depth int) (string, val, condition) {
	if depth > 0 {
		switch f.IntN(8) {
		case 0, 1:
			list, all := f.several(t, depth-1)
			if f.oneIn(2) {
				return "_and", list, both(all)
			}
			return "_or", list, either(all)
		case 2:
			v, c := f.of(t, depth-1)
			return "_not", v, negated(c)
		case 3, 4:
			if len(t.relations) > 0 {
				return f.related(t, oneOf(f.Rand, t.relations), depth-1)
			}
		case 5:
			if f.stored {
				return f.exists(depth - 1)
			}
		}
	}
	columns := f.columns(t)
	if len(columns) == 0 {
		return "", val{}, nil
	}
	c := oneOf(f.Rand, columns)
	if f.stored && f.oneIn(6) && c.ordered {
		return f.compareColumns(t, c)
	}
	v, cond := f.comparison(c)
	return f.name(c), v, cond
}

func (f *filters) several(t *table, depth int) (val, []condition) {
	list, all := val{kind: listVal, typ: "[" + t.field + "_bool_exp!]"}, []condition{}
	for range f.IntN(3) {
		v, c := f.of(t, depth)
		list.items, all = append(list.items, v), append(all, c)
	}
	return list, all
}

func (f *filters) related(t *table, r *relation, depth int) (string, val, condition) {
	if !f.stored && !r.to.selectable(f.asks) {
		return "", val{}, nil
	}
	v, c := f.of(r.to, depth)
	return r.name, v, func(asks who, here row) truth {
		others := r.to.rows
		if !f.stored {
			others = r.to.visible(asks)
		}
		return truthOf(slices.ContainsFunc(r.joined(here, others), func(there row) bool { return c(asks, there) == yes }))
	}
}

func (f *filters) exists(depth int) (string, val, condition) {
	t := oneOf(f.Rand, f.tables)
	where, c := f.of(t, depth)
	v := val{kind: objectVal, keys: []string{"_table", "_where"}, items: []val{{kind: textVal, text: t.name}, where}}
	return "_exists", v, func(asks who, _ row) truth {
		return truthOf(slices.ContainsFunc(t.rows, func(r row) bool { return c(asks, r) == yes }))
	}
}

func (f *filters) compareColumns(t *table, c *column) (string, val, condition) {
	var others []*column
	for _, other := range t.columns {
		if other.typ == c.typ {
			others = append(others, other)
		}
	}
	other := oneOf(f.Rand, others)
	word := oneOf(f.Rand, []string{"_ceq", "_cneq", "_cgt", "_clte"})
	v := val{kind: objectVal, keys: []string{word}, items: []val{{kind: textVal, text: other.name}}}
	return c.name, v, func(_ who, r row) truth {
		if r[c] == nil || r[other] == nil {
			return unknown
		}
		return truthOf(stands("_"+word[2:], order(r[c], r[other])))
	}
}

func stands(word string, d int) bool {
	return map[string]bool{"_eq": d == 0, "_neq": d != 0, "_gt": d > 0, "_lt": d < 0, "_gte": d >= 0, "_lte": d <= 0}[word]
}

// comparison makes a condition on one column, of one operator or more.
func (f *filters) comparison(c *column) (val, condition) {
	value, all := val{kind: objectVal, typ: c.graphql + "_comparison_exp"}, []condition{}
	for range []int{1, 1, 1, 1, 2, 0}[f.IntN(6)] {
		word, v, holds := f.operator(c)
		if !slices.Contains(value.keys, word) {
			value.keys, value.items, all = append(value.keys, word), append(value.items, v), append(all, holds)
		}
	}
	return value, both(all)
}

// known is a condition that is unknown of null.
func known(c *column, holds func(who, any) bool) condition {
	return func(asks who, r row) truth {
		if r[c] == nil {
			return unknown
		}
		return truthOf(holds(asks, r[c]))
	}
}

func (f *filters) operator(c *column) (string, val, condition) {
	switch n := f.IntN(10); {
	case n == 0:
		want := f.oneIn(2)
		return "_is_null", val{kind: plainVal, text: fmt.Sprint(want), typ: "Boolean"}, func(_ who, r row) truth { return truthOf((r[c] == nil) == want) }
	case n < 3 && c.sql != "text[]":
		return f.among(c)
	case n < 5 && c.like:
		return f.like(c)
	case n < 7 && c.jsonb:
		return f.jsonb(c)
	}
	words := []string{"_eq", "_neq"}
	if c.ordered && (!c.enum || !f.stored) {
		words = append(words, "_gt", "_lt", "_gte", "_lte")
	}
	word := oneOf(f.Rand, words)
	v, get := f.operand(c)
	return word, v, known(c, func(asks who, left any) bool {
		right := get(asks)
		if !c.ordered {
			return same(left, right) == (word == "_eq")
		}
		return stands(word, order(left, right))
	})
}

// operand is a value to compare with: as it is, or, stored, by the session.
func (f *filters) operand(c *column) (val, func(who) any) {
	v := oneOf(f.Rand, c.pool)
	if !f.stored || c.jsonb || c.sql == "text[]" || !f.oneIn(3) {
		return c.val(v), func(who) any { return v }
	}
	f.names++
	name := fmt.Sprintf("x-service-%d-%d", f.names, f.IntN(1000000))
	for _, s := range f.sessions {
		s[name] = oneOf(f.Rand, c.pool)
	}
	return val{kind: textVal, text: strings.Replace(name, "service", []string{"service", "Hasura"}[f.IntN(2)], 1)}, func(asks who) any { return asks.session[name] }
}

func (f *filters) among(c *column) (string, val, condition) {
	list, values := val{kind: listVal, typ: "[" + c.graphql + "!]"}, []any{}
	for range f.IntN(4) {
		v := oneOf(f.Rand, c.pool)
		list.items, values = append(list.items, c.val(v)), append(values, v)
	}
	word := oneOf(f.Rand, []string{"_in", "_nin"})
	return word, list, func(_ who, r row) truth {
		if len(values) > 0 && r[c] == nil {
			return unknown
		}
		among := slices.ContainsFunc(values, func(v any) bool { return same(v, r[c]) })
		return truthOf(among == (word == "_in"))
	}
}

func (f *filters) like(c *column) (string, val, condition) {
	word := oneOf(f.Rand, []string{"_like", "_nlike", "_ilike", "_nilike", "_similar", "_nsimilar"})
	patterns := []string{"%a%", "_", "%", "", "A\\%b", "x\\_%", "%'%", "é_", "%B"}
	if strings.HasSuffix(word, "similar") {
		patterns = []string{"(a|b)", "%a%", "a+b?", "_+", "é%"}
	}
	pattern := oneOf(f.Rand, patterns)
	text := regexp.MustCompile(expression(pattern, strings.Contains(word, "ilike")))
	v := val{kind: textVal, text: pattern, typ: c.graphql}
	return word, v, known(c, func(_ who, left any) bool {
		return text.MatchString(left.(string)) != strings.HasPrefix(word, "_n")
	})
}

// expression is a pattern of SQL as a regular expression.
func expression(pattern string, anyCase bool) string {
	b := "(?s)^(?:"
	if anyCase {
		b = "(?is)^(?:"
	}
	escaped := false
	for _, c := range pattern {
		switch {
		case escaped:
			b, escaped = b+regexp.QuoteMeta(string(c)), false
		case c == '\\':
			escaped = true
		case c == '%':
			b += ".*"
		case c == '_':
			b += "."
		case strings.ContainsRune("(|)+?", c):
			b += string(c)
		default:
			b += regexp.QuoteMeta(string(c))
		}
	}
	return b + ")$"
}

func (f *filters) jsonb(c *column) (string, val, condition) {
	keys := []string{"a", "b", "none", `q"`}
	some := []string{}
	for range f.IntN(3) {
		some = append(some, oneOf(f.Rand, keys))
	}
	list := val{kind: listVal, typ: "[String!]"}
	for _, k := range some {
		list.items = append(list.items, val{kind: textVal, text: k, typ: "String"})
	}
	has := func(v any, key string) bool {
		switch v := v.(type) {
		case map[string]any:
			_, ok := v[key]
			return ok
		case []any:
			return slices.Contains(v, any(key))
		}
		return v == key
	}
	d := oneOf(f.Rand, c.pool).(document)
	switch f.IntN(5) {
	case 0:
		return "_contains", c.val(d), known(c, func(_ who, left any) bool { return contains(left.(document).value(), d.value(), true) })
	case 1:
		return "_contained_in", c.val(d), known(c, func(_ who, left any) bool { return contains(d.value(), left.(document).value(), true) })
	case 2:
		key := oneOf(f.Rand, keys)
		return "_has_key", val{kind: textVal, text: key, typ: "String"}, known(c, func(_ who, left any) bool { return has(left.(document).value(), key) })
	case 3:
		return "_has_keys_any", list, known(c, func(_ who, left any) bool {
			return slices.ContainsFunc(some, func(k string) bool { return has(left.(document).value(), k) })
		})
	}
	return "_has_keys_all", list, known(c, func(_ who, left any) bool {
		return !slices.ContainsFunc(some, func(k string) bool { return !has(left.(document).value(), k) })
	})
}

// contains is @> of jsonb: an array also contains a plain value, at the top.
func contains(a, b any, top bool) bool {
	switch b := b.(type) {
	case map[string]any:
		m, ok := a.(map[string]any)
		for k, v := range b {
			inner, has := m[k]
			ok = ok && has && contains(inner, v, false)
		}
		return ok
	case []any:
		list, ok := a.([]any)
		for _, v := range b {
			ok = ok && slices.ContainsFunc(list, func(item any) bool { return contains(item, v, false) })
		}
		return ok
	}
	if list, ok := a.([]any); ok && top {
		return slices.Contains(list, b)
	}
	return reflect.DeepEqual(a, b)
}
