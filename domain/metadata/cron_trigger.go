package metadata

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"annals/domain"
	"annals/domain/schedule"
	"annals/domain/wire"
)

var cronTriggerSubject = subject{
	kind: KindCronTrigger, decode: decodeObject[CronTrigger],
	created: "cron_trigger_created", changed: "cron_trigger_changed", dropped: "cron_trigger_dropped",
}

var cronTriggerOperations = []operation{
	{"create_cron_trigger", 1, decodeCreateCronTrigger},
	{"delete_cron_trigger", 1, decodeDeleteCronTrigger},
}

// CronTrigger calls a webhook at the moments of a schedule.
type CronTrigger struct {
	Name              string            `json:"name"`
	Webhook           string            `json:"webhook"`
	Schedule          string            `json:"schedule"`
	IncludeInMetadata bool              `json:"include_in_metadata"`
	Payload           json.RawMessage   `json:"payload,omitzero"`
	RetryConf         ScheduleRetryConf `json:"retry_conf"`
	Headers           []Header          `json:"headers"`
	Comment           *string           `json:"comment,omitzero"`
	// Timezone is whose clocks the schedule goes by; nil is UTC, as in v1.3,
	// which does not know the key.
	Timezone *string `json:"timezone,omitzero"`
	DeliveryOptions
}

// Plan returns the schedule by the clocks that it goes by.
func (t CronTrigger) Plan() (schedule.Schedule, error) {
	s, err := schedule.Parse(t.Schedule)
	if err != nil || t.Timezone == nil {
		return s, err
	}
	zone, err := schedule.LoadZone(*t.Timezone)
	return s.In(zone), err
}

// ScheduleRetryConf says how often and when a failed call at a scheduled
// moment is tried again, and how late the first may be: a call later than the
// tolerance is not made. Durations are seconds and may have fractions.
type ScheduleRetryConf struct {
	NumRetries           int     `json:"num_retries"`
	TimeoutSeconds       float64 `json:"timeout_seconds"`
	ToleranceSeconds     float64 `json:"tolerance_seconds"`
	RetryIntervalSeconds float64 `json:"retry_interval_seconds"`
	RetryOptions
}

// defaultScheduleRetryConf is what holds where a retry_conf does not say.
var defaultScheduleRetryConf = ScheduleRetryConf{
	NumRetries: 0, TimeoutSeconds: 60, ToleranceSeconds: 6 * 60 * 60, RetryIntervalSeconds: 10,
}

func cronTriggerKey(name string) Key { return keyOf(KindCronTrigger, name) }

// Key implements [Object].
func (t CronTrigger) Key() Key { return cronTriggerKey(t.Name) }

func (t CronTrigger) String() string { return "cron trigger " + t.Name }

func (t CronTrigger) resolve(r *resolver) {
	r.within("in cron trigger %s: ", t.Name)
	r.template(t.Webhook)
	r.headers(t.Headers)
	t.DeliveryOptions.resolve(r)
}

func (t CronTrigger) described() description {
	return description{"cron_trigger", struct {
		Name      string            `json:"name"`
		Webhook   string            `json:"webhook_conf"`
		Schedule  string            `json:"cron_schedule"`
		Payload   json.RawMessage   `json:"payload"`
		RetryConf ScheduleRetryConf `json:"retry_conf"`
		Headers   []Header          `json:"header_conf"`
		Comment   *string           `json:"comment"`
		Timezone  *string           `json:"timezone,omitzero"`
	}{t.Name, t.Webhook, t.Schedule, t.Payload, t.RetryConf, t.Headers, t.Comment, t.Timezone}}
}

// exported is the trigger's entry; whether it has one says IncludeInMetadata.
func (t CronTrigger) exported() any {
	entry := struct {
		Name              string             `json:"name"`
		Webhook           string             `json:"webhook"`
		Schedule          string             `json:"schedule"`
		IncludeInMetadata bool               `json:"include_in_metadata"`
		Payload           json.RawMessage    `json:"payload,omitzero"`
		RetryConf         *ScheduleRetryConf `json:"retry_conf,omitzero"`
		Headers           []Header           `json:"headers,omitempty"`
		Comment           *string            `json:"comment,omitzero"`
		Timezone          *string            `json:"timezone,omitzero"`
		DeliveryOptions
	}{
		Name: t.Name, Webhook: t.Webhook, Schedule: t.Schedule, IncludeInMetadata: t.IncludeInMetadata,
		Payload: t.Payload, Headers: t.Headers, Comment: t.Comment, Timezone: t.Timezone, DeliveryOptions: t.DeliveryOptions,
	}
	if !reflect.DeepEqual(t.RetryConf, defaultScheduleRetryConf) {
		entry.RetryConf = &t.RetryConf
	}
	return entry
}

