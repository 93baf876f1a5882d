package eventstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/eventstore"
	"annals/eventstore/storetest"
)

// outcome is what a call of Append returned.
type outcome struct {
	recorded []eventstore.Recorded
	err      error
}

// crowd lets one append wait for the head and calls come after it, in their
// order; then the head is free. Their outcomes, the first append's being the
// first, are there once they have all returned.
func crowd(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool, calls ...func() outcome) (outcomes func() []outcome) {
	t.Helper()
	results := make([]outcome, len(calls)+1)
	var wg sync.WaitGroup
	lockedWhile(t, store, pool, func() {
		wg.Go(func() { results[0] = appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("first"))() })
		until(t, func() bool { return waitingForLocks(t, pool) == 1 })
		for i, call := range calls {
			wg.Go(func() { results[i+1] = call() })
			until(t, func() bool { return eventstore.Waiting(store) == i+1 })
		}
	})
	return func() []outcome { wg.Wait(); return results }
}

func lockedWhile(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool, do func()) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := store.Lock(t.Context(), tx)
		do()
		return err
	}))
}

func appending(ctx context.Context, store *eventstore.Store, expected eventstore.Expected, events ...eventstore.Event) func() outcome {
	return func() outcome {
		recorded, err := store.Append(ctx, expected, events...)
		return outcome{recorded, err}
	}
}

func until(t testing.TB, fact func() bool) {
	t.Helper()
	require.Eventually(t, fact, 20*time.Second, time.Millisecond)
}

