package plan

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/join"
	"annals/domain/wire"
)

// fixedValue writes a value of the definition. "$name" is the place of a join
// key.
func (w *joinWriter) fixedValue(n wire.Node) join.Text {
	var text join.Text
	switch n.Kind() {
	case wire.String:
		if column, ok := strings.CutPrefix(n.String(), "$"); ok {
			return text.Put(w.key(column))
		}
		return text.Lit(join.Quote(n.String()))
	case wire.Array:
		var items []join.Text
		for _, item := range n.Items() {
			items = append(items, w.fixedValue(item))
		}
		return enclosed("[", items, "]")
	case wire.Object:
		return enclosed("{", w.fixedMembers(n), "}")
	}
	return text.Lit(string(n.Raw()))
}

func (w *joinWriter) fixedMembers(n wire.Node) []join.Text {
	var members []join.Text
	for name, value := range n.Members() {
		members = append(members, withName(name, w.fixedValue(value)))
	}
	return members
}

// key is the number of a column among the join keys.
func (w *joinWriter) key(column string) int {
	n, known := w.keys[column]
	if !known {
		n = len(w.used)
		w.keys[column], w.used = n, append(w.used, column)
	}
	return n
}

// both writes an argument that the definition gives a part of, and the
// operation may give the rest of.
func (w *joinWriter) both(of arguments, name string, fixed wire.Node, t *ast.Type) join.Text {
	v, ok := of.find(name)
	at := of.at.key(name)
	if !ok {
		if t.NonNull {
			at.fail("missing required field %q", name)
		}
		return w.fixedValue(fixed)
	}
	return w.merged(at, v, fixed, t)
}

// merged writes a value of a type that was made for the relationship, together
// with what is fixed. The remote does not know the type, so that no variable of
// it can be handed on: its value stands in its place.
func (w *joinWriter) merged(at place, v value, fixed wire.Node, t *ast.Type) join.Text {
	v = w.opened(at, v, t)
	switch {
	case at.failed():
		return nil
	case v.kind == kindNull && t.NonNull:
		at.mismatch(t.Name(), "a value", v)
		return nil
	case v.kind == kindNull && fixed.Given():
		return w.fixedValue(fixed)
	case v.kind == kindNull:
		return join.Text{}.Lit("null")
	case t.Elem != nil:
		return w.mergedList(at, v, fixed, t.Elem)
	}
	return enclosed("{", w.mergedMembers(at, v, fixed, w.types.Types[t.Name()]), "}")
}

// opened is a variable's value in its place.
func (w *joinWriter) opened(at place, v value, t *ast.Type) value {
	if v.kind != kindVariable {
		return v
	}
	declared := w.b.variables[v.text]
	if declared == nil {
		at.fail("unbound variable %q", v.text)
		return v
	}
	if !fitsType(declared.typ, t) {
		at.fail("variable %q is declared as %s, but used where %s is expected", v.text, declared.typ, t)
		return v
	}
	w.b.shaped[declared.name] = true
	return declared.value
}

// mergedList is the items that are fixed, and then those that are given.
func (w *joinWriter) mergedList(at place, v value, fixed wire.Node, item *ast.Type) join.Text {
	var items []join.Text
	if fixed.Given() {
		for _, n := range fixed.Items() {
			items = append(items, w.fixedValue(n))
		}
	}
	given := []value{v}
	if v.kind == kindList {
		given = v.items
	}
	for i, inner := range given {
		items = append(items, w.merged(at.index(i), inner, wire.Node{}, item))
	}
	return enclosed("[", items, "]")
}

func (w *joinWriter) mergedMembers(at place, v value, fixed wire.Node, d *ast.Definition) []join.Text {
	given := w.b.object(at, v, d.Name, func(name string) bool { return d.Fields.ForName(name) != nil })
	var members []join.Text
	for name, n := range fixed.Members() {
		value, left := w.fixedValue(n), d.Fields.ForName(name)
		if left != nil {
			value = w.both(given, name, n, left.Type)
		}
		members = append(members, withName(name, value))
	}
	for _, f := range d.Fields {
		if at.failed() {
			return nil
		}
		if fixed.Member(f.Name).Given() {
			continue
		}
		if text, ok := w.own(given, f); ok {
			members = append(members, withName(f.Name, text))
		}
	}
	return members
}

// own writes a member that the operation alone gives.
func (w *joinWriter) own(of arguments, f *ast.FieldDefinition) (text join.Text, given bool) {
	v, ok := of.find(f.Name)
	if ok && w.isMade(f.Type) {
		return w.merged(of.at.key(f.Name), v, wire.Node{}, f.Type), true
	}
	if _, given = w.argument(of, f.Name, f.Type, f.DefaultValue); given {
		text = text.Lit(w.spelled(v, f.Type))
	}
	return text, given
}

// isMade reports whether a type was made for the relationship.
func (w *joinWriter) isMade(t *ast.Type) bool {
	return slices.ContainsFunc(w.rel.Inputs, func(d *ast.Definition) bool { return d.Name == t.Name() })
}

// spelled writes a value that may be one of a variable: there, enum values are
// strings.
func (w *joinWriter) spelled(v value, t *ast.Type) string {
	d := w.types.Types[t.Name()]
	switch {
	case v.kind == kindList && t.Elem != nil:
		items := make([]string, len(v.items))
		for i, item := range v.items {
			items[i] = w.spelled(item, t.Elem)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case v.kind == kindObject && d.Kind == ast.InputObject:
		members := make([]string, len(v.members))
		for i, m := range v.members {
			members[i] = m.name + ": " + w.spelled(m.value, d.Fields.ForName(m.name).Type)
		}
		return "{" + strings.Join(members, ", ") + "}"
	case v.kind == kindText && d.Kind == ast.Enum:
		return v.text
	}
	return v.graphql()
}

func withName(name string, value join.Text) join.Text {
	return join.Text{}.Lit(name + ": ").Concat(value)
}

// inParentheses writes arguments; none are nothing.
func inParentheses(arguments []join.Text) join.Text {
	if len(arguments) == 0 {
		return nil
	}
	return enclosed("(", arguments, ")")
}

func enclosed(open string, texts []join.Text, end string) join.Text {
	all := join.Text{}.Lit(open)
	for i, t := range texts {
		if i > 0 {
			all = all.Lit(", ")
		}
		all = all.Concat(t)
	}
	return all.Lit(end)
}
