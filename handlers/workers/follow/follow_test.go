package follow_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/command"
	"annals/handlers/nodetest"
	"annals/handlers/workers/follow"
	"annals/migrations/pgtest"
	"annals/projections/catalog"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const patience = time.Minute

// node is one with a follower that runs until the test ends.
func node(t *testing.T, db *pgtest.DB, snapshotEvery int64) *nodetest.Node {
	n := nodetest.On(t, db, command.Parts{})
	follower := &follow.Follower{
		Store: n.Store, Live: n.Live, CatchUp: n.Handler.CatchUp, SnapshotEvery: snapshotEvery, Log: slog.New(slog.DiscardHandler),
		Snapshot: func(ctx context.Context, v catalog.Version) error {
			return catalog.SaveSnapshot(ctx, db.Pool, n.Store, v.Position, v.World.Catalog)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- follower.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return n
}

func create(t *testing.T, n *nodetest.Node, name string) int64 {
	t.Helper()
	return n.Do(fmt.Sprintf(`{"type":"create_query_collection","args":{"name":%q,"definition":{"queries":[]}}}`, name))
}

func TestANodeReachesWhatAnotherNodeWrote(t *testing.T) {
	db := pgtest.New(t)
	writer, reader := node(t, db, 0), node(t, db, 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 20 {
		position := create(t, writer, fmt.Sprintf("c%d", i))
		require.NoError(t, reader.Live.WaitFor(ctx, position))
	}
	require.Equal(t, 20, reader.World().Catalog.Len())
}

func TestASnapshotIsTakenEverySoManyEvents(t *testing.T) {
	db := pgtest.New(t)
	n := node(t, db, 5)
	for i := range 12 {
		create(t, n, fmt.Sprintf("c%d", i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, n.Live.WaitFor(ctx, 12))
	require.Eventually(t, func() bool {
		at, _, ok, err := n.Store.SnapshotAtOrBefore(ctx, db.Pool, 12)
		return err == nil && ok && at >= 10
	}, patience, 10*time.Millisecond)
}

// A follower is told of its own node's events before the command that appended
// them has ended. What it would read of the database by then may be newer than
// what the command saw, and than what its caller was told.
func TestANodeKeepsWhatItsCommandsSaw(t *testing.T) {
	db := pgtest.New(t)
	n, other := node(t, db, 0), node(t, db, 0)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range 40 {
		n.Do(fmt.Sprintf(`{"type":"run_sql","args":{"sql":"create table e%[1]d (name text primary key); insert into e%[1]d values ('old')"}}`, i))
		n.Do(fmt.Sprintf(`{"type":"bulk","args":[{"type":"track_table","args":"e%[1]d"},{"type":"set_table_is_enum","args":{"table":"e%[1]d","is_enum":true}},`+
			`{"type":"run_sql","args":{"sql":"comment on table e%[1]d is 'an enum'"}}]}`, i))
		_, err := db.Pool.Exec(ctx, fmt.Sprintf(`insert into e%d values ('new')`, i))
		require.NoError(t, err)
		require.NoError(t, n.Live.WaitFor(ctx, create(t, other, fmt.Sprint("after ", i))))
		_, shape, ok := n.World().TrackedTable(domain.QualifiedName{Schema: "public", Name: fmt.Sprintf("e%d", i)})
		require.True(t, ok)
		require.Len(t, shape.Enum, 1, "table %d was looked at again", i)
	}
}
