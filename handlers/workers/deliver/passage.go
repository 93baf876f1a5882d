package deliver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"annals/domain/delivery"
)

// passage is one message on its way: from the claim to the outcome.
type passage struct {
	of    *Subscriber
	job   Job
	stop  context.CancelFunc
	ended atomic.Bool
}

// end notes what came of it, the first time it is told.
func (p *passage) end(a Attempt) {
	if p.ended.Swap(true) {
		return
	}
	p.stop()
	p.of.record.add(outcome{p.job, a})
	p.of.slots.free(p.job.Lane)
	p.of.passages.over(p)
}

// await takes an answer to the message for what came of it, where nobody says
// more. When sending has ended it waits a little for last words.
func (p *passage) await(m *message.Message) {
	stopped := m.Context().Done()
	var silent <-chan time.Time
	for {
		select {
		case <-m.Acked():
			now := time.Now()
			p.end(Attempt{Outcome: delivery.Delivered, Started: now, Finished: now})
			return
		case <-m.Nacked():
			p.end(Attempt{Given: true})
			return
		case <-stopped:
			stopped, silent = nil, time.After(lastWords)
		case <-silent:
			p.end(Attempt{Given: true})
			return
		}
	}
}

// passages are all messages on their way.
type passages struct {
	mu      sync.Mutex
	open    map[*passage]struct{}
	running sync.WaitGroup
}

// begin makes the message of a job. Its context has the values of one context,
// and ends when sending does.
func (s *passages) begin(of *Subscriber, values context.Context, j Job) (*passage, *message.Message) {
	ctx, stop := context.WithCancel(valued{of.sending, values})
	p := &passage{of: of, job: j, stop: stop}
	s.running.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[p] = struct{}{}
	return p, j.message(ctx, p.end)
}

func (s *passages) over(p *passage) {
	s.mu.Lock()
	delete(s.open, p)
	s.mu.Unlock()
	s.running.Done()
}

// giveUp gives back those that are still open.
func (s *passages) giveUp() {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, p := range open {
		p.end(Attempt{Given: true})
	}
}

// wait waits until none is open.
func (s *passages) wait() { s.running.Wait() }

// valued is a context with the values of another one.
type valued struct {
	context.Context
	values context.Context
}

// Value implements [context.Context]. The context's own values come first, so
// that what is made of it is known to be its child.
func (v valued) Value(key any) any {
	if own := v.Context.Value(key); own != nil {
		return own
	}
	return v.values.Value(key)
}
