// Package plantest prints plans for the golden files of tests: one line for a
// step or a field, what belongs to it indented below.
package plantest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"annals/domain/engine/plan"
)

type printer struct{ b strings.Builder }

// Print prints an operation's plan.
func Print(op *plan.Operation) string {
	var p printer
	for _, root := range op.Fields {
		head := root.Alias
		if root.Alias != root.Field {
			head += " (" + root.Field + ")"
		}
		p.step(head, root.Step)
	}
	if len(op.Session) > 0 {
		p.line(0, "session: %s", strings.Join(op.Session, ", "))
	}
	if shaped := op.ShapedBy(); len(shaped) > 0 {
		p.line(0, "shaped by: %s", strings.Join(shaped, ", "))
	}
	return p.b.String()
}

func (p *printer) line(depth int, format string, args ...any) {
	fmt.Fprintf(&p.b, "%s%s\n", strings.Repeat("  ", depth), fmt.Sprintf(format, args...))
}

func (p *printer) step(head string, step plan.Step) {
	switch s := step.(type) {
	case plan.Constant:
		p.line(0, "%s = %s", head, s)
	case *plan.Rows:
		p.rows(0, head, s)
	case *plan.Aggregate:
		p.aggregate(0, head, s)
	case *plan.Insert:
		p.insert(0, head, s)
		p.answer(1, s.Answer)
	case *plan.Update:
		p.line(0, "%s: update %s%s", head, s.Table.Name, marked(" by key", s.ByKey))
		p.where(1, "where", s.Where)
		for _, u := range s.Set {
			p.line(1, "%s %s %s", u.Operator, u.Column.Name, val(u.Value))
		}
		p.where(1, "check", s.Check)
		p.answer(1, s.Answer)
	case *plan.Delete:
		p.line(0, "%s: delete %s%s", head, s.Table.Name, marked(" by key", s.ByKey))
		p.where(1, "where", s.Where)
		p.answer(1, s.Answer)
	case *plan.Action:
		p.line(0, "%s: call %s %s", head, s.Name, template(s.Input))
		p.output(1, s.Output)
	case *plan.StartAction:
		p.line(0, "%s: start %s %s", head, s.Name, template(s.Input))
	case *plan.ActionResult:
		p.line(0, "%s: result of %s %s%s", head, s.Name, val(s.ID), marked(" list", s.List))
		for _, f := range s.Fields {
			if f.Output == nil {
				p.line(1, "%s = %s%s", f.Alias, f.Column, f.Typename)
				continue
			}
			p.line(1, "%s", f.Alias)
			p.output(2, *f.Output)
		}
	}
}

// template prints JSON with variables in it.
func template(t plan.Template) string {
	var b strings.Builder
	for _, piece := range t {
		if piece.Variable == "" {
			b.Write(piece.Literal)
		} else {
			b.WriteString(val(piece))
		}
	}
	return b.String()
}

func (p *printer) output(depth int, out plan.Output) {
	var members []string
	for _, m := range out.Members {
		members = append(members, m.Name+marked("!", m.Required))
	}
	p.line(depth, "answers%s: %s", marked(" a list", out.List), strings.Join(members, ", "))
	for _, f := range out.Selection {
		if f.Related != nil {
			p.rows(depth, fmt.Sprintf("%s (%v)", f.Alias, f.Related.On), f.Related.Rows)
			continue
		}
		p.line(depth, "%s = %s%s", f.Alias, f.Member, f.Typename)
	}
}

func marked(text string, is bool) string {
	if is {
		return text
	}
	return ""
}

func (p *printer) rows(depth int, head string, r *plan.Rows) {
	p.line(depth, "%s: %s%s", head, source(r.Source), marked(" single", r.Single))
	p.selection(depth+1, r)
	p.fields(depth+1, r.Selection)
}

func source(s plan.Source) string {
	if s.Call == nil {
		return s.Table.Name.String()
	}
	return call(*s.Call) + " of " + s.Table.Name.String()
}

