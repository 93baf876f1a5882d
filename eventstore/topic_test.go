package eventstore_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"annals/eventstore"
	"annals/eventstore/storetest"
)

func subscribe(t *testing.T, store *eventstore.Store, config eventstore.SubscriberConfig) (<-chan *message.Message, message.Subscriber) {
	t.Helper()
	subscriber, err := store.Subscriber(config)
	require.NoError(t, err)
	t.Cleanup(func() { subscriber.Close() })
	messages, err := subscriber.Subscribe(t.Context(), eventstore.Topic)
	require.NoError(t, err)
	return messages, subscriber
}

// next is the next message's event; the message is not acked yet.
func next(t *testing.T, messages <-chan *message.Message) (*message.Message, eventstore.Recorded) {
	t.Helper()
	select {
	case msg, ok := <-messages:
		require.True(t, ok, "the subscription ended")
		recorded, err := eventstore.FromMessage(msg)
		require.NoError(t, err)
		return msg, recorded
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no message came")
		return nil, eventstore.Recorded{}
	}
}

// take acks the next messages and returns their positions.
func take(t *testing.T, messages <-chan *message.Message, n int) (positions []int64) {
	t.Helper()
	for range n {
		msg, recorded := next(t, messages)
		positions = append(positions, recorded.Position)
		msg.Ack()
	}
	return positions
}

// checkpointReaches waits for the commit that follows an ack.
func checkpointReaches(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool, name string, position int64) {
	t.Helper()
	until(t, func() bool {
		at, err := store.LoadCheckpoint(t.Context(), pool, name)
		require.NoError(t, err)
		return at == position
	})
}

func TestAMessageBringsItsWholeEvent(t *testing.T) {
	store, _ := open(t)
	e := storetest.NewEvent("full")
	e.Comment, e.Batch, e.BatchIndex, e.Changes = "because", uuid.Must(uuid.NewV7()), 2, []byte(`[{"n":12345678901234567890.10,"html":"<&>"}]`)
	recorded := storetest.Append(t, store, e, storetest.NewEvent("plain"))
	messages, _ := subscribe(t, store, eventstore.SubscriberConfig{})
	for _, want := range recorded {
		msg, got := next(t, messages)
		require.Equal(t, want.ID.String(), msg.UUID)
		require.Equal(t, want.Type, msg.Metadata.Get(eventstore.MetadataType))
		require.NotEmpty(t, msg.Metadata.Get(eventstore.MetadataPosition))
		require.Len(t, msg.Metadata.Get(eventstore.MetadataHash), 64)
		require.JSONEq(t, string(want.Changes), string(got.Changes))
		want.Changes, got.Changes = nil, nil
		require.Equal(t, want, got)
		msg.Ack()
	}
}

