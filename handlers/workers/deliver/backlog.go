package deliver

import (
	"log/slog"
	"slices"
	"time"
)

// fullLooks is how many looks in a row may find more in a lane than it has slots
// for before that is told: v1.3's number of full batches.
const fullLooks = 3

// backlog tells once that a lane has more due than it has slots for, look after
// look and for longer than a burst takes, and once that this is over.
type backlog struct {
	log   *slog.Logger
	least time.Duration // how long it must have been so
	lanes map[string]*jam
}

// jam is a lane that the last looks found full.
type jam struct {
	since time.Time
	looks int
	told  bool
}

func newBacklog(log *slog.Logger, least time.Duration) *backlog {
	return &backlog{log: log, least: least, lanes: map[string]*jam{}}
}

// look is one look at the queue.
type look struct {
	// lanes are those that were looked at: of all lanes those in which something
	// is due, otherwise those that were full, in which there may be.
	lanes  []string
	all    bool
	leases []lease
	jobs   []Job
}

// full are the lanes that have more due than was free.
func (l look) full() []string {
	full := filled(l.leases, l.jobs)
	if !l.all {
		return full
	}
	for _, lane := range l.lanes {
		if !l.leased(lane) {
			full = append(full, lane)
		}
	}
	return full
}

func (l look) leased(lane string) bool {
	return slices.ContainsFunc(l.leases, func(one lease) bool { return one.lane == lane })
}

func (b *backlog) looked(l look, now time.Time) {
	full := l.full()
	for lane, j := range b.lanes {
		if (l.all || l.leased(lane)) && !slices.Contains(full, lane) {
			b.over(lane, j)
		}
	}
	for _, lane := range full {
		b.full(lane, now)
	}
}

func (b *backlog) full(lane string, now time.Time) {
	j := b.lanes[lane]
	if j == nil {
		j = &jam{since: now}
		b.lanes[lane] = j
	}
	j.looks++
	if j.told || j.looks <= fullLooks || now.Sub(j.since) < b.least {
		return
	}
	j.told = true
	b.log.Warn("events processor may not be keeping up, or works on a backlog: more is due than is sent at once; "+
		"consider a larger --events-http-pool-size, or max_concurrency and rate_limit of the trigger", "lane", lane)
}

func (b *backlog) over(lane string, j *jam) {
	if j.told {
		b.log.Warn("events processor is keeping up again", "lane", lane)
	}
	delete(b.lanes, lane)
}
