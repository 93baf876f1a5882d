package migrations_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/migrations"
	"annals/migrations/pgtest"
)

// stories are deliveries as they come to be, by their first hexadecimal digit.
const stories = `
insert into annals.catalog (kind, key, definition, position) values ('cron_trigger', 't', '{"name":"t"}', 1);
insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, definition, due_at)
select (n || '000000-0000-7000-8000-000000000000')::uuid, kind, 't', 'public', 'users', '{"op":"INSERT"}',
  '{"webhook":"http://h/","retry_conf":{"num_retries":1},"headers":[],"comment":"why"}', now() - interval '1 hour'
from unnest(array['event', 'cron', 'scheduled'], array['1', '2', '3']) as k (kind, d), lateral (select d || s as n from generate_series(0, 7) as s) as x;
insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, leased_by, tries, round)
select id, due_at, 'event:t', now() + case substr(id::text, 2, 1) when '1' then interval '1 minute' when '2' then interval '5 minutes' else '-1 hour' end,
  case substr(id::text, 2, 1) when '1' then 'node' end, case substr(id::text, 2, 1) when '0' then 0 else 1 end, case substr(id::text, 2, 1) when '7' then 2 else 1 end
from annals.deliveries where substr(id::text, 2, 1) in ('0', '1', '2', '7');
insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, status, recorded_at)
select d.id, l.entry, l.outcome, l.round, l.attempt, l.status, now() + case l.entry when 'attempt' then l.attempt else 9 end * interval '1 ms'
from annals.deliveries d join (values
  ('2', 'attempt', 'retry', 1, 1, 500), ('3', 'attempt', 'retry', 1, 1, 500), ('3', 'attempt', 'delivered', 1, 2, 200),
  ('4', 'attempt', 'failed', 1, 1, 500), ('5', 'dropped', null, 1, 0, null),
  ('6', 'attempt', 'retry', 1, 1, 1000), ('6', 'cancelled', null, 1, 0, null), ('7', 'attempt', 'delivered', 1, 1, 200), ('7', 'redelivery', null, 2, 0, null)
) as l (story, entry, outcome, round, attempt, status) on substr(d.id::text, 2, 1) = l.story`

func TestTheReadModelsTellWhatBecameOfADelivery(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), stories)
	require.NoError(t, err)
	require.Equal(t, []string{
		"10 pending", "11 locked tries=1", "12 pending tries=1 next", "13 delivered tries=2", "14 error tries=1", "15 error", "16 archived tries=1", "17 pending tries=1",
	}, texts(t, db, `select concat_ws(' ', substr(id::text, 1, 2), case when archived then 'archived' when delivered then 'delivered' when error then 'error' when locked then 'locked' else 'pending' end,
		'tries=' || nullif(tries, 0), case when next_retry_at > timezone('UTC', now()) then 'next' end) from hdb_catalog.event_log order by 1`))
	for digit, view := range map[string]string{"2": "hdb_cron_events", "3": "hdb_scheduled_events"} {
		require.Equal(t, []string{
			digit + "0 scheduled", digit + "1 locked", digit + "2 scheduled", digit + "3 delivered", digit + "4 error", digit + "5 dead", digit + "7 scheduled",
		}, texts(t, db, `select substr(id::text, 1, 2) || ' ' || status from hdb_catalog.`+view+` order by 1`))
	}
	for digit, view := range map[string]string{"1": "event_invocation_logs", "2": "hdb_cron_event_invocation_logs", "3": "hdb_scheduled_event_invocation_logs"} {
		require.Equal(t, []string{digit + "2 500", digit + "3 200", digit + "3 500", digit + "4 500", digit + "6 1000", digit + "7 200"},
			texts(t, db, `select substr(event_id::text, 1, 2) || ' ' || status from hdb_catalog.`+view+` order by 1`))
	}
	require.Equal(t, []string{`"http://h/" why`}, texts(t, db, `select distinct webhook_conf || ' ' || comment from hdb_catalog.hdb_scheduled_events`))

	_, err = db.Pool.Exec(t.Context(), `insert into annals.capture_ends values ('t', now())`)
	require.NoError(t, err)
	require.Equal(t, []string{"true"}, texts(t, db, `select distinct archived::text from hdb_catalog.event_log`))
}

