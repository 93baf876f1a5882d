package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/command"
	"annals/projections/capture"
)

// captured is what was captured and not yet looked at, oldest first.
func (s *service) captured() []string {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), `
		with taken as (delete from annals.delivery_queue returning delivery_id, first_due_at, lane, available_at)
		select format('%s %s.%s %s', t.lane, d.schema_name, d.table_name, annals.payload_of(d.payload, d.operation, d.origin)::jsonb)
		from taken t join annals.deliveries d on d.id = t.delivery_id and d.due_at = t.first_due_at and t.available_at = d.due_at and d.kind = 'event'
		order by d.due_at`)
	require.NoError(s.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return list
}

// row is how a captured change reads.
func row(trigger, table, op, old, new string) string {
	return fmt.Sprintf(`event:%s %s {"op": "%s", "data": {"new": %s, "old": %s}, "trace_context": null, "session_variables": null}`, trigger, table, op, new, old)
}

// listening has a table whose changes are captured.
func listening(t *testing.T, specs string) *service {
	s := newService(t)
	s.exec(`create table t (id int primary key, a text, b json)`)
	s.do(`{"type":"track_table","args":"t"}`)
	s.listen("changes", "t", specs)
	return s
}

func (s *service) listen(name, table, specs string) {
	s.t.Helper()
	s.do(fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":%q,"table":%q,"webhook":"http://127.0.0.1:1/",%s}}`, name, table, specs))
}

const allRows = `"insert":{"columns":"*"},"update":{"columns":"*"},"delete":{"columns":"*"}`

func TestEachChangeOfARowIsCapturedInItsTransaction(t *testing.T) {
	s := listening(t, allRows)
	s.exec(`insert into t values (1, 'x', '[1]'), (2, null, null)`)
	s.exec(`update t set a = 'y' where id = 2; delete from t where id = 1`)
	require.Equal(t, []string{
		row("changes", "public.t", "INSERT", `null`, `{"a": "x", "b": [1], "id": 1}`),
		row("changes", "public.t", "INSERT", `null`, `{"a": null, "b": null, "id": 2}`),
		row("changes", "public.t", "UPDATE", `{"a": null, "b": null, "id": 2}`, `{"a": "y", "b": null, "id": 2}`),
		row("changes", "public.t", "DELETE", `{"a": "x", "b": [1], "id": 1}`, `null`),
	}, s.captured())

	tx, err := s.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into t values (3)`)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	s.exec(`truncate t`)
	require.Empty(t, s.captured())
}

func TestCopyAndUpsertsAreCaptured(t *testing.T) {
	s := listening(t, allRows)
	_, err := s.db.Pool.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id", "a"}, pgx.CopyFromRows([][]any{{1, "one"}, {2, "two"}}))
	require.NoError(t, err)
	require.Len(t, s.captured(), 2)
	s.exec(`insert into t values (2, 'again'), (3, 'three') on conflict (id) do update set a = excluded.a`)
	require.ElementsMatch(t, []string{
		row("changes", "public.t", "INSERT", `null`, `{"a": "three", "b": null, "id": 3}`),
		row("changes", "public.t", "UPDATE", `{"a": "two", "b": null, "id": 2}`, `{"a": "again", "b": null, "id": 2}`),
	}, s.captured())
	s.exec(`insert into t values (3) on conflict do nothing`)
	require.Empty(t, s.captured())
}

func TestColumnsDecideWhichUpdatesCountAndPayloadWhatIsSent(t *testing.T) {
	s := listening(t, `"insert":{"columns":["a"],"payload":["id"]},"update":{"columns":["a"],"payload":["b","id"]},"delete":{"columns":"*","payload":["a"]}`)
	s.exec(`insert into t values (1, 'x', '{"k": 1}')`)
	s.exec(`update t set b = '2'; update t set a = 'x'; update t set a = null; update t set a = null; delete from t`)
	require.Equal(t, []string{
		row("changes", "public.t", "INSERT", `null`, `{"id": 1}`),
		row("changes", "public.t", "UPDATE", `{"b": 2, "id": 1}`, `{"b": 2, "id": 1}`),
		row("changes", "public.t", "DELETE", `{"a": null}`, `null`),
	}, s.captured())
}

func TestUpdatesAreComparedByEqualityAndByBytesWhereThereIsNone(t *testing.T) {
	s := newService(t)
	s.exec(`create table t (n numeric, j json, p point); insert into t values (1.0, '{"a":1}', '(1,1)')`)
	s.do(`{"type":"track_table","args":"t"}`)
	s.listen("number", "t", `"update":{"columns":["n"],"payload":["n"]}`)
	s.listen("document", "t", `"update":{"columns":["j","p"],"payload":["j"]}`)
	s.listen("whole", "t", `"update":{"columns":"*","payload":["n"]}`)
	for sql, triggers := range map[string][]string{
		`update t set n = n, j = j, p = p`:   {},
		`update t set n = 1.00`:              {"event:whole"}, // the row has no equality, and its bytes changed
		`update t set n = 2`:                 {"event:number", "event:whole"},
		`update t set j = '{ "a": 1 }'`:      {"event:document", "event:whole"},
		`update t set j = null, p = '(2,2)'`: {"event:document", "event:whole"},
	} {
		s.exec(`update t set n = 1.0, j = '{"a":1}', p = '(1,1)'`)
		s.captured()
		s.exec(sql)
		lanes := []string{}
		for _, c := range s.captured() {
			lanes = append(lanes, strings.Fields(c)[0])
		}
		require.ElementsMatch(t, triggers, lanes, sql)
	}
}

func TestRowsOfPartitionsAreCapturedHoweverTheyAreWritten(t *testing.T) {
	s := newService(t)
	s.exec(`create table t (id int, a text) partition by list (id); create table t1 partition of t for values in (1); create table t2 (id int, a text)`)
	s.do(`{"type":"bulk","args":[{"type":"track_table","args":"t"},{"type":"track_table","args":"t1"},{"type":"track_table","args":"t2"}]}`)
	s.listen("whole", "t", allRows)
	s.exec(`insert into t values (1, 'by way of the parent'); insert into t1 values (1, 'directly')`)
	require.Equal(t, []string{
		row("whole", "public.t", "INSERT", `null`, `{"a": "by way of the parent", "id": 1}`),
		row("whole", "public.t", "INSERT", `null`, `{"a": "directly", "id": 1}`),
	}, s.captured())

	s.listen("part", "t2", `"insert":{"columns":"*"}`)
	s.sql(`alter table t attach partition t2 for values in (2)`)
	s.exec(`insert into t values (2, 'later')`)
	require.ElementsMatch(t, []string{
		row("part", "public.t2", "INSERT", `null`, `{"a": "later", "id": 2}`),
		row("whole", "public.t", "INSERT", `null`, `{"a": "later", "id": 2}`),
	}, s.captured())
}

func TestGeneratedColumnsAndCascadesAreCaptured(t *testing.T) {
	s := newService(t)
	s.exec(`create table p (id int primary key, twice int generated always as (id * 2) stored);
		create table c (id int references p on delete cascade); insert into p values (1), (2); insert into c values (1), (2)`)
	s.do(`{"type":"bulk","args":[{"type":"track_table","args":"p"},{"type":"track_table","args":"c"}]}`)
	s.listen("parents", "p", `"insert":{"columns":"*"}`)
	s.listen("children", "c", `"delete":{"columns":"*"}`)
	s.exec(`insert into p values (3); delete from p where id < 3`)
	require.ElementsMatch(t, []string{
		row("parents", "public.p", "INSERT", `null`, `{"id": 3, "twice": 6}`),
		row("children", "public.c", "DELETE", `{"id": 1}`, `null`),
		row("children", "public.c", "DELETE", `{"id": 2}`, `null`),
	}, s.captured())
}

func TestTheRowsOfAViewAreNotObserved(t *testing.T) {
	s := newService(t)
	s.exec(`create view v as select 1 as id`)
	s.do(`{"type":"track_table","args":"v"}`)
	refusal := s.refused(`{"type":"create_event_trigger","args":{"name":"x","table":"v","webhook":"http://127.0.0.1:1/","insert":{"columns":"*"}}}`)
	require.Contains(t, refusal.Message, "the rows of a view cannot be observed")
}

func TestWhoHasNoRightsOnOurSchemaIsCaptured(t *testing.T) {
	s := listening(t, allRows)
	role := "clerk_" + strings.TrimPrefix(s.db.Pool.Config().ConnConfig.Database, "annals_test_")
	s.exec(`create role ` + role + `; grant insert, select, update, delete on t to ` + role)
	t.Cleanup(func() {
		_, err := s.db.Pool.Exec(context.Background(), `drop owned by `+role+`; drop role `+role)
		require.NoError(t, err)
	})
	s.exec(`set role ` + role + `; set search_path = pg_temp;
		create temp table deliveries (id int); create function pg_temp.row_to_json(anyelement) returns json language sql as 'select null::json';
		insert into public.t values (1); update public.t set a = 'x'; delete from public.t; reset role; reset search_path`)
	require.Len(t, s.captured(), 3)
}

// The functions run on the writer's search_path, as the owner of our schema.
func TestWhatAWriterPutsOnTheSearchPathIsNotRunByCapture(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*"},"update":{"columns":["a"],"payload":["a"]},"delete":{"columns":"*","payload":["id"]}`)
	s.exec(`create schema trap;
		create function trap.spring(text, text) returns text language plpgsql as $$ begin raise exception 'sprung by %', current_query(); end $$;
		create function trap.spring_too(text, text) returns boolean language plpgsql as $$ begin raise exception 'sprung by %', current_query(); end $$;
		create operator trap.|| (function = trap.spring, leftarg = text, rightarg = text);
		create operator trap.= (function = trap.spring_too, leftarg = text, rightarg = text);
		create operator trap.<> (function = trap.spring_too, leftarg = text, rightarg = text);
		create function trap.lpad(text, int, text) returns text language sql as $$ select trap.spring($1, $3) $$;
		create function trap.row_to_json(record) returns json language plpgsql as $$ begin return trap.spring('', '')::json; end $$;
		create function trap.current_setting(text, boolean) returns text language sql as $$ select trap.spring($1, '') $$;
		create domain trap.text as pg_catalog.text check (false); create domain trap.json as pg_catalog.json check (false);
		create domain trap.timestamptz as pg_catalog.timestamptz check (false); create domain trap.uuid as pg_catalog.uuid check (false)`)
	for _, session := range []string{"", `{"x-service-role":"user"}`} {
		s.exec(`begin; set local search_path = trap, pg_catalog, annals; set local annals.session = '` + session + `';
			insert into public.t values (1, 'x'); update public.t set a = 'y'; delete from public.t; commit`)
		require.Len(t, s.captured(), 3)
	}
}

