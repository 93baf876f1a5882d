package livequery

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"sync"

	"annals/domain"
	"annals/handlers/execution"
)

// Source prepares and answers subscriptions: an [execution.Executor].
type Source interface {
	PrepareLive(context.Context, execution.Request) (*execution.Live, error)
	// IsCurrent reports whether a subscription need not be prepared again.
	IsCurrent(*execution.Live) bool
	// AnswerLive answers subscriptions of one shape.
	AnswerLive(context.Context, []*execution.Live) ([][]byte, error)
}

type digest = [sha256.Size]byte

// Hub keeps the subscriptions of this node. It is safe for concurrent use.
type Hub struct {
	source Source
	config Config
	slots  chan struct{} // one for each connection in use

	running context.Context
	stop    context.CancelFunc
	pollers sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	subscribers int
	shapes      map[digest]*shape
}

// shape is what is kept of a shape that somebody subscribes to. All but kick and
// done is guarded by the hub's lock.
type shape struct {
	id      digest
	cohorts map[string]*cohort
	kick    chan struct{} // somebody new is there
	done    chan struct{} // nobody is left
}

// cohort is the subscribers of a shape who have the same answer.
type cohort struct {
	shape       *shape
	live        *execution.Live
	subscribers map[*Subscription]struct{}

	asked  bool   // there is an update
	update Update // the newest
	is     digest
}

// New returns a hub. Whoever makes one closes it.
func New(source Source, c Config) *Hub {
	c = c.withDefaults()
	h := &Hub{source: source, config: c, slots: make(chan struct{}, c.MaxConnections), shapes: map[digest]*shape{}}
	h.running, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends all subscriptions, and waits until nobody is asked any more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.pollers.Wait()
}

// Stats is how much there is to do.
type Stats struct{ Subscribers, Cohorts, Shapes int }

// Stats counts.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Subscribers: h.subscribers, Shapes: len(h.shapes)}
	for _, shape := range h.shapes {
		s.Cohorts += len(shape.cohorts)
	}
	return s
}

// errClosed is told to those who come while the node is being stopped.
var errClosed = domain.RefuseAt("$", domain.Timeout, "this node is being stopped")

// Subscribe begins a subscription. Each time there is something to [Subscription.Take],
// notify is called; it must not block. What is wrong with the request is told here.
func (h *Hub) Subscribe(ctx context.Context, r execution.Request, notify func()) (*Subscription, error) {
	live, err := h.source.PrepareLive(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &Subscription{hub: h, request: r, notify: notify}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, errClosed
	case h.subscribers >= h.config.MaxSubscribers:
		return nil, domain.RefuseAt("$", domain.Busy, "this node keeps %d subscriptions already, which is all it may: end some, ask another node, or raise --live-queries-max-subscribers", h.subscribers)
	}
	h.subscribers++
	h.join(s, live)
	return s, nil
}

// join brings a subscription to its cohort. The hub is locked.
func (h *Hub) join(s *Subscription, live *execution.Live) {
	in := h.shapes[live.Shape.ID]
	if in == nil {
		in = &shape{id: live.Shape.ID, cohorts: map[string]*cohort{}, kick: make(chan struct{}, 1), done: make(chan struct{})}
		h.shapes[in.id] = in
		h.pollers.Go(func() { h.poll(in) })
	}
	c := in.cohorts[live.Values]
	if c == nil {
		c = &cohort{shape: in, live: live, subscribers: map[*Subscription]struct{}{}}
		in.cohorts[live.Values] = c
	}
	c.live = live
	c.subscribers[s] = struct{}{}
	s.cohort = c
	if c.asked {
		s.tell(c.update, c.is)
		return
	}
	select {
	case in.kick <- struct{}{}:
	default: // it is known already
	}
}

// part takes a subscription out of its cohort. The hub is locked.
func (h *Hub) part(s *Subscription) {
	c := s.cohort
	s.cohort = nil
	delete(c.subscribers, s)
	if len(c.subscribers) > 0 {
		return
	}
	delete(c.shape.cohorts, c.live.Values)
	if len(c.shape.cohorts) == 0 {
		delete(h.shapes, c.shape.id)
		close(c.shape.done)
	}
}

// leave ends a subscription's stay, if it is there.
func (h *Hub) leave(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.cohort != nil {
		h.subscribers--
		h.part(s)
	}
}

// move prepares a subscription again, for the metadata of this moment.
func (h *Hub) move(ctx context.Context, s *Subscription) {
	live, err := h.source.PrepareLive(ctx, s.request)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.end(s, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch c := s.cohort; {
	case c == nil: // it was closed meanwhile
	case c.shape.id == live.Shape.ID && c.live.Values == live.Values:
		c.live = live
	default:
		h.part(s)
		h.join(s, live)
	}
}

// end ends a subscription because of an error.
func (h *Hub) end(s *Subscription, err error) {
	h.leave(s)
	s.tell(Update{Err: err, Last: true}, digestOf(nil, err))
}

// members lists a cohort's subscribers of this moment.
func (h *Hub) members(c *cohort) []*Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(c.subscribers))
}

// publish tells a cohort's subscribers of its newest answer, if it is another than before.
func (h *Hub) publish(c *cohort, u Update) {
	is := digestOf(u.Answer, u.Err)
	h.mu.Lock()
	news := !c.asked || c.is != is
	c.asked, c.update, c.is = true, u, is
	h.mu.Unlock()
	if !news {
		return
	}
	for _, s := range h.members(c) {
		s.tell(u, is)
	}
}

func digestOf(answer []byte, err error) digest {
	if err == nil {
		return sha256.Sum256(answer)
	}
	text := "error: " + err.Error() // no answer begins like this
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		text += string(refusal.Internal)
	}
	return sha256.Sum256([]byte(text))
}
