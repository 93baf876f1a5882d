package deliver

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"annals/domain"
	"annals/domain/delivery"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/handlers/execution"
	"annals/projections/actions"
	"annals/projections/deliveries"
)

// Actions sends the calls of asynchronous actions. A handler is called once, as
// v1.3 has it: what it answers is the result, a failure too. It is called again
// where nobody can know whether it answered: the node died, or had to stop.
type Actions struct {
	Pool deliveries.Querier
	// World gives the metadata of the moment.
	World func() metadata.World
	// Call calls a handler: [execution.Executor.CallAction].
	Call func(context.Context, execution.ActionCall, *plan.Output) (execution.ActionAnswer, error)
	// LeaseMargin is what a lease must have beyond the timeout.
	LeaseMargin time.Duration
	Log         *slog.Logger
}

// Kinds are the deliveries that it sends.
func (Actions) Kinds() []delivery.Kind { return []delivery.Kind{delivery.Action} }

// Send implements [Sender].
func (s *Actions) Send(ctx context.Context, j Job) Attempt {
	if j.Gone {
		return Attempt{Dropped: "its record is gone"}
	}
	action, output, ok := s.action(j.Trigger)
	if !ok {
		s.Log.Error("a call waits for its action", "delivery", j.ID, "action", j.Trigger, "again_in", delivery.Unknown.String())
		return Attempt{Unknown: "there is no action " + j.Trigger + " that can stand", Delay: delivery.Unknown}
	}
	timeout := time.Duration(action.Definition.Timeout) * time.Second
	if err := j.Hold(ctx, timeout+s.LeaseMargin); err != nil {
		s.Log.Warn("a delivery is left to others", "delivery", j.ID, "error", err)
		return Attempt{Given: true}
	}
	call, state, err := actions.Open(ctx, s.Pool, j.ID)
	switch {
	case errors.Is(err, actions.ErrGone):
		return Attempt{Dropped: err.Error()}
	case err != nil:
		s.Log.Warn("the call of an action cannot be opened", "delivery", j.ID, "error", err)
		return Attempt{Unknown: err.Error(), Delay: delivery.Unknown}
	case state == actions.Completed:
		return Attempt{Outcome: delivery.Delivered}
	case state == actions.Failed:
		return Attempt{Outcome: delivery.Failed}
	}
	return s.call(ctx, j, call, action, output)
}

// action is an action as it is defined now, with what its handler has to answer.
func (s *Actions) action(name string) (a metadata.Action, out plan.Output, ok bool) {
	w := s.World()
	a, ok = w.ActionNamed(name)
	if !ok {
		return a, out, false
	}
	object := w.CustomTypes().Object(metadata.TypeOf(a.Definition.OutputType).Name())
	if object == nil {
		return a, out, false
	}
	return a, plan.OutputOf(a, *object), true
}

// call calls the handler, and keeps what it answered before the lease ends.
func (s *Actions) call(ctx context.Context, j Job, c actions.Call, action metadata.Action, out plan.Output) Attempt {
	call := execution.ActionCall{
		Name: action.Name, Definition: action.Definition, Input: c.Input, Client: c.Header,
		Session: domain.Session{Role: c.Session[domain.OwnPrefix+"role"], Variables: c.Session},
	}
	a := Attempt{Started: time.Now(), Outcome: delivery.Delivered}
	answer, err := s.Call(ctx, call, &out)
	a.Finished, a.Status, a.Request = time.Now(), answer.Status, answer.Sent
	if ctx.Err() != nil {
		return Attempt{Given: true}
	}
	var refusal *domain.Error
	switch {
	case err == nil:
		a.Response = answer.Body
		err = actions.Finish(ctx, s.Pool, c.ID, j.Lease, answer.Body, nil)
	case errors.As(err, &refusal):
		a.Outcome, a.Response = delivery.Failed, actions.Errors(refusal)
		err = actions.Finish(ctx, s.Pool, c.ID, j.Lease, nil, a.Response)
	}
	if err != nil {
		s.Log.Warn("what came of a call cannot be kept: it will be made again", "delivery", j.ID, "error", err)
		return Attempt{Given: true}
	}
	if a.Status == 0 {
		a.Status = delivery.NoAnswer
	}
	return a
}
