package plan

// nameJoins names the calls of an operation after the keys of the answer that
// lead to them below the root field, as v1.3 does: errors of a remote have
// these names in their paths.
func nameJoins(op *Operation) {
	for _, n := range Joins(op.Fields...) {
		n.Call.Name = n.Name
	}
}

// NamedJoin is a join that a root field leads to.
type NamedJoin struct {
	Name string
	*Join
}

// Joins lists the fields of remote schemas that are joined to rows below root
// fields.
func Joins(roots ...Root) []NamedJoin {
	var n joinNames
	for _, root := range roots {
		switch s := root.Step.(type) {
		case *Rows:
			n.fields("", s.Selection)
		case *Aggregate:
			n.aggregate("", s)
		case *Insert:
			n.answer(s.Answer)
		case *Update:
			n.answer(s.Answer)
		case *Delete:
			n.answer(s.Answer)
		case *Action:
			n.output("", &s.Output)
		case *ActionResult:
			n.result(s)
		}
	}
	return n.found
}

type joinNames struct{ found []NamedJoin }

func (n *joinNames) fields(before string, fields []Field) {
	for _, f := range fields {
		name := before + f.Alias
		switch {
		case f.Join != nil:
			n.found = append(n.found, NamedJoin{name, f.Join})
		case f.Rows != nil:
			n.fields(name+"_", f.Rows.Rows.Selection)
		case f.Computed != nil:
			n.fields(name+"_", f.Computed.Selection)
		case f.Groups != nil:
			n.aggregate(name+"_", f.Groups.Aggregate)
		}
	}
}

func (n *joinNames) aggregate(before string, a *Aggregate) {
	for _, f := range a.Fields {
		n.fields(before+f.Alias+"_", f.Nodes)
	}
}

func (n *joinNames) answer(a MutationAnswer) {
	n.fields("", a.Row)
	for _, f := range a.Fields {
		n.fields(f.Alias+"_", f.Returning)
	}
}

func (n *joinNames) output(before string, o *Output) {
	for _, f := range o.Selection {
		if f.Related != nil {
			n.fields(before+f.Alias+"_", f.Related.Rows.Selection)
		}
	}
}

func (n *joinNames) result(r *ActionResult) {
	for _, f := range r.Fields {
		if f.Output != nil {
			n.output(f.Alias+"_", f.Output)
		}
	}
}
