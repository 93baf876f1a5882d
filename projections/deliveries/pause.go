package deliveries

import (
	"context"
	"encoding/json"
	"fmt"

	"annals/domain/metadata"
)

// laneOf is the lane of a trigger.
func laneOf(kind metadata.Kind, trigger string) string {
	if kind == metadata.KindCronTrigger {
		return CronLane(trigger)
	}
	return eventLane(trigger)
}

// pause lets a lane rest. Pausing it again changes the reason.
func pause(ctx context.Context, q Querier, c metadata.PauseTrigger) (json.RawMessage, error) {
	_, err := q.Exec(ctx, `insert into annals.paused_lanes (lane, reason) values ($1, $2)
		on conflict (lane) do update set reason = excluded.reason`, laneOf(c.Kind(), c.Name), c.Reason)
	if err != nil {
		return nil, fmt.Errorf("pause trigger %s: %w", c.Name, err)
	}
	return success(), nil
}

// resume ends a lane's rest; one that does not rest goes on.
func resume(ctx context.Context, q Querier, c metadata.ResumeTrigger) (json.RawMessage, error) {
	if _, err := q.Exec(ctx, "delete from annals.paused_lanes where lane = $1", laneOf(c.Kind(), c.Name)); err != nil {
		return nil, fmt.Errorf("resume trigger %s: %w", c.Name, err)
	}
	return success(), nil
}
