package deliver

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain/delivery"
)

// How often the queue is looked at.
const (
	// busyInterval is the time between two looks while there is work, and for a
	// while after that; then it doubles up to the fetch interval. Changes that
	// others make are found by it.
	busyInterval = 20 * time.Millisecond
	// attentive is that while.
	attentive = 10 * time.Second
	// wakeGap is the least time between two looks, however often somebody wakes.
	wakeGap = 2 * time.Millisecond
	// refill is how long free slots of a busy lane wait for company, so that
	// one claim fills several. When half of what it has in hand is over, they do
	// not wait.
	refill = 3 * time.Millisecond
	// handedOver is how many messages may be handed over that the router has not
	// taken: to wait for each would be a switch of goroutines for each.
	handedOver = 256
	// lastWords is how long a cancelled call may take to say so.
	lastWords = time.Second
)

var errClosed = errors.New("the subscriber of deliveries is closed")

// SubscriberConfig is how a subscriber works.
type SubscriberConfig struct {
	Config
	// Limits of a lane's deliveries. Nil: none.
	Limits func(lane string) delivery.Limits
	// Lease is how long a lane's deliveries may take; the margin comes on top.
	// Nil: the margin alone.
	Lease func(lane string) time.Duration
	Log   *slog.Logger

	// settled: whoever listens begins each message in its turn, says what came
	// of it, and nobody has to wait for its acknowledgement.
	settled bool
	meters  *meters
}

// Subscriber gives what is due as messages. A message is acknowledged when its
// delivery is settled; one that is refused, or acknowledged after its context
// ended, without an outcome is given back to the queue.
type Subscriber struct {
	config   SubscriberConfig
	queue    *queue
	slots    *slots
	record   *recorder
	passages passages
	wake     chan struct{}

	// claiming ends when the subscriber is closed, sending after a grace.
	claiming, sending         context.Context
	stopClaiming, stopSending context.CancelFunc
	closing                   sync.Once

	mu       sync.Mutex
	closed   bool
	claimers sync.WaitGroup // loops that claim
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber makes a subscriber. Whoever gets one closes it.
// It opens connections of its own to the pool's database.
func NewSubscriber(pool *pgxpool.Pool, c SubscriberConfig) (*Subscriber, error) {
	if c.Limits == nil {
		c.Limits = func(string) delivery.Limits { return delivery.Limits{} }
	}
	if c.Lease == nil {
		c.Lease = func(string) time.Duration { return 0 }
	}
	if c.meters == nil {
		c.meters = newMeters(nil, nil)
	}
	c.FetchInterval = cmp.Or(c.FetchInterval, DefaultFetchInterval)
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	c.LeaseMargin = cmp.Or(c.LeaseMargin, DefaultLeaseMargin)
	q, err := newQueue(pool, c.Node, c.Schema)
	if err != nil {
		return nil, err
	}
	s := &Subscriber{config: c, queue: q, slots: newSlots(c.Config, c.Limits), wake: make(chan struct{}, 1)}
	s.slots.ahead = c.settled
	s.passages.open = map[*passage]struct{}{}
	s.record = newRecorder(q, c.Log, c.meters)
	s.claiming, s.stopClaiming = context.WithCancel(context.Background())
	s.sending, s.stopSending = context.WithCancel(context.Background())
	context.AfterFunc(s.sending, func() { time.AfterFunc(lastWords, s.passages.giveUp) })
	c.meters.watch(s.slots)
	return s, nil
}

// Subscribe gives what is due in a lane, or in [AllLanes], until the context
// ends or the subscriber is closed.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	out := make(chan *message.Message, s.room())
	loop, stop := context.WithCancel(ctx)
	context.AfterFunc(s.claiming, stop)
	s.claimers.Add(1)
	go func() {
		defer s.claimers.Done()
		defer close(out)
		defer stop()
		c := &claimer{Subscriber: s, topic: topic, out: out, base: context.WithoutCancel(ctx), behind: newBacklog(s.config.Log, s.config.FetchInterval)}
		c.run(loop)
	}()
	return out, nil
}

// room is how many messages may be on their way to whoever listens. Only one
// who settles each gives back those that he never looked at.
func (s *Subscriber) room() int {
	if s.config.settled {
		return handedOver
	}
	return 0
}

// Close stops claiming, waits for what is on its way, at most for the grace,
// and gives back the rest.
func (s *Subscriber) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.stopClaiming()
		s.claimers.Wait()
		grace := time.AfterFunc(s.config.Grace, s.stopSending)
		defer grace.Stop()
		s.passages.wait()
		s.stopSending()
		s.record.close()
		s.queue.close()
	})
	return nil
}

