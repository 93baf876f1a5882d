package deliver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"annals/domain/delivery"
	"annals/domain/metadata"
)

// AllLanes is the topic of what is due anywhere. Any other topic is a lane.
const AllLanes = "*"

// splitLane is the kind of the deliveries in a lane, and whose they are.
func splitLane(lane string) (delivery.Kind, string) {
	kind, trigger, _ := strings.Cut(lane, ":")
	return delivery.Kind(kind), trigger
}

// Job is a delivery that this node has a lease on.
type Job struct {
	delivery.Delivery
	Lane  string
	Lease int
	Round int
	Tries int // made before in this round
	// Claimed is the database's time of the claim.
	Claimed time.Time
	// Gone says that the delivery's record was dropped: it cannot be made.
	Gone bool

	key   uuid.UUID // its id, as the database has it
	turn  time.Time // with the lane and the id: its place in the queue
	until time.Time // when the lease ends, by this node's clock
	queue *queue    // that it is from
}

// Hold makes sure that the lease lasts for so long from now.
func (j Job) Hold(ctx context.Context, length time.Duration) error {
	if j.queue == nil || time.Until(j.until) >= length {
		return nil
	}
	return j.queue.renew(ctx, j, length)
}

// Attempt is what came of a lease.
type Attempt struct {
	// Outcome is empty when nothing was tried.
	Outcome  delivery.Outcome
	Status   int
	Request  json.RawMessage
	Response json.RawMessage
	// Dropped is why the delivery is over without a try.
	Dropped string
	// Unknown is why nothing could be tried yet.
	Unknown string
	// Given says that the lease is given back.
	Given bool
	// Delay is the time until the next try, if one is to come.
	Delay    time.Duration
	Started  time.Time
	Finished time.Time
}

// over reports whether no try is to come.
func (a Attempt) over() bool {
	return a.Dropped != "" || a.Outcome == delivery.Delivered || a.Outcome == delivery.Failed
}

// result names an attempt in metrics.
func (a Attempt) result() string {
	switch {
	case a.Dropped != "":
		return "dropped"
	case a.Unknown != "":
		return "unknown"
	case a.Given:
		return "given-back"
	}
	return string(a.Outcome)
}

// broken is the attempt of a handler that broke down.
func broken(j Job, w metadata.World) Attempt {
	plan, _ := delivery.PlanOf(j.Delivery, w)
	now := time.Now()
	next := delivery.Decide(plan.Policy, j.Tries, delivery.Answer{Status: internalError}, 0)
	return Attempt{
		Outcome: next.Outcome, Delay: next.Delay, Status: internalError, Started: now, Finished: now,
		Response: delivery.FailureLog(j.Kind, "internal error"),
	}
}

// internalError is the status of a try that broke down on our side.
const internalError = 500
