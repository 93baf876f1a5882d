package execution_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/execution"
)

// inTransaction opens a transaction that is rolled back in the end.
func (e *engine) inTransaction() pgx.Tx {
	e.t.Helper()
	tx, err := e.conns.BeginTx(e.t.Context(), pgx.TxOptions{AccessMode: pgx.ReadWrite})
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = tx.Rollback(e.t.Context()) })
	return tx
}

// rows carries out a command about rows.
func (e *engine) rows(tx pgx.Tx, s domain.Session, backendOnly bool, body string) (string, error) {
	e.t.Helper()
	req, err := metadata.Parse([]byte(body))
	require.NoError(e.t, err, body)
	answer, err := e.run.RunIn(e.t.Context(), tx, metadata.RowCall{
		World: e.World(), Session: s, BackendOnly: backendOnly, Command: req.Command.(metadata.RowCommand),
	})
	return string(answer), err
}

func refusalOf(t testing.TB, err error) *domain.Error {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	return refusal
}

func TestRowsAreReadAndChangedByCommands(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	tx := e.inTransaction()
	for _, c := range []struct{ body, want string }{
		{`{"type":"select","args":{"table":"artist","columns":["name",{"name":"albums","columns":["title"],"order_by":"+id"}],"where":{"id":1}}}`,
			`[{"name":"A","albums":[{"title":"a1"},{"title":"a2"}]}]`},
		{`{"type":"select","args":{"table":"artist","columns":["name"],"order_by":"-id","limit":1,"offset":1}}`, `[{"name":"B"}]`},
		{`{"type":"count","args":{"table":"album","where":{"$not":{"title":{"$like":"a%"}}}}}`, `{"count":1}`},
		{`{"type":"insert","args":{"table":"artist","objects":[{"name":"D"}],"returning":["id"]}}`, `{"affected_rows":1,"returning":[{"id":500}]}`},
		{`{"type":"update","args":{"table":"track","$inc":{"ms":2},"where":{"id":100},"returning":["ms"]}}`, `{"affected_rows":1,"returning":[{"ms":7}]}`},
		{`{"type":"delete","args":{"table":"track","where":{"ms":{"$lt":4}}}}`, `{"affected_rows":2}`},
	} {
		got, err := e.rows(tx, asAdmin, false, c.body)
		require.NoError(t, err, c.body)
		require.Equal(t, c.want, got, c.body)
	}
}

func TestAConditionOfRowsAsksWhetherAnyOfAnotherTableExist(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	tx := e.inTransaction()
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	selectWhere := func(where string) string {
		return `{"type":"select","args":{"table":"artist","columns":["id"],"where":` + where + `}}`
	}
	for _, c := range []struct {
		session     domain.Session
		where, want string
	}{
		{asAdmin, `{"_exists":{"_table":"album","_where":{"title":"b1"}}}`, `[{"id":1},{"id":2},{"id":3}]`},
		{asAdmin, `{"$exists":{"$table":"album","$where":{"title":"none"}}}`, `[]`},
		{user, `{"_exists":{"_table":"album","_where":{"title":"a1"}}}`, `[{"id":1}]`},
		{user, `{"_exists":{"_table":"album","_where":{"title":"b1"}}}`, `[]`}, // a row that the role may not see
	} {
		got, err := e.rows(tx, c.session, false, selectWhere(c.where))
		require.NoError(t, err, c.where)
		require.Equal(t, c.want, got, c.where)
	}
	_, err := e.rows(tx, user, false, selectWhere(`{"_exists":{"_table":"track","_where":{}}}`))
	require.Equal(t, domain.PermissionDenied, refusalOf(t, err).Code)
	_, err = e.rows(tx, user, false, selectWhere(`{"_exists":{"_table":"nothing","_where":{}}}`))
	require.Equal(t, domain.NotExists, refusalOf(t, err).Code)
}

func TestBackendsHaveTheirPermissionsInCommandsToo(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	e.Do(`{"type":"create_insert_permission","args":{"table":"artist","role":"user","permission":{"check":{},"columns":["name"],"backend_only":true}}}`)
	tx := e.inTransaction()
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	const insert = `{"type":"insert","args":{"table":"artist","objects":[{"name":"D"}]}}`
	_, err := e.rows(tx, user, false, insert)
	require.Equal(t, domain.PermissionDenied, refusalOf(t, err).Code)
	got, err := e.rows(tx, user, true, insert)
	require.NoError(t, err)
	require.Equal(t, `{"affected_rows":1}`, got)
}

func TestACommandAboutRowsThatWaitsTooLongForALockSaysSo(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	holder := e.inTransaction()
	_, err := holder.Exec(t.Context(), "update artist set name = 'held' where id = 1")
	require.NoError(t, err)
	tx := e.inTransaction()
	_, err = tx.Exec(t.Context(), "set local lock_timeout = 20")
	require.NoError(t, err)
	_, err = e.rows(tx, asAdmin, false, `{"type":"update","args":{"table":"artist","$set":{"name":"x"},"where":{"id":1}}}`)
	require.Equal(t, domain.Timeout, refusalOf(t, err).Code)
}

func TestAStatementOfACommandEndsInTime(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{StatementTimeout: 30 * time.Millisecond},
		`create table a (id int primary key); insert into a values (1);
		 create view slow as select id, pg_sleep(60)::text as waited from a`,
		`{"type":"track_table","args":"slow"}`, `{"type":"track_table","args":"a"}`)
	tx := e.inTransaction()
	_, err := tx.Exec(t.Context(), "set local statement_timeout = '7min'")
	require.NoError(t, err)
	_, err = e.rows(tx, asAdmin, false, `{"type":"select","args":{"table":"a","columns":["id"]}}`)
	require.NoError(t, err)
	var limit string
	require.NoError(t, tx.QueryRow(t.Context(), "select current_setting('statement_timeout')").Scan(&limit))
	require.Equal(t, "7min", limit, "the rest of the transaction has its own limit")
	_, err = e.rows(tx, asAdmin, false, `{"type":"select","args":{"table":"slow","columns":["waited"]}}`)
	require.Error(t, err)
}

func TestMessagesSpellVariablesAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{HeaderPrefix: domain.AliasPrefix}, `create table a (id int primary key)`,
		`{"type":"track_table","args":"a"}`,
		`{"type":"create_select_permission","args":{"table":"a","role":"user","permission":{"columns":["id"],"filter":{"id":"X-Service-User-Id"}}}}`)
	user := domain.Session{Role: "user"}
	_, err := e.ask(user, `{ a { id } }`, "")
	require.Equal(t, `missing session variables: "x-hasura-user-id"`, refusalOf(t, err).Message)
	_, err = e.explain(user, `{ a { id } }`, "")
	require.Equal(t, `missing required session variable for role "user" : x-hasura-user-id`, refusalOf(t, err).Message)
}
