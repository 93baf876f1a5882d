package livequery

import (
	"sync"

	"annals/handlers/execution"
)

// Subscription is one subscriber's.
type Subscription struct {
	hub     *Hub
	request execution.Request
	notify  func()
	cohort  *cohort // where it belongs; guarded by the hub's lock

	mu     sync.Mutex
	next   *Update // what was not taken yet
	told   digest  // of the newest update
	closed bool
}

// Update is what a subscriber is told: an answer, {"data": ...}, or an error.
type Update struct {
	Answer []byte
	Err    error
	// Last is set where the subscription has ended with Err.
	Last bool
}

// Take returns the newest update that was not taken yet.
func (s *Subscription) Take() (Update, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		return Update{}, false
	}
	u := *s.next
	s.next = nil
	return u, true
}

// Close ends the subscription: nothing more is told.
func (s *Subscription) Close() {
	s.silence()
	s.hub.leave(s)
}

func (s *Subscription) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.next = true, nil
}

// tell puts an update into the slot, in the place of one that was not taken. What
// the subscriber knows already is not told again.
func (s *Subscription) tell(u Update, is digest) {
	s.mu.Lock()
	news := !s.closed && (u.Last || s.told != is)
	if news {
		s.next, s.told, s.closed = &u, is, u.Last
	}
	s.mu.Unlock()
	if news {
		s.notify()
	}
}