// Wake says that something was queued just now.
func (s *Subscriber) Wake() { signal(s.wake) }

// claimer is the loop of one subscription.
type claimer struct {
	*Subscriber
	topic string
	out   chan<- *message.Message
	base  context.Context // of the messages

	behind *backlog

	full  []string // lanes of which the last claim took all that it could
	idle  time.Duration
	found time.Time // when there was work for the last time
}

// pause is what a look at the queue found out about the time until the next.
type pause struct {
	// claimed is how many deliveries were.
	claimed int
	// soonest is when the first delivery falls due that is not due yet.
	soonest time.Duration
	// stuffed says that lanes have more than they have slots for.
	stuffed bool
}

func (c *claimer) run(ctx context.Context) {
	c.found = time.Now() // what a stopped node left over may be expected
	for ctx.Err() == nil {
		found, err := c.runOnce(ctx)
		if err != nil && ctx.Err() == nil {
			c.config.Log.Warn("cannot look for deliveries; trying again", "error", err)
		}
		c.rest(ctx, found)
	}
}

// rest waits for the next look.
func (c *claimer) rest(ctx context.Context, found pause) {
	if found.claimed > 0 {
		c.found = time.Now()
	}
	if time.Since(c.found) < attentive {
		c.idle = busyInterval
	} else {
		c.idle = min(max(2*c.idle, busyInterval), c.config.FetchInterval)
	}
	wait := min(c.idle, max(found.soonest, wakeGap))
	var freed, half <-chan struct{}
	if found.stuffed {
		freed, half = c.slots.freed, c.slots.half
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-c.wake:
		c.full = nil
		gather(ctx, wakeGap, nil)
	case <-half:
	case <-freed:
		gather(ctx, refill, half)
	}
}

// gather waits for company, at most for so long.
func gather(ctx context.Context, length time.Duration, enough <-chan struct{}) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-enough:
	}
}

// runOnce looks once, and hands over what it claims.
func (c *claimer) runOnce(ctx context.Context) (pause, error) {
	found := pause{soonest: c.config.FetchInterval}
	lanes, all := c.full, len(c.full) == 0
	if all {
		due, soonest, err := c.queue.lanes(ctx, c.topic, c.config.FetchInterval)
		if err != nil {
			return found, err
		}
		lanes, found.soonest = due, soonest
	}
	c.full = nil
	shares := c.slots.allot(lanes)
	found.stuffed = len(shares) < len(lanes)
	leases := make([]lease, 0, len(shares))
	for _, one := range shares {
		if one.free > 0 {
			leases = append(leases, lease{one.lane, one.free, c.config.Lease(one.lane) + c.config.LeaseMargin})
		}
	}
	if len(leases) == 0 {
		c.behind.looked(look{lanes: lanes, all: all}, time.Now())
		return found, nil
	}
	jobs, err := c.queue.claim(context.WithoutCancel(ctx), leases) // whoever gives up would not know what he has claimed
	if err != nil {
		return found, err
	}
	found.claimed = len(jobs)
	c.remember(leases, jobs, &found)
	c.behind.looked(look{lanes, all, leases, jobs}, time.Now())
	c.handOver(ctx, jobs)
	return found, nil
}

// remember notes the lanes that may hold more.
func (c *claimer) remember(leases []lease, jobs []Job, found *pause) {
	c.full = filled(leases, jobs)
	found.stuffed = found.stuffed || len(c.full) > 0
	// A lane without slots is not forgotten: only a look at all finds it again.
	if len(c.full) < len(leases) {
		c.full = nil
	}
}

// filled are the lanes of which as much was claimed as was asked for.
func filled(leases []lease, jobs []Job) (lanes []string) {
	got := map[string]int{}
	for _, j := range jobs {
		got[j.Lane]++
	}
	for _, l := range leases {
		if got[l.lane] == l.slots {
			lanes = append(lanes, l.lane)
		}
	}
	return lanes
}

// handOver gives claimed deliveries to whoever listens. What nobody takes any
// more is given back.
func (c *claimer) handOver(ctx context.Context, jobs []Job) {
	for _, j := range jobs {
		c.config.meters.claimed(j)
		p, m := c.passages.begin(c.Subscriber, c.base, j, c.slots.take(j.Lane, len(j.Payload)))
		select {
		case c.out <- m:
			if !c.config.settled {
				go p.await(m)
			}
		case <-ctx.Done():
			p.end(Attempt{Given: true})
		}
	}
}
