package execution

import (
	"encoding/json"
	"sync"
	"sync/atomic"

	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/translate"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// Limits of what is kept of operations that were prepared.
const (
	// DefaultKeptPlans is how many plans are kept.
	DefaultKeptPlans = 4000
	// MaxKeptConstantBytes is how large the answers may be that a kept plan holds
	// in itself: introspection is long, and asked for rarely.
	MaxKeptConstantBytes = 64 << 10
	// MaxKeptQueryBytes is how long the text of an operation may be whose plan is kept.
	MaxKeptQueryBytes = 64 << 10
)

// plans is what is kept of operations: their plans, with their statements. A
// plan is kept from one world of the metadata to the next, for as long as what
// it was made of does not change.
type plans struct {
	capacity int

	mu    sync.RWMutex
	byKey map[planKey]*prepared
}

type planKey struct {
	role        string
	backendOnly bool
	name, query string
}

// prepared is a plan with the statements of a query; those of a mutation
// depend on what it finds.
type prepared struct {
	plan    *plan.Operation
	steps   []translate.Step
	sources schema.Sources
	// seen is the moment of the metadata at which the plan was last found to hold.
	seen atomic.Pointer[metadata.Version]
	// shape is a subscription's, made when it is first asked for.
	shape func() *Shape
}

// holds reports whether the plan is also the one for a world. It looks at the
// plan's sources once for each change of the metadata.
func (p *prepared) holds(w metadata.World) bool {
	now := w.Standing.Moment()
	if p.seen.Load() == now {
		return true
	}
	if !p.sources.Hold(w) {
		return false
	}
	p.seen.Store(now)
	return true
}

// prepare returns a request's plan, made anew unless one is kept that fits its variables.
func (e *Executor) prepare(r Request) (Operation, error) {
	_, op, err := e.prepareIn(e.world(), r)
	return op, err
}

// prepareIn prepares a request in a world of the metadata.
func (e *Executor) prepareIn(w metadata.World, r Request) (*prepared, Operation, error) {
	key := planKey{r.Session.Role, r.BackendOnly, r.Query.OperationName, r.Query.Query}
	p := e.kept.find(key)
	if p == nil || !p.holds(w) || !p.plan.Fits(r.Query.Variables) {
		var err error
		if p, err = e.make(e.schema, w, r); err != nil {
			return nil, Operation{}, err
		}
		e.kept.keep(key, p)
	}
	return p, p.operation(r), nil
}

// make makes the plan of a request, with a schema that keeps what it is made of.
func (e *Executor) make(s *schema.Schema, w metadata.World, r Request) (*prepared, error) {
	r.Query.Limits, r.Query.DropNulls = e.config.Limits, e.config.DropNulls
	role := s.Role(w, r.Session.Role, r.BackendOnly)
	op, err := plan.Build(role, r.Query)
	if err != nil {
		return nil, err
	}
	p := &prepared{
		plan: op, steps: e.translate(op), sources: role.Sources(),
		shape: sync.OnceValue(func() *Shape { return e.shapeOf(op) }),
	}
	p.seen.Store(w.Standing.Moment())
	return p, nil
}

// operation is the plan with what a request brings.
func (p *prepared) operation(r Request) Operation {
	return Operation{
		Plan: p.plan, Session: r.Session, Variables: variablesOf(r.Query.Variables), Client: r.Client, told: r.Told, steps: p.steps,
	}
}

func constantBytes(op *plan.Operation) (bytes int) {
	for _, f := range op.Fields {
		if c, ok := f.Step.(plan.Constant); ok {
			bytes += len(c)
		}
	}
	return bytes
}

func variablesOf(given wire.Value) map[string]json.RawMessage {
	var variables map[string]json.RawMessage
	for name, value := range given.Members() {
		if variables == nil {
			variables = make(map[string]json.RawMessage)
		}
		variables[name] = value.Raw()
	}
	return variables
}

func (k *plans) find(key planKey) *prepared {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.byKey[key]
}

// keep keeps a plan; where there are too many, any other gives way.
func (k *plans) keep(key planKey, p *prepared) {
	if len(key.query) > MaxKeptQueryBytes || constantBytes(p.plan) > MaxKeptConstantBytes || k.capacity < 1 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, again := k.byKey[key]; !again {
		for other := range k.byKey {
			if len(k.byKey) < k.capacity {
				break
			}
			delete(k.byKey, other)
		}
	}
	k.byKey[key] = p
}

// translate makes the statements of a query's steps. Constants have none.
func (e *Executor) translate(op *plan.Operation) []translate.Step {
	if op.Kind != plan.Query {
		return nil
	}
	return stepsOf(op, e.config.Options)
}

func stepsOf(op *plan.Operation, o translate.Options) []translate.Step {
	steps := make([]translate.Step, len(op.Fields))
	for i, f := range op.Fields {
		switch s := f.Step.(type) {
		case *plan.Rows:
			steps[i] = translate.Rows(s, o)
		case *plan.Aggregate:
			steps[i] = translate.Aggregate(s, o)
		case *plan.Action:
			steps[i] = translate.Attach(s.Output.Related(), o)
		case *plan.ActionResult:
			steps[i] = translate.Attach(s.Related(), o)
		}
	}
	return steps
}
