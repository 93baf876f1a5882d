package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
	"annals/projections/actions"
)

// start leaves a call of an asynchronous action to be made: it is written in
// the mutation's transaction, and answered with its id.
func (tx transaction) start(w *writer, s *plan.StartAction) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make the id of a call: %w", err)
	}
	call := actions.Call{
		ID: id, Action: s.Name, Input: s.Input.JSON(tx.binding.Variables), Session: variablesAndRole(tx.binding.Session),
	}
	if s.Definition.ForwardClientHeaders {
		call.Header = tx.client.Forwarded()
	}
	statement := call.Start()
	set, err := once(tx.ctx, tx.pg, bound{statement.SQL, statement.Values}, nil)
	if err != nil {
		return presented(fmt.Errorf("start an action: %w", err), "$")
	}
	set.free()
	w.out = appendString(w.out, []byte(id.String()))
	return nil
}

// actionCallRow is what is kept of a call, each as JSON.
type actionCallRow struct {
	id, createdAt, errors json.RawMessage
	// answered says that the objects of the handler's answer are there.
	answered bool
}

// findCalls reads what became of asynchronous actions that are asked about.
func (e *Executor) findCalls(ctx context.Context, op Operation, known outside) error {
	var statements []bound
	var at []int
	for i, f := range op.Plan.Fields {
		step, ok := f.Step.(*plan.ActionResult)
		if !ok {
			continue
		}
		s := actions.Result(keyText(translate.Resolve(step.ID, op.Variables)), step.Name, visibleTo(op.Session))
		statements, at = append(statements, bound{s.SQL, s.Values}), append(at, i)
	}
	sets, err := e.read(ctx, statements)
	if err != nil {
		return err
	}
	defer free(sets)
	for n, i := range at {
		known[i] = readCall(sets[n], op.Plan.Fields[i].Step.(*plan.ActionResult))
	}
	return nil
}

// visibleTo is the session whose calls are shown; nil shows all.
func visibleTo(s domain.Session) map[string]string {
	if s.Role == domain.AdminRole {
		return nil
	}
	return variablesAndRole(s)
}

// readCall reads a call. Its response was held against the action's type of
// its time; one that no longer has that form counts as none.
func readCall(set *rowset, step *plan.ActionResult) *found {
	if set.len() == 0 {
		return &found{}
	}
	row := set.row(0)
	f := &found{call: &actionCallRow{id: appendString(nil, row[0]), createdAt: bytes.Clone(row[1]), errors: bytes.Clone(row[2])}}
	response := bytes.TrimSpace(bytes.Clone(row[3]))
	if len(response) == 0 {
		return f
	}
	var err error
	if isList := response[0] == '['; isList {
		err = json.Unmarshal(response, &f.objects)
		f.call.answered = err == nil && step.List
	} else {
		f.objects = make([]map[string]json.RawMessage, 1)
		err = json.Unmarshal(response, &f.objects[0])
		f.call.answered = err == nil && f.objects[0] != nil && !step.List
	}
	if !f.call.answered {
		f.objects = nil
	}
	return f
}

// result writes what became of a call; null where there is none to be seen.
func (o objectWriter) result(s *plan.ActionResult, f *found, levels []translate.AttachedLevel) {
	if f.call == nil {
		o.null()
		return
	}
	o.out = append(o.out, '{')
	for i, field := range s.Fields {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.key(field.Alias)
		switch {
		case field.Typename != "":
			o.out = appendString(o.out, []byte(field.Typename))
		case field.Output == nil:
			o.raw(f.call.column(field.Column))
		case !f.call.answered:
			o.null()
		default:
			o.output(field.Output, f.objects, levels)
		}
		if field.Output != nil {
			levels = levels[len(field.Output.Related()):]
		}
	}
	o.out = append(o.out, '}')
}

func (c *actionCallRow) column(name plan.ResultColumn) json.RawMessage {
	switch name {
	case plan.ResultID:
		return c.id
	case plan.ResultCreatedAt:
		return c.createdAt
	}
	return c.errors
}

// raw writes JSON, null where there is none.
func (o objectWriter) raw(v json.RawMessage) {
	if v == nil {
		o.null()
		return
	}
	o.out = append(o.out, v...)
}
