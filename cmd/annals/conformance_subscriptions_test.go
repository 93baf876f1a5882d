package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Section 6.6 of the cases' description, and what 6.7 says of /v1alpha1/graphql.

func subscriptionCases() map[string]codedCase {
	const (
		ctrl  = "test_subscriptions.py::TestSubscriptionCtrl."
		basic = "test_subscriptions.py::TestSubscriptionBasic."
		alpha = "test_v1alpha1_endpoint.py::TestV1Alpha1GraphQLErrors."
	)
	return map[string]codedCase{
		ctrl + "test_init_without_payload":       talking("/v1/graphql", initialised(nil)),
		ctrl + "test_init":                       talking("/v1/graphql", initialised(newObject())),
		basic + "test_connection_error":          talking("/v1/graphql", unknownFrame),
		basic + "test_start":                     talking("/v1/graphql", subscriptionStarted),
		basic + "test_stop":                      talking("/v1/graphql", subscriptionStopped),
		basic + "test_complete":                  talking("/v1/graphql", queryCompleted),
		alpha + "test_v1alpha1_validation_error": invalidQuery,
		alpha + "test_v1alpha1_ws_start_error":   talking("/v1alpha1/graphql", startedTooEarly),
		"test_subscriptions.py::TestSubscriptionMultiplexing.test_query_parameterization": queryParameterization,
	}
}

// A talk is what is said over a websocket of its own.
type talk func(ctx context.Context, w *world, s *socket) error

func talking(path string, about talk) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		s, err := dialSocket(ctx, w.server.url+path)
		if err != nil {
			return err
		}
		defer s.close()
		return about(ctx, w, s)
	}
}

// initialised sends connection_init with or without a payload. A server with
// a secret is told it, which takes a payload.
func initialised(payload *object) talk {
	return func(ctx context.Context, w *world, s *socket) error {
		if w.mode.secret != "" {
			return s.introduce(ctx, w.withSecret(nil))
		}
		first := makeObject("type", "connection_init")
		if payload != nil {
			first.set("payload", payload)
		}
		if err := s.send(ctx, first); err != nil {
			return err
		}
		return s.wantNext(ctx, "connection_ack")
	}
}

func unknownFrame(ctx context.Context, w *world, s *socket) error {
	if err := s.introduce(ctx, w.withSecret(nil)); err != nil {
		return err
	}
	if err := s.send(ctx, makeObject("type", "test")); err != nil {
		return err
	}
	return s.wantNext(ctx, "connection_error")
}

const newestRow = "{ hge_tests_test_t1(order_by: {c1: desc}, limit: 1) { c1 c2 } }"

func subscriptionStarted(ctx context.Context, w *world, s *socket) error {
	_, err := s.first(ctx, w.asAdmin("subscription "+newestRow), graphQL("subscription "+newestRow))
	return err
}

func subscriptionStopped(ctx context.Context, w *world, s *socket) error {
	return s.subscribe(ctx, w.asAdmin("query "+newestRow))
}

func queryCompleted(ctx context.Context, w *world, s *socket) error {
	return s.query(ctx, w.asAdmin("query "+newestRow))
}

func (w *world) asAdmin(query string) request {
	return request{url: "/v1/graphql", headers: w.withSecret(nil), query: graphQL(query)}
}

// startedTooEarly wants a start before connection_init to be refused.
func startedTooEarly(ctx context.Context, _ *world, s *socket) error {
	if err := s.send(ctx, makeObject("id", "1", "type", "start", "payload", graphQL("query { author { id } }"))); err != nil {
		return err
	}
	message, err := s.next(ctx)
	if err != nil {
		return err
	}
	want := makeObject("id", "1", "type", "error", "payload", makeObject(
		"path", "$", "error", "start received before the connection is initialised", "code", "start-failed"))
	return sameText(canonical(want, nil), canonical(message, nil))
}

// invalidQuery wants an error in the bare form, over HTTP and over a websocket.
func invalidQuery(ctx context.Context, w *world, _ indexedCase) error {
	const url, query = "/v1alpha1/graphql", "query { author { nothing } }"
	const want = `{"code":"validation-failed","error":"field \"nothing\" not found in type: 'author'","path":"$.selectionSet.author.selectionSet.nothing"}`
	expected, err := parseJSON([]byte(want))
	if err != nil {
		return err
	}
	over := request{url: url, headers: w.withSecret(nil), query: graphQL(query), want: expected}
	a, err := w.post(ctx, url, over.query, over.headers)
	if err != nil {
		return err
	}
	if a.status != http.StatusBadRequest {
		return fmt.Errorf("wanted status 400, got %d: %s", a.status, a.raw)
	}
	s, err := dialSocket(ctx, w.server.url+url)
	if err != nil {
		return err
	}
	defer s.close()
	message, err := s.first(ctx, over, over.query)
	if err != nil {
		return err
	}
	return errors.Join(wantType(message, "error"), sameText(canonical(expected, nil), canonical(get(message, "payload"), nil)))
}

func (s *socket) wantNext(ctx context.Context, kind string) error {
	message, err := s.next(ctx)
	if err != nil {
		return err
	}
	return wantType(message, kind)
}

// queryParameterization wants the statement of a live query to depend on the
// shape of its variables and not on their values.
func queryParameterization(ctx context.Context, w *world, c indexedCase) error {
	scene, err := readScene(w.cases, c.onlyFile())
	if err != nil {
		return err
	}
	explain := func(variables any) (string, error) { return w.explain(ctx, get(scene, "query"), variables) }
	reference, err := explain(get(scene, "variables_representative"))
	if err != nil {
		return err
	}
	for _, variables := range list(get(scene, "variables_same")) {
		if sql, err := explain(variables); err != nil || sql != reference {
			return errors.Join(err, fmt.Errorf("wanted the same statement for %s, got %s, not %s", toJSON(variables), sql, reference))
		}
	}
	for _, variables := range list(get(scene, "variables_different")) {
		if sql, err := explain(variables); err != nil || sql == reference {
			return errors.Join(err, fmt.Errorf("wanted another statement for %s, got %s", toJSON(variables), sql))
		}
	}
	return nil
}

// explain returns the statement of a subscription.
func (w *world) explain(ctx context.Context, query, variables any) (string, error) {
	body := makeObject("query", makeObject("query", query, "variables", variables), "user", newObject())
	a, err := w.post(ctx, "/v1/graphql/explain", body, w.withSecret(nil))
	if err != nil {
		return "", err
	}
	sql := text(get(a.body, "sql"))
	if a.status != http.StatusOK || sql == "" {
		return "", fmt.Errorf("explain: wanted 200 and a statement, got %d: %s", a.status, a.raw)
	}
	return sql, nil
}