func TestColumnsMayHaveAnyName(t *testing.T) {
	s := newService(t)
	s.exec(`create table t (changed int, context int, ids int, made_at int, made int, session int, trace int, origin int, tg_table_name text, id int)`)
	s.do(`{"type":"track_table","args":"t"}`)
	s.listen("changes", "t", `"insert":{"columns":"*"},"update":{"columns":["changed","made"],"payload":["changed"]},"delete":{"columns":"*","payload":["context"]}`)
	s.exec(`insert into t values (1, 2, 3, 4, 5, 6, 7, 8, 'nine', 10); update t set changed = 11; delete from t`)
	require.Equal(t, []string{
		row("changes", "public.t", "INSERT", `null`,
			`{"id": 10, "ids": 3, "made": 5, "trace": 7, "origin": 8, "changed": 1, "context": 2, "made_at": 4, "session": 6, "tg_table_name": "nine"}`),
		row("changes", "public.t", "UPDATE", `{"changed": 1}`, `{"changed": 11}`),
		row("changes", "public.t", "DELETE", `{"context": 2}`, `null`),
	}, s.captured())
}

func TestTheSessionAndTheTraceTravelWithTheChange(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*","payload":["id"]}`)
	s.sql(`insert into t values (1)`)
	require.Contains(t, s.captured()[0], `"session_variables": {"x-service-role": "admin"}`)
	s.exec(`begin; set local annals.session = '{"x-service-role":"user"}'; set local annals.trace = '{"trace_id":1,"span_id":2}'; insert into t values (2); commit;
		begin; set local "hasura.user" = '{"x-hasura-role":"script"}'; insert into t values (3); commit;
		begin; set local annals.session = 'no JSON'; insert into t values (4); commit; insert into t values (5)`)
	for i, want := range []string{
		`"trace_context": {"span_id": 2, "trace_id": 1}, "session_variables": {"x-service-role": "user"}}`,
		`"trace_context": null, "session_variables": {"x-hasura-role": "script"}}`,
		`"trace_context": null, "session_variables": "no JSON"}`,
		`"trace_context": null, "session_variables": null}`,
	} {
		if i == 0 {
			_, err := s.db.Pool.Exec(t.Context(), "select 1")
			require.NoError(t, err)
		}
		require.Contains(t, s.queued(i), want)
	}
}

