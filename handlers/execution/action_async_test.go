package execution_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/execution"
	"annals/projections/actions"
)

// laterEngine has the asynchronous action later.
func laterEngine(t *testing.T, output string) *engine {
	e := musicalEngine(t)
	e.Do(actionTypes)
	e.Do(`{"type":"create_action","args":{"name":"later","definition":{"kind":"asynchronous","handler":"http://127.0.0.1:1",` +
		`"arguments":[{"name":"n","type":"Int"}],"output_type":"` + output + `","forward_client_headers":true}}}`)
	e.Do(`{"type":"create_action_permission","args":{"action":"later","role":"user"}}`)
	return e
}

// start starts a call and returns its id.
func (e *engine) start(s domain.Session) string {
	e.t.Helper()
	text, err := e.run.Run(e.t.Context(), execution.Request{Session: s, Query: plan.Request{Query: `mutation { later(n: 7) }`},
		Client: execution.Client{Header: http.Header{"Authorization": {"a"}}}})
	require.NoError(e.t, err)
	var answer struct{ Data struct{ Later string } }
	require.NoError(e.t, json.Unmarshal(text, &answer))
	require.NoError(e.t, uuid.Validate(answer.Data.Later))
	return answer.Data.Later
}

// finish ends a call as the worker does that holds its lease.
func (e *engine) finish(id, response, errors string) {
	e.t.Helper()
	c, state, err := actions.Open(e.t.Context(), e.Pool, id)
	require.NoError(e.t, err)
	require.Equal(e.t, actions.Processing, state)
	require.NoError(e.t, actions.Finish(e.t.Context(), e.Pool, c.ID, 0, orNil(response), orNil(errors)))
}