func call(c plan.Call) string {
	var args []string
	for _, a := range c.Arguments {
		text := ""
		switch {
		case a.Row:
			text = "<row>"
		case a.Session:
			text = "<session>"
		default:
			text = val(*a.Value)
		}
		if a.Name != "" {
			text = a.Name + "=>" + text
		}
		args = append(args, text)
	}
	return c.Function.String() + "(" + strings.Join(args, ", ") + ")"
}

func (p *printer) selection(depth int, r *plan.Rows) {
	p.where(depth, "where", r.Where)
	for _, o := range r.Order {
		p.line(depth, "order: %s", order(o))
	}
	if r.Distinct != nil {
		p.line(depth, "distinct: %s", strings.Join(r.Distinct, ", "))
	}
	if r.Limit != nil {
		p.line(depth, "limit: %s", val(*r.Limit))
	}
	if r.MaxRows != nil {
		p.line(depth, "at most: %d", *r.MaxRows)
	}
	if r.Offset != nil {
		p.line(depth, "offset: %s", val(*r.Offset))
	}
}

func order(o plan.Order) string {
	var b strings.Builder
	for _, h := range o.Via {
		fmt.Fprintf(&b, "%s(%s%s).", h.Table.Name, pairs(h.On), suffixed(h.Where))
	}
	if a := o.Aggregate; a != nil {
		fmt.Fprintf(&b, "%s(%s)", a.Function, a.Column)
	} else {
		b.WriteString(o.Column)
	}
	b.WriteString(map[bool]string{true: " desc", false: " asc"}[o.Descending])
	b.WriteString(map[bool]string{true: " nulls first", false: " nulls last"}[o.NullsFirst])
	return b.String()
}

func suffixed(c plan.Condition) string {
	if c == nil {
		return ""
	}
	return " where " + cond(c)
}

func pairs(on []plan.Pair) string {
	texts := make([]string, len(on))
	for i, p := range on {
		texts[i] = p.Here + "=" + p.There
	}
	return strings.Join(texts, ",")
}

func (p *printer) where(depth int, name string, c plan.Condition) {
	if c != nil {
		p.line(depth, "%s: %s", name, cond(c))
	}
}

func (p *printer) fields(depth int, fields []plan.Field) {
	for _, f := range fields {
		switch {
		case f.Typename != "":
			p.line(depth, "%s = %q", f.Alias, f.Typename)
		case f.Column != nil:
			p.line(depth, "%s", column(f))
		case f.Rows != nil:
			p.rows(depth, f.Alias+" on "+pairs(f.Rows.On), f.Rows.Rows)
		case f.Groups != nil:
			p.aggregate(depth, f.Alias+" on "+pairs(f.Groups.On), f.Groups.Aggregate)
		case f.Scalar != nil:
			p.line(depth, "%s: %s %s%s", f.Alias, call(f.Scalar.Call), f.Scalar.SQLType, path(f.Scalar.Path))
		case f.Computed != nil:
			p.rows(depth, f.Alias, f.Computed)
		}
	}
}

func column(f plan.Field) string {
	if f.Alias == f.Column.Name {
		return f.Alias + path(f.Column.Path)
	}
	return f.Alias + ": " + f.Column.Name + path(f.Column.Path)
}

func path(steps []string) string {
	if steps == nil {
		return ""
	}
	return fmt.Sprintf(" at %q", steps)
}

func (p *printer) aggregate(depth int, head string, a *plan.Aggregate) {
	p.line(depth, "%s: aggregate %s", head, source(a.Rows.Source))
	p.selection(depth+1, &a.Rows)
	for _, f := range a.Fields {
		switch {
		case f.Typename != "":
			p.line(depth+1, "%s = %q", f.Alias, f.Typename)
		case f.IsNodes:
			p.line(depth+1, "%s: nodes", f.Alias)
			p.fields(depth+2, f.Nodes)
		default:
			p.line(depth+1, "%s: aggregate", f.Alias)
			p.values(depth+2, f.Values)
		}
	}
}

