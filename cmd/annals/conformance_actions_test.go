package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"
)

const (
	actionsWebhook = "actions-webhook"
	actionsPort    = 5593

	slowAction = 3 * time.Second
	pollPause  = 2 * time.Second
	pollLimit  = 10 * time.Second
)

// An actionHook is the handler of the cases' actions. It works through the
// engine under test, so it has to know it before it is called.
type actionHook struct{ engine *client }

func openActionHook(ctx context.Context, engine *client) (*webhook, error) {
	listener, err := listenWhenFree(ctx, actionsPort)
	if err != nil {
		return nil, err
	}
	hook := &webhook{server: &http.Server{Handler: actionHook{engine}}}
	go func() { _ = hook.server.Serve(listener) }() // ends with Close
	return hook, nil
}

// An actionReply is a body, and a status where it is not 200.
type actionReply struct {
	status int
	body   any
}

func (h actionHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body, err := parseJSON(source)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	reply, err := h.reply(r.Context(), r.URL.Path, get(body, "input"))
	if err != nil {
		reply = actionReply{http.StatusInternalServerError, err.Error()}
	}
	reply.send(w)
}

// send answers with the two headers that cases expect to be told of.
func (a actionReply) send(w http.ResponseWriter) {
	if a.status == http.StatusNoContent {
		w.WriteHeader(a.status)
		return
	}
	w.Header()["Date"] = nil
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Set-Cookie", "abcd")
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_ = http.NewResponseController(w).Flush() // without a length, which would be a header too
	_, _ = w.Write(toJSON(a.body))
}

func (h actionHook) reply(ctx context.Context, path string, input any) (actionReply, error) {
	switch path {
	case "/create-user":
		return h.createUser(ctx, input)
	case "/create-user-timeout":
		waited(ctx, slowAction)
		return h.createUser(ctx, input)
	case "/create-users":
		return h.createUsers(ctx, list(get(input, "users")))
	case "/mirror-action":
		return actionReply{body: get(input, "arg")}, nil
	case "/get-user-by-email", "/get-users-by-email":
		return h.findUsers(ctx, input, path == "/get-users-by-email")
	case "/invalid-response":
		return actionReply{body: "some-string"}, nil
	}
	return actionReply{status: http.StatusNoContent}, nil
}

var emailAddress = regexp.MustCompile(`^\w+([.-]?\w+)*@\w+([.-]?\w+)*(\.\w{2,3})+$`)

func invalidEmail(message string) actionReply {
	return actionReply{http.StatusBadRequest, makeObject("message", message, "code", "invalid-email")}
}

func (h actionHook) createUser(ctx context.Context, input any) (actionReply, error) {
	if !emailAddress.MatchString(text(get(input, "email"))) {
		return invalidEmail("Given email address is not valid"), nil
	}
	data, err := h.ask(ctx, `mutation($user: user_insert_input!) { insert_user_one(object: $user) { id } }`,
		makeObject("user", makeObject("email", get(input, "email"), "name", get(input, "name"))))
	return actionReply{body: get(data, "insert_user_one")}, err
}

func (h actionHook) createUsers(ctx context.Context, users []any) (actionReply, error) {
	for _, user := range users {
		if email := text(get(user, "email")); !emailAddress.MatchString(email) {
			return invalidEmail("Email address is not valid: " + email), nil
		}
	}
	data, err := h.ask(ctx, `mutation($users: [user_insert_input!]!) { insert_user(objects: $users) { returning { id } } }`,
		makeObject("users", users))
	return actionReply{body: get(get(data, "insert_user"), "returning")}, err
}

func (h actionHook) findUsers(ctx context.Context, input any, all bool) (actionReply, error) {
	data, err := h.ask(ctx, `query($email: String!) { user(where: {email: {_eq: $email}}, order_by: {id: asc}) { id } }`,
		makeObject("email", get(input, "email")))
	users := get(data, "user")
	if !all && len(list(users)) > 0 {
		users = list(users)[0]
	}
	return actionReply{body: users}, err
}

// ask runs an operation as admin and returns its data.
func (h actionHook) ask(ctx context.Context, query string, variables any) (any, error) {
	return h.engine.data(ctx, query, variables, nil)
}

func (c *client) data(ctx context.Context, query string, variables any, headers map[string]string) (any, error) {
	a, err := c.post(ctx, "/v1/graphql", makeObject("query", query, "variables", variables), c.withSecret(headers))
	if err != nil {
		return nil, err
	}
	if !has(a.body, "data") {
		return nil, fmt.Errorf("wanted data, got %d: %s", a.status, a.raw)
	}
	return get(a.body, "data"), nil
}

