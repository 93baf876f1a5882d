package main_test

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Sections 6.2 and 6.3 of the cases' description: two chains, each case of
// which stands on what the one before left.

const (
	scheduledLimit = 65 * time.Second
	cronAhead      = 30 * time.Minute
	cronFires      = 100 // kept ahead for each cron trigger
	wireTime       = "2006-01-02T15:04:05.000000Z"
)

func scheduleCases() map[string]codedCase {
	const scheduled, cron = "test_scheduled_triggers.py::TestScheduledEvent.", "test_scheduled_triggers.py::TestCronTrigger."
	return map[string]codedCase{
		scheduled + "test_create_scheduled_event":                              scheduledNow,
		scheduled + "test_create_scheduled_event_with_very_old_scheduled_time": scheduledLongAgo,
		scheduled + "test_create_trigger_with_error_returning_webhook":         scheduledToFail,
		scheduled + "test_check_fired_webhook_event":                           scheduledArrived,
		cron + "test_create_cron_schedule_triggers":                            cronCreated,
		cron + "test_check_generated_cron_scheduled_events":                    cronPlanned,
		cron + "test_delete_cron_scheduled_trigger":                            cronDeleted,
	}
}

func scheduledNow(ctx context.Context, w *world, _ indexedCase) error {
	return w.schedule(ctx,
		"webhook", "{{SCHEDULED_TRIGGERS_WEBHOOK_DOMAIN}}/test",
		"schedule_at", time.Now().UTC().Format(wireTime),
		"payload", makeObject("foo", "baz"),
		"headers", []any{makeObject("name", "header-key", "value", "header-value")},
		"comment", "test scheduled event")
}

func scheduledLongAgo(ctx context.Context, w *world, _ indexedCase) error {
	return w.schedule(ctx,
		"webhook", "{{SCHEDULED_TRIGGERS_WEBHOOK_DOMAIN}}/",
		"schedule_at", "2020-01-01T00:00:00Z",
		"payload", makeObject("foo", "baz"))
}

func scheduledToFail(ctx context.Context, w *world, _ indexedCase) error {
	return w.schedule(ctx,
		"webhook", "http://127.0.0.1:5594/fail",
		"schedule_at", time.Now().UTC().Format(wireTime),
		"payload", makeObject("foo", "baz"),
		"retry_conf", makeObject(
			"num_retries", number("1"), "retry_interval_seconds", number("1"),
			"timeout_seconds", number("1"), "tolerance_seconds", number("21600")))
}

func (w *world) schedule(ctx context.Context, arguments ...any) error {
	_, err := w.admin(ctx, makeObject("type", "create_scheduled_event", "args", makeObject(arguments...)), http.StatusOK)
	return err
}

func scheduledArrived(ctx context.Context, w *world, _ indexedCase) error {
	call, err := w.webhooks["scheduled-webhook"].next(ctx, scheduledLimit)
	if err != nil {
		return err
	}
	if call.path != "/test" || call.header.Get("header-key") != "header-value" {
		return fmt.Errorf("wanted /test with header-key: header-value, got %s with %v", call.path, call.header)
	}
	if text(get(call.body, "id")) == "" || text(get(call.body, "scheduled_time")) == "" {
		return fmt.Errorf("the body names an id and the time: %s", toJSON(call.body))
	}
	if err := sameText(canonical(makeObject("foo", "baz"), nil), canonical(get(call.body, "payload"), nil)); err != nil {
		return err
	}
	return w.wantStoredTime(ctx, text(get(call.body, "created_at")))
}

func (w *world) wantStoredTime(ctx context.Context, got string) error {
	rows, err := w.selectSQL(ctx, `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
		from hdb_catalog.hdb_scheduled_events where comment = 'test scheduled event'`)
	if err != nil {
		return err
	}
	sent, err := time.Parse(time.RFC3339Nano, got)
	if err != nil {
		return fmt.Errorf("read created_at: %w", err)
	}
	return sameText(fmt.Sprint(rows), fmt.Sprint([]string{sent.UTC().Format(wireTime)}))
}

// selectSQL returns the first column of what run_sql answers.
func (w *world) selectSQL(ctx context.Context, sql string) ([]string, error) {
	a, err := w.runSQL(ctx, sql)
	if err != nil {
		return nil, err
	}
	var column []string
	for i, row := range list(get(a.body, "result")) {
		if cells := list(row); i > 0 && len(cells) > 0 { // the first row is the heading
			column = append(column, text(cells[0]))
		}
	}
	return column, nil
}

func cronCreated(ctx context.Context, w *world, _ indexedCase) error {
	w.cronFirst = time.Now().UTC().Truncate(time.Minute).Add(cronAhead)
	a, err := w.admin(ctx, makeObject("type", "create_cron_trigger", "args", makeObject(
		"name", "cron_trigger",
		"webhook", "{{SCHEDULED_TRIGGERS_WEBHOOK_DOMAIN}}/foo",
		"schedule", fmt.Sprintf("%d * * * *", w.cronFirst.Minute()),
		"headers", []any{makeObject("name", "foo", "value", "baz")},
		"payload", makeObject("foo", "baz"),
		"include_in_metadata", false,
	)), http.StatusOK)
	if err != nil {
		return err
	}
	return sameText(canonical(makeObject("message", "success"), nil), canonical(a.body, nil))
}

func cronPlanned(ctx context.Context, w *world, _ indexedCase) error {
	got, err := w.selectSQL(ctx, `select to_char(scheduled_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
		from hdb_catalog.hdb_cron_events where trigger_name = 'cron_trigger' order by scheduled_time`)
	if err != nil {
		return err
	}
	var want []string
	for hour := range cronFires {
		want = append(want, w.cronFirst.Add(time.Duration(hour)*time.Hour).Format(wireTime))
	}
	return sameText(fmt.Sprint(want), fmt.Sprint(got))
}

func cronDeleted(ctx context.Context, w *world, _ indexedCase) error {
	_, err := w.admin(ctx, makeObject("type", "delete_cron_trigger", "args", makeObject("name", "cron_trigger")), http.StatusOK)
	return err
}