// The columns of v1.3.3's tables, in their order.
func TestTheReadModelsHaveTheColumnsOfTheTablesTheyStandFor(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for view, columns := range map[string]string{
		"event_log":                           "id schema_name table_name trigger_name payload delivered error tries created_at locked next_retry_at archived",
		"event_invocation_logs":               "id event_id status request response created_at",
		"event_triggers":                      "name type schema_name table_name configuration comment",
		"hdb_cron_triggers":                   "name webhook_conf cron_schedule payload retry_conf header_conf include_in_metadata comment",
		"hdb_cron_events":                     "id trigger_name scheduled_time status tries created_at next_retry_at",
		"hdb_cron_event_invocation_logs":      "id event_id status request response created_at",
		"hdb_scheduled_events":                "id webhook_conf scheduled_time retry_conf payload header_conf status tries created_at next_retry_at comment",
		"hdb_scheduled_event_invocation_logs": "id event_id status request response created_at",
		"hdb_version":                         "hasura_uuid version upgraded_on cli_state console_state",
	} {
		require.Equal(t, []string{columns}, texts(t, db, `select string_agg(attname::text, ' ' order by attnum) from pg_attribute
			where attrelid = 'hdb_catalog.`+view+`'::regclass and attnum > 0`), view)
	}
	for column, want := range map[string]string{"created_at": "timestamp without time zone", "locked": "boolean", "payload": "jsonb", "next_retry_at": "timestamp without time zone"} {
		require.Equal(t, []string{want}, texts(t, db, `select format_type(atttypid, atttypmod) from pg_attribute
			where attrelid = 'hdb_catalog.event_log'::regclass and attname = '`+column+`'`))
	}
}

func TestTheEventsOfACronTriggerThatIsGoneAreGone(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), stories+`; delete from annals.catalog`)
	require.NoError(t, err)
	require.Empty(t, texts(t, db, `select id::text from hdb_catalog.hdb_cron_events`))
	require.NotEmpty(t, texts(t, db, `select id::text from annals.deliveries where kind = 'cron'`), "their history stays")
}

func TestDeletingAnEventThatWaitsCancelsItAndWhatWasTriedStays(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), stories)
	require.NoError(t, err)
	for digit, view := range map[string]string{"2": "hdb_cron_events", "3": "hdb_scheduled_events"} {
		tag, err := db.Pool.Exec(t.Context(), `delete from hdb_catalog.`+view)
		require.NoError(t, err)
		require.EqualValues(t, 3, tag.RowsAffected(), "those that are pending, not the one that is being sent")
		require.Equal(t, []string{digit + "1 locked", digit + "3 delivered", digit + "4 error", digit + "5 dead"},
			texts(t, db, `select substr(id::text, 1, 2) || ' ' || status from hdb_catalog.`+view+` order by 1`))
		require.Equal(t, []string{digit + "0", digit + "2", digit + "7"},
			texts(t, db, `select substr(delivery_id::text, 1, 2) from annals.delivery_log
				where entry = 'cancelled' and reason = 'deleted from hdb_catalog.`+view+` by ' || session_user order by 1`))
	}
}

func TestOneDeliveryIsFoundByIndexHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), stories+`;
		insert into annals.deliveries (id, kind, trigger, payload, due_at) select gen_random_uuid(), 'event', 't', '{}', now() from generate_series(1, 20000);
		insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt) select id, 'attempt', 'delivered', 1, 1 from annals.deliveries;
		insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at)
		select id, due_at, 'event:t', due_at, case when random() < 0.5 then due_at else due_at + interval '1 minute' end
		from annals.deliveries where trigger = 't' and kind = 'event'
		on conflict do nothing`)
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), `analyze annals.deliveries; analyze annals.delivery_log; analyze annals.delivery_queue`)
	require.NoError(t, err)
	for _, sql := range []string{
		`select * from hdb_catalog.event_log where id = '13000000-0000-7000-8000-000000000000'`,
		`select * from hdb_catalog.event_invocation_logs where event_id = '13000000-0000-7000-8000-000000000000'`,
		`select * from annals.delivery_states where id = '13000000-0000-7000-8000-000000000000'`,
	} {
		plan := strings.Join(texts(t, db, `explain `+sql), "\n")
		require.NotContains(t, plan, "Seq Scan on deliveries", plan)
		require.NotContains(t, plan, "Seq Scan on delivery_log", plan)
		require.NotContains(t, plan, "Seq Scan on delivery_queue", plan)
	}
}

