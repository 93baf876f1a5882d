package eventstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// MaxGroup bounds how many calls of Append share a commit.
	MaxGroup = 256
	// MaxGroupBytes bounds the texts in a shared commit; a call with more than
	// that goes alone.
	MaxGroupBytes = 16 << 20
)

// A group coalesces calls of Append. There is no goroutine behind it: of the
// callers, one commits and the others wait; when it is done, it hands those who
// came meanwhile to the first of them, who commits for all.
//
//	idle --enter--> committing --finish, none waiting--> idle
//	                    ^  |
//	                    +--+ finish: the first of the waiting goes on
type group struct {
	mu         sync.Mutex
	committing bool
	waiting    []*call
}

// A call is one call of Append.
type call struct {
	ctx      context.Context
	expected Expected
	events   []Event

	// turn receives the calls to commit, this one first, or is closed when
	// another caller has done it and recorded and err are set.
	turn     chan []*call
	recorded []Recorded
	err      error
}

// Append appends events in a transaction of its own, one after the other and
// all or none. A caller that finds nobody appending goes straight to the
// database. If ctx ends while the call still waits for its turn, nothing was
// written; later, the outcome is unknown. It must not be called by someone who
// has the head locked: it would wait for them.
func (s *Store) Append(ctx context.Context, expected Expected, events ...Event) ([]Recorded, error) {
	if err := validate(events); err != nil {
		return nil, err
	}
	if len(events) == 0 {
		head, err := s.Head(ctx)
		if err != nil {
			return nil, err
		}
		return nil, expected.refuses(head.Position)
	}
	c := &call{ctx: ctx, expected: expected, events: events}
	batch, err := s.group.enter(c)
	if err != nil {
		return nil, fmt.Errorf("append %s: wait for an earlier append: %w", events[0].Type, err)
	}
	if batch != nil {
		s.commit(batch)
	}
	return c.recorded, c.err
}

// enter returns the calls that the caller must commit, or none if its own was.
func (g *group) enter(c *call) ([]*call, error) {
	g.mu.Lock()
	if !g.committing {
		g.committing = true
		g.mu.Unlock()
		return []*call{c}, nil
	}
	c.turn = make(chan []*call, 1)
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	select {
	case batch := <-c.turn:
		return batch, nil
	case <-c.ctx.Done():
		if g.leave(c) {
			return nil, context.Cause(c.ctx)
		}
		return <-c.turn, nil // too late: the call is in a commit
	}
}

// leave takes a call out of the queue, if it is still there.
func (g *group) leave(c *call) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == c {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// finish ends a commit: its callers get their answers, the next commit begins.
func (g *group) finish(batch []*call) {
	for _, c := range batch[1:] {
		close(c.turn)
	}
	if len(batch) > 1 {
		runtime.Gosched() // who appends again at once can still join the next commit
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.committing = false
		return
	}
	n := g.fitting()
	next := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	next[0].turn <- next
}

// fitting is how many of those who wait can share a commit, at least one.
func (g *group) fitting() int {
	bytes := 0
	for i, c := range g.waiting {
		for _, e := range c.events {
			bytes += len(e.Args) + len(e.Changes) + len(e.Actor)
		}
		if i == MaxGroup || i > 0 && bytes > MaxGroupBytes {
			return i
		}
	}
	return len(g.waiting)
}

func (s *Store) commit(batch []*call) {
	defer s.group.finish(batch)
	if len(batch) == 1 {
		s.commitAlone(batch[0])
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), s.config.CommitTimeout)
	defer cancel()
	err := s.commitTogether(ctx, batch)
	if err == nil {
		return
	}
	for _, c := range batch {
		if rolledBack(err) {
			s.commitAlone(c) // so that only those fail whose fault it is
		} else {
			c.recorded, c.err = nil, err
		}
	}
}

// rolledBack tells a statement that the server refused from a connection that
// was lost, or ended by the server, when the commit may have been made already.
func rolledBack(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR"
}

func (s *Store) commitAlone(c *call) {
	c.err = s.pool.AcquireFunc(c.ctx, func(conn *pgxpool.Conn) (err error) {
		c.recorded, err = appendEvents(c.ctx, conn.Conn(), c.expected, c.events, false)
		return err
	})
	if c.err == nil && len(c.events) == 1 {
		s.hinter.hint(c.recorded[0].Position)
	}
}

// commitTogether writes what all calls bring in one transaction. A call whose
// expectation fails is left out.
func (s *Store) commitTogether(ctx context.Context, batch []*call) error {
	if !anyExact(batch) {
		return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return appendAccepted(ctx, conn.Conn(), batch) })
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		head, err := s.Lock(ctx, tx)
		if err != nil {
			return err
		}
		return appendAccepted(ctx, tx.Conn(), accept(head.Position, batch))
	})
}

func anyExact(batch []*call) bool {
	for _, c := range batch {
		if c.expected.exact {
			return true
		}
	}
	return false
}

// accept answers the calls that cannot be met and returns the others. Each sees
// the log as those before it will leave it.
func accept(head int64, batch []*call) []*call {
	var accepted []*call
	for _, c := range batch {
		if c.err = c.expected.refuses(head); c.err == nil {
			accepted = append(accepted, c)
			head += int64(len(c.events))
		}
	}
	return accepted
}

func appendAccepted(ctx context.Context, conn *pgx.Conn, accepted []*call) error {
	var events []Event
	for _, c := range accepted {
		events = append(events, c.events...)
	}
	if len(events) == 0 {
		return nil
	}
	recorded, err := appendEvents(ctx, conn, Any(), events, true)
	if err != nil {
		return err
	}
	for _, c := range accepted {
		n := len(c.events)
		c.recorded, recorded = recorded[:n:n], recorded[n:]
	}
	return nil
}
