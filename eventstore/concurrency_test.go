package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"annals/eventstore"
	"annals/eventstore/storetest"
	"annals/migrations/pgtest"
)

const (
	writers    = 64
	writingFor = 6 * time.Second
	testLimit  = 30 * time.Second
)

// node is a Store with a pool of its own, as another process has.
func node(t *testing.T, url string) (*eventstore.Store, *pgxpool.Pool) {
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return eventstore.New(pool, eventstore.Config{PollInterval: 50 * time.Millisecond}), pool
}

// A ledger is what the writers were told: which event is at which position.
type ledger struct {
	mu sync.Mutex
	at map[int64]uuid.UUID
}

func (l *ledger) write(recorded []eventstore.Recorded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range recorded {
		if other, taken := l.at[r.Position]; taken {
			return fmt.Errorf("position %d was given to %s and to %s", r.Position, other, r.ID)
		}
		if i > 0 && r.Position != recorded[i-1].Position+1 {
			return fmt.Errorf("one append has positions %d and %d", recorded[i-1].Position, r.Position)
		}
		l.at[r.Position] = r.ID
	}
	return nil
}

var errChangedMind = errors.New("changed my mind")

// appendSomehow is one transaction of one of the kinds there are.
func appendSomehow(ctx context.Context, store *eventstore.Store, pool *pgxpool.Pool) ([]eventstore.Recorded, error) {
	events := storetest.NewEvents(1 + rand.IntN(4))
	switch rand.IntN(4) {
	case 0:
		return store.Append(ctx, eventstore.Any(), events...)
	case 1:
		head, err := store.Head(ctx)
		if err != nil {
			return nil, err
		}
		return store.Append(ctx, eventstore.At(head.Position), events...) // more often too late than not
	case 2:
		return inTx(ctx, pool, func(tx pgx.Tx) ([]eventstore.Recorded, error) {
			head, err := store.Lock(ctx, tx)
			if err != nil {
				return nil, err
			}
			return store.AppendTx(ctx, tx, eventstore.At(head.Position), events...) // never too late
		})
	default:
		return inTx(ctx, pool, func(tx pgx.Tx) ([]eventstore.Recorded, error) {
			first, err := store.AppendTx(ctx, tx, eventstore.Any(), events[0])
			if err != nil {
				return nil, err
			}
			rest, err := store.AppendTx(ctx, tx, eventstore.Any(), events[1:]...)
			return append(first, rest...), err
		})
	}
}

