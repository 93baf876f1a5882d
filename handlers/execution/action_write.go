package execution

import (
	"encoding/json"

	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

// outside is what was found out without the database, by root field; nil for a
// field that needs none of it.
type outside []*found

func newOutside(op Operation) outside { return make(outside, len(op.Plan.Fields)) }

// found is what is known of one root field without the database: the objects
// that a handler answered with, before their rows are read, with the call of an
// asynchronous action that they belong to; or the whole value of a remote server.
type found struct {
	objects []map[string]json.RawMessage
	call    *actionCallRow
	remote  json.RawMessage
}

// rows are the keys of a root field's objects, as its statements are bound with.
func (o outside) rows(i int, a *translate.Attached) [][][]byte {
	if a == nil || o[i] == nil {
		return nil
	}
	return keyRows(o[i].objects, a.Keys)
}

// outside writes the answer of an action. Sets hold the rows that belong to
// its objects.
func (w *writer) outside(step plan.Step, f *found, a *translate.Attached) {
	o := objectWriter{w, a, keyRows(f.objects, a.Keys)}
	switch s := step.(type) {
	case *plan.Action:
		o.output(&s.Output, f.objects, a.Levels)
	case *plan.ActionResult:
		o.result(s, f, a.Levels)
	}
}

// objectWriter writes objects that did not come from the database, with the
// rows that belong to them.
type objectWriter struct {
	*writer
	attached *translate.Attached
	keys     [][][]byte
}

func (o objectWriter) output(out *plan.Output, objects []map[string]json.RawMessage, levels []translate.AttachedLevel) {
	if !out.List {
		o.object(out, objects[0], o.keys[0], levels)
		return
	}
	o.out = append(o.out, '[')
	for i, object := range objects {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.object(out, object, o.keys[i], levels)
	}
	o.out = append(o.out, ']')
}

func (o objectWriter) object(out *plan.Output, object map[string]json.RawMessage, keys [][]byte, levels []translate.AttachedLevel) {
	o.out = append(o.out, '{')
	for i, f := range out.Selection {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.key(f.Alias)
		switch {
		case f.Related != nil:
			o.level(levels[0].Level, keys, levels[0].On)
			levels = levels[1:]
		case f.Typename != "":
			o.out = appendString(o.out, []byte(f.Typename))
		case object[f.Member] == nil:
			o.null()
		default:
			o.out = append(o.out, object[f.Member]...)
		}
	}
	o.out = append(o.out, '}')
}

// action writes a synchronous action's answer, which came before the
// transaction began.
func (tx transaction) action(w *writer, a *plan.Action, f *found) error {
	step := translate.Attach(a.Output.Related(), tx.config.Options)
	sets, err := tx.belonging(step.Statements, keyRows(f.objects, step.Attached.Keys))
	if err != nil {
		return err
	}
	w.reading(sets, func() { w.outside(a, f, step.Attached) })
	return nil
}
