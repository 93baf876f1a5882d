package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestATriggerIsInvokedByHandOnlyWhereThatIsAllowed(t *testing.T) {
	closed := trigger("t1_disabled", "name")
	closed.Definition.EnableManual = false
	w := given(t, shapeOf(authors()...), append(tracked("author"), trigger("t1_enabled", "name"), closed)...).world
	invoke := func(name string) error {
		return command[InvokeEventTrigger](t, `{"type":"invoke_event_trigger","args":{"name":"`+name+`","payload":{"some_key":"some_value"}}}`).Check(w)
	}
	require.NoError(t, invoke("t1_enabled"))
	refusal(t, invoke("t1_disabled"), domain.NotSupported, "$.args", "manual mode is not enabled for event trigger")
	refusal(t, invoke("t"), domain.NotExists, "$.args", `event trigger "t" does not exist`)
}

func TestThePayloadOfAnInvocationIsAnyJSON(t *testing.T) {
	for _, payload := range []string{`null`, `1.50`, `"x"`, `[]`, `{"b":1,"a":{"c":null}}`} {
		for _, operation := range []string{"invoke_event_trigger", "pg_invoke_event_trigger"} {
			c := command[InvokeEventTrigger](t, `{"type":"`+operation+`","args":{"name":"t","payload":`+payload+`}}`)
			require.Equal(t, payload, string(c.Payload))
			require.Equal(t, `{"name":"t","payload":`+payload+`}`, string(Encode(c)))
			require.Equal(t, "invoke_event_trigger", c.Operation())
		}
	}
	_, err := Parse([]byte(`{"type":"invoke_event_trigger","args":{"name":"t"}}`))
	refusal(t, err, domain.ParseFailed, "$", `key "payload" not found`)
}

func TestAnEventIsRedeliveredByItsID(t *testing.T) {
	for _, operation := range []string{"redeliver_event", "pg_redeliver_event"} {
		c := command[RedeliverEvent](t, `{"type":"`+operation+`","args":{"event_id":"not-a-uuid"}}`)
		require.Equal(t, "not-a-uuid", c.EventID)
		require.NoError(t, c.Check(World{}))
	}
	_, err := Parse([]byte(`{"type":"redeliver_event","args":{"event_id":7}}`))
	refusal(t, err, domain.ParseFailed, "$.event_id", "parsing Text failed, expected String, but encountered Number")
}

func TestManyEventsAreNamedByAFilterThatIsChecked(t *testing.T) {
	c := command[RedeliverEvents](t, `{"type":"redeliver_events","args":{}}`)
	require.Equal(t, []string{"failed"}, c.States)
	require.Zero(t, c.Limit, "the service says how many")
	require.False(t, c.OnlyReads())
	require.True(t, command[RedeliverEvents](t, `{"type":"redeliver_events","args":{"dry_run":true}}`).OnlyReads())
	for _, body := range []string{
		`{"type":"redeliver_events","args":{"state":"pending"}}`,
		`{"type":"redeliver_events","args":{"rate":0}}`,
		`{"type":"redeliver_events","args":{"limit":0}}`,
		`{"type":"redeliver_events","args":{"since":"yesterday"}}`,
		`{"type":"cancel_events","args":{}}`,
		`{"type":"cancel_events","args":{"trigger":"t"}}`,
		`{"type":"get_event_logs","args":{"name":"t","status":"lost"}}`,
		`{"type":"get_scheduled_events","args":{"type":"cron"}}`,
		`{"type":"get_scheduled_events","args":{"type":"never"}}`,
	} {
		_, err := Parse([]byte(body))
		var refused *domain.Error
		require.ErrorAs(t, err, &refused, body)
		require.Equal(t, domain.ParseFailed, refused.Code, body)
	}
}

func TestASampleIsOfAnOperationThatTheTriggerObserves(t *testing.T) {
	w := given(t, shapeOf(authors()...), append(tracked("author"), trigger("t", "name"))...).world
	given := command[TestEventTrigger](t, `{"type":"test_event_trigger","args":{"name":"t","data":{"new":{"id":1}}}}`)
	operation, data := given.Sample(w)
	require.Contains(t, []string{"INSERT", "UPDATE", "DELETE"}, operation)
	require.Equal(t, `{"new":{"id":1}}`, string(data))
	refusal(t, TestEventTrigger{Name: "none"}.Check(w), domain.NotExists, "$.args", `event trigger "none" does not exist`)
}
