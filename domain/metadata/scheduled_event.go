package metadata

import (
	"encoding/json"
	"time"

	"annals/domain/wire"
)

var scheduledEventOperations = []operation{
	{"create_scheduled_event", 1, decodeCreateScheduledEvent},
	{"delete_scheduled_event", 1, decodeDeleteScheduledEvent},
	{"get_scheduled_events", 1, decodeGetScheduledEvents},
	{"get_scheduled_event_invocations", 1, decodeGetScheduledEventInvocations},
	{"get_event_invocations", 1, decodeGetScheduledEventInvocations}, // its name in 2.0
	{"get_cron_triggers", 1, nothing[GetCronTriggers]},
}

// CreateScheduledEvent is create_scheduled_event: one call of a webhook, at
// one moment, which may be past. It is data, not metadata: no definition
// comes of it. Variables of the environment are looked up when it is sent.
type CreateScheduledEvent struct {
	acts
	Webhook    string            `json:"webhook"`
	ScheduleAt time.Time         `json:"schedule_at"`
	Payload    json.RawMessage   `json:"payload,omitzero"`
	RetryConf  ScheduleRetryConf `json:"retry_conf"`
	Headers    []Header          `json:"headers"`
	Comment    *string           `json:"comment,omitzero"`
}

// Operation implements [Command].
func (CreateScheduledEvent) Operation() string { return "create_scheduled_event" }

func decodeCreateScheduledEvent(n wire.Node) Command {
	return CreateScheduledEvent{
		Webhook:    decodeWebhook(n.Field("webhook")),
		ScheduleAt: decodeTimestamp(n.Field("schedule_at")),
		Payload:    decodePayload(n.Optional("payload")),
		RetryConf:  decodeScheduleRetryConf(n.Optional("retry_conf")),
		Headers:    decodeHeaders(n.Optional("headers")),
		Comment:    decodeComment(n),
	}
}

// Check implements [Checked]. All there is to check the decoder has.
func (CreateScheduledEvent) Check(World) error { return nil }

// timestampForms are the spellings of ISO 8601 that v1.3 takes. Fractions of a
// second may follow the seconds of each.
var timestampForms = [...]string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05Z07",
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
	"2006-01-02 15:04Z07:00", "2006-01-02 15:04Z0700", "2006-01-02 15:04Z07",
}

// decodeTimestamp reads an ISO 8601 timestamp with its zone.
func decodeTimestamp(n wire.Node) time.Time {
	text := n.String()
	if !n.Given() {
		return time.Time{}
	}
	for _, form := range timestampForms {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC()
		}
	}
	n.Fail("%q is not an ISO 8601 timestamp with a zone, such as 2020-12-24T18:00:00Z", text)
	return time.Time{}
}
