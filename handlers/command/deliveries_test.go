package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/command"
	"annals/projections/deliveries"
)

// delivering is a service with a table, an event trigger on it and a book of
// deliveries; no worker takes anything out of the queue but the test.
func delivering(t *testing.T) *service {
	s := newService(t)
	s.node.handler.Deliveries = deliveries.Book{}
	s.exec(authors)
	s.do(`{"type":"track_table","args":"author"}`)
	s.do(`{"type":"create_event_trigger","args":{"name":"t","table":"author","webhook":"http://127.0.0.1:1/","enable_manual":true,"insert":{"columns":"*"}}}`)
	return s
}

func member[T any](s *service, body, name string) (value T) {
	s.t.Helper()
	var members map[string]json.RawMessage
	require.NoError(s.t, json.Unmarshal([]byte(body), &members), body)
	require.NoError(s.t, json.Unmarshal(members[name], &value), body)
	return value
}

// author adds a row, and returns the id of its event.
func (s *service) author(name string) string {
	s.t.Helper()
	s.exec(`insert into author (name) values ('` + name + `')`)
	return column[string](s, "select id::text from annals.delivery_states where payload->'data'->'new'->>'name' = $1", name)[0]
}

// attempt notes an attempt as a worker does; one that ends the delivery takes
// it out of the queue.
func (s *service) attempt(id, outcome string, status int) {
	s.t.Helper()
	_, err := s.db.Pool.Exec(s.t.Context(), `insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, status, request, response, node, started_at)
		select delivery_id, 'attempt', $2, round, tries + 1, $3, '{"payload":{"a":1},"headers":[{"name":"X-Key","value":"hush"}],"version":"2"}', '{"type":"webhook_response"}', 'n1', clock_timestamp()
		from annals.delivery_queue where delivery_id::text = $1`, id, outcome, status)
	require.NoError(s.t, err)
	if outcome == "retry" {
		_, err = s.db.Pool.Exec(s.t.Context(), "update annals.delivery_queue set tries = tries + 1, available_at = now() + interval '1 hour', turn_at = now() + interval '1 hour', leased_by = null where delivery_id::text = $1", id)
	} else {
		_, err = s.db.Pool.Exec(s.t.Context(), "delete from annals.delivery_queue where delivery_id::text = $1", id)
	}
	require.NoError(s.t, err)
}

func (s *service) lease(id string) {
	s.t.Helper()
	_, err := s.db.Pool.Exec(s.t.Context(), "update annals.delivery_queue set leased_by = 'n1', lease = lease + 1, available_at = now() + interval '1 hour' where delivery_id::text = $1", id)
	require.NoError(s.t, err)
}

func (s *service) state(id string) string {
	s.t.Helper()
	return column[string](s, "select state || ' ' || round || ' ' || tries from annals.delivery_states where id::text = $1", id)[0]
}

// recorded is the id and position of the history's last event.
func (s *service) recorded() (string, int64) {
	s.t.Helper()
	e, err := s.store.Get(s.t.Context(), s.events())
	require.NoError(s.t, err)
	return e.ID.String(), e.Position
}

