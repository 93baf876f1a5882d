package eventstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
)

// Topic is the one topic that a Subscriber knows: the log.
const Topic = "annals.events"

const (
	// DefaultSubscriberBatch is how many events a subscriber reads at once.
	DefaultSubscriberBatch = 100
	// DefaultAckDeadline is how long a handler may take for one event.
	DefaultAckDeadline = 30 * time.Second
	// DefaultResendInterval is how long a refused event waits.
	DefaultResendInterval = 100 * time.Millisecond
)

// SubscriberConfig says who reads the log as a topic.
type SubscriberConfig struct {
	// Name makes a durable reader: its position is a checkpoint of that name,
	// moved in the transaction that its handlers may write in (see [InTx]). Of
	// several with one name, on any nodes, one works and the others stand by.
	//
	// Without a name every subscription is a reader of its own, whose position is
	// in memory: for what every node must hear.
	Name string

	// After is where an unnamed reader begins, and a named one the first time.
	After int64

	BatchSize      int           // DefaultSubscriberBatch if zero
	AckDeadline    time.Duration // DefaultAckDeadline if zero
	ResendInterval time.Duration // DefaultResendInterval if zero

	Logger watermill.LoggerAdapter // none if nil
}

func (c *SubscriberConfig) setDefaults() {
	if c.BatchSize <= 0 {
		c.BatchSize = DefaultSubscriberBatch
	}
	if c.AckDeadline <= 0 {
		c.AckDeadline = DefaultAckDeadline
	}
	if c.ResendInterval <= 0 {
		c.ResendInterval = DefaultResendInterval
	}
	if c.Logger == nil {
		c.Logger = watermill.NopLogger{}
	}
}

// Subscriber is the log as a Watermill topic, read by watermill-sql from the
// table of events itself. A message is one event, its UUID the event's id; see
// [FromMessage] for the rest. Messages come one by one in the order of
// positions, the next when the last was acked.
//
// A named reader is given an event again if its handler did not ack in time, if
// the process died before, or if the transaction failed: at least once, and
// exactly once as far as its handler writes through [InTx]. A nacked message
// comes again after a moment and holds up those behind it. An unnamed reader is
// given each event once for every nack more; its handlers should not write in
// the transaction, whose end does not take the position back.
//
// While a handler works, its subscription holds one connection of the pool and a
// transaction. So it must not wait for the outside world, and the pool must be
// larger than the number of subscriptions.
//
// The topic has no publisher: events are appended.
func (s *Store) Subscriber(config SubscriberConfig) (message.Subscriber, error) {
	config.setDefaults()
	if config.After < 0 {
		return nil, fmt.Errorf("subscribe after position %d: positions begin at 1", config.After)
	}
	return &subscriber{store: s, config: config}, nil
}

// A subscriber makes a watermill-sql subscriber for every subscription, because
// each has a position and a bell of its own.
type subscriber struct {
	store  *Store
	config SubscriberConfig

	mu     sync.Mutex
	closed bool
	ends   []func() error
}

var errSubscriberClosed = errors.New("the subscriber is closed")

func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic != Topic {
		return nil, fmt.Errorf("subscribe to %q: the only topic is %q", topic, Topic)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errSubscriberClosed
	}
	// Cancelled by Close: only so does a subscription let go of a query it waits for.
	ctx, cancel := context.WithCancel(ctx)
	rings, leave := s.store.bell.listen()
	leave = sync.OnceFunc(leave)
	context.AfterFunc(ctx, leave)
	inner, err := s.inner(ctx, rings)
	var messages <-chan *message.Message
	if err == nil {
		messages, err = inner.Subscribe(ctx, topic)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe to the log: %w", err)
	}
	s.ends = append(s.ends, func() error {
		defer leave()
		cancel()
		return inner.Close()
	})
	return messages, nil
}

func (s *subscriber) inner(ctx context.Context, rings <-chan struct{}) (*wsql.Subscriber, error) {
	var offsets wsql.OffsetsAdapter = namedOffsets{name: s.config.Name, after: s.config.After}
	if s.config.Name == "" {
		offsets = &memoryOffsets{position: s.config.After}
	}
	return wsql.NewSubscriber(wsql.BeginnerFromPgx(s.store.pool), wsql.SubscriberConfig{
		ConsumerGroup:  s.config.Name,
		AckDeadline:    &s.config.AckDeadline,
		ResendInterval: s.config.ResendInterval,
		BackoffManager: patience{ctx: ctx, interval: s.store.config.PollInterval, rings: rings},
		SchemaAdapter:  topicSchema{batch: s.config.BatchSize},
		OffsetsAdapter: offsets,
	}, s.config.Logger)
}

// Close ends all subscriptions and waits for them. A message not yet acked is
// not handled.
func (s *subscriber) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, end := range s.ends {
		errs = append(errs, end())
	}
	s.ends = nil
	return errors.Join(errs...)
}

// InTx runs work in the transaction in which the position of a named reader
// moves, in a savepoint of its own: what it wrote stays if it returns nil and is
// undone otherwise, also when the message comes again in the same transaction.
func InTx(msg *message.Message, work func(context.Context, pgx.Tx) error) error {
	outer, ok := wsql.TxFromContext(msg.Context())
	if !ok {
		return errors.New("the message does not come from the log: it has no transaction")
	}
	tx, ok := outer.(*wsql.PgxTx)
	if !ok {
		return fmt.Errorf("the message's transaction is a %T", outer)
	}
	return pgx.BeginFunc(msg.Context(), tx.Tx, func(savepoint pgx.Tx) error {
		return work(msg.Context(), savepoint)
	})
}

// patience is what a subscription does when there is nothing to read. Watermill
// asks it in the subscription's goroutine how long to sleep, and could not be
// woken from that: so it waits itself.
type patience struct {
	ctx      context.Context // the subscription's
	interval time.Duration
	rings    <-chan struct{}
}

func (p patience) HandleError(logger watermill.LoggerAdapter, idle bool, err error) time.Duration {
	switch {
	case p.ctx.Err() != nil: // closing: errors are its echo
	case err != nil:
		logger.Error("Reading the log as a topic failed; trying again", err, watermill.LogFields{"wait": p.interval})
		pause(p.ctx, p.interval, nil)
	case idle:
		pause(p.ctx, p.interval, p.rings)
	}
	return 0
}
