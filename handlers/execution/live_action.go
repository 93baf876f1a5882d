package execution

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"

	"annals/domain/engine/plan"
)

// asksForCalls reports whether an operation asks what became of asynchronous
// actions. What is read then depends on what was read before, so subscriptions
// to it are answered one by one.
func asksForCalls(op *plan.Operation) bool {
	for _, f := range op.Fields {
		if _, ok := f.Step.(*plan.ActionResult); ok {
			return true
		}
	}
	return false
}

// shapeApart is the shape of a subscription that is answered apart from others:
// its ID is the one plan's.
func (e *Executor) shapeApart(op *plan.Operation) *Shape {
	s := &Shape{plan: op, steps: stepsOf(op, e.config.Options), apart: true}
	_, _ = rand.Read(s.ID[:]) // it never fails
	return s
}

// liveApart is a subscription that is answered apart. Its values are all that
// its request brought, and its shape is only of those who brought the same: a
// request that cannot be answered fails alone.
func liveApart(s *Shape, op Operation, p *prepared) *Live {
	op.steps = s.steps
	variables, _ := json.Marshal(op.Variables) // it was JSON
	session, _ := json.Marshal(variablesAndRole(op.Session))
	values := appendValue(appendValue(nil, variables), session)
	own := *s
	own.ID = sha256.Sum256(append(s.ID[:], values...))
	return &Live{Shape: &own, Values: string(values), made: p, operation: op}
}

func (e *Executor) answerApart(ctx context.Context, all []*Live) ([][]byte, error) {
	answers := make([][]byte, len(all))
	for i, l := range all {
		var err error
		if answers[i], err = e.query(ctx, l.operation, newOutside(l.operation)); err != nil {
			return nil, failedTogether(err, len(all))
		}
	}
	return answers, nil
}