func (p *printer) values(depth int, values []plan.AggregateValue) {
	for _, v := range values {
		switch {
		case v.Typename != "":
			p.line(depth, "%s = %q", v.Alias, v.Typename)
		case v.Function == "count":
			distinct := ""
			if v.Distinct != nil {
				distinct = " distinct " + val(*v.Distinct)
			}
			p.line(depth, "%s: count(%s)%s", v.Alias, strings.Join(v.Columns, ", "), distinct)
		default:
			p.line(depth, "%s: %s", v.Alias, v.Function)
			for _, c := range v.Of {
				if c.Typename != "" {
					p.line(depth+1, "%s = %q", c.Alias, c.Typename)
				} else {
					p.line(depth+1, "%s: %s", c.Alias, c.Column.Name)
				}
			}
		}
	}
}

func (p *printer) insert(depth int, head string, i *plan.Insert) {
	p.line(depth, "%s: insert %s%s", head, i.Table.Name, marked(" one", i.One))
	p.where(depth+1, "check", i.Check)
	if c := i.Conflict; c != nil {
		p.line(depth+1, "on conflict %s update %q", c.Constraint, c.Update)
		p.assignments(depth+2, c.Set)
		p.where(depth+2, "where", c.Where)
		p.where(depth+2, "check", c.Check)
	}
	for _, o := range i.Objects {
		p.line(depth+1, "row %s", o.Path)
		for _, n := range o.Before {
			p.insert(depth+2, "before "+n.Relationship+" on "+pairs(n.On), n.Insert)
		}
		p.assignments(depth+2, o.Columns)
		for _, n := range o.After {
			p.insert(depth+2, "after "+n.Relationship+" on "+pairs(n.On), n.Insert)
		}
	}
}

func (p *printer) assignments(depth int, list []plan.Assignment) {
	for _, a := range list {
		p.line(depth, "%s = %s", a.Column.Name, val(a.Value))
	}
}

func (p *printer) answer(depth int, a plan.MutationAnswer) {
	p.fields(depth, a.Row)
	for _, f := range a.Fields {
		switch {
		case f.Typename != "":
			p.line(depth, "%s = %q", f.Alias, f.Typename)
		case f.AffectedRows:
			p.line(depth, "%s: affected rows", f.Alias)
		case f.IsReturning:
			p.line(depth, "%s: returning", f.Alias)
			p.fields(depth+1, f.Returning)
		}
	}
}

func cond(c plan.Condition) string {
	switch c := c.(type) {
	case nil:
		return "true"
	case plan.All:
		return joined(c, " and ")
	case plan.Any:
		return joined(c, " or ")
	case plan.Not:
		return "not " + cond(c.Of)
	case plan.Never:
		return "never"
	case plan.IsNull:
		return c.Column.Name + " is_null " + val(c.Value)
	case plan.CompareColumns:
		return c.Left.Name + " " + c.Operator + " " + c.Right.Name
	case plan.Exists:
		return "exists " + c.Table.Name.String() + "(" + pairs(c.On) + suffixed(c.Where) + ")"
	case plan.Compare:
		return compare(c)
	}
	return fmt.Sprintf("%T", c)
}

func compare(c plan.Compare) string {
	left := c.Column.Name
	if c.CastTo != "" {
		left += "::" + c.CastTo
	}
	text := left + " " + c.Operator + marked("?", c.NullSafe) + " " + val(c.Value)
	for _, name := range slices.Sorted(maps.Keys(c.More)) {
		text += " " + name + "=" + val(c.More[name])
	}
	return text
}

func joined(list []plan.Condition, by string) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = cond(c)
	}
	return "(" + strings.Join(texts, by) + ")"
}

func val(v plan.Value) string {
	switch {
	case v.Session != "":
		return "@" + v.Session
	case v.Variable != "" && v.Default != nil:
		return "$" + v.Variable + "=" + string(v.Default)
	case v.Variable != "":
		return "$" + v.Variable
	}
	return string(v.Literal)
}
