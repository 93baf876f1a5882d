package deliveries

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/metadata"
)

//go:embed hold.sql
var holdSQL string

//go:embed revive.sql
var reviveSQL string

//go:embed note.sql
var noteSQL string

//go:embed redeliver_many.sql
var redeliverManySQL string

//go:embed count_over.sql
var countOverSQL string

//go:embed redelivery.sql
var redeliverySQL string

// found is a delivery that a command names.
type found struct {
	id            uuid.UUID
	kind, trigger string
	state         string
	due           time.Time
	round         int
	// queued and leased are as of the moment it was held, as is its turn where it
	// is queued.
	queued, leased bool
	turn           *time.Time
}

// holdEvent finds a delivery of some kinds, and keeps workers from claiming it.
// What is over stays over: only a command revives it, and commands queue up at
// the head of the history.
func holdEvent(ctx context.Context, q Querier, text string, kinds ...string) (found, error) {
	id, err := parseID(text)
	if err != nil {
		return found{}, err
	}
	d := found{id: id}
	known, err := one(ctx, q, []any{&d.kind, &d.trigger, &d.due}, "select kind, trigger, due_at from annals.deliveries where id = $1", id)
	if err != nil {
		return d, fmt.Errorf("find delivery %s: %w", id, err)
	}
	if !known || !slices.Contains(kinds, d.kind) {
		return d, noEvent()
	}
	d.queued, err = one(ctx, q, []any{&d.turn, &d.round, &d.leased}, holdSQL, id, d.kind, d.trigger, d.due)
	if err != nil {
		return d, fmt.Errorf("hold delivery %s: %w", id, err)
	}
	if err := q.QueryRow(ctx, "select state, round from annals.delivery_states where id = $1 and due_at = $2", id, d.due).Scan(&d.state, &d.round); err != nil {
		return d, fmt.Errorf("find the state of delivery %s: %w", id, err)
	}
	return d, nil
}

func note(ctx context.Context, q Querier, d found, entry, reason string, round int, position int64) error {
	if _, err := q.Exec(ctx, noteSQL, d.id, entry, round, nullIfEmpty(reason), position); err != nil {
		return fmt.Errorf("note %s of delivery %s: %w", entry, d.id, err)
	}
	return nil
}

func nullIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// redeliver begins a new round of an event. Only events of triggers that are
// there can be sent again, and none that is being sent.
func redeliver(ctx context.Context, q Querier, a Asked, c metadata.RedeliverEvent) (json.RawMessage, error) {
	d, err := holdEvent(ctx, q, c.EventID, kindEvent, kindManual)
	switch {
	case err != nil:
		return nil, err
	case !a.World.KnowsEventTrigger(d.trigger):
		return nil, noEvent()
	case d.leased:
		return nil, domain.Refuse(domain.Busy, "event is already being processed")
	}
	round := d.round + 1
	if _, err := q.Exec(ctx, reviveSQL, d.id, d.due, eventLane(d.trigger), round, d.turn); err != nil {
		return nil, fmt.Errorf("queue delivery %s: %w", d.id, err)
	}
	return success(), note(ctx, q, d, "redelivery", "", round, a.Position)
}

// redeliverMany begins a new round of all events that a filter finds.
func (b Book) redeliverMany(ctx context.Context, q Querier, a Asked, c metadata.RedeliverEvents) (json.RawMessage, error) {
	limits := b.Limits.filled()
	if c.Limit > limits.MaxRedelivered {
		return nil, domain.Refuse(domain.ParseFailed, "the limit of one redelivery can be at most %d: give less, or raise --max-redelivery", limits.MaxRedelivered)
	}
	filter := []any{pgx.QueryExecModeCacheDescribe, triggersOf(a.World, c.Trigger), c.States, c.Statuses, c.Since, c.Until, limits.MaxRedelivered}
	if c.DryRun {
		return countOver(ctx, q, filter)
	}
	var apart float64
	if c.Rate > 0 {
		apart = 1 / c.Rate
	}
	var matching, redelivered int64
	wanted := cmp.Or(c.Limit, limits.Redelivered)
	if err := q.QueryRow(ctx, redeliverManySQL, append(filter, wanted, apart, a.Position)...).Scan(&matching, &redelivered); err != nil {
		return nil, fmt.Errorf("redeliver events: %w", err)
	}
	return metadata.Encode(struct {
		Message     string `json:"message"`
		Matching    int64  `json:"matching"`
		Redelivered int64  `json:"redelivered"`
		Position    int64  `json:"position"`
	}{"success", matching, redelivered, a.Position}), nil
}

func countOver(ctx context.Context, q Querier, filter []any) (json.RawMessage, error) {
	var matching int64
	if err := q.QueryRow(ctx, countOverSQL, filter...).Scan(&matching); err != nil {
		return nil, fmt.Errorf("count events to redeliver: %w", err)
	}
	return metadata.Encode(dryRun{true, matching}), nil
}

type dryRun struct {
	DryRun   bool  `json:"dry_run"`
	Matching int64 `json:"matching"`
}

// triggersOf are the event triggers that there are, or the one that is named.
func triggersOf(w metadata.World, name string) []string {
	if name != "" {
		return []string{name}
	}
	names := []string{}
	for t := range w.Catalog.EventTriggers() {
		names = append(names, t.Name)
	}
	return names
}

// redelivery tells how far a redelivery of many has come.
func redelivery(ctx context.Context, q Querier, c metadata.GetRedelivery) (json.RawMessage, error) {
	rows, err := q.Query(ctx, redeliverySQL, c.Position)
	if err != nil {
		return nil, fmt.Errorf("read redelivery %d: %w", c.Position, err)
	}
	states, total, waiting := map[string]int64{}, int64(0), int64(0)
	var state string
	var events int64
	_, err = pgx.ForEachRow(rows, []any{&state, &events}, func() error {
		states[state] = events
		total += events
		if isQueued(state) {
			waiting += events
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read redelivery %d: %w", c.Position, err)
	}
	if total == 0 {
		return nil, domain.Refuse(domain.NotExists, "nothing was redelivered at position %d", c.Position)
	}
	return metadata.Encode(struct {
		Position int64            `json:"position"`
		Total    int64            `json:"total"`
		Waiting  int64            `json:"waiting"`
		States   map[string]int64 `json:"states"`
	}{c.Position, total, waiting, states}), nil
}

// isQueued reports whether a delivery in a state will still be tried.
func isQueued(state string) bool {
	return state == "pending" || state == "retrying" || state == "leased"
}
