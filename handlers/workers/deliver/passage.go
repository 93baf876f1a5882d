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
	of *Subscriber
	outcome
	turn  turn
	stop  context.CancelFunc // ends the message's context
	ended atomic.Bool
}

// inTurn waits until the job has a slot. A job that has none yet when the
// subscriber is closed is given back.
func (p *passage) inTurn() bool {
	if p.turn.come() {
		return true
	}
	select {
	case <-p.turn:
		return true
	case <-p.of.claiming.Done():
		p.end(Attempt{Given: true})
		return false
	}
}

// end notes what came of it, the first time it is told.
func (p *passage) end(a Attempt) {
	if p.ended.Swap(true) {
		return
	}
	p.stop()
	p.Attempt = a
	p.of.record.add(&p.outcome)
	p.of.slots.free(p.job.Lane, p.turn)
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

// begin makes the passage of a job that has taken its turn, and its message,
// whose context has the values of another one.
func (s *passages) begin(of *Subscriber, values context.Context, j Job, t turn) (*passage, *message.Message) {
	p := &passage{of: of, outcome: outcome{job: j}, turn: t, stop: func() {}}
	m := p.message(values)
	s.running.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[p] = struct{}{}
	return p, m
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

// journey is the context of a passage's message. It ends when sending does, has
// the values of another context, and tells whose it is.
type journey struct {
	context.Context
	values  context.Context
	passage *passage
}

// ofPassage is the key of a context's passage.
type ofPassage struct{}

// Value implements [context.Context]. The context's own values come first, so
// that what is made of it is known to be its child.
func (j *journey) Value(key any) any {
	if key == (ofPassage{}) {
		return j.passage
	}
	if own := j.Context.Value(key); own != nil {
		return own
	}
	return j.values.Value(key)
}

// passageOf is the passage of a message.
func passageOf(m *message.Message) *passage { return m.Context().Value(ofPassage{}).(*passage) }

// message is the passage's job as Watermill carries it.
func (p *passage) message(values context.Context) *message.Message {
	ctx := context.Context(&journey{Context: p.of.sending, values: values, passage: p})
	if p.of.config.settled { // whoever settles a message knows that it is over, and all of it from its passage
		m := &message.Message{UUID: p.job.ID, Payload: message.Payload(p.job.Payload)}
		m.SetContext(ctx)
		return m
	}
	ctx, p.stop = context.WithCancel(ctx)
	m := message.NewMessageWithContext(ctx, p.job.ID, message.Payload(p.job.Payload))
	m.Metadata.Set("lane", p.job.Lane)
	return m
}
