package catalog

import (
	"context"
	"fmt"
	"sync"

	"annals/domain/metadata"
)

// Version is the catalog at a position, in its world.
type Version struct {
	Position int64
	World    metadata.World
}

// Live is the catalog in this node's memory. Readers take the current version
// and keep it for as long as they need it; it never changes under them.
type Live struct {
	mu      sync.Mutex
	version Version
	moved   chan struct{} // closed when the version moves
}

// NewLive starts with a version.
func NewLive(v Version) *Live { return &Live{version: v, moved: make(chan struct{})} }

// Current returns the newest version this node has.
func (l *Live) Current() Version {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.version
}

// Position is that of the current version.
func (l *Live) Position() int64 { return l.Current().Position }

// Publish makes a version the current one, unless a newer one is there. A
// version of the same position replaces the current one: the world around a
// catalog can move without it.
func (l *Live) Publish(v Version) { l.publish(v, v.Position) }

// Reach makes a version the current one if it is newer: what was read later of
// the world around the same catalog does not replace what a command saw.
func (l *Live) Reach(v Version) { l.publish(v, v.Position-1) }

// publish makes a version the current one unless that stands behind a position.
func (l *Live) publish(v Version, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version.Position > last {
		return
	}
	l.version = v
	close(l.moved)
	l.moved = make(chan struct{})
}

// WaitFor waits until this node has reached a position.
func (l *Live) WaitFor(ctx context.Context, position int64) error {
	for {
		l.mu.Lock()
		reached, moved := l.version.Position, l.moved
		l.mu.Unlock()
		if reached >= position {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for position %d, at %d: %w", position, reached, ctx.Err())
		}
	}
}
