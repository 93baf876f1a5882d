package main_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

const tooPowerful = "the database's user may read files or run programs on its machine"

func TestTheStartWarnsOfADatabaseUserWhoMayReachOut(t *testing.T) {
	t.Parallel()
	program := buildAnnals(t)
	require.Contains(t, startedOn(t, program, pgtest.Empty(t)), tooPowerful)
	require.NotContains(t, startedOn(t, program, asOwner(t)), tooPowerful)
}

// startedOn is what a server logs until it is healthy.
func startedOn(t *testing.T, program, database string) string {
	t.Helper()
	s, err := launch{program: program, database: database}.start(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.stop())
	return s.lines.String()
}

// asOwner returns the URL of a new database for a user who owns that database,
// and has no other right.
func asOwner(t *testing.T) string {
	t.Helper()
	database := pgtest.Empty(t)
	u, err := url.Parse(database)
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	name, role := admin.Config().Database, "owner_"+uuid.NewString()
	exec := func(sql string) {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), sql)
		assert.NoError(t, err, sql)
	}
	exec(fmt.Sprintf("create role %q login", role))
	exec(fmt.Sprintf("alter database %q owner to %q", name, role))
	t.Cleanup(func() {
		exec(fmt.Sprintf("reassign owned by %q to current_user", role))
		exec(fmt.Sprintf("drop role %q", role))
		assert.NoError(t, admin.Close(context.WithoutCancel(t.Context())))
	})
	u.User = url.User(role)
	return u.String()
}
