// Package nodetest is a node for tests: the two use cases, joined as the program
// joins them, on a database of the test's own.
//
//	n := nodetest.New(t, "create table t (id int primary key)", command.Parts{})
//	n.Do(`{"type":"track_table","args":"t"}`)
//	answer, err := n.Executor(execution.Config{}).Run(ctx, request)
//
// Several nodes on one database are made by [On]. Nobody follows what another of
// them appends, and nothing is delivered: a test that is about that adds it.
package nodetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/handlers/execution"
	"annals/migrations/pgtest"
	"annals/projections/catalog"
)

// Node is what one process of the service knows, and what it changes it by.
type Node struct {
	*pgtest.DB
	Store   *eventstore.Store
	Live    *catalog.Live
	Handler *command.Handler

	t testing.TB
}

// New returns a node on a fresh database, in which some SQL was run; see [On].
func New(t testing.TB, sql string, parts command.Parts) *Node {
	t.Helper()
	db := pgtest.New(t)
	_, err := db.Pool.Exec(t.Context(), sql)
	require.NoError(t, err)
	return On(t, db, parts)
}

// On returns a node on a database that may have others. Its handler has the parts
// that are given, beside those that every node has.
func On(t testing.TB, db *pgtest.DB, parts command.Parts) *Node {
	t.Helper()
	n := &Node{DB: db, Store: eventstore.New(db.Pool, eventstore.Config{}), t: t}
	version, err := command.Start(t.Context(), db.Pool, n.Store, nil)
	require.NoError(t, err)
	n.Live = catalog.NewLive(version)
	parts.Pool, parts.Store, parts.Live = db.Pool, n.Store, n.Live
	n.Handler = command.New(parts, command.Config{})
	return n
}

// World is the metadata of this moment.
func (n *Node) World() metadata.World { return n.Live.Current().World }

// Do makes a call of the metadata API, as the admin. It has to succeed; the position
// is the history's after it.
func (n *Node) Do(body string) (position int64) {
	n.t.Helper()
	parsed, err := metadata.Parse([]byte(body))
	require.NoError(n.t, err, body)
	result, err := n.Handler.Execute(n.t.Context(), command.Request{
		Request: parsed, Session: domain.Session{Role: domain.AdminRole}, Actor: domain.Actor{Role: domain.AdminRole},
	})
	require.NoError(n.t, err, body)
	return result.Position
}

// Exec runs SQL on the database, past the node.
func (n *Node) Exec(sql string) {
	n.t.Helper()
	_, err := n.Pool.Exec(n.t.Context(), sql)
	require.NoError(n.t, err)
}

// Executor runs operations under the node's metadata.
func (n *Node) Executor(c execution.Config) *execution.Executor {
	n.t.Helper()
	return execution.New(Rows(n.t, n.URL, execution.DefaultStatementTimeout), n.World, c)
}

// Rows opens the connections to a database that operations run on.
func Rows(t testing.TB, url string, statementTimeout time.Duration) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	execution.Connections(config, statementTimeout)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}
