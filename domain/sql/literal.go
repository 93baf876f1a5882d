package sql

import "strings"

// Literal is a text constant, for statements that take no parameters: those
// that define something. Elsewhere a text is a [Value].
type Literal string

func (l Literal) print(p *printer) {
	var b strings.Builder
	writeLiteral(&b, []byte(l))
	p.raw(b.String())
}
