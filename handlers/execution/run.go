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

// Check makes the plan of an operation as [Executor.Run] does, and says of which kind it
// is. An error is what would keep the operation from being begun.
func (e *Executor) Check(ctx context.Context, r Request) (plan.Kind, error) {
	op, err := e.admitted(ctx, r)
	if err != nil {
		return "", err
	}
	return op.Plan.Kind, e.checkSession(op)
}