// queued is the i-th oldest of what is captured.
func (s *service) queued(i int) (text string) {
	s.t.Helper()
	require.NoError(s.t, s.db.Pool.QueryRow(s.t.Context(), `select annals.payload_of(d.payload, d.operation, d.origin)::jsonb::text from annals.deliveries d
		join annals.delivery_queue q on q.delivery_id = d.id order by d.due_at offset $1 limit 1`, i).Scan(&text))
	return text
}

func TestSQLThatReshapesTablesCapturesNothingAndOtherSQLDoes(t *testing.T) {
	s := listening(t, allRows)
	s.sql(`insert into t values (1)`)
	require.Len(t, s.captured(), 1)
	s.sql(`alter table t add column c int; update t set c = 1; insert into t values (2)`)
	require.Empty(t, s.captured())
	s.do(`{"type":"bulk","args":[{"type":"run_sql","args":{"sql":"delete from t","check_metadata_consistency":true}},{"type":"run_sql","args":{"sql":"insert into t values (3)"}}]}`)
	require.Len(t, s.captured(), 1)
}

func TestCaptureFollowsRenamesAndOtherChangesOfTheTable(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*","payload":["a"]},"update":{"columns":["a"]}`)
	s.sql(`alter table t rename column a to renamed; create schema s; alter table t set schema s; alter table s.t rename to u`)
	s.exec(`insert into s.u values (1, 'x'); update s.u set renamed = 'y'`)
	require.Equal(t, []string{
		row("changes", "s.u", "INSERT", `null`, `{"renamed": "x"}`),
		row("changes", "s.u", "UPDATE", `{"b": null, "id": 1, "renamed": "x"}`, `{"b": null, "id": 1, "renamed": "y"}`),
	}, s.captured())
	s.sql(`alter table s.u alter column renamed type json using to_json(renamed), drop column b`)
	s.exec(`update s.u set renamed = '1'; update s.u set renamed = '1'`)
	require.Len(t, s.captured(), 1)
}

