package dump_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/handlers/dump"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func program(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{filepath.Join(os.Getenv("ANNALS_POSTGRES_BIN"), "pg_dump"), "pg_dump"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Skip("pg_dump, one of PostgreSQL's client programs, is not on this machine")
	return ""
}

func is(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return path, nil }
}

func TestADumpIsWholeAndCleanTextKeepsBodiesAndRows(t *testing.T) {
	d := dump.Dumper{Program: is(program(t)), Database: pgtest.Empty(t)}
	conn, err := pgx.Connect(t.Context(), d.Database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	const body = "AS $_$\n-- why two\n\nSET x = 1;\n  select $1 -- $$\n$_$;"
	_, err = conn.Exec(t.Context(), `
		create table public.planets (id int primary key, name text default '
-- no comment');
		insert into planets values (1, '-- Mars');
		create schema annals;
		create function annals.c() returns trigger language plpgsql as 'begin return null; end';
		create trigger annals_watch_insert after insert on planets for each row execute function annals.c();
		create function public.two(int) returns int language sql immutable set search_path to public `+strings.Replace(body, "SET x = 1;\n", "", 1))
	require.NoError(t, err)

	whole := read(t, d, []string{"-O", "-x", "-n", "public"}, false)
	require.Contains(t, whole, "SET client_encoding")
	require.Contains(t, whole, "CREATE TRIGGER annals_watch_insert")

	clean := read(t, d, []string{"-Oxnpublic"}, true)
	require.NotContains(t, clean, "\n\n\n")
	require.NotContains(t, clean, "SET client_encoding")
	require.NotContains(t, clean, "annals_watch_insert")
	require.NotContains(t, clean, "-- Name:")
	require.Contains(t, clean, "CREATE TABLE public.planets (")
	require.Contains(t, clean, "\n-- no comment'")
	require.Contains(t, clean, "1\t-- Mars\n\\.\n")
	require.Contains(t, clean, "$_$\n-- why two\n\n  select $1 -- $$\n$_$;")
}

func read(t *testing.T, d dump.Dumper, options []string, clean bool) string {
	t.Helper()
	text, err := d.Dump(t.Context(), options, clean)
	require.NoError(t, err)
	defer text.Close()
	all, err := io.ReadAll(text)
	require.NoError(t, err)
	return string(all)
}

func TestWhatPgDumpComplainsAboutIsTold(t *testing.T) {
	d := dump.Dumper{Program: is(program(t)), Database: pgtest.Empty(t)}
	_, err := d.Dump(t.Context(), []string{"--strict-names", "--schema=nowhere"}, false)
	require.ErrorContains(t, err, "no matching schemas were found")
}

func TestADumpEndsInTime(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "pg_dump")
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nexec tail -f /dev/null\n"), 0o755))
	_, err := dump.Dumper{Program: is(slow), Database: "host=127.0.0.1", Timeout: time.Millisecond}.Dump(t.Context(), nil, false)
	require.ErrorContains(t, err, "did not end within 1ms")
}

func TestOptionsThatLeaveTheDatabaseOrTheTextAreRefused(t *testing.T) {
	d := dump.Dumper{Program: is("/bin/true"), Database: "host=127.0.0.1"}
	for _, refused := range [][]string{
		{"postgres"}, {"-d", "postgres"}, {"--dbname=postgres"}, {"-f", "x"}, {"-fx"}, {"-Ofx"}, {"--file=x"}, {"--fil=x"},
		{"-h", "elsewhere"}, {"-p1"}, {"-U", "x"}, {"-W"}, {"-j4"}, {"-Fc"}, {"--format", "directory"}, {"--format=d"}, {"-"}, {"--"}, {""},
		{"--schema"}, {"--schema="}, {"--clean=x"}, {"-Z9"}, {"--snapshot=x"}, {"-n", "a", "b"},
	} {
		_, err := d.Dump(t.Context(), refused, false)
		var option *dump.OptionError
		require.ErrorAs(t, err, &option, "%q", refused)
	}
	for _, passed := range [][]string{nil, {"-O", "-x", "--schema-only", "--schema", "public"}, {"-Fp"}, {"--format=plain"}, {"-sn", "public"}, {"-t", "-odd"}} {
		_, err := d.Dump(t.Context(), passed, false)
		require.NoError(t, err, "%q", passed)
	}
}

func TestADumpTrustsTheServerNoMoreThanTheServiceDoes(t *testing.T) {
	t.Setenv("PGSSLMODE", "verify-full")
	t.Setenv("PGSSLROOTCERT", "/etc/ca.pem")
	show := filepath.Join(t.TempDir(), "pg_dump")
	require.NoError(t, os.WriteFile(show, []byte("#!/bin/sh\nenv\n"), 0o755))
	environment := read(t, dump.Dumper{Program: is(show), Database: "postgres://ann@db.example/shop?sslrootcert=system"}, nil, false)
	require.Contains(t, environment, "PGSSLMODE=verify-full\n")
	require.Contains(t, environment, "PGSSLROOTCERT=system\n", "what the URL says goes before")
}

func TestThePasswordAndTheWayToTheServerGoByTheEnvironment(t *testing.T) {
	show := filepath.Join(t.TempDir(), "pg_dump")
	require.NoError(t, os.WriteFile(show, []byte("#!/bin/sh\necho \"$@\"; env\n"), 0o755))
	for _, database := range []string{
		"postgres://ann:s3cret@db.example:5433/shop?sslmode=disable&pool_max_conns=3",
		"host=db.example port=5433 user=ann password='s3cret' dbname=shop sslmode=disable",
	} {
		text := read(t, dump.Dumper{Program: is(show), Database: database}, []string{"-s"}, false)
		arguments, environment, _ := strings.Cut(text, "\n")
		require.Equal(t, "--no-password -s", arguments)
		for _, want := range []string{"PGHOST=db.example", "PGPORT=5433", "PGUSER=ann", "PGPASSWORD=s3cret", "PGDATABASE=shop", "PGSSLMODE=disable"} {
			require.Contains(t, environment, want+"\n")
		}
	}
}
