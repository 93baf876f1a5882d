package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/migrations"
	"annals/migrations/localpg"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestADatabaseHoldsEveryMigration(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	pending, err := migrations.Pending(t.Context(), conn.Conn())
	require.NoError(t, err)
	require.Zero(t, pending)
}

func TestAnEmptyDatabaseHoldsNothingOfOurs(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.Empty(t))
	var exists bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_regnamespace('annals') IS NOT NULL").Scan(&exists))
	require.False(t, exists)
}

func TestOneTestDoesNotSeeAnothersTables(t *testing.T) {
	t.Parallel()
	one, other := pgtest.New(t), pgtest.New(t)
	_, err := one.Pool.Exec(t.Context(), "CREATE TABLE mine (id int)")
	require.NoError(t, err)
	_, err = other.Pool.Exec(t.Context(), "CREATE TABLE mine (id int)")
	require.NoError(t, err)
}

func TestADatabaseIsGoneAfterItsTestEvenIfStillConnectedTo(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("a test that leaves a connection open", func(t *testing.T) {
		url = pgtest.New(t).URL
		_, err := pgx.Connect(t.Context(), url)
		require.NoError(t, err)
	})
	_, err := pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "3D000") // invalid_catalog_name
}

func TestADataFolderIsReadyForAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	server, err := localpg.Start(t.Context(), pgtest.Config(t, pgtest.DataDir(t)))
	require.NoError(t, err)
	require.True(t, server.Started())
	var fsync string
	require.NoError(t, connect(t, server.URL("postgres")).QueryRow(t.Context(), "SHOW fsync").Scan(&fsync))
	require.Equal(t, "off", fsync)
	require.NoError(t, server.Stop(t.Context()))
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}