func TestAChangeOfARowNeverFailsForWhatWasDoneBehindTheServicesBack(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*","payload":["a","id"]},"update":{"columns":["a"],"payload":["a","id"]},"delete":{"columns":"*"}`)
	s.exec(`alter table t rename column a to other; insert into t values (1); update t set other = 'x'; delete from t`)
	require.Len(t, s.captured(), 3)
	s.exec(`alter table t drop column other; insert into t values (1); update t set b = '1'; delete from t`)
	require.Equal(t, []string{
		row("changes", "public.t", "INSERT", `null`, `{"id": 1}`),
		row("changes", "public.t", "UPDATE", `{"id": 1}`, `{"id": 1}`),
		row("changes", "public.t", "DELETE", `{"b": 1, "id": 1}`, `null`),
	}, s.captured())
}

func TestAChangeOfARowNeverFailsForWhatItsJSONHolds(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*","payload":["b","a"]},"update":{"columns":["a"],"payload":["b"]},"delete":{"columns":"*","payload":["id","a"]},"ordering_key":"a"`)
	for _, document := range []string{`{"k": "\u0000"}`, `"\ud800"`, `1e999999`, `"\\u0041"`, `"\\\u0000\u0000"`, `{"\u0000": 1}`} {
		s.exec(`insert into t values (1, E'\x01 \\u0041', '` + document + `')`)
		require.Equal(t, []string{`"a" : "\u0001 \\u0041", "b" : ` + document}, s.sent("new"))
		s.exec(`update t set a = 'x'`)
		require.Equal(t, []string{`"b" : ` + document}, s.sent("new"))
		s.exec(`delete from t`)
		require.Equal(t, []string{`"id" : 1, "a" : "x"`}, s.sent("old"))
	}
}

