package migrations_test

import (
	"context"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"annals/migrations"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOfFourAtOnceOneMigrates(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	var applied, workers atomic.Int32
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				return err
			}
			defer conn.Close(context.WithoutCancel(t.Context()))
			n, err := migrations.Run(t.Context(), conn)
			applied.Add(int32(n))
			workers.Add(int32(min(n, 1)))
			return err
		})
	}
	require.NoError(t, all.Wait())
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool { return path.Ext(f.Name()) != ".sql" })
	require.EqualValues(t, len(files), applied.Load())
	require.EqualValues(t, 1, workers.Load())
}

func TestASecondRunAppliesNothing(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	first, err := migrations.Run(t.Context(), conn)
	require.NoError(t, err)
	require.Positive(t, first)
	second, err := migrations.Run(t.Context(), conn)
	require.NoError(t, err)
	require.Zero(t, second)
}

func TestPendingCountsWithoutChangingAnything(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	before, err := migrations.Pending(t.Context(), conn)
	require.NoError(t, err)
	var touched bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_regnamespace('annals') IS NOT NULL").Scan(&touched))
	require.False(t, touched)
	applied, err := migrations.Run(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, before, applied)
	after, err := migrations.Pending(t.Context(), conn)
	require.NoError(t, err)
	require.Zero(t, after)
}

func TestADatabaseAheadOfTheProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	_, err := migrations.Run(t.Context(), conn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE annals.schema_version SET version = 9000")
	require.NoError(t, err)

	applied, err := migrations.Run(t.Context(), conn)
	require.Zero(t, applied)
	var ahead migrations.AheadError
	require.ErrorAs(t, err, &ahead)
	require.Equal(t, 9000, ahead.Database)
	_, err = migrations.Pending(t.Context(), conn)
	require.ErrorAs(t, err, &ahead)
}

func TestAFailedStepLeavesTheOnesBeforeIt(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	broken := fstest.MapFS{
		"0001_good.sql": {Data: []byte("CREATE TABLE annals.good (id int);")},
		"0002_bad.sql":  {Data: []byte("CREATE TABLE annals.half (id int); SELECT 1/0;")},
	}
	applied, err := migrations.RunFiles(t.Context(), conn, broken)
	require.ErrorContains(t, err, "0002_bad.sql")
	require.Equal(t, 1, applied)
	var good, half bool
	require.NoError(t, conn.QueryRow(t.Context(),
		"SELECT to_regclass('annals.good') IS NOT NULL, to_regclass('annals.half') IS NOT NULL").Scan(&good, &half))
	require.True(t, good)
	require.False(t, half)

	broken["0002_bad.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE annals.half (id int);")}
	applied, err = migrations.RunFiles(t.Context(), conn, broken)
	require.NoError(t, err)
	require.Equal(t, 1, applied)
}

func TestBracesInAMigrationAreText(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	_, err := migrations.RunFiles(t.Context(), conn, fstest.MapFS{
		"0001_braces.sql": {Data: []byte("CREATE TABLE annals.template AS SELECT '{{ $body.input }}'::text AS body;")},
	})
	require.NoError(t, err)
	var body string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT body FROM annals.template").Scan(&body))
	require.Equal(t, "{{ $body.input }}", body)
}

func TestARoleThatMayNotCreateSchemasMigratesInTheOneItWasGiven(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	exec := func(sql string) {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), sql)
		require.NoError(t, err)
	}
	role := "migrator_" + conn.Config().Database // roles are shared by all databases
	exec("CREATE ROLE " + role + "; CREATE SCHEMA annals AUTHORIZATION " + role)
	t.Cleanup(func() { exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role) })
	exec("SET ROLE " + role)
	applied, err := migrations.RunFiles(t.Context(), conn, fstest.MapFS{
		"0001_a.sql": {Data: []byte("CREATE TABLE annals.a (id int);")},
	})
	require.NoError(t, err)
	require.Equal(t, 1, applied)
}

func TestFilesThatCannotBeOrderedAreRefused(t *testing.T) {
	t.Parallel()
	sql := &fstest.MapFile{Data: []byte("SELECT 1;")}
	for name, files := range map[string]fstest.MapFS{
		"a gap":      {"0001_a.sql": sql, "0003_c.sql": sql},
		"a double":   {"0001_a.sql": sql, "0001_b.sql": sql},
		"no number":  {"0001_a.sql": sql, "late.sql": sql},
		"no subject": {"0001_a.sql": sql, "0002.sql": sql},
	} {
		_, err := migrations.FingerprintFiles(files)
		require.Error(t, err, name)
	}
}

func TestTheFingerprintChangesWithAnyStep(t *testing.T) {
	t.Parallel()
	print := func(name, sql string) string {
		sum, err := migrations.FingerprintFiles(fstest.MapFS{name: {Data: []byte(sql)}})
		require.NoError(t, err)
		return sum
	}
	require.NotEqual(t, print("0001_a.sql", "SELECT 1;"), print("0001_a.sql", "SELECT 2;"))
	require.NotEqual(t, print("0001_a.sql", "SELECT 1;"), print("0001_b.sql", "SELECT 1;"))
	require.Equal(t, print("0001_a.sql", "SELECT 1;"), print("0001_a.sql", "SELECT 1;"))
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.Empty(t))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