func waitingForLocks(t testing.TB, pool *pgxpool.Pool) (n int) {
	require.NoError(t, pool.QueryRow(t.Context(),
		`select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n))
	return n
}

func commits(t *testing.T, pool *pgxpool.Pool) (n int) {
	require.NoError(t, pool.QueryRow(t.Context(), `select count(distinct xmin::text) from annals.events`).Scan(&n))
	return n
}

func TestCallersThatComeDuringACommitShareTheNextOne(t *testing.T) {
	store, pool := open(t)
	any := eventstore.Any()
	outcomes := crowd(t, store, pool,
		appending(t.Context(), store, any, storetest.NewEvents(3)...),
		appending(t.Context(), store, any, storetest.NewEvent("a")),
		appending(t.Context(), store, any, storetest.NewEvents(2)...),
	)()
	for i, want := range [][]int64{{1}, {2, 3, 4}, {5}, {6, 7}} {
		require.NoError(t, outcomes[i].err)
		require.Equal(t, want, positionsOf(outcomes[i].recorded))
	}
	require.Equal(t, 2, commits(t, pool))
	storetest.Verified(t, store)
}

func TestACommitIsNotSharedBeyondItsLimits(t *testing.T) {
	store, pool := open(t)
	large := storetest.NewEvent("large")
	large.Changes = []byte(`"` + strings.Repeat("x", eventstore.MaxGroupBytes/2) + `"`)
	again := large
	again.ID = storetest.NewEvent("large").ID
	outcomes := crowd(t, store, pool,
		appending(t.Context(), store, eventstore.Any(), large),
		appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("small")),
		appending(t.Context(), store, eventstore.Any(), again),
	)()
	for i, o := range outcomes {
		require.NoError(t, o.err)
		require.Equal(t, []int64{int64(i) + 1}, positionsOf(o.recorded))
	}
	require.Equal(t, 3, commits(t, pool))
}

func TestAConflictInASharedCommitIsOnlyItsCallers(t *testing.T) {
	store, pool := open(t)
	outcomes := crowd(t, store, pool,
		appending(t.Context(), store, eventstore.At(0), storetest.NewEvent("too late")),
		appending(t.Context(), store, eventstore.At(1), storetest.NewEvents(2)...),
		appending(t.Context(), store, eventstore.At(1), storetest.NewEvent("too late as well")),
		appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("anywhere")),
	)()
	require.ErrorIs(t, outcomes[1].err, eventstore.VersionConflict{Expected: 0, Actual: 1})
	require.Equal(t, []int64{2, 3}, positionsOf(outcomes[2].recorded))
	require.ErrorIs(t, outcomes[3].err, eventstore.VersionConflict{Expected: 1, Actual: 3})
	require.Equal(t, []int64{4}, positionsOf(outcomes[4].recorded))
	require.Equal(t, 2, commits(t, pool))
	require.EqualValues(t, 4, storetest.Verified(t, store).Position)
}

func TestAnEventTheDatabaseRefusesFailsOnlyItsCaller(t *testing.T) {
	store, pool := open(t)
	malformed := storetest.NewEvent("malformed")
	malformed.Args = []byte(`{`)
	outcomes := crowd(t, store, pool,
		appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("good")),
		appending(t.Context(), store, eventstore.Any(), malformed),
		appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("good as well")),
	)()
	require.Equal(t, []int64{2}, positionsOf(outcomes[1].recorded))
	require.Error(t, outcomes[2].err)
	require.Equal(t, []int64{3}, positionsOf(outcomes[3].recorded))
	require.EqualValues(t, 3, storetest.Verified(t, store).Position)
}

func TestACallerWhoStopsWaitingHasWrittenNothing(t *testing.T) {
	store, pool := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var first, impatient outcome
	var wg sync.WaitGroup
	lockedWhile(t, store, pool, func() {
		wg.Go(func() { first = appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("first"))() })
		until(t, func() bool { return waitingForLocks(t, pool) == 1 })
		wg.Go(func() { impatient = appending(ctx, store, eventstore.Any(), storetest.NewEvent("impatient"))() })
		until(t, func() bool { return eventstore.Waiting(store) == 1 })
		cancel()
		until(t, func() bool { return eventstore.Waiting(store) == 0 })
	})
	wg.Wait()
	require.NoError(t, first.err)
	require.ErrorIs(t, impatient.err, context.Canceled)
	require.Empty(t, impatient.recorded)
	require.EqualValues(t, 1, storetest.Verified(t, store).Position)
}

func TestACallerWhoLeavesTheServerWaitingHasWrittenNothing(t *testing.T) {
	store, pool := open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	bored := errors.New("bored")
	var left outcome
	var wg sync.WaitGroup
	lockedWhile(t, store, pool, func() {
		wg.Go(func() { left = appending(ctx, store, eventstore.Any(), storetest.NewEvent("left"))() })
		until(t, func() bool { return waitingForLocks(t, pool) == 1 })
		cancel(bored)
		wg.Wait()
		until(t, func() bool { return waitingForLocks(t, pool) == 0 })
	})
	require.ErrorIs(t, left.err, bored)
	require.Equal(t, []int64{1}, positionsOf(storetest.Append(t, store, storetest.NewEvent("next"))), "on a connection that answers for itself")
	require.EqualValues(t, 1, storetest.Verified(t, store).Position)
}

func TestAServerThatGoesAwayInAnAppendIsAnErrorOfThatAppendAlone(t *testing.T) {
	store, pool := open(t)
	var lost outcome
	var wg sync.WaitGroup
	lockedWhile(t, store, pool, func() {
		wg.Go(func() { lost = appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("lost"))() })
		until(t, func() bool { return waitingForLocks(t, pool) == 1 })
		_, err := pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
		require.NoError(t, err)
		wg.Wait()
	})
	var refused *pgconn.PgError
	require.ErrorAs(t, lost.err, &refused)
	require.Equal(t, "57P01", refused.Code, "the server's own words, not only that nothing came")
	require.Equal(t, []int64{1}, positionsOf(storetest.Append(t, store, storetest.NewEvent("next"))))
}

func TestALeaderWhoseCallerIsGoneStillCommitsForTheOthers(t *testing.T) {
	store, pool := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	// Somebody holds the leader's position, so that the commit can be found half done.
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `insert into annals.events values (2, gen_random_uuid(), '', '{}', '{}', '{}', null, null, null, 1, now(), '', '')`)
	require.NoError(t, err)
	outcomes := crowd(t, store, pool,
		appending(ctx, store, eventstore.Any(), storetest.NewEvent("leader")),
		appending(t.Context(), store, eventstore.Any(), storetest.NewEvent("other")),
	)
	until(t, func() bool { return eventstore.Waiting(store) == 0 && waitingForLocks(t, pool) == 1 })
	cancel()
	require.NoError(t, holder.Rollback(t.Context()))
	for i, o := range outcomes() {
		require.NoError(t, o.err)
		require.Equal(t, []int64{int64(i) + 1}, positionsOf(o.recorded))
	}
}

func positionsOf(events []eventstore.Recorded) []int64 {
	out := []int64{}
	for _, e := range events {
		out = append(out, e.Position)
	}
	return out
}
