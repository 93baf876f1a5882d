package follow_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/handlers/workers/follow"
	"annals/migrations/pgtest"
	"annals/projections/catalog"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const patience = time.Minute

// node is a handler with a follower that runs until the test ends.
func node(t *testing.T, db *pgtest.DB, snapshotEvery int64) (*command.Handler, *catalog.Live, *eventstore.Store) {
	store := eventstore.New(db.Pool, eventstore.Config{})
	version, err := command.Start(t.Context(), db.Pool, store, nil)
	require.NoError(t, err)
	live := catalog.NewLive(version)
	handler := command.New(command.Parts{Pool: db.Pool, Store: store, Live: live}, command.Config{})
	follower := &follow.Follower{
		Store: store, Live: live, CatchUp: handler.CatchUp, SnapshotEvery: snapshotEvery, Log: slog.New(slog.DiscardHandler),
		Snapshot: func(ctx context.Context, v catalog.Version) error {
			return catalog.SaveSnapshot(ctx, db.Pool, store, v.Position, v.World.Catalog)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- follower.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return handler, live, store
}

func create(t *testing.T, h *command.Handler, name string) int64 {
	t.Helper()
	return execute(t, h, `{"type":"create_query_collection","args":{"name":%q,"definition":{"queries":[]}}}`, name)
}

func execute(t *testing.T, h *command.Handler, format string, args ...any) int64 {
	t.Helper()
	req, err := metadata.Parse(fmt.Appendf(nil, format, args...))
	require.NoError(t, err)
	result, err := h.Execute(t.Context(), command.Request{Request: req, Session: domain.Session{Role: domain.AdminRole}})
	require.NoError(t, err)
	return result.Position
}

func TestANodeReachesWhatAnotherNodeWrote(t *testing.T) {
	db := pgtest.New(t)
	writer, _, _ := node(t, db, 0)
	_, reader, _ := node(t, db, 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 20 {
		position := create(t, writer, fmt.Sprintf("c%d", i))
		require.NoError(t, reader.WaitFor(ctx, position))
	}
	require.Equal(t, 20, reader.Current().World.Catalog.Len())
}

func TestASnapshotIsTakenEverySoManyEvents(t *testing.T) {
	db := pgtest.New(t)
	writer, live, store := node(t, db, 5)
	for i := range 12 {
		create(t, writer, fmt.Sprintf("c%d", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, live.WaitFor(ctx, 12))
	require.Eventually(t, func() bool {
		at, _, ok, err := store.SnapshotAtOrBefore(ctx, db.Pool, 12)
		return err == nil && ok && at >= 10
	}, patience, 10*time.Millisecond)
}

// A follower is told of its own node's events before the command that appended
// them has ended. What it would read of the database by then may be newer than
// what the command saw, and than what its caller was told.
func TestANodeKeepsWhatItsCommandsSaw(t *testing.T) {
	db := pgtest.New(t)
	writer, live, _ := node(t, db, 0)
	other, _, _ := node(t, db, 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 40 {
		execute(t, writer, `{"type":"run_sql","args":{"sql":"create table e%[1]d (name text primary key); insert into e%[1]d values ('old')"}}`, i)
		execute(t, writer, `{"type":"bulk","args":[{"type":"track_table","args":"e%[1]d"},{"type":"set_table_is_enum","args":{"table":"e%[1]d","is_enum":true}},`+
			`{"type":"run_sql","args":{"sql":"comment on table e%[1]d is 'an enum'"}}]}`, i)
		_, err := db.Pool.Exec(ctx, fmt.Sprintf(`insert into e%d values ('new')`, i))
		require.NoError(t, err)
		require.NoError(t, live.WaitFor(ctx, create(t, other, fmt.Sprint("after ", i))))
		_, shape, ok := live.Current().World.TrackedTable(domain.QualifiedName{Schema: "public", Name: fmt.Sprintf("e%d", i)})
		require.True(t, ok)
		require.Len(t, shape.Enum, 1, "table %d was looked at again", i)
	}
}
