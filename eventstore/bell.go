package eventstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// channel is where an append says that there is something to read.
const channel = "annals_events"

// A bell tells the followers of a Store that events were appended, by whichever
// node. It holds a connection of its own for as long as anyone listens; the
// first follower starts that and the last one ends it. It may ring in vain, and
// it may fail to ring: followers look from time to time anyway.
type bell struct {
	pool  *pgxpool.Pool
	retry time.Duration

	mu        sync.Mutex
	listeners map[chan struct{}]bool
	stop      func() // ends the goroutine and waits for it
}

func newBell(pool *pgxpool.Pool, retry time.Duration) *bell {
	return &bell{pool: pool, retry: retry, listeners: map[chan struct{}]bool{}}
}

// listen returns a channel that receives when the bell rings; several rings that
// nobody took in between are one. leave must be called.
func (b *bell) listen() (rings <-chan struct{}, leave func()) {
	listener := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.listeners) == 0 {
		b.start()
	}
	b.listeners[listener] = true
	return listener, func() { b.leave(listener) }
}

func (b *bell) leave(listener chan struct{}) {
	b.mu.Lock()
	delete(b.listeners, listener)
	stop := func() {}
	if len(b.listeners) == 0 {
		stop = b.stop
	}
	b.mu.Unlock()
	stop()
}

func (b *bell) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			b.hear(ctx)
			pause(ctx, b.retry, nil)
		}
	}()
	b.stop = func() { cancel(); <-done }
}

// hear rings for every notification, until the connection or ctx ends. Why it
// ended is not worth a word: whoever polls meets the same and says so.
func (b *bell) hear(ctx context.Context) {
	pooled, err := b.pool.Acquire(ctx)
	if err != nil {
		return
	}
	// Taken out of the pool for good: it was made like the others of the pool
	// and does not count as one of them.
	conn := pooled.Hijack()
	defer hangUp(conn)
	_, err = conn.Exec(ctx, "listen "+channel)
	for err == nil {
		b.ring() // the first time, for what was appended before
		_, err = conn.WaitForNotification(ctx)
	}
}

func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), hangUpLimit)
	defer cancel()
	_ = conn.Close(ctx) // it is of no more use either way
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for listener := range b.listeners {
		select {
		case listener <- struct{}{}:
		default:
		}
	}
}

// pause waits until the bell rings, a time has passed or ctx is done.
func pause(ctx context.Context, d time.Duration, rings <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-rings:
	case <-timer.C:
	}
}
