package execution_test

import (
	"maps"
	"slices"
	"strconv"
)

// changeDocument changes JSON by one of the operators for it. What an operator does
// not take, such as a text without parts, is refused.
func (m *mutations) changeDocument(c *column, add func(string, *column, val, func(row) error)) {
	change := func(f func(any) (any, error)) func(row) error {
		return func(r row) error {
			if r[c] == nil {
				return nil
			}
			v, err := f(r[c].(document).value())
			if err == nil {
				r[c] = document(encoded(v))
			}
			return err
		}
	}
	switch m.world.IntN(5) {
	case 0:
		more := oneOf(m.world.Rand, c.pool).(document)
		add("_append", c, c.val(more), change(func(v any) (any, error) { return joinedJSON(v, more.value()), nil }))
	case 1:
		more := oneOf(m.world.Rand, c.pool).(document)
		add("_prepend", c, c.val(more), change(func(v any) (any, error) { return joinedJSON(more.value(), v), nil }))
	case 2:
		key := oneOf(m.world.Rand, []string{"a", "b", "none", ""})
		add("_delete_key", c, val{kind: textVal, text: key, typ: "String"}, change(func(v any) (any, error) { return withoutKey(v, key) }))
	case 3:
		at := m.world.IntN(6) - 3
		add("_delete_elem", c, val{text: strconv.Itoa(at), typ: "Int"}, change(func(v any) (any, error) { return withoutElement(v, at) }))
	default:
		path := oneOf(m.world.Rand, [][]string{{}, {"a"}, {"b"}, {"b", "0"}, {"b", "-1"}, {"b", "5"}, {"b", "x"}, {"a", "x"}, {"0"}, {"1"}, {"-1"}, {"-3"}, {"none", "x"}})
		list := val{kind: listVal, typ: "[String!]"}
		for _, part := range path {
			list.items = append(list.items, val{kind: textVal, text: part, typ: "String"})
		}
		add("_delete_at_path", c, list, change(func(v any) (any, error) { return withoutPath(v, path) }))
	}
}

// joinedJSON is a || b of jsonb: two objects become one, everything else a list.
func joinedJSON(a, b any) any {
	first, ok := a.(map[string]any)
	second, both := b.(map[string]any)
	if ok && both {
		all := maps.Clone(first)
		maps.Copy(all, second)
		return all
	}
	list := func(v any) []any {
		if l, ok := v.([]any); ok {
			return l
		}
		return []any{v}
	}
	return slices.Concat([]any{}, list(a), list(b))
}

// withoutKey is v - key: of an object its member, of a list all texts that are equal.
func withoutKey(v any, key string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, key)
		return v, nil
	case []any:
		return slices.DeleteFunc(v, func(item any) bool { return item == key }), nil
	}
	return nil, errRefused
}

// withoutElement is v - at, which lists alone have; below zero it counts from the end.
func withoutElement(v any, at int) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errRefused
	}
	return withoutIndex(list, at), nil
}

func withoutIndex(list []any, at int) []any {
	if at < 0 {
		at += len(list)
	}
	if at < 0 || at >= len(list) {
		return list
	}
	return slices.Delete(list, at, at+1)
}

// withoutPath is v #- path: what is not there is left out of nothing, a place in a
// list is a number, and what has no parts has no paths.
func withoutPath(v any, path []string) (any, error) {
	switch whole := v.(type) {
	case map[string]any:
		if len(whole) == 0 {
			return v, nil
		}
	case []any:
		if len(whole) == 0 {
			return v, nil
		}
	default:
		return nil, errRefused
	}
	if len(path) == 0 {
		return v, nil
	}
	return withoutPart(v, path)
}

func withoutPart(v any, path []string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[path[0]]
		if !ok {
			return v, nil
		}
		if len(path) == 1 {
			delete(v, path[0])
			return v, nil
		}
		left, err := withoutPart(inner, path[1:])
		v[path[0]] = left
		return v, err
	case []any:
		at, err := strconv.Atoi(path[0])
		if err != nil {
			return nil, errRefused
		}
		if len(path) == 1 {
			return withoutIndex(v, at), nil
		}
		if at < 0 {
			at += len(v)
		}
		if at < 0 || at >= len(v) {
			return v, nil
		}
		v[at], err = withoutPart(v[at], path[1:])
		return v, err
	}
	return v, nil
}
