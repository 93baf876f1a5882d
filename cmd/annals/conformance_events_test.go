package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Section 6.1 of the cases' description: what event triggers send.

func eventCases() map[string]codedCase {
	hello, world := row("1", "hello"), row("1", "world")
	first, second := where("1"), where("2")
	life := []rowChange{
		inserting(hello),
		updating(first, "c2", "world", hello, world),
		deleting(first, world),
	}
	moved := row("2", "world")
	return map[string]codedCase{
		"test_events.py::TestCreateEvtQuery.test_basic": sending("t1_all", life...),
		"test_events.py::TestWebhookEnv.test_basic":     sending("t1_all", life...),
		"test_events.py::TestDeleteEvtQuery.test_delete_basic": sending("t1_all",
			life[0].silent(), life[1].silent(), life[2].silent()),
		"test_events.py::TestEvtSelCols.test_selected_cols": sending("t1_cols",
			inserting(hello),
			updating(first, "c2", "world", hello, world).silent(),
			updating(first, "c1", number("2"), world, moved),
			deleting(second, moved)),
		"test_events.py::TestEvtSelPayload.test_selected_payload": sending("t1_payload",
			inserting(hello),
			updating(first, "c2", "world", where("1"), where("1")),
			updating(first, "c1", number("2"), where("1"), where("2")),
			deleting(second, makeObject("c2", "world"))),
		"test_events.py::TestEvtSelCols.test_selected_cols_dep":                columnInUse,
		"test_events.py::TestEvtHeaders.test_basic":                            eventHeaders,
		"test_events.py::TestRetryConf.test_basic":                             attempts("test_t1", 5, 15*time.Second),
		"test_events.py::TestRetryConf.test_timeout_short":                     attempts("test_t2", 3, 20*time.Second),
		"test_events.py::TestSessionVariables.test_basic":                      sessionVariables,
		"test_events.py::TestManualEvents.test_basic":                          stepsOfTheIndex,
		"test_events.py::TestEventsAsynchronousExecution.test_async_execution": fiveSlowEvents,
	}
}

// A rowChange is one request that changes test_t1, and what is sent of it.
type rowChange struct {
	kind      string // of the request: insert, update, delete
	arguments []any  // of the request beside the table
	op        string // "" where nothing may be sent
	old, new  any
}

func row(c1, c2 string) any { return makeObject("c1", number(c1), "c2", c2) }

func where(c1 string) any { return makeObject("c1", number(c1)) }

func inserting(rows ...any) rowChange {
	return rowChange{kind: "insert", arguments: []any{"objects", rows}, op: "INSERT", new: rows[0]}
}

func updating(where any, column string, value, old, new any) rowChange {
	arguments := []any{"where", where, "$set", makeObject(column, value)}
	return rowChange{kind: "update", arguments: arguments, op: "UPDATE", old: old, new: new}
}

func deleting(where, old any) rowChange {
	return rowChange{kind: "delete", arguments: []any{"where", where}, op: "DELETE", old: old}
}

func (c rowChange) silent() rowChange {
	c.op = ""
	return c
}

func (c rowChange) request(table string) any {
	named := []any{"table", makeObject("schema", "hge_tests", "name", table)}
	return makeObject("type", c.kind, "args", makeObject(append(named, c.arguments...)...))
}

// change makes the change with admin rights and these headers.
func (w *world) change(ctx context.Context, table string, c rowChange, headers map[string]string) error {
	a, err := w.post(ctx, "/v1/query", c.request(table), w.withSecret(headers))
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("%s: wanted status 200, got %d: %s", c.kind, a.status, a.raw)
	}
	return nil
}

// sending makes a case of changes to rows and what a trigger sends of them.
func sending(trigger string, changes ...rowChange) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		for i, c := range changes {
			if err := w.change(ctx, "test_t1", c, nil); err != nil {
				return err
			}
			if err := w.wantSent(ctx, trigger, c, makeObject("x-hasura-role", "admin")); err != nil {
				return fmt.Errorf("change %d, %s: %w", i+1, c.kind, err)
			}
		}
		return nil
	}
}

func (w *world) wantSent(ctx context.Context, trigger string, c rowChange, session any) error {
	hook := w.webhooks["events-webhook"]
	if c.op == "" {
		return hook.nothing(deliveryLimit)
	}
	call, err := hook.next(ctx, deliveryLimit)
	if err != nil {
		return err
	}
	return judgeEvent(call, trigger, c, session)
}