// inTx rolls a fifth of what it is given back.
func inTx(ctx context.Context, pool *pgxpool.Pool, work func(pgx.Tx) ([]eventstore.Recorded, error)) (recorded []eventstore.Recorded, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if recorded, err = work(tx); err != nil {
			return err
		}
		if rand.IntN(5) == 0 {
			return errChangedMind
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return recorded, nil
}

// A reader collects the log until it has seen a position, and says in which
// order it came.
type reader func(ctx context.Context, until func(position int64) bool) ([]eventstore.Recorded, error)

func polling(store *eventstore.Store, pool *pgxpool.Pool) reader {
	return func(ctx context.Context, until func(int64) bool) (seen []eventstore.Recorded, err error) {
		after := int64(0)
		for !until(after) {
			for r, err := range store.Read(ctx, pool, after, 1+rand.IntN(50)) {
				if err != nil {
					return seen, err
				}
				seen, after = append(seen, r), r.Position
			}
		}
		return seen, nil
	}
}

func following(store *eventstore.Store) reader {
	return func(ctx context.Context, until func(int64) bool) (seen []eventstore.Recorded, err error) {
		for r, err := range store.Follow(ctx, 0) {
			if err != nil {
				return seen, err
			}
			if seen = append(seen, r); until(r.Position) {
				return seen, nil
			}
		}
		return seen, ctx.Err()
	}
}

func subscribed(store *eventstore.Store, name string) reader {
	return func(ctx context.Context, until func(int64) bool) (seen []eventstore.Recorded, err error) {
		subscriber, err := store.Subscriber(eventstore.SubscriberConfig{Name: name})
		if err != nil {
			return nil, err
		}
		defer subscriber.Close()
		messages, err := subscriber.Subscribe(ctx, eventstore.Topic)
		if err != nil {
			return nil, err
		}
		for msg := range messages {
			r, err := eventstore.FromMessage(msg)
			if err != nil {
				return seen, err
			}
			seen = append(seen, r)
			msg.Ack()
			if until(r.Position) {
				return seen, nil
			}
		}
		return seen, ctx.Err()
	}
}

// Two nodes, 64 writers and 8 readers: a position is a commit order, whoever
// reads and however.
func TestEveryReaderSeesEveryEventOnceAndInOrderWhileManyWrite(t *testing.T) {
	url := pgtest.New(t).URL
	store, pool := node(t, url)
	otherStore, otherPool := node(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()

	var end sync.Map // holds the last position, once there is one
	until := func(position int64) bool {
		last, ended := end.Load("last")
		return ended && position >= last.(int64)
	}
	readers := map[string]reader{
		"polling": polling(store, pool), "polling the other node": polling(otherStore, otherPool),
		"following": following(store), "following again": following(store), "following the other node": following(otherStore),
		"subscribed": subscribed(store, ""), "subscribed to the other node": subscribed(otherStore, ""),
		"subscribed by name": subscribed(otherStore, "reader"),
	}
	seen := readAll(ctx, readers, until)

	told := ledger{at: map[int64]uuid.UUID{}}
	require.NoError(t, told.writeFor(ctx, writingFor, func(writer int) (*eventstore.Store, *pgxpool.Pool) {
		if writer%2 == 1 {
			return otherStore, otherPool
		}
		return store, pool
	}))
	// One more, so that everyone hears that it is over.
	last := storetest.Append(t, store, storetest.NewEvent("last"))
	end.Store("last", last[0].Position)
	require.NoError(t, told.write(last))
	// Followers may have seen it before they could know that it was the last.
	require.NoError(t, told.write(storetest.Append(t, store, storetest.NewEvent("after the last"))))

	events, err := seen()
	require.NoError(t, err)
	head := storetest.Verified(t, store)
	require.Equal(t, int64(len(told.at)), head.Position, "positions without gaps, and nothing that was rolled back")
	require.Greater(t, head.Position, int64(writers))
	t.Logf("%d events", head.Position)
	for name, events := range events {
		require.GreaterOrEqual(t, int64(len(events)), head.Position-1, name)
		told.requireInOrder(t, name, events)
	}
}

// readAll starts the readers, and returns what each has seen once all of them
// have read to the end.
func readAll(ctx context.Context, readers map[string]reader, until func(int64) bool) func() (map[string][]eventstore.Recorded, error) {
	var (
		reading errgroup.Group
		mu      sync.Mutex
		seen    = make(map[string][]eventstore.Recorded)
	)
	for name, read := range readers {
		reading.Go(func() error {
			events, err := read(ctx, until)
			mu.Lock()
			defer mu.Unlock()
			seen[name] = events
			return err
		})
	}
	return func() (map[string][]eventstore.Recorded, error) {
		err := reading.Wait()
		return seen, err
	}
}

// writeFor has all writers append for a while, each on its node, and enters
// what they are told.
func (l *ledger) writeFor(ctx context.Context, span time.Duration, nodeOf func(writer int) (*eventstore.Store, *pgxpool.Pool)) error {
	var writing errgroup.Group
	stop := time.Now().Add(span)
	for i := range writers {
		store, pool := nodeOf(i)
		writing.Go(func() error {
			for time.Now().Before(stop) {
				recorded, err := appendSomehow(ctx, store, pool)
				if conflict := (eventstore.VersionConflict{}); err != nil && !errors.As(err, &conflict) && !errors.Is(err, errChangedMind) {
					return err
				}
				if err := l.write(recorded); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return writing.Wait()
}

// requireInOrder claims that a reader saw what the writers were told, from the
// first event on and without a gap.
func (l *ledger) requireInOrder(t *testing.T, name string, events []eventstore.Recorded) {
	t.Helper()
	for i, r := range events {
		require.Equal(t, int64(i)+1, r.Position, name)
		require.Equal(t, l.at[r.Position], r.ID, name)
		if i > 0 {
			require.Equal(t, events[i-1].Hash, r.PrevHash, name)
			require.False(t, r.RecordedAt.Before(events[i-1].RecordedAt), "times follow positions")
		}
	}
}
