package main_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// judge says how an answer's body differs from the expected one.
func judge(url string, query, want, got any) error {
	if strings.HasSuffix(url, "/explain") {
		return judgeExplain(want, got)
	}
	order := orderedSelection(url, query)
	err := sameText(canonicalAnswer(want, order), canonicalAnswer(got, order))
	if err == nil || order == nil {
		return err
	}
	return sameText(canonicalAnswer(asSelected(want, order), order), canonicalAnswer(got, order))
}

// asSelected gives an expected body the order of the selection, which is always
// right: of introspection, some were written down in another one.
func asSelected(body any, selection ast.SelectionSet) any {
	if !has(body, "data") {
		return body
	}
	ordered := newObject()
	ordered.merge(body)
	ordered.set("data", inOrderOf(get(body, "data"), selection))
	return ordered
}

func inOrderOf(value any, selection ast.SelectionSet) any {
	switch v := value.(type) {
	case []any:
		elements := make([]any, len(v))
		for i, element := range v {
			elements[i] = inOrderOf(element, selection)
		}
		return elements
	case *object:
		ordered := newObject()
		for _, selected := range selection {
			if name := selected.(*ast.Field).Name; has(v, name) {
				ordered.set(name, inOrderOf(v.fields[name], selectionOf(selection, name)))
			}
		}
		ordered.merge(v)
		return ordered
	}
	return value
}

// judgeExplain compares the statement of the first plan; what the planner
// estimates differs from one machine to the next.
func judgeExplain(want, got any) error {
	wantPlans, gotPlans := list(want), list(got)
	if len(wantPlans) == 0 || len(gotPlans) == 0 {
		return fmt.Errorf("an explain answer is a list of plans, got %s", toJSON(got))
	}
	return sameText(text(get(wantPlans[0], "sql")), text(get(gotPlans[0], "sql")))
}

// canonicalAnswer lets the order count below data only.
func canonicalAnswer(body any, order ast.SelectionSet) string {
	o, ok := body.(*object)
	if !ok || order == nil || !has(body, "data") {
		return canonical(body, nil)
	}
	rest := newObject()
	for _, key := range o.keys {
		if key != "data" {
			rest.set(key, o.fields[key])
		}
	}
	return canonical(o.fields["data"], order) + "\n" + canonical(rest, nil)
}

func sameText(want, got string) error {
	if want == got {
		return nil
	}
	return errors.New("the body differs (- wanted, + got):\n" + cmp.Diff(want, got))
}

// orderedSelection returns the selection that orders the keys of a GraphQL
// answer, or nil where their order does not count: other APIs, several
// operations, aliases, fragments, and text that is no GraphQL.
func orderedSelection(url string, query any) ast.SelectionSet {
	if !isGraphQL(url) {
		return nil
	}
	document, err := parser.ParseQuery(&ast.Source{Input: text(get(query, "query"))})
	if err != nil || len(document.Operations) != 1 || len(document.Fragments) > 0 {
		return nil
	}
	selection := document.Operations[0].SelectionSet
	if !plainFields(selection) {
		return nil
	}
	return selection
}

func isGraphQL(url string) bool {
	return strings.HasSuffix(url, "/graphql") || strings.HasSuffix(url, "/relay")
}

func plainFields(selection ast.SelectionSet) bool {
	for _, selected := range selection {
		field, ok := selected.(*ast.Field)
		if !ok || field.Alias != field.Name || !plainFields(field.SelectionSet) {
			return false
		}
	}
	return true
}

// selectionOf returns what is selected of a field, which may be named twice.
func selectionOf(selection ast.SelectionSet, name string) ast.SelectionSet {
	var inner ast.SelectionSet
	for _, selected := range selection {
		if field, ok := selected.(*ast.Field); ok && field.Name == name {
			inner = append(inner, field.SelectionSet...)
		}
	}
	return inner
}