func TestAPayloadThatJsonbCannotHoldKeepsNoOtherFromBeingRead(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		insert into annals.deliveries (id, kind, trigger, payload, due_at)
		select gen_random_uuid(), 'event', 't', payload, now() from unnest(array['{"a": 1}', '{"a": "\u0000"}', '"\ud800"', '1e999999']::json[]) as p (payload);
		insert into annals.action_log (id, action, input, session, headers) values (gen_random_uuid(), 'a', '{"a": "\u0000"}', '{}', '{}')`)
	require.NoError(t, err)
	require.Equal(t, []string{`"1e999999"`, `"\"\\ud800\""`, `"{\"a\": \"\\u0000\"}"`, `{"a": 1}`},
		texts(t, db, `select payload::text from hdb_catalog.event_log order by payload::text collate "C"`))
	require.Equal(t, []string{"string"}, texts(t, db, `select jsonb_typeof(input_payload) from hdb_catalog.hdb_action_log`))
}

func TestRemoteSchemasAndTheirRelationshipsAreReadByTheNamesOfV13(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `insert into annals.catalog values
		('remote_schema', '["r"]', '{"name":"r","definition":{"url":"http://h/"},"introspection":{}}', 1),
		('remote_relationship', '["public","t","x"]', '{"name":"x","table":{"schema":"public","name":"t"},"remote_schema":"r"}', 2)`)
	require.NoError(t, err)
	require.Equal(t, []string{`1 r {"url":"http://h/"}`}, texts(t, db, `select concat_ws(' ', id, name, definition, comment) from hdb_catalog.remote_schemas`))
	require.Equal(t, []string{"x public t r"}, texts(t, db,
		`select concat_ws(' ', remote_relationship_name, table_schema, table_name, definition->>'remote_schema') from hdb_catalog.hdb_remote_relationship`))
}

func TestTheVersionRowKeepsWhatToolsStoreThere(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `update hdb_catalog.hdb_version set console_state = '{"a": 1}'`)
	require.NoError(t, err)
	require.Equal(t, []string{`40 {"a": 1}`}, texts(t, db, `select version || ' ' || console_state from hdb_catalog.hdb_version where hasura_uuid is not null`))
}

func TestTablesOfAnEarlierEngineStayAsTheyAre(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	_, err := conn.Exec(t.Context(), `create schema hdb_catalog; create table hdb_catalog.event_log (id text primary key)`)
	require.NoError(t, err)
	_, err = migrations.Run(t.Context(), conn)
	require.NoError(t, err)
	var kinds string
	require.NoError(t, conn.QueryRow(t.Context(), `select string_agg(relkind::text, '' order by relname) from pg_class
		where relnamespace = 'hdb_catalog'::regnamespace and relname in ('event_log', 'event_triggers')`).Scan(&kinds))
	require.Equal(t, "rv", kinds)
}

func texts(t *testing.T, db *pgtest.DB, sql string) []string {
	t.Helper()
	rows, err := db.Pool.Query(context.WithoutCancel(t.Context()), sql)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

func TestACapturedChangeIsReadAsTheEventThatItIs(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `
		insert into annals.deliveries (id, kind, trigger, payload, operation, origin, due_at) values
		('00000000-0000-7000-8000-000000000001', 'event', 't', '{"a":"\u0000"}', 'INSERT', null, now()),
		('00000000-0000-7000-8000-000000000002', 'event', 't', '{"a":1}', 'DELETE', '{"session_variables":{"x-service-role":"user"},"trace_context":null}', now()),
		('00000000-0000-7000-8000-000000000003', 'event', 't', '{"old":{"a":1},"new":{"a":2}}', 'UPDATE', null, now()),
		('00000000-0000-7000-8000-000000000004', 'manual', 't', '{"op":"MANUAL","data":1}', null, null, now())`)
	require.NoError(t, err)
	want := []string{
		`{"op":"INSERT","data":{"old":null,"new":{"a":"\u0000"}},"session_variables":null,"trace_context":null}`,
		`{"op":"DELETE","data":{"old":{"a":1},"new":null},"session_variables":{"x-service-role":"user"},"trace_context":null}`,
		`{"op":"UPDATE","data":{"old":{"a":1},"new":{"a":2}},"session_variables":null,"trace_context":null}`,
		`{"op":"MANUAL","data":1}`,
	}
	require.Equal(t, want, texts(t, db, `select payload::text from annals.delivery_states order by id`))
	require.Equal(t, want, texts(t, db, `select annals.payload_text(payload, operation, origin) from annals.deliveries order by id`))
	require.Equal(t, []string{`{"a": 2}`}, texts(t, db, `select payload->'data'->>'new' from hdb_catalog.event_log where payload->>'op' = 'UPDATE'`))
}
