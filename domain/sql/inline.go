package sql

import (
	"strconv"
	"strings"
)

// Inline writes values where a printed statement has its parameters, so that
// the text can be run by hand: values[i] stands for $i+1, nil for null. A
// statement that is run has parameters; this one is to be looked at.
func Inline(statement string, values [][]byte) string {
	var b strings.Builder
	for i := 0; i < len(statement); {
		n := token(statement[i:])
		if number, ok := parameterNumber(statement[i : i+n]); ok && number <= len(values) {
			writeLiteral(&b, values[number-1])
		} else {
			b.WriteString(statement[i : i+n])
		}
		i += n
	}
	return b.String()
}

// token returns the length of what the text begins with: something in quotes,
// a word, a parameter, or a single sign.
func token(text string) int {
	switch c := text[0]; {
	case c == '"' || c == '\'':
		return quoted(text, c)
	case c == '$':
		return 1 + span(text[1:], isDigit)
	case isWord(c):
		return span(text, isWord)
	}
	return 1
}

func quoted(text string, quote byte) int {
	end := strings.IndexByte(text[1:], quote)
	if end < 0 {
		return len(text)
	}
	return end + 2 // a doubled quote begins the next token
}

func span(text string, belongs func(byte) bool) int {
	n := 0
	for n < len(text) && belongs(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord is about words after their first sign too: a $ in one is no parameter.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func parameterNumber(token string) (number int, ok bool) {
	if len(token) < 2 || token[0] != '$' {
		return 0, false
	}
	number, err := strconv.Atoi(token[1:])
	return number, err == nil && number > 0
}

// writeLiteral writes a text so that it means itself under either setting of
// standard_conforming_strings.
func writeLiteral(b *strings.Builder, value []byte) {
	if value == nil {
		b.WriteString("NULL")
		return
	}
	text := strings.ReplaceAll(string(value), "'", "''")
	if strings.Contains(text, `\`) {
		b.WriteString(" E") // apart from a word before it
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	b.WriteString("'" + text + "'")
}
