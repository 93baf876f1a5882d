package execution

import (
	"context"

	"annals/domain"
	"annals/domain/engine/plan"
)

// Request is an operation as it was asked for.
type Request struct {
	Session domain.Session
	// BackendOnly lets the role use permissions that are kept for backends.
	BackendOnly bool
	Query       plan.Request
	// Client is who asked, for servers that help to answer.
	Client Client
	// Told is called before the operation is run, with the SQL of each root field
	// of a query; nil for what is no query. It must not block. Nil: nobody is told.
	Told func([]Told)
}

// Run makes the plan of an operation against the metadata of this moment, runs
// it, and returns its whole answer, {"data": ...}. A subscription is refused.
func (e *Executor) Run(ctx context.Context, r Request) ([]byte, error) {
	op, err := e.admitted(ctx, r)
	if err != nil {
		return nil, err
	}
	if op.Plan.Kind == plan.Subscription {
		return nil, domain.RefuseAt("$", domain.UnexpectedPayload, "subscriptions are not supported over HTTP, use websockets instead")
	}
	return e.RunPlan(ctx, op)
}

// admitted is the plan of an operation that may be run.
func (e *Executor) admitted(ctx context.Context, r Request) (Operation, error) {
	if err := e.Admit(ctx, r); err != nil {
		return Operation{}, err
	}
	return e.prepare(r)
}

// Begun is an operation that nothing keeps from running.
type Begun struct {
	Kind plan.Kind
	// Run answers a query or a mutation, as [Executor.Run] does.
	Run func(context.Context) ([]byte, error)
}

// Begin makes the plan of an operation and, as v1.3 does while it plans, calls the handlers of its
// actions. It is for those who tell what keeps an operation from being run from what happens
// while it runs.
func (e *Executor) Begin(ctx context.Context, r Request) (Begun, error) {
	op, err := e.admitted(ctx, r)
	if err != nil {
		return Begun{}, err
	}
	known, err := e.begin(ctx, op)
	if err == nil && op.Plan.Kind == plan.Subscription {
		op.tell(nil)
	}
	run := func(ctx context.Context) ([]byte, error) { return e.finish(ctx, op, known) }
	return Begun{op.Plan.Kind, run}, err
}
