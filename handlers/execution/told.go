package execution

import (
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

// Told is how the database answers a root field of a query.
type Told struct {
	// Field is its name in the answer.
	Field      string
	Statements []string
	// Arguments are of all the statements, those of the first one first.
	Arguments []Argument
}

// Argument is what a parameter of a statement stands for.
type Argument struct {
	Value []byte // as text; nil is null
	// Session names the session variable that it is the value of.
	Session string
	// AllSession says that it is all session variables, as a JSON object.
	AllSession bool
}

func (op Operation) tell(roots []Told) {
	if op.told != nil {
		op.told(roots)
	}
}

// toldOf sorts the statements of a query, as they are sent, by root field.
// Fields that need no database are left out.
func toldOf(op *plan.Operation, steps []translate.Step, sent []bound) []Told {
	var roots []Told
	for i, step := range steps {
		root := Told{Field: op.Fields[i].Alias}
		for _, s := range step.Statements {
			root.Statements = append(root.Statements, s.SQL)
			for j, p := range s.Parameters {
				root.Arguments = append(root.Arguments, argumentOf(p, sent[0].values[j]))
			}
			sent = sent[1:]
		}
		if root.Statements != nil {
			roots = append(roots, root)
		}
	}
	return roots
}

func argumentOf(p translate.Parameter, value []byte) Argument {
	a := Argument{Value: value, AllSession: p.Session}
	if p.Value != nil {
		a.Session = p.Value.Session
	}
	return a
}
