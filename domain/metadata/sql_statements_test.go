package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestStatementsThatEndTheTransactionAreFound(t *testing.T) {
	for _, sql := range []string{
		"COMMIT", "  commit ;", "select 1; end", "begin", "start transaction read only", "rollback", "rollback work", "abort",
		"select ';' ; commit", "-- x\ncommit", "/* a /* b */ c */ commit", "select $$a;b$$; commit", "select $x$ $$ ; $x$; rollback",
		`select "a;b"; commit`, `select E'\';'; commit`, "select e'a''\\'' ; commit", "prepare transaction 'x'", "select (1;2); select 1); commit",
		"create function f() returns int language sql begin atomic select case when true then 1 end; end; commit",
	} {
		_, found := endsTransaction(sql)
		require.True(t, found, sql)
	}
}

func TestStatementsThatStayInTheTransactionAreLetThrough(t *testing.T) {
	for _, sql := range []string{
		"", ";;", "select 1", "select 'commit;'", "select $$; commit; $$", "select $a$; commit; $a$", "-- commit", "/* ; commit; */ select 1",
		`select "; commit"`, "savepoint a; rollback to a; rollback work to savepoint a; release a", "prepare p as select 1",
		"create function f() returns int language sql begin atomic select 1; select 2; end", `select E'\'; commit; --'`,
		"create table committed (begin_at int); select begin_at as end from committed", "select $1", "select 1 as commit", "explain select 1",
	} {
		verb, found := endsTransaction(sql)
		require.False(t, found, "%s: %s", sql, verb)
	}
}

func TestRowsThatNobodySendsAreNotWaitedFor(t *testing.T) {
	for sql, waits := range map[string]bool{
		"copy t from stdin": true, "select 1; COPY s.t (a, b, c, d, e, f, g) FROM STDIN (format csv)": true, `copy "from" /* ; */ from stdout`: true,
		"copy t to stdout": false, "copy t from '/stdin'": false, "copy stdin from 'file'": false, "copy (select a from stdin) to stdout": false,
		"select a from stdin": false, "select 'copy t from stdin'": false, "copy t from program 'x'": false, "copy t to 'x'; select * from stdin": false,
	} {
		require.Equal(t, waits, copiesFromClient(sql), sql)
	}
	_, err := Parse([]byte(`{"type":"run_sql","args":{"sql":"copy t from stdin"}}`))
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.NotSupported, refusal.Code)
}

func FuzzReadingStatementsEnds(f *testing.F) {
	f.Add("select $x$ ; /* ' \" E'\\")
	f.Fuzz(func(t *testing.T, sql string) { endsTransaction(sql) })
}
