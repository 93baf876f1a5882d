// Package remotes watches the servers of remote schemas.
//
// A node answers with the types that a server had when it was last read: they are
// in the history, so that a node starts, and serves what it can, while a server
// is away. Each node asks the servers now and then whether their types still are
// so, sooner where one gives no answer, and keeps for each what it found:
//
//	confirmed --no answer--> away     --an answer---------> confirmed
//	confirmed --other types-> changed --it is read again--> confirmed
//
// The watch changes nothing. That a server has other types than the node answers
// with is told, by its figures and in the log; reload_remote_schema takes them,
// which is an event of the history, by somebody, with what it breaks.
package remotes

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"annals/domain/metadata"
)

const (
	// DefaultInterval is the time between two questions to a server that answers.
	DefaultInterval = 5 * time.Minute
	// FirstRetry is how soon a server that gave no answer is asked again; the time
	// doubles with each try, up to the interval.
	FirstRetry = time.Second
	// Parallel is how many servers are asked at the same time.
	Parallel = 8
)

// Watch is the worker of one node.
type Watch struct {
	// World gives the metadata of the moment.
	World func() metadata.World
	// Ask asks a server for its types, as add_remote_schema does.
	Ask func(context.Context, metadata.RemoteSchema) (json.RawMessage, error)
	// ReadAt says when the event at a position was recorded.
	ReadAt func(ctx context.Context, position int64) (time.Time, error)
	// Interval is the time between two questions. 0: [DefaultInterval]; below 0
	// nobody is asked.
	Interval time.Duration
	// Clock tells the time. Nil: this machine's.
	Clock func() time.Time
	Log   *slog.Logger

	mu    sync.Mutex // guards what RunOnce writes and others read
	known map[string]*server
}

// Status is what is known of one server.
type Status struct {
	Name string
	// Confirmed is when the types that the node answers with were last known to
	// be the server's.
	Confirmed time.Time
	// Away: it gave no answer that can be read. Changed: it has other types.
	Away, Changed bool
}

// server is a status with what the watch needs beside it.
type server struct {
	Status
	position int64     // of the event that its types were read in
	next     time.Time // when it is asked again
	tries    int       // without an answer
}

// Statuses are those of all servers, by name.
func (w *Watch) Statuses() []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]Status, 0, len(w.known))
	for _, s := range w.known {
		list = append(list, s.Status)
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Away is how many servers gave no answer.
func (w *Watch) Away() (n int) {
	for _, s := range w.Statuses() {
		if s.Away {
			n++
		}
	}
	return n
}

// Run watches until the context ends.
func (w *Watch) Run(ctx context.Context) error {
	if w.Interval < 0 {
		return nil
	}
	for {
		w.RunOnce(ctx)
		timer := time.NewTimer(w.pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// RunOnce asks the servers whose turn it is.
func (w *Watch) RunOnce(ctx context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(Parallel)
	for _, r := range w.due(ctx) {
		group.Go(func() error {
			answer, err := w.Ask(ctx, r)
			if ctx.Err() == nil {
				w.heard(ctx, r, answer, err)
			}
			return nil
		})
	}
	_ = group.Wait() // none of them returns an error
}

func (w *Watch) interval() time.Duration {
	if w.Interval == 0 {
		return DefaultInterval
	}
	return w.Interval
}

func (w *Watch) now() time.Time {
	if w.Clock == nil {
		return time.Now()
	}
	return w.Clock()
}

// pause is the time until somebody's turn comes.
func (w *Watch) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := w.interval()
	for _, s := range w.known {
		wait = min(wait, s.next.Sub(w.now()))
	}
	return max(wait, FirstRetry)
}

// due brings what is known up to the catalog, and lists the servers to ask. A
// node that starts asks all of them.
func (w *Watch) due(ctx context.Context) (list []metadata.RemoteSchema) {
	known, starts := map[string]*server{}, w.known == nil
	for e := range w.World().Catalog.OfKind(metadata.KindRemoteSchema) {
		r, ok := e.Object().(metadata.RemoteSchema)
		if !ok {
			continue // only a newer release can read it
		}
		s := w.known[r.Name]
		if s == nil || s.position != e.Position {
			s = &server{Status: Status{Name: r.Name, Confirmed: w.readAt(ctx, e.Position)}, position: e.Position, next: w.now().Add(w.interval())}
		}
		if known[r.Name] = s; starts || !s.next.After(w.now()) {
			list = append(list, r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = known
	return list
}

// readAt is when the types of an event were read.
func (w *Watch) readAt(ctx context.Context, position int64) time.Time {
	at, err := w.ReadAt(ctx, position)
	if err != nil {
		w.Log.WarnContext(ctx, "it is not known when a remote schema was read", "position", position, "error", err)
		return w.now()
	}
	return at
}

// heard keeps what came of a question, and tells of what is new in it.
func (w *Watch) heard(ctx context.Context, r metadata.RemoteSchema, answer json.RawMessage, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, now := w.known[r.Name], w.now()
	was := s.Status
	if err != nil {
		s.Away = true
		s.next = now.Add(min(FirstRetry<<min(s.tries, 30), w.interval()))
		s.tries++
		if !was.Away {
			w.Log.WarnContext(ctx, "the server of a remote schema gives no answer; the types it had are kept", "remote_schema", r.Name,
				"read_before", now.Sub(s.Confirmed).Round(time.Second).String(), "error", err)
		}
		return
	}
	difference, _, _ := r.Became(r.WithIntrospection(answer))
	s.Away, s.Changed, s.tries, s.next = false, difference != nil, 0, now.Add(w.interval())
	switch {
	case !s.Changed:
		s.Confirmed = now
	case !was.Changed:
		w.Log.WarnContext(ctx, "the server of a remote schema has other types now: reload_remote_schema takes them", "remote_schema", r.Name,
			"added", difference.Added, "removed", difference.Removed, "changed", len(difference.Changed))
	}
	if was.Away {
		w.Log.InfoContext(ctx, "the server of a remote schema answers again", "remote_schema", r.Name)
	}
}