func orNil(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func (e *engine) scan(sql string, args ...any) (text string) {
	e.t.Helper()
	require.NoError(e.t, e.Pool.QueryRow(e.t.Context(), sql, args...).Scan(&text))
	return text
}

const laterResult = `query($id: uuid!) { later(id: $id) { id __typename errors output { id artist { name } } } }`

func TestACallThatIsStartedIsADeliveryInTheSameTransaction(t *testing.T) {
	e := laterEngine(t, "found!")
	id := e.start(member("3"))
	require.Equal(t, `action:later action later `+id, e.scan(
		`select concat_ws(' ', lane, kind, trigger, id) from annals.delivery_queue join annals.deliveries on id = delivery_id and due_at = first_due_at`))
	require.Equal(t, `created {"n":7} {"Authorization":["a"]}`, e.scan(`select concat_ws(' ', status, input, headers) from annals.action_log`))
	require.Equal(t, `later 7`, e.scan(`select concat_ws(' ', action_name, input_payload->>'n') from hdb_catalog.hdb_action_log`))
	_, err := e.ask(admin(), `mutation { later(n: 1) insert_track(objects: {id: 1, album_id: -4}) { affected_rows } }`, "")
	require.Error(t, err)
	require.Equal(t, `1`, e.scan(`select count(*)::text from annals.action_log`), "nothing of a mutation that fails is left")
}

func TestACallsResultIsForWhoStartedIt(t *testing.T) {
	e := laterEngine(t, "found!")
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist (id, name) values (901, 'A')"}}`)
	id := e.start(member("901"))
	variables := `{"id":"` + id + `"}`
	e.answers(member("901"), `{"later":{"id":"`+id+`","__typename":"later","errors":null,"output":null}}`, laterResult, variables)
	e.finish(id, `{"id":901}`, "")
	done := `{"later":{"id":"` + id + `","__typename":"later","errors":null,"output":{"id":901,"artist":{"name":"A"}}}}`
	e.answers(member("901"), done, laterResult, variables)
	e.answers(admin(), done, laterResult, variables)
	e.answers(member("902"), `{"later":null}`, laterResult, variables)
	e.answers(admin(), `{"later":null}`, laterResult, `{"id":"`+uuid.NewString()+`"}`)
	require.Equal(t, `completed {} t`, e.scan(`select concat_ws(' ', status, headers, responded_at is not null) from annals.action_log`))
	_, err := e.ask(domain.Session{Role: "stranger"}, laterResult, variables)
	require.ErrorContains(t, err, `"later" not found`)

	failed := e.start(admin())
	e.finish(failed, "", `{"code":"mine","path":"$","error":"no"}`)
	e.answers(admin(), `{"a":{"errors":{"code":"mine","path":"$","error":"no"},"output":null},"b":{"output":{"x":901}}}`,
		`query($a: uuid!, $b: uuid!) { a: later(id: $a) { errors output { id } } b: later(id: $b) { output { x: id } } }`, `{"a":"`+failed+`","b":"`+id+`"}`)
	text, err := e.ask(admin(), `query($id: uuid!) { later(id: $id) { created_at } }`, variables)
	require.NoError(t, err)
	require.Regexp(t, `"created_at":"\d{4}-\d\d-\d\dT`, text)
}

func TestACallWithAListOfObjectsAnswersAList(t *testing.T) {
	e := laterEngine(t, "[found]")
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist (id, name) values (901, 'A'), (902, 'B')"}}`)
	id := e.start(admin())
	e.finish(id, `[{"id":902},{"id":901},{"id":33}]`, "")
	e.answers(admin(), `{"later":{"a":[{"artist":{"name":"B"}},{"artist":{"name":"A"}},{"artist":null}],"b":[{"id":902},{"id":901},{"id":33}]}}`,
		`query($id: uuid!) { later(id: $id) { a: output { artist { name } } b: output { id } } }`, `{"id":"`+id+`"}`)
}

func TestASubscriptionFollowsACall(t *testing.T) {
	e := laterEngine(t, "found!")
	id := e.start(admin())
	prepare := func(s domain.Session, id string) *execution.Live {
		t.Helper()
		live, err := e.run.PrepareLive(t.Context(), execution.Request{Session: s, Query: plan.Request{
			Query: strings.Replace(laterResult, "query", "subscription", 1), Variables: wire.MustParse(`{"id":"` + id + `"}`),
		}})
		require.NoError(t, err)
		return live
	}
	mine, again, wrong := prepare(admin(), id), prepare(admin(), id), prepare(admin(), "no uuid")
	require.Equal(t, mine.Shape.ID, again.Shape.ID)
	require.NotEqual(t, mine.Shape.ID, wrong.Shape.ID, "one that cannot be answered fails alone")
	answer := func() string {
		t.Helper()
		answers, err := e.run.AnswerLive(t.Context(), []*execution.Live{mine})
		require.NoError(t, err)
		return string(answers[0])
	}
	require.Contains(t, answer(), `"output":null`)
	e.finish(id, `{"id":5}`, "")
	require.Contains(t, answer(), `"output":{"id":5`)
	_, err := e.run.PrepareLive(t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: `subscription { find { id } }`}})
	require.Error(t, err)
}

func TestADroppedActionEndsItsCallsOrForgetsThem(t *testing.T) {
	for clear, want := range map[string]string{"true": "0 0", "false": "1 0"} {
		e := laterEngine(t, "found!")
		e.start(admin())
		e.Do(`{"type":"drop_action","args":{"name":"later","clear_data":` + clear + `}}`)
		require.Equal(t, want, e.scan(`select concat_ws(' ', (select count(*) from annals.action_log), (select count(*) from annals.delivery_queue))`))
		require.Equal(t, "cancelled", e.scan(`select entry from annals.delivery_log`))
		if clear == "false" {
			require.Equal(t, "error not-exists", e.scan(`select concat_ws(' ', status, errors->>'code') from annals.action_log`))
		}
	}
}

func TestALeaseThatRanOutWritesNoResult(t *testing.T) {
	e := laterEngine(t, "found!")
	id := e.start(admin())
	c, _, err := actions.Open(t.Context(), e.Pool, id)
	require.NoError(t, err)
	require.NoError(t, actions.Finish(t.Context(), e.Pool, c.ID, 5, json.RawMessage(`{"id":1}`), nil))
	require.Equal(t, "processing", e.scan(`select status from annals.action_log`))
	e.finish(id, `{"id":2}`, "")
	_, state, err := actions.Open(t.Context(), e.Pool, id)
	require.NoError(t, err)
	require.Equal(t, actions.Completed, state, "a call that is over is not made again")
}
