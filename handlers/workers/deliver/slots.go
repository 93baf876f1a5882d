package deliver

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"annals/domain/delivery"
)

// slots counts what is on its way, for each lane and in all. It is safe for
// concurrent use.
type slots struct {
	perLane, inAll int
	limits         func(lane string) delivery.Limits
	now            func() time.Time
	// freed holds something once a slot became free.
	freed chan struct{}
	// halfFreed holds something once half of a lane's slots became free.
	halfFreed chan struct{}

	mu    sync.Mutex
	taken map[string]int
	total int
	rates map[string]*bucket
}

func newSlots(c Config, limits func(string) delivery.Limits) *slots {
	return &slots{
		perLane: cmp.Or(c.Slots, DefaultSlots), inAll: cmp.Or(c.MaxInFlight, DefaultMaxInFlight), limits: limits,
		now: time.Now, freed: make(chan struct{}, 1), halfFreed: make(chan struct{}, 1), taken: map[string]int{}, rates: map[string]*bucket{},
	}
}

// share is how many deliveries of a lane may be claimed.
type share struct {
	lane string
	free int
	// capacity is what free would be if nothing was on its way.
	capacity int
	// rated says that a rate limit made the share smaller.
	rated bool
}

// allot divides what is free among lanes: to each as much as it has slots, and
// no more than its part when that is too much for all.
func (s *slots) allot(lanes []string) []share {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shares []share
	for _, lane := range lanes {
		if one := s.shareOf(lane); one.free > 0 || one.rated {
			shares = append(shares, one)
		}
	}
	// Small demands first, so that what they leave goes to the others.
	slices.SortFunc(shares, func(a, b share) int { return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.lane, b.lane)) })
	left := s.inAll - s.total
	for i := range shares {
		waiting := len(shares) - i
		shares[i].free = min(shares[i].free, (left+waiting-1)/waiting)
		left -= shares[i].free
	}
	return shares
}

func (s *slots) shareOf(lane string) share {
	limits := s.limits(lane)
	capacity := s.perLane
	if limits.Concurrency > 0 {
		capacity = min(capacity, limits.Concurrency)
	}
	one := share{lane: lane, free: max(0, capacity-s.taken[lane]), capacity: capacity}
	if limits.Rate > 0 {
		if tokens := s.bucket(lane, limits.Rate).tokens(s.now()); tokens < one.free {
			one.free, one.rated = tokens, true
		}
	}
	return one
}

// take fills a slot.
func (s *slots) take(lane string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[lane]++
	s.total++
	if b := s.rates[lane]; b != nil {
		b.level--
	}
}

// free empties a slot.
func (s *slots) free(lane string) {
	s.mu.Lock()
	s.total--
	s.taken[lane]--
	half := s.taken[lane] == s.perLane/2
	if s.taken[lane] == 0 {
		delete(s.taken, lane)
	}
	s.mu.Unlock()
	signal(s.freed)
	if half {
		signal(s.halfFreed)
	}
}

// signal leaves something in a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// inFlight is how many deliveries are on their way.
func (s *slots) inFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// bucket bounds how many are started in a second: it fills evenly up to one
// second's worth, and at least to one.
type bucket struct {
	rate, level float64
	at          time.Time
}

func (s *slots) bucket(lane string, rate float64) *bucket {
	b := s.rates[lane]
	if b == nil || b.rate != rate {
		b = &bucket{rate: rate, level: max(1, rate), at: s.now()}
		s.rates[lane] = b
	}
	return b
}

func (b *bucket) tokens(now time.Time) int {
	b.level = min(max(1, b.rate), b.level+now.Sub(b.at).Seconds()*b.rate)
	b.at = now
	return max(0, int(b.level))
}
