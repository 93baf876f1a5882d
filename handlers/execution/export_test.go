package execution

// Prepare makes or finds a request's plan, as Run does first.
func (e *Executor) Prepare(r Request) (Operation, error) { return e.prepare(r) }

// LiveOf is a subscription with a plan of the test's own.
func (e *Executor) LiveOf(op Operation) (*Live, error) { return newLive(e.shapeOf(op.Plan), op, nil) }
