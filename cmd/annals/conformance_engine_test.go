package main_test

import (
	"context"
	"fmt"
	"net/http"
)

// What the cases' description says in words of introspection (section 6.1) and
// of errors on /v1alpha1/graphql (section 6.7).

func engineCases() map[string]codedCase {
	return map[string]codedCase{
		"test_graphql_introspection.py::TestGraphqlIntrospection.test_introspection":          relationshipsIntrospected,
		"test_v1alpha1_endpoint.py::TestV1Alpha1GraphQLErrors.test_v1alpha1_validation_error": alphaValidation,
	}
}

// relationshipsIntrospected wants an object relationship over columns that
// cannot be null to be non-null, and one that is joined by hand to be nullable.
func relationshipsIntrospected(ctx context.Context, w *world, c indexedCase) error {
	requests, err := readRequests(w.cases, c.onlyFile())
	if err != nil {
		return err
	}
	a, err := w.post(ctx, requests[0].url, requests[0].query, w.withSecret(nil))
	if err != nil {
		return err
	}
	types, _ := get(get(get(a.body, "data"), "__schema"), "types").([]any)
	fields, _ := get(itemNamed(types, "article"), "fields").([]any)
	for field, kind := range map[string]string{"author_obj_rel_manual": "OBJECT", "author_obj_rel_fk": "NON_NULL"} {
		if got := text(get(get(itemNamed(fields, field), "type"), "kind")); got != kind {
			return fmt.Errorf("%s of article: wanted %s, got %q", field, kind, got)
		}
	}
	return nil
}

// itemNamed returns the object of a list that has a name.
func itemNamed(list []any, name string) any {
	for _, item := range list {
		if text(get(item, "name")) == name {
			return item
		}
	}
	return nil
}

// alphaValidation asks for a field that is not there: with its status over
// HTTP, and in an error frame over a websocket.
func alphaValidation(ctx context.Context, w *world, c indexedCase) error {
	wrong := makeObject("query", "query { article { id, nothing_of_the_kind } }")
	a, err := w.post(ctx, "/v1alpha1/graphql", wrong, w.withSecret(nil))
	if err != nil {
		return err
	}
	if a.status != http.StatusBadRequest || !has(a.body, "errors") {
		return fmt.Errorf("wanted 400 and errors, got %d: %s", a.status, a.raw)
	}
	return talking("/v1alpha1/graphql", func(ctx context.Context, w *world, s *socket) error {
		refused := request{headers: w.withSecret(nil), want: makeObject("error", "whatever it is")}
		message, err := s.first(ctx, refused, wrong)
		if err != nil {
			return err
		}
		payload := get(message, "payload")
		if text(get(message, "type")) != "error" || !has(payload, "path") || !has(payload, "error") || !has(payload, "code") {
			return fmt.Errorf("wanted an error with path, error and code, got %s", toJSON(message))
		}
		return nil
	})(ctx, w, c)
}
