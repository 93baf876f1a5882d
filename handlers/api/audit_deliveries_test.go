package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/eventstore"
	"annals/handlers/api"
	"annals/migrations/pgtest"
	"annals/projections/deliveries"
)

// withDeliveries is a service over a history and a book of deliveries.
func withDeliveries(t *testing.T) audited {
	t.Helper()
	db := pgtest.New(t)
	store := eventstore.New(db.Pool, eventstore.Config{})
	return audited{start(t, settings{auth: withSecret(), history: store, deliveries: deliveries.Reader{DB: db.Pool}}), store, db}
}

func (a audited) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := a.db.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (a audited) object(t *testing.T, path string) map[string]any {
	t.Helper()
	got := a.get(t, path, anAdmin)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &object))
	return object
}

const anEvent = "85558393-c75d-4d2f-9c15-e80591b83894"

func TestTheStoryOfADeliveryIsToldWhole(t *testing.T) {
	s := withDeliveries(t)
	s.record(t,
		eventstore.Event{Type: "create_event_trigger", Objects: []eventstore.Object{{Kind: "event_trigger", Key: "t"}}, Comment: "needed"},
		eventstore.Event{})
	s.exec(t, `insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at) values ($1, 'event', 't', 'public', 'author', '{"op":"INSERT"}', clock_timestamp())`, anEvent)
	s.record(t, eventstore.Event{Type: "redeliver_event", Actor: json.RawMessage(`{"role":"admin","request_id":"r-9"}`)})
	s.exec(t, `insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, status, request, response, node, started_at, recorded_at, position, next_due_at) values
		($1, 'attempt', 'failed', 1, 1, 500, '{"payload":{"id":"x"},"headers":[{"name":"K","value":"hush"}],"version":"2"}', '{"type":"webhook_response"}', 'n1', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.25Z', null, null),
		($1, 'redelivery', null, 2, 0, null, null, null, null, null, '2026-01-01T01:00:00Z', 3, null)`, anEvent)
	s.exec(t, `insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, round) select id, due_at, 'event:t', '2999-01-01Z', 2 from annals.deliveries`)
	s.exec(t, `insert into annals.paused_lanes (lane, reason) values ('event:t', 'receiver is down')`)

	require.NotContains(t, s.get(t, "/v1/audit/deliveries/"+anEvent, anAdmin).body, "hush", "secrets are masked")
	story := s.object(t, "/v1/audit/deliveries/"+anEvent)
	require.Equal(t, "pending", story["state"])
	require.EqualValues(t, 2, story["catalog_version"], "the head when the row was captured")
	defined := story["defined_by"].(map[string]any)
	require.Equal(t, []any{1.0, "create_event_trigger", "needed"}, []any{defined["position"], defined["type"], defined["comment"]})
	require.Nil(t, story["asked_by"], "nobody asked for a row change")
	require.Equal(t, map[string]any{"op": "INSERT"}, story["payload"])
	require.Equal(t, map[string]any{"action": "attempt", "at": "2999-01-01T00:00:00.000000Z", "paused": "receiver is down"}, story["next"])

	history := story["history"].([]any)
	attempt, redelivery := history[0].(map[string]any), history[1].(map[string]any)
	require.Equal(t, []any{"failed", 500.0, "n1", 250.0}, []any{attempt["outcome"], attempt["status"], attempt["node"], attempt["duration_ms"]})
	require.Equal(t, map[string]any{"id": "x"}, attempt["request"].(map[string]any)["payload"])
	asked := redelivery["asked_by"].(map[string]any)
	require.Equal(t, []any{3.0, "redeliver_event", "r-9"}, []any{asked["position"], asked["type"], asked["actor"].(map[string]any)["request_id"]})
}

func TestADeliveryThatIsOverHasNothingNext(t *testing.T) {
	s := withDeliveries(t)
	s.record(t, eventstore.Event{Type: "create_scheduled_event"})
	s.exec(t, `insert into annals.deliveries (id, kind, trigger, definition, due_at, position) values ($1, 'scheduled', '', '{"webhook":"http://me:hush@x/","headers":[]}', '2020-01-01Z', 1)`, anEvent)
	s.exec(t, `insert into annals.delivery_log (delivery_id, entry, round, attempt, reason) values ($1, 'dropped', 1, 0, 'too late')`, anEvent)
	story := s.object(t, "/v1/audit/deliveries/"+anEvent)
	require.Equal(t, []any{"dropped", "too late"}, []any{story["state"], story["reason"]})
	require.Equal(t, "http://me:***@x/", story["definition"].(map[string]any)["webhook"])
	require.Equal(t, "create_scheduled_event", story["asked_by"].(map[string]any)["type"])
	require.Equal(t, map[string]any{"action": "nothing", "at": nil, "paused": nil}, story["next"])
}

func TestThereIsNoStoryOfWhatIsNoDelivery(t *testing.T) {
	s := withDeliveries(t)
	for _, id := range []string{"x", anEvent, "%7B" + anEvent + "%7D"} {
		require.Equal(t, http.StatusNotFound, s.get(t, "/v1/audit/deliveries/"+id, anAdmin).status, id)
	}
	require.Equal(t, http.StatusBadRequest, s.get(t, "/v1/audit/deliveries/x?a=b", anAdmin).status)
	require.Equal(t, http.StatusUnauthorized, s.get(t, "/v1/audit/deliveries/"+anEvent).status)
}

func TestPagesOfDeliveriesGoBackWithoutGapOrRepetition(t *testing.T) {
	s := withDeliveries(t)
	s.exec(t, `insert into annals.deliveries (id, kind, trigger, due_at) select gen_random_uuid(), 'event', 't' || n % 2, '2026-01-01Z'::timestamptz + n / 3 * interval '1 s' from generate_series(1, 25) n`)
	s.exec(t, `insert into annals.deliveries (id, kind, trigger, due_at) values (gen_random_uuid(), 'cron', 'c', '2999-01-01Z')`)
	for _, limit := range []int{1, 7, 25, api.MaxPageEvents} {
		seen, path := map[string]bool{}, fmt.Sprintf("/v1/audit/deliveries?limit=%d", limit)
		for next := path; next != ""; {
			page := s.object(t, next)
			for _, d := range page["deliveries"].([]any) {
				id := d.(map[string]any)["event_id"].(string)
				require.False(t, seen[id])
				seen[id] = true
			}
			next = ""
			if cursor, ok := page["next"].(string); ok {
				next = path + "&cursor=" + cursor
			}
		}
		require.Len(t, seen, 25, "what is due in the future is not among them")
	}
	count := func(query string) int { return len(s.object(t, "/v1/audit/deliveries?"+query)["deliveries"].([]any)) }
	require.Equal(t, 13, count("trigger=t1"))
	require.Equal(t, 1, count("type=cron&until=3000-01-01T00:00:00Z"))
	require.Equal(t, 0, count("state=failed,dropped"))
	for _, wrong := range []string{"state=none", "type=none", "limit=0", "cursor=x", "since=x", "other=1"} {
		require.Equal(t, http.StatusBadRequest, s.get(t, "/v1/audit/deliveries?"+wrong, anAdmin).status, wrong)
	}
}
