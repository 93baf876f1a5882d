package delivery

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain/metadata"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// change is the delivery of a row change.
func change() Delivery {
	return Delivery{
		ID: "85558393-c75d-4d2f-9c15-e80591b83894", Kind: Event, Trigger: "users", Schema: "public", Table: "users",
		Payload:   json.RawMessage(`{"op":"INSERT","data":{"old":null,"new":{"id":42,"a":"<é>"}},"session_variables":null,"trace_context":null}`),
		CreatedAt: at("2018-09-05T07:14:21.601700Z"), DueAt: at("2018-09-05T07:14:21.601700Z"),
	}
}

func TestTheBodyOfARowChangeIsThatOfV13(t *testing.T) {
	require.Equal(t, `{"id":"85558393-c75d-4d2f-9c15-e80591b83894","created_at":"2018-09-05T07:14:21.6017Z","trigger":{"name":"users"},`+
		`"table":{"schema":"public","name":"users"},"event":`+string(change().Payload)+`,"delivery_info":{"current_retry":2,"max_retries":5}}`,
		string(bodyOf(change(), Plan{Policy: Policy{Retries: 5}}, 2)))
}

func TestTheBodiesOfScheduledDeliveriesAreThoseOfV13(t *testing.T) {
	comment := "hello"
	fire := Delivery{ID: "i", Kind: Cron, Trigger: "c", Payload: json.RawMessage(`{"a":1}`), DueAt: at("2020-06-02T12:15:00+02:00")}
	require.Equal(t, `{"id":"i","name":"c","scheduled_time":"2020-06-02T10:15:00Z","payload":{"a":1},"comment":"hello"}`,
		string(bodyOf(fire, Plan{Comment: &comment}, 0)))
	oneOff := Delivery{ID: "i", Kind: Scheduled, DueAt: at("2020-06-02T10:15:00Z"), CreatedAt: at("2020-06-02T10:10:00.123456Z")}
	require.Equal(t, `{"id":"i","created_at":"2020-06-02T10:10:00.123456Z","scheduled_time":"2020-06-02T10:15:00Z","payload":null}`,
		string(bodyOf(oneOff, Plan{}, 0)))
}

func TestWhatIsNextFollowsFromThePolicyTheTriesAndTheAnswer(t *testing.T) {
	p := Policy{Retries: 1, Interval: 10 * time.Second, NoRetryOn: []int{410}}
	for name, one := range map[string]struct {
		tries  int
		answer Answer
		want   Next
	}{
		"taken":                                  {0, Answer{Status: 200}, Next{Outcome: Delivered}},
		"taken, whatever it asks":                {0, Answer{299, "5"}, Next{Outcome: Delivered}},
		"redirected":                             {0, Answer{Status: 301}, Next{Retry, p.Interval}},
		"no answer":                              {0, Answer{Status: NoAnswer}, Next{Retry, p.Interval}},
		"tries used up":                          {1, Answer{Status: 500}, Next{Outcome: Failed}},
		"tries used up, and asked to come again": {1, Answer{429, "7"}, Next{Retry, 7 * time.Second}},
		"asked for a date":                       {0, Answer{429, "Wed, 21 Oct 2015 07:28:00 GMT"}, Next{Retry, p.Interval}},
		"asked for no time":                      {1, Answer{429, "0"}, Next{Outcome: Failed}},
		"asked for less":                         {1, Answer{429, "-1"}, Next{Outcome: Failed}},
		"a status that ends it":                  {0, Answer{410, "7"}, Next{Outcome: Failed}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, one.want, Decide(p, one.tries, one.answer, 0)) })
	}
}

