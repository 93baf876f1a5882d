package execution

// Prepare makes or finds a request's plan, as Run does first.
func (e *Executor) Prepare(r Request) (Operation, error) { return e.prepare(r) }