// sent is what an image of each captured row holds, as it is written.
func (s *service) sent(image string) []string {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), `
		with taken as (delete from annals.delivery_queue where ordering_key is not null returning delivery_id)
		select substring(annals.payload_text(d.payload, d.operation, d.origin) from '"' || $1 || '":\{ (.*?) \}[,}]') from taken t join annals.deliveries d on d.id = t.delivery_id`, image)
	require.NoError(s.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return list
}

func TestRowsOfTablesThatInheritAreNotTheirParents(t *testing.T) {
	s := listening(t, allRows)
	s.sql(`create table heir (more int) inherits (t)`)
	_, err := s.handler.RepairCapture(t.Context()) // as the upkeep does
	require.NoError(t, err)
	s.exec(`insert into heir values (1, 'theirs'); insert into t values (2, 'ours'); update t set a = 'changed'; delete from t`)
	require.Equal(t, []string{
		row("changes", "public.t", "INSERT", `null`, `{"a": "ours", "b": null, "id": 2}`),
		row("changes", "public.t", "UPDATE", `{"a": "ours", "b": null, "id": 2}`, `{"a": "changed", "b": null, "id": 2}`),
		row("changes", "public.t", "DELETE", `{"a": "changed", "b": null, "id": 2}`, `null`),
	}, s.captured())
}

func TestReplacingATriggerChangesWhatIsCaptured(t *testing.T) {
	s := listening(t, allRows)
	s.do(`{"type":"create_event_trigger","args":{"name":"changes","table":"t","webhook":"http://127.0.0.1:1/","replace":true,"insert":{"columns":"*","payload":["id"]}}}`)
	s.exec(`insert into t values (1, 'x'); update t set a = 'y'; delete from t`)
	require.Equal(t, []string{row("changes", "public.t", "INSERT", `null`, `{"id": 1}`)}, s.captured())
	require.Equal(t, []string{"annals_changes_insert"}, s.triggers())
}

// triggers are the names of ours that are installed.
func (s *service) triggers() []string {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), `select tgname from pg_trigger where tgname like 'annals\_%' and tgparentid = 0 order by 1`)
	require.NoError(s.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return names
}