func TestABackoffDoublesUpToItsLimitAndChanceOnlyShortensIt(t *testing.T) {
	p := Policy{Retries: 1000, Interval: 10 * time.Second, Backoff: &Backoff{MaxInterval: time.Minute}}
	for tries, want := range []time.Duration{10, 20, 40, 60, 60} {
		require.Equal(t, want*time.Second, Decide(p, tries, Answer{Status: 500}, 0.5).Delay)
	}
	rapid.Check(t, func(t *rapid.T) {
		p.Backoff.Jitter = rapid.Float64Range(0, 1).Draw(t, "jitter")
		delay := Decide(p, rapid.IntRange(0, 999).Draw(t, "tries"), Answer{Status: 500}, rapid.Float64Range(0, 1).Draw(t, "chance")).Delay
		if delay < 0 || delay > p.Backoff.MaxInterval {
			t.Fatalf("waits %s", delay)
		}
	})
}

func TestEveryDeliveryEndsUnlessTheOtherSideAsksForMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{Retries: rapid.IntRange(0, 20).Draw(t, "retries")}
		for tries := 0; ; tries++ {
			status := rapid.SampledFrom([]int{200, 302, 404, 500, NoAnswer}).Draw(t, "status")
			if next := Decide(p, tries, Answer{Status: status}, 0); next.Outcome != Retry {
				return
			}
			if tries == p.Retries {
				t.Fatalf("tried %d times", tries+1)
			}
		}
	})
}

func TestATimeoutIsNeverNothingNorMoreThanADay(t *testing.T) {
	none, long := 0, 10_000_000
	require.Equal(t, time.Minute, eventPolicy(metadata.EventRetryConf{TimeoutSec: &none}).Timeout)
	require.Equal(t, 24*time.Hour, eventPolicy(metadata.EventRetryConf{TimeoutSec: &long}).Timeout)
	require.Equal(t, time.Minute, schedulePolicy(metadata.ScheduleRetryConf{}).Timeout)
	require.Equal(t, 24*time.Hour, schedulePolicy(metadata.ScheduleRetryConf{TimeoutSeconds: 1e9}).Timeout)
	require.Equal(t, 500*time.Millisecond, schedulePolicy(metadata.ScheduleRetryConf{TimeoutSeconds: 0.5}).Timeout)
}

func TestToleranceEndsAtItsMoment(t *testing.T) {
	tolerance := time.Hour
	p := Policy{Tolerance: &tolerance}
	due := at("2020-01-01T00:00:00Z")
	require.False(t, p.TooLate(due, due.Add(tolerance)))
	require.True(t, p.TooLate(due, due.Add(tolerance+1)))
	require.False(t, Policy{}.TooLate(due, due.AddDate(100, 0, 0)))
}

func value(r Request, name string) string {
	var found []string
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			found = append(found, f.Value)
		}
	}
	return strings.Join(found, "|")
}

func TestConfiguredHeadersAreSentAndOursAreNotReplaced(t *testing.T) {
	p := Plan{Webhook: "http://hook", Policy: Policy{Timeout: time.Second}, Headers: []Header{
		{"X-A", "1", ""}, {"X-A", "2", "VAR"}, {"content-type", "text/plain", ""}, {"Webhook-ID", "mine", ""}, {"USER-AGENT", "me", ""},
	}}
	r := Compose(change(), p, 0, at("2020-01-01T00:00:00Z"))
	require.Equal(t, "1|2", value(r, "X-A"))
	require.Equal(t, "application/json", value(r, "Content-Type"))
	require.Equal(t, change().ID, value(r, "Webhook-Id"))
	require.Equal(t, "1577836800", value(r, "Webhook-Timestamp"))
	require.Empty(t, value(r, "Webhook-Signature"))
	require.Empty(t, value(r, "User-Agent"), "it is the client's")
	require.Equal(t, time.Second, r.Timeout)
}

// The example of the standard's own libraries.
func TestASignatureIsThatOfStandardWebhooks(t *testing.T) {
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)))
	r := Compose(change(), Plan{Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "old"}}, 0, at("2020-01-01T00:00:00Z"))
	require.Len(t, strings.Fields(value(r, "Webhook-Signature")), 2)
}

