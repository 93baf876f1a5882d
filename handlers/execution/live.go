package execution

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

// Shape is what subscriptions have in common that are answered together: the
// same statements, whose rows are written in the same way. Their values may
// differ, and nothing else can: the answer of each follows from the shape and from
// its values alone, whoever else is asked for in the same round trip.
type Shape struct {
	// ID is a digest of all that the shape is.
	ID [sha256.Size]byte

	plan  *plan.Operation
	steps []translate.Step
	// apart is set where each is answered on its own.
	apart bool
}

// Live is a subscription that is ready to be answered, with others of its shape.
type Live struct {
	Shape *Shape
	// Values is the same for subscriptions of a shape that have the same answer.
	Values string

	bound [][][]byte // the parameters of each statement
	made  *prepared
	// operation is set for one that is answered apart.
	operation Operation
}

// PrepareLive makes the plan of a subscription. What is wrong with it, or with
// its session, is told here.
func (e *Executor) PrepareLive(ctx context.Context, r Request) (*Live, error) {
	if err := e.Admit(ctx, r); err != nil {
		return nil, err
	}
	p, op, err := e.prepareIn(e.world(), r)
	if err != nil {
		return nil, err
	}
	if err := e.checkLive(op); err != nil {
		return nil, err
	}
	return newLive(p.shape(), op, p)
}

func newLive(s *Shape, op Operation, p *prepared) (*Live, error) {
	if s.apart {
		return liveApart(s, op, p), nil
	}
	l := &Live{Shape: s, made: p}
	if err := l.bind(translate.Binding{Variables: op.Variables, Session: op.Session}); err != nil {
		return nil, err
	}
	return l, nil
}

// IsCurrent reports whether a subscription would be prepared in the same way
// under the metadata of this moment.
func (e *Executor) IsCurrent(l *Live) bool { return l.made.holds(e.world()) }

func (e *Executor) checkLive(op Operation) error {
	if op.Plan.Kind != plan.Subscription {
		return domain.RefuseAt("$", domain.UnexpectedPayload, "a %s is no subscription", op.Plan.Kind)
	}
	for _, f := range op.Plan.Fields {
		switch f.Step.(type) {
		case *plan.Rows, *plan.Aggregate, *plan.ActionResult, plan.Constant:
		default:
			return domain.RefuseAt("$", domain.NotSupported, "%q cannot be subscribed to", f.Field)
		}
	}
	return e.checkSession(op)
}

func (e *Executor) shapeOf(op *plan.Operation) *Shape {
	if asksForCalls(op) {
		return e.shapeApart(op)
	}
	o := e.config.Options
	o.Multiplexed = true
	s := &Shape{plan: op, steps: stepsOf(op, o)}
	s.ID = s.digest()
	return s
}

// digest is over the text of the statements and the layout of the answer. What parameters
// refer to is no part of it: their values are compared.
func (s *Shape) digest() [sha256.Size]byte {
	type part struct {
		Alias    string
		Constant json.RawMessage
		SQL      []string
		Level    *translate.Level
		Group    *translate.Group
	}
	parts := make([]part, len(s.steps))
	for i, step := range s.steps {
		f := s.plan.Fields[i]
		parts[i] = part{Alias: f.Alias, Level: step.Level, Group: step.Group}
		if c, ok := f.Step.(plan.Constant); ok {
			parts[i].Constant = json.RawMessage(c)
		}
		for _, statement := range step.Statements {
			parts[i].SQL = append(parts[i].SQL, statement.SQL)
		}
	}
	text, _ := json.Marshal(parts) // texts and numbers only
	return sha256.Sum256(text)
}

// statements are all of the shape's, in the order in which they are sent.
func (s *Shape) statements() []translate.Statement {
	var all []translate.Statement
	for _, step := range s.steps {
		all = append(all, step.Statements...)
	}
	return all
}

// bind fixes the values.
func (l *Live) bind(b translate.Binding) error {
	var key []byte
	for _, s := range l.Shape.statements() {
		values, err := s.Bind(b)
		if err != nil {
			return err
		}
		l.bound = append(l.bound, values)
		for _, v := range values {
			key = appendValue(key, v)
		}
	}
	l.Values = string(key)
	return nil
}

// appendValue appends a value so that different lists of values never give the same text.
func appendValue(key, value []byte) []byte {
	if value == nil {
		return append(key, '-')
	}
	key = strconv.AppendInt(key, int64(len(value)), 10)
	return append(append(key, ':'), value...)
}

// AnswerLive answers subscriptions of one shape, in one round trip and from one
// snapshot: each as [Executor.Run] would answer it as a query. An error is of all of them.
func (e *Executor) AnswerLive(ctx context.Context, all []*Live) ([][]byte, error) {
	shape := all[0].Shape
	if shape.apart {
		return e.answerApart(ctx, all)
	}
	statements := shape.statements()
	sent := make([]bound, len(statements))
	for i, s := range statements {
		sent[i] = bound{s.SQL, manyValues(s, i, all)}
	}
	sets, err := e.readPlainly(ctx, sent)
	if err != nil {
		return nil, failedTogether(err, len(all))
	}
	defer free(sets)
	shares := make([][]*rowset, len(all))
	for i, s := range statements {
		if err := share(shares, s, sets[i]); err != nil {
			return nil, err
		}
	}
	answers := make([][]byte, len(all))
	for i := range all {
		answers[i] = writeQuery(shape.plan, shape.steps, shares[i], nil).out
	}
	return answers, nil
}

func manyValues(s translate.Statement, at int, all []*Live) [][]byte {
	if !s.Many {
		return nil
	}
	values := make([][][]byte, len(all))
	for i, l := range all {
		values[i] = l.bound[at]
	}
	return s.BindMany(values)
}

// share gives each request the rows of a statement that are its own. Rows of a
// statement without values are everybody's.
func share(shares [][]*rowset, s translate.Statement, set *rowset) error {
	if !s.Many {
		for i := range shares {
			shares[i] = append(shares[i], set)
		}
		return nil
	}
	own := make([]*rowset, len(shares))
	for i := range own {
		own[i] = &rowset{columns: set.columns}
		shares[i] = append(shares[i], own[i])
	}
	for i := range set.len() {
		row := set.row(i)
		ordinal, err := strconv.Atoi(string(row[len(row)-1]))
		if err != nil || ordinal < 0 || ordinal >= len(own) {
			return fmt.Errorf("a row of a live query belongs to no request: %q", row[len(row)-1])
		}
		own[ordinal].values = append(own[ordinal].values, row...)
	}
	return nil
}