func (t CronTrigger) renamed(Rename) Object { return t }

// decodeCronTriggerEntry reads a trigger as calls and documents have it.
func decodeCronTriggerEntry(n wire.Node) CronTrigger {
	return CronTrigger{
		Name:              n.Field("name").Text(),
		Webhook:           decodeWebhook(n.Field("webhook")),
		Schedule:          decodeSchedule(n.Field("schedule")),
		Payload:           decodePayload(n.Optional("payload")),
		RetryConf:         decodeScheduleRetryConf(n.Optional("retry_conf")),
		Headers:           decodeHeaders(n.Optional("headers")),
		IncludeInMetadata: n.Field("include_in_metadata").Bool(),
		Comment:           decodeComment(n),
		Timezone:          wire.Pointer(n.Optional("timezone"), decodeTimezone),

		DeliveryOptions: decodeDeliveryOptions(n),
	}
}

func decodeTimezone(n wire.Node) string {
	name := n.Text()
	if _, err := schedule.LoadZone(name); err != nil {
		n.Fail("%s", err)
	}
	return name
}

func decodeComment(n wire.Node) *string {
	return wire.Pointer(n.Optional("comment"), wire.Node.String)
}

func decodeSchedule(n wire.Node) string {
	text := n.String()
	if !n.Given() {
		return ""
	}
	if _, err := schedule.Parse(text); err != nil {
		n.Fail("%s", err)
	}
	return text
}

func decodeScheduleRetryConf(n wire.Node) ScheduleRetryConf {
	conf := defaultScheduleRetryConf
	if !n.Present() {
		return conf
	}
	retries := n.Optional("num_retries")
	conf.RetryIntervalSeconds = secondsOr(n.Optional("retry_interval_seconds"), conf.RetryIntervalSeconds)
	conf.TimeoutSeconds = secondsOr(n.Optional("timeout_seconds"), conf.TimeoutSeconds)
	conf.ToleranceSeconds = secondsOr(n.Optional("tolerance_seconds"), conf.ToleranceSeconds)
	if retries.Present() && retries.Int() < 0 {
		n.Fail("num_retries cannot be a negative value")
	}
	conf.NumRetries = countOr(retries, conf.NumRetries)
	conf.RetryOptions = decodeRetryOptions(n)
	return conf
}

// secondsOr reads a duration in seconds that is not negative and fits a
// database's integer.
func secondsOr(n wire.Node, missing float64) float64 {
	if !n.Present() {
		return missing
	}
	number := n.Number()
	if !n.Given() {
		return missing
	}
	seconds, err := strconv.ParseFloat(string(number), 64)
	switch {
	case seconds < 0:
		n.Fail("negative value not allowed")
	case err != nil || seconds > math.MaxInt32:
		n.Fail("the value can be at most %d", math.MaxInt32)
	}
	return seconds
}

// CreateCronTrigger is create_cron_trigger. With Replace the trigger must be
// there, and becomes what is given.
type CreateCronTrigger struct {
	CronTrigger
	Replace bool `json:"replace"`
}

// Operation implements [Command].
func (CreateCronTrigger) Operation() string { return "create_cron_trigger" }

func decodeCreateCronTrigger(n wire.Node) Command {
	return CreateCronTrigger{decodeCronTriggerEntry(n), n.Optional("replace").BoolOr(false)}
}

func (CreateCronTrigger) names(World) Names { return Names{} }

func (CreateCronTrigger) demand() demand { return ownStands }

func (c CreateCronTrigger) decide(w World) ([]Change, error) {
	known := w.Catalog.Has(c.Key())
	switch {
	case known && !c.Replace:
		return nil, refuse(domain.AlreadyExists, "cron trigger with name: %s already exists", c.Name)
	case !known && c.Replace:
		return nil, noCronTrigger(c.Name)
	}
	return put(w.Catalog, c.CronTrigger), nil
}

func noCronTrigger(name string) error {
	return refuse(domain.NotExists, "cron trigger with name: %s does not exist", name)
}

// DeleteCronTrigger is delete_cron_trigger.
type DeleteCronTrigger struct {
	Name string `json:"name"`
}

// Operation implements [Command].
func (DeleteCronTrigger) Operation() string { return "delete_cron_trigger" }

func decodeDeleteCronTrigger(n wire.Node) Command { return DeleteCronTrigger{n.Field("name").Text()} }

func (DeleteCronTrigger) names(World) Names { return Names{} }

func (DeleteCronTrigger) demand() demand { return noneNew }

func (c DeleteCronTrigger) decide(w World) ([]Change, error) {
	if !w.Catalog.Has(cronTriggerKey(c.Name)) {
		return nil, noCronTrigger(c.Name)
	}
	return drop(w.Catalog, cronTriggerKey(c.Name)), nil
}