func TestWhateverRemovesATriggerArchivesItsEvents(t *testing.T) {
	for name, call := range map[string]string{
		"delete_event_trigger":           `{"type":"delete_event_trigger","args":{"name":"changes"}}`,
		"untrack_table":                  `{"type":"untrack_table","args":{"table":"t","cascade":true}}`,
		"clear_metadata":                 `{"type":"clear_metadata","args":{}}`,
		"replace_metadata":               `{"type":"replace_metadata","args":{"version":2,"tables":[{"table":"t"}]}}`,
		"drop in run_sql":                `{"type":"run_sql","args":{"sql":"drop table t","cascade":true}}`,
		"rollback_metadata":              `{"type":"rollback_metadata","args":{"to":1}}`,
		"delete and create, in one bulk": `{"type":"bulk","args":[{"type":"delete_event_trigger","args":{"name":"changes"}},{"type":"create_event_trigger","args":{"name":"changes","table":"t","webhook":"http://127.0.0.1:1/","enable_manual":true}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := listening(t, allRows)
			s.exec(`insert into t values (1)`)
			s.do(call)
			require.Empty(t, s.triggers())
			require.Empty(t, s.captured(), "nothing is sent any more")
			var reason string
			var archived bool
			require.NoError(t, s.db.Pool.QueryRow(t.Context(), `select l.reason, exists (select from annals.capture_ends e where e.trigger = d.trigger and e.ended_at > d.created_at)
				from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id where l.entry = 'cancelled' and l.position > 0`).Scan(&reason, &archived))
			require.Equal(t, "the event trigger changes was removed", reason)
			require.True(t, archived)
		})
	}
}

func TestImportingTheSameMetadataLeavesWhatIsCapturedAlone(t *testing.T) {
	s := listening(t, allRows)
	s.exec(`insert into t values (1)`)
	before := s.triggerOIDs()
	s.do(`{"type":"replace_metadata","args":` + s.export() + `}`)
	s.do(`{"type":"reload_metadata","args":{}}`)
	require.Equal(t, before, s.triggerOIDs())
	require.Len(t, s.captured(), 1)
}

func (s *service) triggerOIDs() (oids string) {
	s.t.Helper()
	require.NoError(s.t, s.db.Pool.QueryRow(s.t.Context(), `select string_agg(oid::text, ' ' order by oid) from pg_trigger where tgname like 'annals\_%'`).Scan(&oids))
	return oids
}

func TestAPlanInstallsNothing(t *testing.T) {
	s := newService(t)
	s.exec(`create table t (id int)`)
	s.do(`{"type":"track_table","args":"t"}`)
	s.do(`{"type":"create_event_trigger","args":{"name":"x","table":"t","webhook":"http://127.0.0.1:1/","insert":{"columns":"*"}},"plan":true}`)
	require.Empty(t, s.triggers())
}

func TestATriggerThatTheUserHasIsNotTakenAway(t *testing.T) {
	s := newService(t)
	s.exec(`create table t (id int); create function mine() returns trigger language plpgsql as 'begin return null; end';
		create trigger annals_x_insert after insert on t execute function mine()`)
	s.do(`{"type":"track_table","args":"t"}`)
	refusal := s.refused(`{"type":"create_event_trigger","args":{"name":"x","table":"t","webhook":"http://127.0.0.1:1/","insert":{"columns":"*"}}}`)
	require.Equal(t, domain.NotSupported, refusal.Code)
	require.Contains(t, refusal.Message, `already exists`)
}

func TestWhatWasChangedBehindTheServicesBackIsFoundAndMended(t *testing.T) {
	for name, c := range map[string]struct {
		harm    string
		problem capture.Problem
	}{
		"a dropped trigger":          {`drop trigger annals_changes_insert on t`, capture.Missing},
		"a dropped function":         {`drop function annals.capture_changes_insert() cascade`, capture.Missing},
		"a disabled trigger":         {`alter table t disable trigger annals_changes_insert`, capture.Altered},
		"another text":               {`create or replace function annals.capture_changes_insert() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as 'begin return null; end'`, capture.Altered},
		"rights of the caller":       {`alter function annals.capture_changes_insert() security invoker`, capture.Altered},
		"another table of that name": {`alter table t rename to t_old; create table t (id int primary key, a text, b json)`, capture.Altered},
		"what nobody wants":          {`create function annals.capture_gone_insert() returns trigger language plpgsql as 'begin return null; end'; create trigger x after insert on t execute function annals.capture_gone_insert()`, capture.Unwanted},
	} {
		t.Run(name, func(t *testing.T) {
			s := listening(t, `"insert":{"columns":"*"}`)
			drift, err := s.handler.CaptureDrift(t.Context())
			require.NoError(t, err)
			require.Empty(t, drift)
			s.exec(c.harm)
			drift, err = s.handler.CaptureDrift(t.Context())
			require.NoError(t, err)
			require.Len(t, drift, 1)
			require.Equal(t, c.problem, drift[0].Problem)
			mended, err := s.handler.RepairCapture(t.Context())
			require.NoError(t, err)
			require.Equal(t, drift, mended)
			drift, err = s.handler.CaptureDrift(t.Context())
			require.NoError(t, err)
			require.Empty(t, drift)
			s.exec(`insert into t values (1)`)
			require.Len(t, s.captured(), 1)

			s.exec(`drop trigger annals_changes_insert on t`)
			s.do(`{"type":"reload_metadata","args":{}}`)
			require.Equal(t, []string{"annals_changes_insert"}, s.triggers())
		})
	}
}

// A worker records what became of deliveries in whatever order it has them, and
// may wait for a row that a command has, which waits for one of the worker's.
func TestACommandThatIsGivenUpForADeadlockIsTriedAgain(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*"}`)
	s.exec(`insert into t values (1); insert into t values (2); update annals.delivery_queue set available_at = now() + interval '1 hour'`)
	worker, err := s.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer worker.Rollback(context.Background()) // fails only after the commit
	lock := func(order string) {
		_, err := worker.Exec(t.Context(), `select from annals.delivery_queue where delivery_id = (select delivery_id from annals.delivery_queue order by delivery_id `+order+` limit 1) for update`)
		require.NoError(t, err)
	}
	_, err = worker.Exec(t.Context(), `set local deadlock_timeout = '10min'`) // the other one is given up
	require.NoError(t, err)
	lock("desc")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.do(`{"type":"delete_event_trigger","args":{"name":"changes"}}`)
	}()
	s.waitsForLock("capture_ends")
	lock("asc")
	require.NoError(t, worker.Commit(t.Context()))
	<-done
	require.Empty(t, s.triggers())
}

