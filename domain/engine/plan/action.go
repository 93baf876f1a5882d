package plan

import (
	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
)

// Action is a call of an action's handler, which answers the root field.
type Action struct {
	Called
	Output Output
}

// StartAction leaves an asynchronous action to be called. The id of the call is
// the answer.
type StartAction struct{ Called }

// Called is an action with what it is given.
type Called struct {
	Name       string
	Definition metadata.ActionDefinition
	// Input is a JSON object.
	Input Template
}

// ActionResult is what became of one call of an asynchronous action, or null.
type ActionResult struct {
	Name string
	ID   Value
	// List is set where the handler answers a list of objects.
	List   bool
	Fields []ResultField
}

// ResultField is one key of an action's result: a Typename, one of Column, or
// the Output.
type ResultField struct {
	Alias    string
	Typename string
	Column   ResultColumn
	Output   *Output
}

// ResultColumn is a part of a result beside the output.
type ResultColumn string

// The parts of a result.
const (
	ResultID        ResultColumn = "id"
	ResultCreatedAt ResultColumn = "created_at"
	ResultErrors    ResultColumn = "errors"
)

// Output is what a handler has to answer, and what is answered of it.
type Output struct {
	// List is set where a list of objects is wanted, not one.
	List bool
	// Members are the fields of the object type: no others may come.
	Members   []OutputMember
	Selection []OutputField
}

// OutputMember is a field of an output's type.
type OutputMember struct {
	Name     string
	Required bool
}

// OutputField is one key in the answer: a Typename, a Member of the handler's
// object as it came, or Related rows, whose pairs join members of the object
// (Here) to columns.
type OutputField struct {
	Alias    string
	Typename string
	Member   string
	Related  *Related
}

// Related lists the relationships that are selected, in order.
func (o *Output) Related() []*Related {
	var related []*Related
	for _, f := range o.Selection {
		if f.Related != nil {
			related = append(related, f.Related)
		}
	}
	return related
}

// Related lists the relationships that are selected of the outputs, in order.
func (r *ActionResult) Related() []*Related {
	var related []*Related
	for _, f := range r.Fields {
		if f.Output != nil {
			related = append(related, f.Output.Related()...)
		}
	}
	return related
}

func (*Action) step()       {}
func (*StartAction) step()  {}
func (*ActionResult) step() {}

// actionStep builds a root field of an action.
func (b *builder) actionStep(at place, root schema.Root, f field) Step {
	a := root.Action
	switch root.Kind {
	case schema.StartAction:
		called := b.called(at, a, f)
		b.noSelection(at, f)
		return &StartAction{called}
	case schema.ActionResult:
		return b.actionResult(at, a, f)
	}
	if b.kind == Subscription {
		b.root.failCode(domain.NotSupported, "query actions cannot be run as a subscription")
		return nil
	}
	return &Action{b.called(at, a, f), b.output(at, a, f)}
}

func (b *builder) called(at place, a *schema.Action, f field) Called {
	inputs := a.Arguments()
	names := make([]string, len(inputs))
	for i, in := range inputs {
		names[i] = in.Name
	}
	r := templateReader{b: b, types: b.role.ActionTypes()}
	r.members(b.arguments(at, f, names...), inputs)
	return Called{a.Name, a.Definition, r.template()}
}

// OutputOf is what a handler has to answer, whatever is answered of it.
func OutputOf(a metadata.Action, object metadata.CustomObject) Output {
	out := Output{List: metadata.TypeOf(a.Definition.OutputType).Elem != nil}
	for _, member := range object.Fields {
		out.Members = append(out.Members, OutputMember{member.Name, metadata.TypeOf(member.Type).NonNull})
	}
	return out
}

// output reads what is selected of a handler's answer.
func (b *builder) output(at place, a *schema.Action, f field) Output {
	out := OutputOf(a.Action, a.Object.CustomObject)
	at, selected := b.subselection(at, a.Object.Name, f)
	for _, s := range selected {
		if at.failed() {
			break
		}
		out.Selection = append(out.Selection, b.outputField(at.key(s.name), a.Object, s))
	}
	return out
}

func (b *builder) outputField(at place, o *schema.ActionObject, f field) OutputField {
	if f.name == typenameField {
		b.typename(at, o.Name, f)
		return OutputField{Alias: f.alias, Typename: o.Name}
	}
	if o.Field(f.name) != nil {
		b.noSelection(at, f)
		b.noArguments(at, f)
		return OutputField{Alias: f.alias, Member: f.name}
	}
	if r := o.Relationship(f.name); r != nil {
		return OutputField{Alias: f.alias, Related: &Related{pairs(r), b.related(at, r, f)}}
	}
	at.fail("field %q not found in type: '%s'", f.name, o.Name)
	return OutputField{}
}

// actionResult builds the result of an asynchronous action.
func (b *builder) actionResult(at place, a *schema.Action, f field) Step {
	result := &ActionResult{Name: a.Name, List: a.Output.Elem != nil}
	uuid := schema.Leaf{Name: "uuid", SQL: "uuid"}
	args := b.arguments(at, f, "id")
	if v, ok := args.find("id"); ok {
		result.ID = b.leaf(args.at.key("id"), v, uuid, wanted{name: uuid.Name, nonNull: true}, nullRefused)
	} else {
		args.at.key("id").fail("missing required field %q", "id")
	}
	at, selected := b.subselection(at, a.Name, f)
	for _, s := range selected {
		if at.failed() {
			return nil
		}
		result.Fields = append(result.Fields, b.resultField(at.key(s.name), a, s))
	}
	return result
}

func (b *builder) resultField(at place, a *schema.Action, f field) ResultField {
	if f.name == "output" {
		b.noArguments(at, f)
		output := b.output(at, a, f)
		return ResultField{Alias: f.alias, Output: &output}
	}
	b.noSelection(at, f)
	b.noArguments(at, f)
	switch f.name {
	case typenameField:
		return ResultField{Alias: f.alias, Typename: a.Name}
	case string(ResultID), string(ResultCreatedAt), string(ResultErrors):
		return ResultField{Alias: f.alias, Column: ResultColumn(f.name)}
	}
	at.fail("field %q not found in type: '%s'", f.name, a.Name)
	return ResultField{}
}
