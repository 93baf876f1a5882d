package facts_test

import (
	"testing"

	"annals/domain"
	"annals/domain/database"
	"annals/handlers/command/facts"
	"annals/migrations/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// begin opens a transaction on a database of the test's own, with some SQL run
// in it: what is read is what this transaction sees.
func begin(t testing.TB, sql string) pgx.Tx {
	t.Helper()
	tx, err := pgtest.New(t).Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback(t.Context()) })
	exec(t, tx, sql)
	return tx
}

func exec(t testing.TB, tx pgx.Tx, sql string) {
	t.Helper()
	_, err := tx.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func read(t testing.TB, q facts.Querier, w facts.Wanted) database.Found {
	t.Helper()
	found, err := facts.Read(t.Context(), q, w)
	require.NoError(t, err)
	return found
}

// table reads one table of the public schema.
func table(t testing.TB, q facts.Querier, name string) *database.Table {
	t.Helper()
	found := read(t, q, facts.Wanted{Tables: public(name)})
	require.NotNil(t, found.Tables[public(name)[0]], "table %s", name)
	return found.Tables[public(name)[0]]
}

// functions reads the overloads of one function of the public schema.
func functions(t testing.TB, q facts.Querier, name string) []*database.Function {
	t.Helper()
	return read(t, q, facts.Wanted{Functions: public(name)}).Functions[public(name)[0]]
}

func function(t testing.TB, q facts.Querier, name string) *database.Function {
	t.Helper()
	found := functions(t, q, name)
	require.Len(t, found, 1, "function %s", name)
	return found[0]
}

func public(names ...string) []domain.QualifiedName {
	qualified := make([]domain.QualifiedName, len(names))
	for i, name := range names {
		qualified[i] = named("public", name)
	}
	return qualified
}

func named(schema, name string) domain.QualifiedName {
	return domain.QualifiedName{Schema: schema, Name: name}
}
