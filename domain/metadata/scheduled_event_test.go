package metadata

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

// command parses the body of a call.
func command[C Command](t *testing.T, body string) C {
	t.Helper()
	req, err := Parse([]byte(body))
	require.NoError(t, err)
	c, ok := req.Command.(C)
	require.True(t, ok, "%T", req.Command)
	return c
}

// refusal claims that an error is this refusal.
func refusal(t *testing.T, err error, code domain.Code, path, message string) {
	t.Helper()
	var e *domain.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, []string{string(code), path, message}, []string{string(e.Code), e.Path, e.Message})
}

func TestAScheduledEventIsReadWhole(t *testing.T) {
	c := command[CreateScheduledEvent](t, `{"type":"create_scheduled_event","args":{"webhook":"https://example.org/once",
		"schedule_at":"2020-12-24T18:00:00.123+02:00","payload":{"k":"v"},"headers":[{"name":"x-a","value_from_env":"A"}],
		"retry_conf":{"num_retries":1},"comment":"one-off"}}`)
	require.NoError(t, c.Check(World{}), "variables are looked up when it is sent")
	sameJSON(t, `{"webhook":"https://example.org/once","schedule_at":"2020-12-24T16:00:00.123Z","payload":{"k":"v"},
		"headers":[{"name":"x-a","value_from_env":"A"}],"comment":"one-off",
		"retry_conf":{"num_retries":1,"retry_interval_seconds":10,"timeout_seconds":60,"tolerance_seconds":21600}}`, Encode(c))
}

func TestTheTimestampOfAScheduledEventIsISO8601WithAZone(t *testing.T) {
	moment := time.Date(2020, 1, 1, 12, 30, 0, 0, time.UTC)
	for _, text := range []string{
		"2020-01-01T12:30:00Z", "2020-01-01T12:30:00+00:00", "2020-01-01T14:30:00+02:00", "2020-01-01T14:30:00+0200", "2020-01-01T14:30:00+02",
		"2020-01-01 12:30:00Z", "2020-01-01T12:30Z", "2020-01-01T12:30:00.000000Z", "2020-01-01T07:00:00-05:30",
	} {
		c := command[CreateScheduledEvent](t, `{"type":"create_scheduled_event","args":{"webhook":"http://h","schedule_at":"`+text+`"}}`)
		require.Equal(t, moment, c.ScheduleAt, text)
	}
	for _, text := range []string{"", "now", "2020-01-01", "2020-01-01T12:30:00", "2020-13-01T00:00:00Z", "2020-02-30T00:00:00Z", "1577880000", "2020-01-01T25:00:00Z"} {
		_, err := Parse([]byte(`{"type":"create_scheduled_event","args":{"webhook":"http://h","schedule_at":"` + text + `"}}`))
		refusal(t, err, domain.ParseFailed, "$.schedule_at", `"`+text+`" is not an ISO 8601 timestamp with a zone, such as 2020-12-24T18:00:00Z`)
	}
}

func TestAScheduledEventNeedsAWebhookAndATime(t *testing.T) {
	for args, want := range map[string][2]string{
		`{"schedule_at":"2020-01-01T00:00:00Z"}`:                                                      {"$", `key "webhook" not found`},
		`{"webhook":"http://h"}`:                                                                      {"$", `key "schedule_at" not found`},
		`{"webhook":"","schedule_at":"2020-01-01T00:00:00Z"}`:                                         {"$.webhook", "empty string not allowed"},
		`{"webhook":"http://h","schedule_at":1}`:                                                      {"$.schedule_at", "parsing Text failed, expected String, but encountered Number"},
		`{"webhook":"http://h","schedule_at":"2020-01-01T00:00:00Z","retry_conf":{"num_retries":-1}}`: {"$.retry_conf", "num_retries cannot be a negative value"},
	} {
		_, err := Parse([]byte(`{"type":"create_scheduled_event","args":` + args + `}`))
		refusal(t, err, domain.ParseFailed, want[0], want[1])
	}
}
