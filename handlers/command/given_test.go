package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/migrations/pgtest"
	"annals/projections/catalog"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// service is a database of a test's own, with a first node on it. When the
// test ends, the history must verify, and the catalog folded from zero must
// equal the persisted one and each node's.
type service struct {
	t     *testing.T
	db    *pgtest.DB
	nodes []*node
	*node
}

// node is a handler with what it works with, as one process has it.
type node struct {
	t       *testing.T
	store   *eventstore.Store
	live    *catalog.Live
	handler *command.Handler
}

func newService(t *testing.T) *service {
	s := &service{t: t, db: pgtest.New(t)}
	s.node = s.addNode(command.Config{})
	t.Cleanup(s.checkHistory)
	return s
}

func (s *service) addNode(cfg command.Config) *node {
	store := eventstore.New(s.db.Pool, eventstore.Config{})
	version, err := command.Start(s.t.Context(), s.db.Pool, store, metadata.Environment{"HOOK": "http://127.0.0.1:1/hook"})
	require.NoError(s.t, err)
	live := catalog.NewLive(version)
	n := &node{s.t, store, live, command.New(command.Parts{Pool: s.db.Pool, Store: store, Live: live}, cfg)}
	s.nodes = append(s.nodes, n)
	return n
}

func (s *service) checkHistory() {
	ctx := context.Background()
	report, err := s.store.Verify(ctx, eventstore.VerifyOptions{})
	require.NoError(s.t, err)
	require.True(s.t, report.OK, report.Reason)
	rebuilt, err := catalog.Compare(ctx, s.db.Pool, s.store)
	require.NoError(s.t, err)
	require.Empty(s.t, rebuilt.Differing, "the rebuilt catalog is not the persisted one")
	for _, n := range s.nodes {
		persisted, position, err := catalog.Load(ctx, s.db.Pool, s.store)
		require.NoError(s.t, err)
		require.NoError(s.t, n.handler.CatchUp(ctx, position))
		require.Equal(s.t, position, n.live.Position())
		require.Empty(s.t, metadata.Difference(persisted, n.live.Current().World.Catalog), "a node's catalog is not the persisted one")
		require.Equal(s.t, string(metadata.Export(persisted)), string(metadata.Export(n.live.Current().World.Catalog)))
	}
}

// exec runs SQL on the database, past the service.
func (s *service) exec(sql string) {
	s.t.Helper()
	_, err := s.db.Pool.Exec(s.t.Context(), sql)
	require.NoError(s.t, err)
}

// waitsForLock returns once a statement that holds a text waits for a lock.
func (s *service) waitsForLock(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var waits bool
		err := s.db.Pool.QueryRow(s.t.Context(), `select exists (select from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and strpos(query, $1) > 0)`, text).Scan(&waits)
		return err == nil && waits
	}, time.Minute, time.Millisecond)
}

// events is how many events the history has.
func (s *service) events() int64 {
	s.t.Helper()
	head, err := s.store.Head(s.t.Context())
	require.NoError(s.t, err)
	return head.Position
}

// try makes a call.
func (n *node) try(body string) (command.Result, error) {
	req, err := metadata.Parse([]byte(body))
	if err != nil {
		return command.Result{}, err
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	return n.handler.Execute(ctx, command.Request{
		Request: req,
		Session: domain.Session{Role: domain.AdminRole},
		Actor:   domain.Actor{Role: domain.AdminRole, RequestID: n.t.Name()},
	})
}

// do makes a call that must succeed, and returns its body.
func (n *node) do(body string) string {
	n.t.Helper()
	result, err := n.try(body)
	require.NoError(n.t, err, body)
	return string(result.Body)
}

// sql makes a run_sql call that must succeed.
func (n *node) sql(text string) string {
	n.t.Helper()
	return n.do(`{"type":"run_sql","args":{"sql":` + quoted(text) + `}}`)
}

// refused makes a call that must be refused, and returns the refusal.
func (n *node) refused(body string) *domain.Error {
	n.t.Helper()
	_, err := n.try(body)
	var refusal *domain.Error
	require.True(n.t, errors.As(err, &refusal), "want a refusal of %s, got %v", body, err)
	return refusal
}

func (n *node) export() string { return n.do(`{"type":"export_metadata","args":{}}`) }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const authors = `create table author (id serial primary key, name text not null);
create table article (id serial primary key, title text not null, author_id integer references author (id));`

// withAuthors has two tracked tables with relationships and a permission.
func withAuthors(t *testing.T) *service {
	s := newService(t)
	s.exec(authors)
	s.do(`{"type":"bulk","args":[
		{"type":"track_table","args":"author"},
		{"type":"track_table","args":"article"},
		{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"}}},
		{"type":"create_array_relationship","args":{"table":"author","name":"articles","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}},
		{"type":"create_select_permission","args":{"table":"article","role":"user","permission":{"columns":["id","title"],"filter":{"author":{"name":"X-Service-User"}}}}}
	]}`)
	return s
}
