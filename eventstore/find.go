package eventstore

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// DefaultFindLimit is how many events a Find answers that names no limit.
	DefaultFindLimit = 50
	// MaxFindLimit is how many events a Find answers at most.
	MaxFindLimit = 1000
)

// A Filter says which events an audit asks for; its zero value, for all. Every
// field that is set must hold.
type Filter struct {
	Object *Object
	Type   string
	Actor  string // the actor's member role, credential or request_id; not indexed, so a rare one takes a walk

	Since, Until  time.Time // recorded at Since or later, before Until
	Before, After int64     // positions, both exclusive; Before the last one seen asks for the next page

	Limit int // DefaultFindLimit if zero, never more than MaxFindLimit
}

//go:embed find.sql
var findSQL string

//go:embed find_object.sql
var findObjectSQL string

// Find answers a page of events, newest first.
func (s *Store) Find(ctx context.Context, f Filter) ([]Recorded, error) {
	statement, args := f.statement()
	// Planned anew each time: which index is right depends on what is asked.
	options := []any{pgx.QueryExecModeCacheDescribe, binaryResults()}
	rows, err := s.pool.Query(ctx, statement, append(options, args...)...)
	if err != nil {
		return nil, fmt.Errorf("find events: %w", err)
	}
	found, err := pgx.CollectRows(rows, collectRecorded)
	if err != nil {
		return nil, fmt.Errorf("find events: %w", err)
	}
	return found, nil
}

func (f *Filter) statement() (string, []any) {
	args := []any{
		given(f.Type), given(f.Actor), given(f.Since), given(f.Until), given(f.Before), given(f.After), f.limit(),
	}
	if f.Object == nil {
		return findSQL, args
	}
	return findObjectSQL, append(args, f.Object.Kind, f.Object.Key)
}

func (f *Filter) limit() int64 {
	if f.Limit <= 0 {
		return DefaultFindLimit
	}
	return int64(min(f.Limit, MaxFindLimit))
}

// given is nil for a zero value: the filter does not ask for it.
func given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