func TestAScheduledEventIsADeliveryTiedToItsRecord(t *testing.T) {
	s := delivering(t)
	body := s.do(`{"type":"create_scheduled_event","args":{"webhook":"http://me:hush@127.0.0.1:1/","schedule_at":"2999-01-01T00:00:00Z","payload":{"a":1},"headers":[{"name":"K","value":"hush"}],"comment":"once"}}`)
	require.Equal(t, "success", member[string](s, body, "message"))
	id, position := s.recorded()
	require.Equal(t, id, member[string](s, body, "event_id"))
	require.Equal(t, []string{fmt.Sprintf("scheduled %d 2999", position)},
		column[string](s, "select lane || ' ' || position || ' ' || extract(year from available_at) from annals.delivery_queue join annals.deliveries on id = delivery_id"))

	list := s.do(`{"type":"get_scheduled_events","args":{"type":"one_off"}}`)
	require.NotContains(t, list, "hush", "secrets are masked")
	require.EqualValues(t, 1, member[int](s, list, "count"))
	event := member[[]map[string]any](s, list, "events")[0]
	delete(event, "created_at")
	require.Equal(t, map[string]any{
		"id": id, "webhook_conf": "http://me:***@127.0.0.1:1/", "scheduled_time": "2999-01-01T00:00:00+00:00", "payload": map[string]any{"a": 1.0},
		"header_conf": []any{map[string]any{"name": "K", "value": "***"}}, "status": "scheduled", "tries": 0.0, "next_retry_at": nil, "comment": "once",
		"retry_conf": map[string]any{"num_retries": 0.0, "retry_interval_seconds": 10.0, "timeout_seconds": 60.0, "tolerance_seconds": 21600.0},
	}, event)

	s.do(`{"type":"delete_scheduled_event","args":{"type":"one_off","event_id":"` + id + `"}}`)
	require.Equal(t, "cancelled 1 0", s.state(id))
	require.Equal(t, domain.NotSupported, s.refused(`{"type":"delete_scheduled_event","args":{"type":"one_off","event_id":"`+id+`"}}`).Code)
	require.Equal(t, domain.NotExists, s.refused(`{"type":"delete_scheduled_event","args":{"type":"cron","event_id":"`+id+`"}}`).Code)
	require.EqualValues(t, 0, member[int](s, s.do(`{"type":"get_scheduled_events","args":{"type":"one_off","status":["scheduled","locked"]}}`), "count"))
}

func TestAnInvocationSendsThePayloadAsItWasGiven(t *testing.T) {
	s := delivering(t)
	body := s.do(`{"type":"invoke_event_trigger","args":{"name":"t","payload":{"b":1,"a":[1.50]}}}`)
	id, position := s.recorded()
	require.Equal(t, `{"event_id":"`+id+`"}`, body)
	require.Equal(t, []string{fmt.Sprintf(`manual event:t public.author %d {"op":"MANUAL","data":{"b":1,"a":[1.50]},"session_variables":{"x-service-role":"admin"},"trace_context":null}`, position)},
		column[string](s, `select kind || ' ' || lane || ' ' || schema_name || '.' || table_name || ' ' || position || ' ' || payload from annals.deliveries join annals.delivery_queue on delivery_id = id`))
}

func TestATestOfATriggerIsRecordedApart(t *testing.T) {
	s := delivering(t)
	id := member[string](s, s.do(`{"type":"test_event_trigger","args":{"name":"t"}}`), "event_id")
	require.Equal(t, []string{`{"op":"INSERT","data":{"new":{"id":null,"name":null},"old":null},"session_variables":{"x-service-role":"admin"},"trace_context":null}`},
		column[string](s, `select payload::text from annals.deliveries where kind = 'test'`))
	require.Equal(t, "[]", s.do(`{"type":"get_event_logs","args":{"name":"t"}}`))
	require.Equal(t, domain.NotExists, s.refused(`{"type":"redeliver_event","args":{"event_id":"`+id+`"}}`).Code)
	require.Equal(t, domain.NotExists, s.refused(`{"type":"test_event_trigger","args":{"name":"none"}}`).Code)
}

func TestARedeliveryIsANewRoundAndErasesNothing(t *testing.T) {
	s := delivering(t)
	id := s.author("a")
	s.attempt(id, "retry", 500)
	s.attempt(id, "failed", 500)
	require.Equal(t, "failed 1 2", s.state(id))

	require.Equal(t, `{"message":"success"}`, s.do(`{"type":"redeliver_event","args":{"event_id":"`+id+`"}}`))
	require.Equal(t, "pending 2 0", s.state(id))
	_, position := s.recorded()
	require.Equal(t, []string{"attempt 1.1 ", "attempt 1.2 ", fmt.Sprintf("redelivery 2.0 %d", position)},
		column[string](s, "select entry || ' ' || round || '.' || attempt || ' ' || coalesce(position::text, '') from annals.delivery_log order by recorded_at"))

	s.attempt(id, "delivered", 200)
	require.Equal(t, "delivered 2 1", s.state(id))
	s.do(`{"type":"redeliver_event","args":{"event_id":"` + id + `"}}`)
	s.lease(id)
	busy := s.refused(`{"type":"redeliver_event","args":{"event_id":"` + id + `"}}`)
	require.Equal(t, domain.Busy, busy.Code)
	require.Equal(t, "event is already being processed", busy.Message)
}

