package command_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/command"
)

func TestRunSQLAnswersTheRowsOfItsLastStatementAsText(t *testing.T) {
	s := newService(t)
	require.Equal(t, `{"result_type":"TuplesOk","result":[["a","b","c"],["1","NULL","t"]]}`,
		s.sql("create table t (); select 1 as a, null as b, true as c"))
	require.Equal(t, `{"result_type":"CommandOk","result":null}`, s.sql("create table u ()"))
	require.Equal(t, `{"result_type":"TuplesOk","result":[["x"]]}`, s.sql("select 1 as x where false"))
}

func TestRunSQLShowsWhatPostgresSays(t *testing.T) {
	s := newService(t)
	refusal := s.refused(`{"type":"run_sql","args":{"sql":"drop table x"}}`)
	require.Equal(t, domain.PostgresError, refusal.Code)
	require.JSONEq(t, `{"statement":"drop table x","prepared":false,"arguments":[],
		"error":{"exec_status":"FatalError","hint":null,"message":"table \"x\" does not exist","status_code":"42P01","description":null}}`, string(refusal.Internal))
	require.Zero(t, s.events())
}

func TestRunSQLAnswersNoMoreThanANodeCanHold(t *testing.T) {
	s := newService(t)
	n := s.addNode(command.Config{RunSQLMaxRows: 3, RunSQLMaxBytes: 20})
	for sql, flag := range map[string]string{
		"create table t (); select generate_series(1, 1e9)":                      "--max-rows",
		"create table t (); select generate_series(1, 1e9); select 1":            "--max-rows",
		"create table t (); select repeat('x', 10) from generate_series(1, 3) n": "--max-result-size",
	} {
		refusal := n.refused(`{"type":"run_sql","args":{"sql":` + quoted(sql) + `}}`)
		require.Equal(t, domain.NotSupported, refusal.Code, sql)
		require.Contains(t, refusal.Message, flag)
	}
	require.Contains(t, n.sql("select n from generate_series(1, 3) n"), `[["n"],["1"],["2"],["3"]]`)
	require.Contains(t, n.sql("select to_regclass('t') is null"), `["t"]`)
}

func TestRunSQLThatEndsItsTransactionIsRefusedBeforeItRuns(t *testing.T) {
	s := newService(t)
	for _, sql := range []string{
		"commit", "create table t (); COMMIT; create table u ()", "/* x */ rollback", "begin; select 1", "end;",
		"start transaction", "abort", "prepare transaction 'x'", "select ';'; -- y\ncommit", "select $$;$$; rollback work",
	} {
		refusal := s.refused(`{"type":"run_sql","args":{"sql":` + quoted(sql) + `}}`)
		require.Equal(t, domain.NotSupported, refusal.Code, sql)
	}
	s.sql("savepoint a; create table gone (); rollback to savepoint a; release a")
	s.sql("create function f() returns void language sql begin atomic select 1; end; select 'commit;', $x$ commit; $x$")
	require.EqualValues(t, 2, s.events())
}

func TestRunSQLThatHidesItsCommitIsFoundOutAndNotRecorded(t *testing.T) {
	s := newService(t)
	for _, sql := range []string{
		`set standard_conforming_strings = off; select '\'; commit; select 1; --'`,
		`set standard_conforming_strings = off; select '\'; commit; begin; select 1; --'`,
		`set standard_conforming_strings = off; select '\'; rollback; --'`,
	} {
		refusal := s.refused(`{"type":"run_sql","args":{"sql":` + quoted(sql) + `}}`)
		require.Equal(t, domain.NotSupported, refusal.Code, sql)
	}
	require.Equal(t, domain.PostgresError, s.refused(`{"type":"run_sql","args":{"sql":"do $$ begin commit; end $$"}}`).Code)
	require.Zero(t, s.events())
	s.do(`{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}}`)
}

func TestRunSQLLeavesNothingOfItsSettingsBehind(t *testing.T) {
	s := newService(t)
	s.sql("set role pg_monitor; set search_path = nowhere; set time zone 'Asia/Tokyo'; set statement_timeout = 1")
	require.NotContains(t, s.sql("show time zone"), "Tokyo")
	s.do(`{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}}`)
}

func TestRunSQLIsStoppedAfterItsTimeout(t *testing.T) {
	s := newService(t)
	hurried := s.addNode(command.Config{RunSQLTimeout: 50 * time.Millisecond})
	for _, sql := range []string{"select pg_sleep(60)", "set statement_timeout = 0; select pg_sleep(60)"} {
		refusal := hurried.refused(`{"type":"run_sql","args":{"sql":"` + sql + `"}}`)
		require.Equal(t, domain.PostgresError, refusal.Code)
		require.Contains(t, refusal.Message, "--run-sql-timeout")
	}
	own := s.refused(`{"type":"run_sql","args":{"sql":"set statement_timeout = 1; select pg_sleep(60)"}}`)
	require.Equal(t, "query execution failed", own.Message, "a limit of the text's own is not ours")
	require.Zero(t, s.events())
}

func TestReadOnlySQLCannotWriteAndIsNotRecorded(t *testing.T) {
	s := newService(t)
	s.do(`{"type":"run_sql","args":{"sql":"select 1","read_only":true}}`)
	require.Equal(t, domain.PostgresError, s.refused(`{"type":"run_sql","args":{"sql":"create table t ()","read_only":true}}`).Code)
	require.Equal(t, domain.PostgresError, s.refused(`{"type":"run_sql","args":{"sql":"set transaction read write; create table t ()","read_only":true}}`).Code)
	require.Zero(t, s.events())
}

func TestMetadataFollowsRenamesInSQL(t *testing.T) {
	s := withAuthors(t)
	s.sql("alter table author rename to writer; alter table article rename column title to headline")
	document := s.export()
	require.Contains(t, document, `"name":"writer"`)
	require.Contains(t, document, `"headline"`)
	require.NotContains(t, document, `"title"`)
	require.Contains(t, s.do(`{"type":"get_inconsistent_metadata","args":{}}`), `"is_consistent":true`)
}

func TestSQLThatTakesAwayWhatOthersNeedIsRefusedUnlessItCascades(t *testing.T) {
	s := withAuthors(t)
	drop := `{"type":"run_sql","args":{"sql":"drop table author cascade","cascade":%s}}`
	refusal := s.refused(fmt.Sprintf(drop, "false"))
	require.Equal(t, domain.DependencyError, refusal.Code)
	require.Contains(t, s.sql("select to_regclass('author') is not null"), `["t"]`)
	s.do(fmt.Sprintf(drop, "true"))
	require.NotContains(t, s.export(), `"author"`)
}

func TestTheHistoryCannotBeChangedBySQL(t *testing.T) {
	s := newService(t)
	s.do(`{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}}`)
	for _, sql := range []string{"update annals.events set type = 'x'", "delete from annals.events", "truncate annals.events"} {
		require.Equal(t, domain.PostgresError, s.refused(`{"type":"run_sql","args":{"sql":`+quoted(sql)+`}}`).Code, sql)
	}
}
