package deliveries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"annals/domain"
	"annals/domain/metadata"
)

//go:embed cancel.sql
var cancelSQL string

//go:embed count_queued.sql
var countQueuedSQL string

// kindsOf are the kinds of deliveries that a call means; nil means all that
// commands may cancel.
func kindsOf(kind string) []string {
	switch kind {
	case metadata.TypeEvent:
		return []string{kindEvent, kindManual, kindTest}
	case metadata.TypeCron:
		return []string{kindCron}
	case metadata.TypeOneOff:
		return []string{kindScheduled}
	}
	return []string{kindEvent, kindManual, kindTest, kindCron, kindScheduled}
}

// cancel takes what a filter finds out of the queue.
func cancel(ctx context.Context, q Querier, a Asked, c metadata.CancelEvents) (json.RawMessage, error) {
	filter := []any{kindsOf(c.Type), c.Trigger, c.Since, c.Until, idsOf(c.EventIDs), c.Redelivery}
	var matching, busy int64
	if err := q.QueryRow(ctx, countQueuedSQL, filter...).Scan(&matching, &busy); err != nil {
		return nil, fmt.Errorf("count events to cancel: %w", err)
	}
	if c.DryRun {
		return metadata.Encode(dryRun{true, matching - busy}), nil
	}
	tag, err := q.Exec(ctx, cancelSQL, append(filter, nullIfEmpty(c.Reason), a.Position)...)
	if err != nil {
		return nil, fmt.Errorf("cancel events: %w", err)
	}
	return metadata.Encode(struct {
		Message   string `json:"message"`
		Cancelled int64  `json:"cancelled"`
		Busy      int64  `json:"busy"`
		Position  int64  `json:"position"`
	}{"success", tag.RowsAffected(), busy, a.Position}), nil
}

// idsOf reads ids; text that is none names no event. Nil means any.
func idsOf(texts []string) []uuid.UUID {
	if texts == nil {
		return nil
	}
	ids := []uuid.UUID{}
	for _, text := range texts {
		if id, err := parseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// deleteScheduled cancels one event that waits. What was tried stays in the
// history, so an event that is over cannot be deleted.
func deleteScheduled(ctx context.Context, q Querier, a Asked, c metadata.DeleteScheduledEvent) (json.RawMessage, error) {
	d, err := holdEvent(ctx, q, c.EventID, kindsOf(c.Type)...)
	switch {
	case err != nil:
		return nil, err
	case d.leased:
		return nil, domain.Refuse(domain.Busy, "event is already being processed")
	case !d.queued:
		return nil, domain.Refuse(domain.NotSupported, "the event is over (%s), and its history is kept", d.state)
	}
	if _, err := q.Exec(ctx, "delete from annals.delivery_queue where lane = annals.lane_of($1, $2) and turn_at = $3 and delivery_id = $4", d.kind, d.trigger, d.turn, d.id); err != nil {
		return nil, fmt.Errorf("cancel delivery %s: %w", d.id, err)
	}
	return success(), note(ctx, q, d, "cancelled", "", d.round, a.Position)
}
