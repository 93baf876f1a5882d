package deliveries

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
)

//go:embed find.sql
var findSQL string

//go:embed find_in_state.sql
var findInStateSQL string

//go:embed story.sql
var storySQL string

//go:embed entries.sql
var entriesSQL string

// Reader tells the story of deliveries, and lists them.
type Reader struct{ DB Querier }

// Delivery is a delivery as it is now.
type Delivery struct {
	ID      uuid.UUID
	Kind    string
	Trigger string
	Schema  *string // of an event: its table
	Table   *string
	State   string
	Round   int
	Tries   int
	// Status is that of the last answer.
	Status    *int
	DueAt     time.Time
	CreatedAt time.Time
	// NextAt is when it will be tried, or its lease ends; nil when it is over.
	NextAt *time.Time
	// Reason is that of the last decision about it.
	Reason *string
}

// Filter says which deliveries are listed; all that is given must hold.
type Filter struct {
	Kind, Trigger string
	States        []string
	Since, Until  *time.Time // of the moment they were first due
	// After is the last of the page before.
	After *Mark
	Limit int
}

// Mark is a delivery's place in a list.
type Mark struct {
	DueAt time.Time
	ID    uuid.UUID
}

// Find lists deliveries, the latest first.
func (r Reader) Find(ctx context.Context, f Filter) ([]Delivery, error) {
	var due *time.Time
	var id *uuid.UUID
	if f.After != nil {
		due, id = &f.After.DueAt, &f.After.ID
	}
	sql, args := findSQL, []any{pgx.QueryExecModeCacheDescribe, f.Kind, f.Trigger, f.Since, f.Until, due, id, f.Limit}
	if f.States != nil {
		sql, args = findInStateSQL, append(args, f.States)
	}
	rows, err := r.DB.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Delivery])
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// Story is all that is known of a delivery. Secrets in it are masked, as in the
// audit; the payload is the user's, and is as it was sent.
type Story struct {
	Delivery
	Lane       *string
	Payload    json.RawMessage
	Definition json.RawMessage
	// Position is that of the command which asked for it, or of the definition
	// by which it was planned; nil for a captured row change.
	Position *int64
	Entries  []Entry
	// Paused is why its lane rests; nil while it does not.
	Paused *string
}

// Entry is one row of a delivery's history.
type Entry struct {
	ID         uuid.UUID
	Entry      string
	Outcome    *string
	Round      int
	Attempt    int
	Status     *int
	Request    json.RawMessage
	Response   json.RawMessage
	Reason     *string
	Node       *string
	NextDueAt  *time.Time
	Position   *int64
	StartedAt  *time.Time
	RecordedAt time.Time
}

// NotFound says that there is no such delivery.
type NotFound struct{ ID string }

func (e NotFound) Error() string { return "there is no delivery " + e.ID }

// Story tells the story of a delivery, or answers [NotFound].
func (r Reader) Story(ctx context.Context, text string) (Story, error) {
	id, err := parseID(text)
	if err != nil {
		return Story{}, NotFound{text}
	}
	s, err := r.story(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Story{}, NotFound{text}
	}
	if err != nil {
		return Story{}, fmt.Errorf("read delivery %s: %w", id, err)
	}
	return s, nil
}

func (r Reader) story(ctx context.Context, id uuid.UUID) (Story, error) {
	s := Story{Delivery: Delivery{ID: id}}
	err := r.DB.QueryRow(ctx, storySQL, id).Scan(
		&s.Kind, &s.Trigger, &s.Schema, &s.Table, &s.State, &s.Round, &s.Tries, &s.Status, &s.DueAt, &s.CreatedAt,
		&s.NextAt, &s.Reason, &s.Lane, &s.Payload, &s.Definition, &s.Position, &s.Paused)
	if err != nil {
		return s, err
	}
	rows, err := r.DB.Query(ctx, entriesSQL, id)
	if err != nil {
		return s, err
	}
	if s.Entries, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Entry]); err != nil {
		return s, err
	}
	s.Definition = metadata.Mask(s.Definition)
	for i := range s.Entries {
		s.Entries[i].Request = maskRequest(s.Entries[i].Request)
	}
	return s, nil
}