func TestAPendingEventIsRedeliveredAtOnce(t *testing.T) {
	s := delivering(t)
	id := s.author("a")
	s.attempt(id, "retry", 500)
	s.do(`{"type":"redeliver_event","args":{"event_id":"` + id + `"}}`)
	require.Equal(t, []string{"2 0 true"}, column[string](s, "select round || ' ' || tries || ' ' || (available_at <= clock_timestamp())::text from annals.delivery_queue"))
}

// A worker that records a try moves the delivery to another turn.
func TestAnEventThatIsMovedWhileACommandWaitsForItIsFoundThere(t *testing.T) {
	s := delivering(t)
	id := s.author("a")
	worker, err := s.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer worker.Rollback(context.Background()) // fails only after the commit
	_, err = worker.Exec(t.Context(), "update annals.delivery_queue set tries = 1, available_at = now() + interval '1 hour', turn_at = now() + interval '1 hour'")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.do(`{"type":"redeliver_event","args":{"event_id":"` + id + `"}}`)
	}()
	s.waitsForLock("delivery_queue")
	require.NoError(t, worker.Commit(t.Context()))
	<-done
	require.Equal(t, "pending 2 0", s.state(id))
	require.Equal(t, []int{1}, column[int](s, "select count(*) from annals.delivery_queue"))
}

func TestOnlyEventsOfTriggersThatAreThereAreRedelivered(t *testing.T) {
	s := delivering(t)
	id := s.author("a")
	s.attempt(id, "failed", 500)
	for _, none := range []string{"x", "", "85558393-c75d-4d2f-9c15-e80591b83894", "{" + id + "}"} {
		refusal := s.refused(`{"type":"redeliver_event","args":{"event_id":"` + none + `"}}`)
		require.Equal(t, []string{"not-exists", "event not found"}, []string{string(refusal.Code), refusal.Message}, none)
	}
	s.do(`{"type":"delete_event_trigger","args":{"name":"t"}}`)
	require.Equal(t, "event not found", s.refused(`{"type":"redeliver_event","args":{"event_id":"`+id+`"}}`).Message)
}

func TestManyEventsAreRedeliveredByAFilterAtARate(t *testing.T) {
	s := delivering(t)
	for i := range 10 {
		id := s.author(fmt.Sprint(i))
		outcome, status := "failed", 500
		if i >= 6 {
			outcome, status = "delivered", 200
		} else if i == 0 {
			status = 404
		}
		s.attempt(id, outcome, status)
	}
	before := s.events()
	require.Equal(t, `{"dry_run":true,"matching":6}`, s.do(`{"type":"redeliver_events","args":{"trigger":"t","dry_run":true}}`))
	require.Equal(t, `{"dry_run":true,"matching":1}`, s.do(`{"type":"redeliver_events","args":{"status":404,"dry_run":true}}`))
	require.Equal(t, `{"dry_run":true,"matching":0}`, s.do(`{"type":"redeliver_events","args":{"until":"2020-01-01T00:00:00Z","dry_run":true}}`))
	require.Equal(t, before, s.events(), "who only looks leaves no trace")

	body := s.do(`{"type":"redeliver_events","args":{"state":["failed","delivered"],"status":[500,200],"rate":2,"limit":8}}`)
	_, position := s.recorded()
	require.Equal(t, fmt.Sprintf(`{"message":"success","matching":9,"redelivered":8,"position":%d}`, position), body)
	require.Equal(t, []bool{true}, column[bool](s, "select max(available_at) - min(available_at) between '3.4 s' and '3.6 s' from annals.delivery_queue"))

	progress := func() string { return s.do(fmt.Sprintf(`{"type":"get_redelivery","args":{"position":%d}}`, position)) }
	s.attempt(column[string](s, "select delivery_id::text from annals.delivery_queue order by available_at")[0], "delivered", 200)
	require.Equal(t, fmt.Sprintf(`{"position":%d,"total":8,"waiting":7,"states":{"delivered":1,"pending":7}}`, position), progress())

	cancelled := s.do(fmt.Sprintf(`{"type":"cancel_events","args":{"redelivery":%d,"reason":"enough"}}`, position))
	require.EqualValues(t, 7, member[int](s, cancelled, "cancelled"))
	require.Equal(t, fmt.Sprintf(`{"position":%d,"total":8,"waiting":0,"states":{"cancelled":7,"delivered":1}}`, position), progress())
	require.Equal(t, domain.NotExists, s.refused(`{"type":"get_redelivery","args":{"position":1}}`).Code)
}

