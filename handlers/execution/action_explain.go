package execution

import (
	"encoding/json"

	"annals/domain/engine/plan"
)

// actionExplained is the call of a handler as it would be made. Nobody is
// called, so what would be read of the answer's objects is explained for none.
type actionExplained struct {
	Name string `json:"name"`
	// Handler is as it is defined: no value of the environment is shown.
	Handler      string          `json:"handler"`
	Timeout      int             `json:"timeout"`
	Asynchronous bool            `json:"asynchronous"`
	Request      json.RawMessage `json:"request"`
}

// actionOf explains the call that a step makes; nil for other steps.
func (e *Executor) actionOf(step plan.Step, op Operation) *actionExplained {
	var called plan.Called
	asynchronous := false
	switch s := step.(type) {
	case *plan.Action:
		called = s.Called
	case *plan.StartAction:
		called, asynchronous = s.Called, true
	default:
		return nil
	}
	call := ActionCall{Name: called.Name, Session: op.Session, Input: called.Input.JSON(op.Variables), Prefix: e.config.HeaderPrefix}
	return &actionExplained{called.Name, called.Definition.Handler, called.Definition.Timeout, asynchronous, call.Body()}
}
