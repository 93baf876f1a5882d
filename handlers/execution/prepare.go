package execution

import (
	"encoding/json"
	"fmt"
	"sync"

	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/translate"
	"annals/domain/metadata"
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

// generation is what is kept while the metadata stays as it is: the schema,
// and plans with their statements.
type generation struct {
	catalog  metadata.Catalog
	standing metadata.Standing
	schema   *schema.Schema
	capacity int

	mu    sync.RWMutex
	plans map[planKey]*prepared
}

type planKey struct {
	role        string
	backendOnly bool
	name, query string
}

// prepared is a plan with the statements of a query; those of a mutation
// depend on what it finds.
type prepared struct {
	plan  *plan.Operation
	steps []translate.Step
	// shape is a subscription's, made when it is first asked for.
	shape func() *Shape
}

// generation returns what is kept for the metadata of this moment.
func (e *Executor) generation() *generation {
	w := e.world()
	g := e.kept.Load()
	if g != nil && g.catalog == w.Catalog && g.standing == w.Standing {
		return g
	}
	next := &generation{
		catalog: w.Catalog, standing: w.Standing, schema: schema.New(w),
		capacity: e.config.KeptPlans, plans: make(map[planKey]*prepared),
	}
	// Of two that find the metadata moved, both may go on with their own: one is kept.
	e.kept.CompareAndSwap(g, next)
	return next
}

// prepare returns a request's plan, made anew unless one is kept that fits its variables.
func (e *Executor) prepare(r Request) (Operation, error) {
	_, op, err := e.prepareIn(e.generation(), r)
	return op, err
}

// prepareIn prepares a request for the metadata of one moment.
func (e *Executor) prepareIn(g *generation, r Request) (*prepared, Operation, error) {
	key := planKey{r.Session.Role, r.BackendOnly, r.Query.OperationName, r.Query.Query}
	p := g.find(key)
	if p == nil || !p.plan.Fits(r.Query.Variables) {
		r.Query.Limits = e.config.Limits
		op, err := plan.Build(g.schema.Role(r.Session.Role, r.BackendOnly), r.Query)
		if err != nil {
			return nil, Operation{}, err
		}
		p = &prepared{op, e.translate(op), sync.OnceValue(func() *Shape { return e.shapeOf(op) })}
		g.keep(key, p)
	}
	variables, err := variablesOf(r.Query.Variables)
	if err != nil {
		return nil, Operation{}, err
	}
	return p, Operation{Plan: p.plan, Session: r.Session, Variables: variables, Client: r.Client, steps: p.steps}, nil
}

func constantBytes(op *plan.Operation) (bytes int) {
	for _, f := range op.Fields {
		if c, ok := f.Step.(plan.Constant); ok {
			bytes += len(c)
		}
	}
	return bytes
}

func variablesOf(raw json.RawMessage) (variables map[string]json.RawMessage, err error) {
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &variables); err != nil {
			return nil, fmt.Errorf("read the variables: %w", err)
		}
	}
	return variables, nil
}

func (g *generation) find(key planKey) *prepared {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.plans[key]
}

// keep keeps a plan; where there are too many, any other gives way.
func (g *generation) keep(key planKey, p *prepared) {
	if len(key.query) > MaxKeptQueryBytes || constantBytes(p.plan) > MaxKeptConstantBytes || g.capacity < 1 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.plans {
		if len(g.plans) < g.capacity {
			break
		}
		delete(g.plans, other)
	}
	g.plans[key] = p
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
		}
	}
	return steps
}