func TestHowManyEventsOneRedeliveryIsAboutIsASetting(t *testing.T) {
	s := delivering(t)
	s.node.handler.Deliveries = deliveries.Book{Limits: deliveries.Limits{Redelivered: 2, MaxRedelivered: 3}}
	for i := range 5 {
		s.attempt(s.author(fmt.Sprint(i)), "failed", 500)
	}
	require.Equal(t, `{"dry_run":true,"matching":3}`, s.do(`{"type":"redeliver_events","args":{"dry_run":true}}`), "it is counted no further")
	refusal := s.refused(`{"type":"redeliver_events","args":{"limit":4}}`)
	require.Equal(t, []string{"parse-failed", "the limit of one redelivery can be at most 3: give less, or raise --max-redelivery"}, []string{string(refusal.Code), refusal.Message})
	require.EqualValues(t, 2, member[int](s, s.do(`{"type":"redeliver_events","args":{}}`), "redelivered"))
	require.Equal(t, []string{"0", "1"}, column[string](s, "select payload->'data'->'new'->>'name' from annals.delivery_states where lane is not null order by 1"), "the oldest first")
	require.EqualValues(t, 3, member[int](s, s.do(`{"type":"redeliver_events","args":{"limit":3}}`), "redelivered"))
}

func TestWhatIsQueuedCanBeCancelledButNotWhatIsBeingSent(t *testing.T) {
	s := delivering(t)
	first, second := s.author("a"), s.author("b")
	s.lease(second)
	s.do(cronBody("c", `"schedule":"0 0 * * *"`))
	require.Equal(t, `{"dry_run":true,"matching":1}`, s.do(`{"type":"cancel_events","args":{"type":"event","dry_run":true}}`))
	body := s.do(`{"type":"cancel_events","args":{"type":"event","trigger":"t","reason":"wrong"}}`)
	require.EqualValues(t, 1, member[int](s, body, "cancelled"))
	require.EqualValues(t, 1, member[int](s, body, "busy"))
	require.Equal(t, "cancelled 1 0", s.state(first))
	require.Equal(t, "leased 1 0", s.state(second))
	require.Len(t, s.fires("c"), 100)
	require.Equal(t, domain.ParseFailed, s.refused(`{"type":"cancel_events","args":{}}`).Code, "never all by mistake")

	fire := column[string](s, "select delivery_id::text from annals.delivery_queue where lane = 'cron:c' order by available_at")[0]
	s.do(`{"type":"cancel_events","args":{"event_ids":["` + fire + `","none"]}}`)
	require.Equal(t, "cancelled 1 0", s.state(fire))
}

func TestATriggerRestsWithAReasonUntilItIsResumed(t *testing.T) {
	s := delivering(t)
	s.do(cronBody("c", `"schedule":"0 0 * * *"`))
	s.do(`{"type":"pause_event_trigger","args":{"name":"t","reason":"receiver is down"}}`)
	s.do(`{"type":"pause_cron_trigger","args":{"name":"c"}}`)
	paused := func() []string {
		return column[string](s, "select lane || '=' || reason from annals.paused_lanes order by lane")
	}
	require.Equal(t, []string{"cron:c=", "event:t=receiver is down"}, paused())
	s.do(`{"type":"resume_event_trigger","args":{"name":"t"}}`)
	s.do(`{"type":"resume_event_trigger","args":{"name":"t"}}`)
	require.Equal(t, []string{"cron:c="}, paused())
	require.Equal(t, domain.NotExists, s.refused(`{"type":"pause_cron_trigger","args":{"name":"t"}}`).Code)
	s.do(`{"type":"delete_cron_trigger","args":{"name":"c"}}`)
	require.Empty(t, paused(), "a trigger of the same name starts awake")
}