func TestEverySubscriptionWithoutANameIsAReaderOfItsOwn(t *testing.T) {
	store, pool := open(t)
	storetest.Append(t, store, storetest.NewEvents(4)...)
	first, subscriber := subscribe(t, store, eventstore.SubscriberConfig{After: 2})
	second, err := subscriber.Subscribe(t.Context(), eventstore.Topic)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4}, take(t, first, 2))
	storetest.Append(t, store, storetest.NewEvent("more"))
	require.Equal(t, []int64{3, 4, 5}, take(t, second, 3))
	require.Equal(t, []int64{5}, take(t, first, 1))
	var rows int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from annals.checkpoints`).Scan(&rows))
	require.Zero(t, rows, "nothing is left of a reader in memory")
}

func TestANamedReaderGoesOnWhereItWas(t *testing.T) {
	store, pool := open(t)
	storetest.Append(t, store, storetest.NewEvents(6)...)
	config := eventstore.SubscriberConfig{Name: "reader", After: 1, BatchSize: 2}
	messages, subscriber := subscribe(t, store, config)
	require.Equal(t, []int64{2, 3}, take(t, messages, 2))
	checkpointReaches(t, store, pool, "reader", 3)
	require.NoError(t, subscriber.Close())
	messages, _ = subscribe(t, store, config)
	require.Equal(t, []int64{4, 5, 6}, take(t, messages, 3))
}

func TestAnAckCountsUpToItsOwnEventAndNotToTheEndOfItsBatch(t *testing.T) {
	store, pool := open(t)
	storetest.Append(t, store, storetest.NewEvents(10)...)
	config := eventstore.SubscriberConfig{Name: "reader", BatchSize: 10}
	messages, subscriber := subscribe(t, store, config)
	require.Equal(t, []int64{1, 2, 3}, take(t, messages, 3))
	next(t, messages) // and never acked
	require.NoError(t, subscriber.Close())
	at, err := store.LoadCheckpoint(t.Context(), pool, "reader")
	require.NoError(t, err)
	require.LessOrEqual(t, at, int64(3))
	messages, _ = subscribe(t, store, config)
	require.Equal(t, at+1, take(t, messages, 1)[0])
}

func TestAMissedAckDeadlineBringsTheEventAgainAndNotThoseBefore(t *testing.T) {
	store, pool := open(t)
	storetest.Append(t, store, storetest.NewEvents(3)...)
	messages, _ := subscribe(t, store, eventstore.SubscriberConfig{Name: "reader", AckDeadline: 50 * time.Millisecond})
	require.Equal(t, []int64{1, 2}, take(t, messages, 2))
	next(t, messages) // and never acked
	require.Equal(t, []int64{3}, take(t, messages, 1))
	checkpointReaches(t, store, pool, "reader", 3)
}

func TestOfTwoReadersWithOneNameTheSecondTakesOverFromTheFirst(t *testing.T) {
	store, pool := open(t)
	other := eventstore.New(pool, eventstore.Config{PollInterval: 10 * time.Millisecond})
	config := eventstore.SubscriberConfig{Name: "reader", AckDeadline: time.Minute}
	storetest.Append(t, store, storetest.NewEvents(3)...)
	working, subscriber := subscribe(t, store, config)
	held, recorded := next(t, working)
	require.EqualValues(t, 1, recorded.Position)
	standby, _ := subscribe(t, other, config)
	select {
	case <-standby:
		require.FailNow(t, "two readers of one name work at once")
	case <-time.After(100 * time.Millisecond): // some ten looks of the other
	}
	held.Ack()
	next(t, working)
	require.NoError(t, subscriber.Close())
	at, err := store.LoadCheckpoint(t.Context(), pool, "reader")
	require.NoError(t, err)
	require.Equal(t, at+1, take(t, standby, 1)[0])
}

func TestWhatAFailedHandlerWroteInTheTransactionIsUndone(t *testing.T) {
	store, pool := open(t)
	_, err := pool.Exec(t.Context(), `create table handled (id uuid, attempt int)`)
	require.NoError(t, err)
	storetest.Append(t, store, storetest.NewEvents(3)...)
	subscriber, err := store.Subscriber(eventstore.SubscriberConfig{Name: "reader", ResendInterval: time.Millisecond})
	require.NoError(t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	attempts := map[string]int{}
	router.AddConsumerHandler("count", eventstore.Topic, subscriber, func(msg *message.Message) error {
		attempts[msg.UUID]++
		return eventstore.InTx(msg, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `insert into handled values ($1, $2)`, msg.UUID, attempts[msg.UUID])
			switch {
			case err != nil:
				return err
			case attempts[msg.UUID] == 1:
				return errors.New("changed its mind")
			case attempts[msg.UUID] == 2:
				_, err = tx.Exec(ctx, `select 1/0`) // which aborts what it is in
			}
			return err
		})
	})
	var running sync.WaitGroup
	running.Go(func() { router.Run(t.Context()) })
	checkpointReaches(t, store, pool, "reader", 3)
	require.NoError(t, router.Close())
	running.Wait()
	rows, err := pool.Query(t.Context(), `select attempt from handled`)
	require.NoError(t, err)
	stayed, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 3}, stayed)
}

func TestInTxNeedsAMessageOfTheLog(t *testing.T) {
	err := eventstore.InTx(message.NewMessage("1", nil), func(context.Context, pgx.Tx) error { return nil })
	require.Error(t, err)
}

func TestASubscriberKnowsOneTopicAndNoneOnceClosed(t *testing.T) {
	store, _ := open(t)
	_, err := store.Subscriber(eventstore.SubscriberConfig{After: -1})
	require.Error(t, err)
	subscriber, err := store.Subscriber(eventstore.SubscriberConfig{})
	require.NoError(t, err)
	_, err = subscriber.Subscribe(t.Context(), "other")
	require.Error(t, err)
	messages, err := subscriber.Subscribe(t.Context(), eventstore.Topic)
	require.NoError(t, err)
	require.NoError(t, subscriber.Close())
	_, more := <-messages
	require.False(t, more)
	_, err = subscriber.Subscribe(t.Context(), eventstore.Topic)
	require.Error(t, err)
	require.NoError(t, subscriber.Close())
}

func TestAnAppendWakesThoseWhoWaitForIt(t *testing.T) {
	_, pool := open(t)
	patient := eventstore.New(pool, eventstore.Config{PollInterval: time.Hour})
	messages, _ := subscribe(t, patient, eventstore.SubscriberConfig{})
	followed := make(chan int64)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for recorded := range patient.Follow(ctx, 0) {
			followed <- recorded.Position
		}
		close(followed)
	}()
	writer := eventstore.New(pool, eventstore.Config{}) // another node
	for position := int64(1); position <= 20; position++ {
		storetest.Append(t, writer, storetest.NewEvent("e"))
		require.Equal(t, []int64{position}, take(t, messages, 1))
		require.Equal(t, position, <-followed)
	}
	cancel()
	_, more := <-followed
	require.False(t, more)
}

func TestOfAppendsThatFollowEachOtherTheNodesAreToldTheLast(t *testing.T) {
	store, pool := open(t)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `listen annals_events`)
	require.NoError(t, err)
	const appends = 50
	for range appends {
		storetest.Append(t, store, storetest.NewEvent("e"))
	}
	told := 0
	for before := 0; told < appends; before = told {
		n, err := conn.Conn().WaitForNotification(t.Context())
		require.NoError(t, err)
		told, err = strconv.Atoi(n.Payload)
		require.NoError(t, err)
		require.Greater(t, told, before, "none is told of twice, or late")
	}
	require.Equal(t, appends, told)
}

func TestWhoIsNotWokenLooksByHimself(t *testing.T) {
	_, pool := open(t)
	store := eventstore.New(pool, eventstore.Config{PollInterval: 5 * time.Millisecond})
	// In this schema nobody is notified of anything.
	_, err := pool.Exec(t.Context(), `create schema quiet; create function quiet.pg_notify(text, text) returns void language sql as ''`)
	require.NoError(t, err)
	messages, _ := subscribe(t, store, eventstore.SubscriberConfig{Name: "reader"})
	appendQuietly := func() {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `set local search_path = quiet, pg_catalog`); err != nil {
				return err
			}
			_, err := store.AppendTx(t.Context(), tx, eventstore.Any(), storetest.NewEvents(2)...)
			return err
		})
		require.NoError(t, err)
	}
	appendQuietly()
	for recorded, err := range store.Follow(t.Context(), 0) {
		require.NoError(t, err)
		if recorded.Position == 8 {
			break
		}
		if recorded.Position%2 == 0 {
			appendQuietly()
		}
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8}, take(t, messages, 8))
}

func TestAFollowerSurvivesTheLossOfItsConnections(t *testing.T) {
	_, pool := open(t)
	store := eventstore.New(pool, eventstore.Config{PollInterval: 5 * time.Millisecond})
	storetest.Append(t, store, storetest.NewEvent("e"))
	last := int64(0)
	for recorded, err := range store.Follow(t.Context(), 0) {
		if err != nil {
			continue // it tries again
		}
		require.Equal(t, last+1, recorded.Position)
		if last = recorded.Position; last == 5 {
			break
		}
		_, err = pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
		require.NoError(t, err)
		pool.Reset()
		storetest.Append(t, store, storetest.NewEvent("e"))
	}
}

func TestNothingIsLeftOfThoseWhoStopListening(t *testing.T) {
	store, pool := open(t)
	storetest.Append(t, store, storetest.NewEvents(2)...)
	before := goleak.IgnoreCurrent()
	messages, subscriber := subscribe(t, store, eventstore.SubscriberConfig{Name: "reader"})
	take(t, messages, 1)
	for range store.Follow(t.Context(), 0) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	abandoned, err := store.Subscriber(eventstore.SubscriberConfig{})
	require.NoError(t, err)
	_, err = abandoned.Subscribe(ctx, eventstore.Topic)
	require.NoError(t, err)
	cancel() // and never closed
	require.NoError(t, subscriber.Close())
	goleak.VerifyNone(t, before)
	until(t, func() bool {
		var listening int
		require.NoError(t, pool.QueryRow(t.Context(),
			`select count(*) from pg_stat_activity where datname = current_database() and query like 'listen %'`).Scan(&listening))
		return listening == 0
	})
}