func TestATryIsASpanOfTheChangesTrace(t *testing.T) {
	d := change()
	alone, again := Compose(d, Plan{}, 0, time.Time{}), Compose(d, Plan{}, 1, time.Time{})
	require.Regexp(t, "^[0-9a-f]{16}$", value(alone, "X-B3-TraceId"))
	require.Equal(t, value(alone, "X-B3-TraceId"), value(again, "X-B3-TraceId"))
	require.NotEqual(t, value(alone, "X-B3-SpanId"), value(again, "X-B3-SpanId"))
	require.Empty(t, value(alone, "X-B3-ParentSpanId"))

	d.Payload = json.RawMessage(`{"op":"INSERT","trace_context":{"trace_id":18446744073709551615,"span_id":10}}`)
	r := Compose(d, Plan{}, 0, time.Time{})
	require.Equal(t, "ffffffffffffffff", value(r, "X-B3-TraceId"))
	require.Equal(t, "000000000000000a", value(r, "X-B3-ParentSpanId"))
}

func TestAnAttemptIsRememberedAsV13DoesWithoutTheEnvironmentsValues(t *testing.T) {
	p := Plan{Headers: []Header{{"X-A", "secret", "VAR"}, {"X-B", "b", ""}, {"user-agent", "not sent", ""}}}
	r := Request{Body: []byte(`{"a":1}`)}
	headers := `"headers":[{"name":"Content-Type","value":"application/json"},{"name":"User-Agent","value":"annals"},` +
		`{"name":"X-A","value_from_env":"VAR"},{"name":"X-B","value":"b"}]`
	require.Equal(t, `{"payload":{"a":1},`+headers+`,"version":"1"}`, string(RequestLog(Cron, r, p, "annals", false)))
	require.Equal(t, `{"max_retries":0,`+headers+`,"version":"2"}`, string(RequestLog(Event, r, p, "annals", false)), "its body follows from its record")
	require.Contains(t, string(RequestLog(Cron, r, p, "annals", true)), `{"name":"X-A","value":"secret"}`)

	require.Equal(t, `{"type":"webhook_response","data":{"status":500,"body":"no","headers":[{"name":"Date","value":"now"}]},"version":"2"}`,
		string(AnswerLog(Event, 500, []Field{{"Date", "now"}}, []byte("no"), false)))
	require.Contains(t, string(AnswerLog(Event, 500, nil, []byte{0xff}, true)), `"body":["Base64","/w=="],"headers":[],"truncated":true`)
	require.Equal(t, `{"type":"client_error","data":{"message":"\"it said \\\"no\\\"\""},"version":"1"}`, string(FailureLog(Scheduled, `it said "no"`)))
}

func TestAOneOffEventCarriesItsOwnPlan(t *testing.T) {
	d := Delivery{Kind: Scheduled, Definition: json.RawMessage(`{"webhook":"{{BASE}}/x","headers":[{"name":"A","value_from_env":"BASE"}],
		"retry_conf":{"num_retries":2,"retry_interval_seconds":0.5,"timeout_seconds":3,"tolerance_seconds":60},"comment":"c"}`)}
	p, err := PlanOf(d, metadata.World{Env: metadata.Environment{"BASE": "http://b"}})
	require.NoError(t, err)
	require.Equal(t, "http://b/x", p.Webhook)
	require.Equal(t, []Header{{"A", "http://b", "BASE"}}, p.Headers)
	require.Equal(t, 500*time.Millisecond, p.Policy.Interval)
	require.Equal(t, time.Minute, *p.Policy.Tolerance)

	p, err = PlanOf(d, metadata.World{})
	require.ErrorContains(t, err, "Value for environment variables not found: BASE")
	require.Equal(t, 2, p.Policy.Retries, "it is a try that failed")
}

func TestNothingIsPlannedForATriggerThatIsNotThere(t *testing.T) {
	for _, kind := range []Kind{Event, Manual, Test, Cron} {
		w := metadata.NewWorld(metadata.Catalog{}, metadata.World{}.Shape, nil)
		p, err := PlanOf(Delivery{Kind: kind, Trigger: "t"}, w)
		require.Error(t, err)
		require.Zero(t, p)
	}
}
