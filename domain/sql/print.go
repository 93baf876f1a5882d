package sql

import (
	"strconv"
	"strings"
)

// Text is a printed statement: Parameters[i] is what $i+1 refers to.
type Text struct {
	SQL        string
	Parameters []any
}

// Print prints a statement.
func Print(n Node) Text {
	var p printer
	n.print(&p)
	return Text{p.text.String(), p.parameters}
}

type printer struct {
	text       strings.Builder
	parameters []any
	instead    func(Value) Node // see [Instead]
}

func (p *printer) raw(text string) { p.text.WriteString(text) }

func (p *printer) print(nodes ...Node) {
	for _, n := range nodes {
		if n != nil {
			n.print(p)
		}
	}
}

// clause prints a keyword and what belongs to it, if there is something.
func (p *printer) clause(keyword string, n Node) {
	if n != nil {
		p.raw(keyword)
		n.print(p)
	}
}

func (p *printer) list(keyword string, separator constant, nodes []Node) {
	if len(nodes) > 0 {
		p.raw(keyword)
		joined{separator, nodes}.print(p)
	}
}

func (r raw) print(p *printer) { p.raw(string(r)) }

func (n Name) print(p *printer) { writeQuoted(&p.text, string(n)) }

func (i Integer) print(p *printer) { p.raw(strconv.FormatInt(int64(i), 10)) }

func (t Type) print(p *printer) { writeType(&p.text, string(t)) }

func (v Value) print(p *printer) {
	if p.instead != nil {
		instead := p.instead
		p.instead = nil // what stands for a value may hold values itself
		instead(v).print(p)
		p.instead = instead
		return
	}
	p.parameters = append(p.parameters, v.Of)
	p.raw("$" + strconv.Itoa(len(p.parameters)))
	if v.Type != "" {
		p.raw("::")
		v.Type.print(p)
	}
}

func (s substituted) print(p *printer) {
	around := p.instead
	p.instead = s.instead
	s.of.print(p)
	p.instead = around
}

func (s sequence) print(p *printer) { p.print(s...) }

func (j joined) print(p *printer) {
	for i, n := range j.nodes {
		if i > 0 {
			p.raw(string(j.separator))
		}
		n.print(p)
	}
}