// judgeEvent compares what is known before; id and time need only be there.
func judgeEvent(call webhookCall, trigger string, c rowChange, session any) error {
	if text(get(call.body, "id")) == "" || text(get(call.body, "created_at")) == "" {
		return fmt.Errorf("an event has an id and a time: %s", toJSON(call.body))
	}
	event := get(call.body, "event")
	got := makeObject(
		"path", call.path,
		"table", get(call.body, "table"),
		"trigger", get(get(call.body, "trigger"), "name"),
		"op", get(event, "op"),
		"data", get(event, "data"),
		"session_variables", get(event, "session_variables"),
	)
	want := makeObject(
		"path", "/",
		"table", makeObject("schema", "hge_tests", "name", "test_t1"),
		"trigger", trigger,
		"op", c.op,
		"data", makeObject("old", c.old, "new", c.new),
		"session_variables", session,
	)
	return sameText(canonical(want, nil), canonical(got, nil))
}

func sessionVariables(ctx context.Context, w *world, _ indexedCase) error {
	hello, world := row("1", "hello"), row("1", "world")
	insert := inserting(hello)
	headers := map[string]string{
		"x-hasura-role": "admin", "x-hasura-allowed-roles": "['admin','user']", "x-hasura-user-id": "1",
	}
	if err := w.change(ctx, "test_t1", insert, headers); err != nil {
		return err
	}
	all := makeObject("x-hasura-role", "admin", "x-hasura-allowed-roles", "['admin','user']", "x-hasura-user-id", "1")
	if err := w.wantSent(ctx, "t1_all", insert, all); err != nil {
		return err
	}
	update := updating(where("1"), "c2", "world", hello, world)
	headers = map[string]string{
		"x-hasura-role": "admin", "x-hasura-random": "some_random_info", "X-Random-Header": "not a session variable",
	}
	if err := w.change(ctx, "test_t1", update, headers); err != nil {
		return err
	}
	return w.wantSent(ctx, "t1_all", update, makeObject("x-hasura-role", "admin", "x-hasura-random", "some_random_info"))
}

// eventHeaders wants the configured headers on the event's request.
func eventHeaders(ctx context.Context, w *world, _ indexedCase) error {
	if err := w.change(ctx, "test_t1", inserting(row("1", "hello")), nil); err != nil {
		return err
	}
	call, err := w.webhooks["events-webhook"].next(ctx, deliveryLimit)
	if err != nil {
		return err
	}
	for name, want := range map[string]string{"X-Header-From-Value": "MyValue", "X-Header-From-Env": "MyEnvValue"} {
		if got := call.header.Get(name); got != want {
			return fmt.Errorf("wanted header %s: %s, got %q", name, want, got)
		}
	}
	return nil
}

// attempts wants a failing event to be tried exactly so often by the given time.
func attempts(table string, wanted int32, after time.Duration) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		hook := w.webhooks["events-webhook"]
		before := hook.failures.Load()
		if err := w.change(ctx, table, inserting(row("1", "hello")), nil); err != nil {
			return err
		}
		if !waited(ctx, after) {
			return ctx.Err()
		}
		if got := hook.failures.Load() - before; got != wanted {
			return fmt.Errorf("wanted %d attempts after %s, got %d", wanted, after, got)
		}
		return nil
	}
}

// fiveSlowEvents wants events to be sent side by side.
func fiveSlowEvents(ctx context.Context, w *world, _ indexedCase) error {
	rows := []any{row("1", "a"), row("2", "b"), row("3", "c"), row("4", "d"), row("5", "e")}
	if err := w.change(ctx, "test_t1", inserting(rows...), nil); err != nil {
		return err
	}
	end := time.Now().Add(2 * slowWebhook)
	for range rows {
		if _, err := w.webhooks["events-webhook"].next(ctx, time.Until(end)); err != nil {
			return err
		}
	}
	return nil
}

// columnInUse wants a column that a trigger listens to to be protected.
func columnInUse(ctx context.Context, w *world, _ indexedCase) error {
	drop := func(column string) any {
		sql := "alter table hge_tests.test_t1 drop column " + column
		return makeObject("type", "run_sql", "args", makeObject("sql", sql))
	}
	if err := w.refusal(ctx, drop("c1"), "dependency-error"); err != nil {
		return err
	}
	_, err := w.admin(ctx, drop("c2"), http.StatusOK)
	return err
}

// refusal wants 400 with a code.
func (w *world) refusal(ctx context.Context, operation any, code string) error {
	a, err := w.admin(ctx, operation, http.StatusBadRequest)
	if err != nil {
		return err
	}
	if got := text(get(a.body, "code")); !strings.EqualFold(got, code) {
		return fmt.Errorf("wanted code %s, got %s", code, a.raw)
	}
	return nil
}
