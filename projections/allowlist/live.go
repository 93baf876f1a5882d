package allowlist

import (
	"sync/atomic"

	"annals/domain/metadata"
)

// Live gives the set of the catalog of the moment.
type Live struct {
	world func() metadata.World
	kept  atomic.Pointer[version]
}

// version is a set, and the metadata that it was made of.
type version struct {
	catalog  metadata.Catalog
	standing metadata.Standing
	set      *Set
}

// NewLive follows the metadata that world gives.
func NewLive(world func() metadata.World) *Live { return &Live{world: world} }

// Current returns the set that holds now.
func (l *Live) Current() *Set {
	w := l.world()
	last := l.kept.Load()
	if last != nil && last.catalog == w.Catalog && last.standing == w.Standing {
		return last.set
	}
	next := &version{catalog: w.Catalog, standing: w.Standing}
	if last == nil {
		next.set = New(w)
	} else {
		next.set = last.set.following(w)
	}
	// Of two that find the metadata moved, both may go on with their own: one is kept.
	l.kept.CompareAndSwap(last, next)
	return next.set
}
