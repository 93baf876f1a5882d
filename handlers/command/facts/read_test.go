package facts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"annals/domain"
	"annals/domain/database"
	"annals/handlers/command/facts"
	"annals/migrations/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestEveryNameAskedForIsInTheAnswer(t *testing.T) {
	t.Parallel()
	tx := begin(t, `create table there (id int); create index an_index on there (id); create sequence a_sequence;
		create type a_composite as (x int)`)
	found := read(t, tx, facts.Wanted{
		Tables:    public("there", "missing", "there", "an_index", "a_sequence", "a_composite"),
		Functions: public("no_function"),
		Enums:     public("no_enum"),
	})

	require.NotNil(t, found.Tables[named("public", "there")])
	require.Len(t, found.Tables[named("public", "there")].Columns, 1, "a name asked for twice is read once")
	for _, name := range []string{"missing", "an_index", "a_sequence", "a_composite", "no_enum"} {
		require.Contains(t, found.Tables, named("public", name))
		require.Nil(t, found.Tables[named("public", name)], name)
	}
	require.Contains(t, found.Functions, named("public", "no_function"))
	require.Empty(t, found.Functions[named("public", "no_function")])
	require.Nil(t, found.Types, "types were not asked for")
}

func TestNamesThatPostgresCouldNotHoldNameNothing(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("ü", 31) + "x"
	tx := begin(t, `create table "`+longest+`" (id int)`)
	impossible := public(longest+"y", "nul\x00byte", "broken\xffutf8", "")
	impossible = append(impossible, named("", "t"), named("pub\x00lic", "t"))

	found := read(t, tx, facts.Wanted{Tables: append(impossible, named("public", longest)), Functions: impossible})

	require.NotNil(t, found.Tables[named("public", longest)], "63 bytes are a name")
	for _, name := range impossible {
		require.Contains(t, found.Tables, name)
		require.Nil(t, found.Tables[name], "%q", name)
		require.Contains(t, found.Functions, name)
	}
	exec(t, tx, `select 1`)
}

func TestHostileNamesAreNamesLikeOthers(t *testing.T) {
	t.Parallel()
	hostile := []string{`"`, `'; drop table x; --`, `a.b`, `A`, ` `, `Ünï🦉`, `{a,b}`, `\`, `null`, "tab\tnewline\n", `$1`}
	tx := begin(t, ``)
	var asked []domain.QualifiedName
	for _, name := range hostile {
		quoted := pgx.Identifier{name}.Sanitize()
		exec(t, tx, `create schema `+quoted+`; create table `+quoted+`.`+quoted+` (`+quoted+` text primary key);
			insert into `+quoted+`.`+quoted+` values ('v')`)
		asked = append(asked, named(name, name))
	}
	found := read(t, tx, facts.Wanted{Enums: asked})
	for _, name := range asked {
		table := found.Tables[name]
		require.NotNil(t, table, "%q", name)
		require.Equal(t, []string{name.Name}, table.PrimaryKey.Columns)
		require.Equal(t, []database.EnumValue{{Value: "v"}}, table.Enum)
	}
}

func TestSystemTablesAreFoundLikeOthers(t *testing.T) {
	t.Parallel()
	tx := begin(t, ``)
	asked := []domain.QualifiedName{
		named("pg_catalog", "pg_class"), named("information_schema", "tables"), named("annals", "events"),
	}
	found := read(t, tx, facts.Wanted{Tables: asked})
	for _, name := range asked {
		require.NotNil(t, found.Tables[name], name)
		require.NotEmpty(t, found.Tables[name].Columns)
	}
}

func TestTheAnswerDoesNotDependOnTheSearchPath(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create type mood as enum ('sad');
		create table t (id int primary key, m mood, ms mood[], v varchar(3), parent int references t);
		create table colour (value text primary key);
		insert into colour values ('red');
		create function f(t, mood, mood[]) returns setof t stable language sql as 'select * from t';
		create schema evil;
		create table evil.pg_class (oid oid, relname name, relnamespace oid, relkind "char", relnatts int2);
		create table evil.pg_type (oid oid);
		create type evil.text as (x int);
		create type evil.name as (x int);
		create function evil.unnest(anyarray) returns setof anyelement language sql as 'select $1[1] where false';
		create function evil.format_type(oid, int) returns text language sql as $$select 'evil'::text$$;
		create function evil.quote_ident(text) returns text language sql as $$select 'evil'::text$$`)
	wanted := facts.Wanted{
		Tables: public("t"), Functions: public("f"), Enums: public("colour"), Types: true,
	}
	want := read(t, tx, wanted)
	require.NotNil(t, want.Tables[named("public", "t")])
	for _, path := range []string{`''`, `public`, `evil, pg_catalog, public`, `pg_catalog, evil`} {
		exec(t, tx, `set local search_path = `+path)
		require.Equal(t, want, read(t, tx, wanted), "search_path %s", path)
	}
}

func TestAReadingDoesNotWaitForALockedTable(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `create table t (id int primary key); create view v as select id from t`)
	require.NoError(t, err)
	locker, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer locker.Rollback(t.Context())
	exec(t, locker, `lock table t in access exclusive mode`)

	reader, err := db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer reader.Rollback(t.Context())
	exec(t, reader, `set local lock_timeout = '1ms'`)
	require.NotNil(t, table(t, reader, "t").PrimaryKey)
	require.True(t, table(t, reader, "v").Updatable)
}

func TestNothingWantedAsksNothing(t *testing.T) {
	t.Parallel()
	found, err := facts.Read(t.Context(), refusing{t}, facts.Wanted{})
	require.NoError(t, err)
	require.Empty(t, found.Tables)
	byOID, err := facts.ReadByOID(t.Context(), refusing{t}, nil)
	require.NoError(t, err)
	require.Empty(t, byOID)
}

// refusing is a database that must not be asked.
type refusing struct{ t *testing.T }

func (r refusing) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults {
	r.t.Error("a batch was sent")
	return done{}
}

func TestAReadingThatWasTornIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a column comes":      `alter table t add column late mood`,
		"a column is renamed": `alter table t rename column id to key`,
		"the table goes":      `drop table t cascade`,
		"another takes its place": `drop table t cascade;
			create table t (id int, other int, third int, fourth int)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			exec := func(sql string) {
				_, err := db.Pool.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			exec(`create type mood as enum ('sad'); create table t (id int primary key, m mood)`)
			for after := 1; after <= 5; after++ {
				before := read(t, db.Pool, facts.Wanted{Tables: public("t")})
				q := &interrupted{Querier: db.Pool, after: after, interrupt: func() { exec(change) }}
				got := read(t, q, facts.Wanted{Tables: public("t")})
				now := read(t, db.Pool, facts.Wanted{Tables: public("t")})
				require.Contains(t, []database.Found{before, now}, got, "after statement %d", after)
				exec(`drop table if exists t; create table t (id int primary key, m mood)`)
			}
		})
	}
}

func TestADatabaseThatNeverHoldsStillIsAnError(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), `create table t (id int)`)
	require.NoError(t, err)
	columns := 0
	q := &interrupted{Querier: db.Pool, after: 1}
	q.interrupt = func() {
		columns++
		_, err := db.Pool.Exec(t.Context(), fmt.Sprintf(`alter table t add column c%d int`, columns))
		require.NoError(t, err)
		q.sent = 0 // and again at the next attempt
	}
	_, err = facts.Read(t.Context(), q, facts.Wanted{Tables: public("t")})
	require.ErrorContains(t, err, "changed while")
	require.Greater(t, columns, 1, "it was tried again")
}
