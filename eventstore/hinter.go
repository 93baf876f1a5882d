package eventstore

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// hintInterval is how long followers are let read in peace: appends that
	// follow each other faster wake them once.
	hintInterval = 25 * time.Millisecond
	// hintLimit is how long a hint may take before it is given up.
	hintLimit = 5 * time.Second
)

// A hinter wakes the followers of all nodes once an append has committed. An
// append that brings the notification itself holds a lock of the whole cluster
// from then until its commit is on the disk, and the next one waits. Like the
// bell it may fail, and followers look from time to time anyway. Nothing runs
// while there is nothing to tell.
type hinter struct {
	pool *pgxpool.Pool

	mu       sync.Mutex
	position int64 // the newest to tell of, 0 if told
	telling  bool
}

func (h *hinter) hint(position int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.position = max(h.position, position)
	if !h.telling {
		h.telling = true
		go h.tell()
	}
}

// tell tells of the newest position, and after a while of what came since.
func (h *hinter) tell() {
	position := h.next()
	if position == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hintLimit)
	defer cancel()
	_, _ = h.pool.Exec(ctx, "select pg_notify($1, $2)", channel, strconv.FormatInt(position, 10))
	time.AfterFunc(hintInterval, h.tell)
}

// next is the position to tell of, or 0: then nobody tells any more.
func (h *hinter) next() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	position := h.position
	h.position, h.telling = 0, position > 0
	return position
}
