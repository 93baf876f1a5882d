package deliver_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/handlers/workers/deliver"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// queuing is a publisher for tests: it queues messages in the lane that the
// topic names.
type queuing struct {
	pool   *pgxpool.Pool
	closed atomic.Bool
}

func (q *queuing) Publish(topic string, messages ...*message.Message) error {
	if q.closed.Load() {
		return fmt.Errorf("closed")
	}
	for _, m := range messages {
		id, err := uuid.Parse(m.UUID)
		if err != nil { // Watermill's own ids are of several forms
			id = uuid.NewSHA1(uuid.NameSpaceOID, []byte(m.UUID))
		}
		if _, err := q.pool.Exec(m.Context(), `with d as (
			insert into annals.deliveries (id, kind, trigger, payload, definition, due_at) values ($1, 'test', '', $3::json, $4::json, now())
			returning id, due_at)
			insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at) select id, due_at, $2, due_at from d`,
			id, topic, quoted(m.Payload), `null`); err != nil {
			return err
		}
	}
	return nil
}

func quoted(payload []byte) string { return fmt.Sprintf("%q", payload) }

func (q *queuing) Close() error { q.closed.Store(true); return nil }

func subscriber(t *testing.T, pool *pgxpool.Pool, node string) *deliver.Subscriber {
	s, err := deliver.NewSubscriber(pool, deliver.SubscriberConfig{
		Config: deliver.Config{Node: node, FetchInterval: 50 * time.Millisecond, Grace: 100 * time.Millisecond},
		Log:    slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s
}

// The parts of Watermill's suite that say nothing of payloads and metadata,
// which are the delivery's own here.
func TestTheSubscriberIsAWatermillSubscriber(t *testing.T) {
	db := pgtest.New(t)
	var nodes atomic.Int32
	construct := func(t *testing.T) (message.Publisher, message.Subscriber) {
		return &queuing{pool: db.Pool}, subscriber(t, db.Pool, fmt.Sprint("node-", nodes.Add(1)))
	}
	features := tests.Features{Persistent: true}
	for name, run := range map[string]func(*testing.T, tests.TestContext, tests.PubSubConstructor){
		"a message of the context":     tests.TestMessageCtx,
		"a subscription that ends":     tests.TestContinueAfterSubscribeClose,
		"closing from many sides":      tests.TestConcurrentClose,
		"messages that are refused":    tests.TestResendOnError,
		"messages that nobody answers": tests.TestNoAck,
		"errors":                       tests.TestContinueAfterErrors,
		"several subscribers":          tests.TestConcurrentSubscribe,
		"a publisher that closes":      tests.TestPublisherClose,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, tests.TestContext{TestID: tests.NewTestID(), Features: features}, construct)
		})
	}
	require.Positive(t, nodes.Load())
}
