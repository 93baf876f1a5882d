package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestSeveralAtOnceMakeOneTemplate(t *testing.T) {
	t.Parallel()
	s := attach(t)
	const template = templatePrefix + "made_at_once"
	t.Cleanup(func() { removeTemplate(t, s, template) })
	removeTemplate(t, s, template)
	var all errgroup.Group
	for range 4 {
		all.Go(func() error {
			return s.administer(t.Context(), func(admin *pgx.Conn) error {
				return s.ensureTemplate(t.Context(), admin, template)
			})
		})
	}
	require.NoError(t, all.Wait())
}

func TestTheSweepDropsOldDatabasesThatNobodyUses(t *testing.T) {
	t.Parallel()
	s := attach(t)
	old, used, young := newDatabase(t, s), newDatabase(t, s), newDatabase(t, s)
	age(t, s, old)
	age(t, s, used)
	conn, err := pgx.Connect(t.Context(), s.URL(used))
	require.NoError(t, err)
	defer conn.Close(t.Context())

	require.NoError(t, s.administer(t.Context(), func(admin *pgx.Conn) error {
		return sweep(t.Context(), admin, "")
	}))
	require.False(t, exists(t, s, old))
	require.True(t, exists(t, s, used))
	require.True(t, exists(t, s, young))
}

func newDatabase(t *testing.T, s server) string {
	t.Helper()
	name, err := s.createEmpty(t.Context())
	require.NoError(t, err)
	s.lend(t, name)
	return name
}

// age makes a database look as old as one of a killed run.
func age(t *testing.T, s server, name string) {
	t.Helper()
	var folder, oid string
	require.NoError(t, s.administer(t.Context(), func(admin *pgx.Conn) error {
		return admin.QueryRow(t.Context(),
			"SELECT current_setting('data_directory'), oid::text FROM pg_database WHERE datname = $1", name).Scan(&folder, &oid)
	}))
	then := time.Now().Add(-2 * abandonedAfter)
	require.NoError(t, os.Chtimes(filepath.Join(folder, "base", oid, "PG_VERSION"), then, then))
}

func exists(t *testing.T, s server, name string) (yes bool) {
	t.Helper()
	require.NoError(t, s.administer(t.Context(), func(admin *pgx.Conn) (err error) {
		yes, err = databaseExists(t.Context(), admin, name)
		return err
	}))
	return yes
}

func removeTemplate(t *testing.T, s server, name string) {
	t.Helper()
	require.NoError(t, s.drop(context.WithoutCancel(t.Context()), name))
}
