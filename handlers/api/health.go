package api

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// State is what this node knows of itself and of the history.
type State interface {
	// Position is how far this node's catalog has come. It is known without
	// asking anyone.
	Position() int64
	// WaitFor returns once the catalog has come to a position, or with the
	// context's error.
	WaitFor(ctx context.Context, position int64) error
	// Inconsistent is the number of inconsistent objects in the catalog. It is
	// known without asking anyone.
	Inconsistent() int
	// CaptureDrift is how many of the database triggers that capture changes of
	// rows were not as the catalog wants them, when that was looked at last.
	CaptureDrift() int
	// RemotesAway is how many servers of remote schemas gave no answer when they
	// were last asked for their types.
	RemotesAway() int
	// Head asks the database how far the history has come. It should not have
	// to queue for a connection behind operations: a busy service is not an
	// ill one.
	Head(ctx context.Context) (int64, error)
}

// health is what the last look at the database found.
type health struct {
	head int64
	err  error
}

var errNotLookedYet = errors.New("the database was not looked at yet")

// LineHealth is the type of the line that tells that the database stopped or
// began to answer.
const LineHealth = "health"

type healthDetail struct {
	Database string `json:"database"`
	Error    string `json:"error,omitempty"`
}

// Watch looks at the database now and then, until ctx ends. Until its first
// look is done the service is not ready, and who asks for its health waits.
func (a *API) Watch(ctx context.Context) {
	ticker := time.NewTicker(a.cfg.HealthInterval)
	defer ticker.Stop()
	for {
		a.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look asks the database once, and keeps the answer.
func (a *API) look(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, a.cfg.HealthTimeout)
	defer cancel()
	head, err := a.state.Head(limited)
	if ctx.Err() != nil {
		return // this look says nothing of the database
	}
	if err != nil {
		head = a.health.Load().head // the last one that is known
	}
	before := a.health.Swap(&health{head, err})
	a.firstLooks.Do(func() { close(a.looked) })
	if (before.err == nil) == (err == nil) && !errors.Is(before.err, errNotLookedYet) {
		return
	}
	if err != nil {
		a.log(ctx, Line{LineHealth, slog.LevelError, healthDetail{databaseWord(err), err.Error()}})
		return
	}
	a.log(ctx, Line{LineHealth, slog.LevelInfo, healthDetail{Database: databaseWord(nil)}})
}

// databaseWord says publicly how the database is. Errors name hosts and users,
// and are for the log.
func databaseWord(err error) string {
	if err != nil {
		return "unreachable"
	}
	return "ok"
}
