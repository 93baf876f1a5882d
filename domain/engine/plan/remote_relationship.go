package plan

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/engine/join"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
)

// joined builds a field of a remote schema that is joined to the rows of a
// table. [nameJoins] names its call.
func (b *builder) joined(at place, rel *schema.RemoteRelationship, f field) *Join {
	if b.kind == Subscription {
		b.root.failCode(domain.NotSupported, "Remote relationships are not allowed in subscriptions")
		return nil
	}
	w := joinWriter{remoteReader: newRemoteReader(b, rel.TypesWithInputs()), rel: rel, keys: map[string]int{}}
	call := &join.Call{Remote: rel.RemoteSchema, NullOnError: rel.OnError == metadata.NullOnError, Text: w.path(at, f)}
	for _, step := range rel.Path[1:] {
		call.Within = append(call.Within, step.Definition.Name)
	}
	for _, v := range w.selection("").Variables {
		call.Variables = append(call.Variables, join.Variable(v))
	}
	return w.columns(call)
}

// joinWriter writes a remote field with places for join keys.
type joinWriter struct {
	remoteReader
	rel  *schema.RemoteRelationship
	keys map[string]int // the columns that are used, by name
	used []string
}

// columns tells the columns that the call takes from those that it does not.
func (w *joinWriter) columns(call *join.Call) *Join {
	j := &Join{Call: call}
	for _, name := range w.used {
		for _, c := range w.rel.Columns {
			if c.Name == name {
				j.Keys = append(j.Keys, c)
			}
		}
	}
	for _, c := range w.rel.Columns {
		if _, used := w.keys[c.Name]; !used {
			j.Present = append(j.Present, c)
		}
	}
	return j
}

// path writes the fields from the remote's query root to the joined one, with
// what is selected of it.
func (w *joinWriter) path(at place, f field) join.Text {
	var text join.Text
	last := len(w.rel.Path) - 1
	for _, step := range w.rel.Path[:last] {
		text = text.Lit(step.Definition.Name).Concat(inParentheses(w.fixed(step))).Lit(" { ")
	}
	step := w.rel.Path[last]
	text = text.Lit(step.Definition.Name).Concat(inParentheses(w.given(at, step, f))).Lit(" " + w.selected(at, step.Definition, f))
	return text.Lit(strings.Repeat(" }", last))
}

func (w *joinWriter) selected(at place, d *ast.FieldDefinition, f field) string {
	of := w.types.Types[d.Type.Name()]
	switch {
	case at.failed():
		return ""
	case !of.IsCompositeType():
		w.b.noSelection(at, f)
		return ""
	case len(f.selections) == 0:
		at.fail("missing selection set for %q", f.name)
		return ""
	}
	return w.selections(at.key("selectionSet"), of, f.selections)
}

// fixed writes the arguments that the definition gives a step.
func (w *joinWriter) fixed(step schema.RemoteStep) []join.Text {
	var texts []join.Text
	for name, value := range step.Fixed.Members() {
		texts = append(texts, withName(name, w.fixedValue(value)))
	}
	return texts
}

// given writes the arguments of the joined field: those of the definition,
// those of the operation, and those that are some of both.
func (w *joinWriter) given(at place, step schema.RemoteStep, f field) []join.Text {
	var names []string
	for _, a := range w.rel.Field.Arguments {
		names = append(names, a.Name)
	}
	args := w.b.arguments(at, f, names...)
	var texts []join.Text
	for _, a := range step.Definition.Arguments {
		fixed, own := step.Fixed.Member(a.Name), w.rel.Field.Arguments.ForName(a.Name)
		switch {
		case !fixed.Given():
			if text, ok := w.argument(args, a.Name, a.Type, a.DefaultValue); ok {
				texts = append(texts, join.Text{}.Lit(text))
			}
		case own == nil:
			texts = append(texts, withName(a.Name, w.fixedValue(fixed)))
		default:
			texts = append(texts, withName(a.Name, w.both(args, a.Name, fixed, own.Type)))
		}
	}
	return texts
}
