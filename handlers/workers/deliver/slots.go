package deliver

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"annals/domain/delivery"
)

// What is taken of a lane beyond its slots is bound: to so many times those, and
// to so many bytes by the largest payloads of late, since it lies in memory.
const (
	aheadOfSlots = 4
	aheadBytes   = 16 << 20
)

// slots counts what is in hand, for each lane and in all. It is safe for
// concurrent use.
type slots struct {
	perLane, inAll int
	limits         func(lane string) delivery.Limits
	// ahead says that more may be taken than there are slots: see [line].
	ahead bool
	now   func() time.Time
	// freed holds something once a slot became free for which nothing waits.
	freed chan struct{}
	// half holds something once of what a lane may have in hand half is over.
	half chan struct{}

	mu    sync.Mutex
	lines map[string]*line
	total int
	rates map[string]*bucket
}

// line is what is in hand of one lane: as many as it has slots are being made,
// and those behind them wait, in the order in which they were claimed.
//
// Waiting for the next claim would cost a lane that is quick more time than its
// calls do. So a claim takes twice as many beyond the free slots as came to their
// end since the last one, up to a bound: what ends while it runs, and until the
// next. A lane that hangs has none that wait.
type line struct {
	slots, ahead int // as the last claim had them
	taken        int
	ended        int // since then
	size         int // in bytes, of the largest payloads of late
	waiting      []turn
}

// turn comes when the channel is closed. One that came at once has none.
type turn chan struct{}

// come reports whether it is there.
func (t turn) come() bool {
	if t == nil {
		return true
	}
	select {
	case <-t:
		return true
	default:
		return false
	}
}

func newSlots(c Config, limits func(string) delivery.Limits) *slots {
	return &slots{
		perLane: cmp.Or(c.Slots, DefaultSlots), inAll: cmp.Or(c.MaxInFlight, DefaultMaxInFlight), limits: limits,
		now: time.Now, freed: make(chan struct{}, 1), half: make(chan struct{}, 1), lines: map[string]*line{}, rates: map[string]*bucket{},
	}
}

// share is how many deliveries of a lane may be claimed.
type share struct {
	lane string
	free int
	// rated says that a rate limit made the share smaller.
	rated bool
}

// allot divides what is free among lanes: to each as much as it has slots, and
// no more than its part when that is too much for all.
func (s *slots) allot(lanes []string) []share {
	s.mu.Lock()
	defer s.mu.Unlock()
	forget(s.freed) // what is free now is counted
	forget(s.half)
	maps.DeleteFunc(s.lines, func(_ string, l *line) bool { return l.taken == 0 && l.ended == 0 })
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
	l := s.line(lane)
	l.slots = s.slotsOf(limits)
	l.ahead = 0
	if s.ahead && limits.Rate == 0 {
		l.ahead = min(2*l.ended, aheadOfSlots*l.slots, aheadBytes/max(1, l.size))
	}
	l.ended = 0
	one := share{lane: lane, free: max(0, l.slots+l.ahead-l.taken)}
	if limits.Rate > 0 {
		if tokens := s.bucket(lane, limits.Rate).tokens(s.now()); tokens < one.free {
			one.free, one.rated = tokens, true
		}
	}
	return one
}

func (s *slots) line(lane string) *line {
	l := s.lines[lane]
	if l == nil {
		l = &line{slots: s.slotsOf(s.limits(lane))}
		s.lines[lane] = l
	}
	return l
}

func (s *slots) slotsOf(l delivery.Limits) int {
	if l.Concurrency > 0 {
		return min(s.perLane, l.Concurrency)
	}
	return s.perLane
}

// take fills a slot, or takes a place behind those that wait for one, for a
// delivery whose payload has so many bytes.
func (s *slots) take(lane string, size int) turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.line(lane)
	l.size = max(size, l.size-l.size/8)
	var mine turn
	if l.taken-len(l.waiting) >= l.slots {
		mine = make(turn)
		l.waiting = append(l.waiting, mine)
	}
	l.taken++
	s.total++
	if b := s.rates[lane]; b != nil {
		b.level--
	}
	return mine
}

// free empties a slot for the next that waits, or a place among those.
func (s *slots) free(lane string, mine turn) {
	s.mu.Lock()
	l := s.lines[lane]
	empty := false
	switch {
	case !mine.come():
		l.waiting = slices.DeleteFunc(l.waiting, func(t turn) bool { return t == mine })
	case len(l.waiting) > 0:
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	default:
		empty = true
	}
	s.total--
	l.taken--
	l.ended++
	half := l.taken == (l.slots+l.ahead)/2
	s.mu.Unlock()
	if empty {
		signal(s.freed)
	}
	if half {
		signal(s.half)
	}
}

// signal leaves something in a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// forget takes out of such a channel what is in it.
func forget(c <-chan struct{}) {
	select {
	case <-c:
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