func actionCases() map[string]codedCase {
	return map[string]codedCase{
		"test_actions.py::TestQueryActions.test_query_action_success_output_object": afterMutation(
			`mutation { insert_user_one(object: {email: "clarke@gmail.com", name: "Clarke"}) { id } }`),
		"test_actions.py::TestQueryActions.test_query_action_success_output_list": afterMutation(
			`mutation { insert_user(objects: [{id: 1, email: "clarke@gmail.com", name: "Clarke 1"}, ` +
				`{id: 2, email: "clarke@gmail.com", name: "Clarke 2"}]) { affected_rows } }`),
		"test_actions.py::TestActionsSyncResponseHeaders.test_set_cookie_header": cookieOfAnAction,
		"test_actions.py::TestActionIntrospection.test_introspection_query":      introspectedActions,
		"test_actions.py::TestActionsAsync.test_create_user_success":             asynchronousAction(nil, nil),
		"test_actions.py::TestActionsAsync.test_create_user_roles":               asynchronousAction(userSession("1"), userSession("2")),
	}
}

func userSession(id string) map[string]string {
	return map[string]string{"X-Hasura-Role": "user", "X-Hasura-User-Id": id}
}

// afterMutation runs the steps of the index once there is something to find.
func afterMutation(mutation string) codedCase {
	return func(ctx context.Context, w *world, c indexedCase) error {
		if _, err := w.data(ctx, mutation, newObject(), nil); err != nil {
			return err
		}
		return stepsOfTheIndex(ctx, w, c)
	}
}

func cookieOfAnAction(ctx context.Context, w *world, _ indexedCase) error {
	const mutation = `mutation { create_user(email: "clarke@gmail.com", name: "Clarke") { id } }`
	a, err := w.post(ctx, "/v1/graphql", makeObject("query", mutation), w.withSecret(nil))
	if err != nil {
		return err
	}
	if cookie := a.header.Get("Set-Cookie"); a.status != http.StatusOK || !has(a.body, "data") || cookie != "abcd" {
		return fmt.Errorf("wanted data and the webhook's cookie, got %d, %q: %s", a.status, cookie, a.raw)
	}
	return nil
}

func introspectedActions(ctx context.Context, w *world, c indexedCase) error {
	requests, err := readRequests(w.cases, c.onlyFile())
	if err != nil {
		return err
	}
	for _, r := range requests {
		a, err := w.post(ctx, r.url, r.query, w.withSecret(nil))
		if err != nil {
			return err
		}
		if a.status != http.StatusOK || !has(a.body, "data") {
			return fmt.Errorf("wanted data, got %d: %s", a.status, a.raw)
		}
	}
	return nil
}

// asynchronousAction has an action done by somebody, waits until he can see
// what became of it, and wants a stranger to see nothing.
func asynchronousAction(owner, stranger map[string]string) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		started, err := w.data(ctx, `mutation { create_user(email: "clarke@gmail.com", name: "Clarke") }`, newObject(), owner)
		if err != nil {
			return err
		}
		variables := makeObject("id", get(started, "create_user"))
		if err := w.actionDone(ctx, variables, owner); err != nil || stranger == nil {
			return err
		}
		seen, err := w.data(ctx, actionResult, variables, stranger)
		if err == nil && get(seen, "create_user") != nil {
			err = fmt.Errorf("somebody else sees the action's result: %s", toJSON(seen))
		}
		return err
	}
}

const actionResult = `query($id: uuid!) { create_user(id: $id) { __typename id output { __typename id } } }`

const actionResultWithUser = `query($id: uuid!) { create_user(id: $id) { __typename id output { __typename id user { __typename name email is_admin } } } }`

func (w *world) actionDone(ctx context.Context, variables any, owner map[string]string) error {
	query := actionResult
	want := `{"__typename":"UserId","id":1}`
	if owner == nil {
		query = actionResultWithUser
		want = `{"__typename":"UserId","id":1,"user":{"__typename":"user","name":"Clarke","email":"clarke@gmail.com","is_admin":false}}`
	}
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	for {
		data, err := w.data(ctx, query, variables, owner)
		if err != nil {
			return err
		}
		result := get(data, "create_user")
		if output := get(result, "output"); output != nil {
			got := string(toJSON(output))
			if got != want || text(get(result, "id")) != text(get(variables, "id")) || text(get(result, "__typename")) != "create_user" {
				return fmt.Errorf("wanted %s of action %s, got %s", want, get(variables, "id"), toJSON(data))
			}
			return nil
		}
		if !waited(ctx, pollPause) {
			return errors.New("the action was not done in time")
		}
	}
}
