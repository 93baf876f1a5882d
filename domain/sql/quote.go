package sql

import (
	"regexp"
	"strings"
)

// Quote writes an identifier so that it means itself, whatever it holds. A NUL,
// which no name of PostgreSQL has, is left out.
func Quote(name string) string {
	var b strings.Builder
	writeQuoted(&b, name)
	return b.String()
}

func writeQuoted(b *strings.Builder, name string) {
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; c {
		case '"':
			b.WriteString(`""`)
		case 0:
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}

// Type is a type as SQL writes it, such as PostgreSQL's format_type gives:
// integer, character varying(40)[], public."Mood". A text of any other form is
// printed as one identifier, and so names a type that does not exist.
type Type string

var typeForm = regexp.MustCompile(`^` + typeWord + `(\.` + typeWord + `)?( [a-z]+)*(\([0-9A-Za-z]+(,-?[0-9]+)?\))?( [a-z]+)*(\[\])*$`)

const typeWord = `([A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*|"([^"\x00]|"")+")`

func writeType(b *strings.Builder, text string) {
	if typeForm.MatchString(text) {
		b.WriteString(text)
		return
	}
	writeQuoted(b, text)
}

// Bare returns the type without its modifier: values are cast to
// varchar(40) by cutting them, to varchar as they are.
func (t Type) Bare() Type {
	open := strings.LastIndexByte(string(t), '(')
	closing := strings.LastIndexByte(string(t), ')')
	if open < 0 || closing < open || strings.Contains(string(t[closing:]), `"`) {
		return t
	}
	return t[:open] + t[closing+1:]
}

// Array returns the type of arrays of the type.
func (t Type) Array() Type { return t + "[]" }

// BuiltIn returns a type of PostgreSQL's own by its name in pg_type.
func BuiltIn(name string) Type { return Type("pg_catalog." + Quote(name)) }