func TestARepairFollowsWhatAnotherNodeChanged(t *testing.T) {
	s := listening(t, `"insert":{"columns":"*"}`)
	other := s.addNode(command.Config{})
	s.do(`{"type":"delete_event_trigger","args":{"name":"changes"}}`)
	mended, err := other.handler.RepairCapture(t.Context())
	require.NoError(t, err)
	require.Empty(t, mended, "the other node's old catalog wants a trigger that the history has removed")
	require.Empty(t, s.triggers())
}

func TestHostileNamesAreCaptured(t *testing.T) {
	for i, name := range hostileNames {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := newService(t)
			ident := pgx.Identifier{name}.Sanitize()
			s.exec(fmt.Sprintf(`create schema %[1]s; create table %[1]s.%[1]s (%[1]s int, other int) partition by list (other);
				create table %[1]s.part partition of %[1]s.%[1]s default`, ident))
			n := quoted(name)
			s.do(fmt.Sprintf(`{"type":"track_table","args":{"schema":%[1]s,"name":%[1]s}}`, n))
			s.do(fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":"t","table":{"schema":%[1]s,"name":%[1]s},"webhook":"http://127.0.0.1:1/",
				"insert":{"columns":"*","payload":[%[1]s]},"update":{"columns":[%[1]s]}}}`, n))
			s.exec(fmt.Sprintf(`insert into %[1]s.%[1]s values (1, 1); update %[1]s.%[1]s set other = 2; update %[1]s.%[1]s set %[1]s = 2`, ident))
			var names []string
			rows, err := s.db.Pool.Query(t.Context(), `select schema_name || ' ' || table_name from annals.delivery_states where payload->'data'->'new'->$1 is not null`, name)
			require.NoError(t, err)
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			require.Equal(t, []string{name + " " + name, name + " " + name}, names)
		})
	}
}

func TestTheWorkerIsWokenAfterWhatMayQueueDeliveriesAndOnlyThen(t *testing.T) {
	s := newService(t)
	woken := 0
	s.node.handler.Wake = func() { woken++ }
	s.exec(`create table t (id int)`)
	s.do(`{"type":"track_table","args":"t"}`)
	s.do(`{"type":"run_sql","args":{"sql":"select 1","read_only":true}}`)
	_, err := s.try(`{"type":"run_sql","args":{"sql":"select 1/0"}}`)
	require.Error(t, err)
	require.Zero(t, woken)
	s.sql(`insert into t values (1)`)
	require.Equal(t, 1, woken)
}

func TestTheOrderingKeyIsAColumnOfTheRow(t *testing.T) {
	s := listening(t, allRows+`,"ordering_key":"a"`)
	s.exec(`insert into t values (1, 'x'); update t set a = 'y'; delete from t; insert into t values (2); alter table t drop column a; insert into t values (3)`)
	rows, err := s.db.Pool.Query(t.Context(), `select coalesce(ordering_key, 'none') from annals.delivery_queue order by available_at`)
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "y", "none", "none"}, keys)
}