func TestEventsAreListedInTheShapesOfTheNextGeneration(t *testing.T) {
	s := delivering(t)
	delivered, failed, waiting := s.author("a"), s.author("b"), s.author("c")
	s.attempt(delivered, "delivered", 200)
	s.attempt(failed, "failed", 500)
	s.attempt(waiting, "retry", 500)
	type event struct {
		ID               string
		Delivered, Error bool
		Tries            int
		NextRetryAt      *string `json:"next_retry_at"`
		Locked           *string
		Archived         bool
	}
	list := func(members string) (events []event) {
		require.NoError(t, json.Unmarshal([]byte(s.do(`{"type":"pg_get_event_logs","args":{"name":"t","source":"default"`+members+`}}`)), &events))
		return events
	}
	all := list("")
	require.Len(t, all, 3)
	require.Equal(t, waiting, all[0].ID, "newest first")
	require.NotNil(t, all[0].NextRetryAt)
	require.Equal(t, event{ID: failed, Error: true, Tries: 1}, all[1])
	require.Equal(t, event{ID: delivered, Delivered: true, Tries: 1}, all[2])
	require.Equal(t, all[:1], list(`,"status":"pending"`))
	require.Equal(t, all[1:], list(`,"status":"processed"`))
	require.Equal(t, all[1:2], list(`,"limit":1,"offset":1`))

	invocations := s.do(`{"type":"get_event_invocation_logs","args":{"name":"t"}}`)
	require.NotContains(t, invocations, "hush")
	require.Contains(t, invocations, `"trigger_name":"t"`)
	require.Contains(t, invocations, `"payload":{"a":1}`)
	one := s.do(`{"type":"get_event_by_id","args":{"event_id":"` + failed + `"}}`)
	require.Equal(t, failed, member[event](s, one, "event").ID)
	require.Len(t, member[[]any](s, one, "invocations"), 1)
	require.Equal(t, domain.NotExists, s.refused(`{"type":"get_event_by_id","args":{"event_id":"x"}}`).Code)
	require.Equal(t, domain.NotExists, s.refused(`{"type":"get_event_logs","args":{"name":"none"}}`).Code)
}

func TestFiresOfACronTriggerAreListed(t *testing.T) {
	s := delivering(t)
	s.do(cronBody("c", `"schedule":"0 0 * * *","headers":[{"name":"K","value":"hush"}]`))
	list := s.do(`{"type":"get_scheduled_events","args":{"type":"cron","trigger_name":"c","limit":2,"offset":1}}`)
	require.EqualValues(t, 100, member[int](s, list, "count"))
	events := member[[]map[string]any](s, list, "events")
	require.Len(t, events, 2)
	require.Equal(t, s.fires("c")[1].UTC().Format("2006-01-02T15:04:05+00:00"), events[0]["scheduled_time"])
	require.Equal(t, "c", events[0]["trigger_name"])

	id := events[0]["id"].(string)
	s.attempt(id, "delivered", 200)
	got := s.do(`{"type":"get_scheduled_event_invocations","args":{"type":"cron","trigger_name":"c"}}`)
	require.EqualValues(t, 1, member[int](s, got, "count"))
	require.Equal(t, id, member[[]map[string]any](s, got, "invocations")[0]["event_id"])
	require.Equal(t, domain.NotExists, s.refused(`{"type":"get_scheduled_events","args":{"type":"cron","trigger_name":"none"}}`).Code)

	triggers := s.do(`{"type":"get_cron_triggers","args":{}}`)
	require.NotContains(t, triggers, "hush")
	require.Equal(t, "c", member[[]map[string]any](s, triggers, "cron_triggers")[0]["name"])
}

func TestCommandsOfOneBulkAreEachTiedToTheirOwnRecord(t *testing.T) {
	s := delivering(t)
	s.do(`{"type":"bulk","args":[{"type":"invoke_event_trigger","args":{"name":"t","payload":1}},{"type":"invoke_event_trigger","args":{"name":"t","payload":2}}]}`)
	require.Equal(t, []string{"3=1", "4=2"}, column[string](s, "select position || '=' || (payload->>'data') from annals.deliveries order by position"))
	require.Equal(t, []int64{3, 4}, column[int64](s, "select e.position from annals.events e join annals.deliveries d on d.id = e.id and d.position = e.position order by 1"))
}

func TestAPlannedCommandLeavesNoDelivery(t *testing.T) {
	s := delivering(t)
	s.do(`{"plan":true,"type":"invoke_event_trigger","args":{"name":"t","payload":1}}`)
	require.Empty(t, column[string](s, "select lane from annals.delivery_queue"))
}

var _ command.Deliveries = deliveries.Book{}
