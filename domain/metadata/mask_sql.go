package metadata

import (
	"regexp"
	"strings"
)

// maskSQL hides what SQL text tells of passwords: a literal after the word
// PASSWORD, and passwords in literals that are connection strings or SQL
// themselves.
func maskSQL(sql string) string {
	m := sqlMasker{sqlLexer: sqlLexer{text: sql}}
	for m.at < len(m.text) {
		m.step()
	}
	return m.out.String()
}

type sqlMasker struct {
	sqlLexer
	out strings.Builder
	// expecting is set after the word PASSWORD, up to what follows it.
	expecting bool
	// last is the last word, when nothing came after it.
	last string
}

// step takes one token and writes it, or what stands for it.
func (m *sqlMasker) step() {
	start := m.at
	switch c := m.text[start]; {
	case strings.HasPrefix(m.text[start:], "--"):
		m.lineComment()
	case strings.HasPrefix(m.text[start:], "/*"):
		m.blockComment()
	case c == '\'':
		m.quoted('\'', strings.EqualFold(m.last, "E"))
		m.literal(m.text[start:m.at])
		return
	case c == '"':
		m.quoted('"', false)
		m.expecting = strings.EqualFold(m.text[start:m.at], `"password"`)
		m.last = ""
	case c == '$' && m.dollarQuoted():
		m.dollarLiteral(m.text[start:m.at])
		return
	case isWordByte(c):
		m.last = m.word()
		prefix := strings.EqualFold(m.last, "E") || strings.EqualFold(m.last, "U")
		m.expecting = strings.EqualFold(m.last, "password") || m.expecting && prefix
	default:
		m.at++
		m.expecting = m.expecting && strings.IndexByte(" \t\r\n=>&", c) >= 0
		m.last = ""
	}
	m.out.WriteString(m.text[start:m.at])
}

func (m *sqlMasker) literal(text string) {
	if m.expecting {
		text = "'" + masked + "'"
	}
	m.out.WriteString(maskConnections(text))
	if m.expecting && strings.HasPrefix(m.text[m.at:], "'") {
		m.out.WriteByte(' ') // another literal begins here: the two stay apart
	}
	m.expecting, m.last = false, ""
}

// dollarLiteral writes a dollar-quoted text, which is mostly the body of a
// function.
func (m *sqlMasker) dollarLiteral(text string) {
	if m.expecting {
		m.literal(text)
		return
	}
	tag := text[:strings.IndexByte(text[1:], '$')+2]
	body, closed := strings.CutSuffix(text[len(tag):], tag)
	m.out.WriteString(tag)
	m.out.WriteString(maskSQL(body))
	if closed {
		m.out.WriteString(tag)
	}
	m.last = ""
}

// Secrets inside of a literal: password=x, password='x' with the quotes
// doubled, password 'x' likewise, and scheme://user:x@host.
var (
	passwordAssigned = regexp.MustCompile(`(?i)(password\s*=\s*)(''[^']*''|[^\s';]+)`)
	passwordQuoted   = regexp.MustCompile(`(?i)(password\s+)''[^']*''`)
	userInfoPassword = regexp.MustCompile(`(://[^/\s:@']*:)[^@\s/']+@`)
)

func maskConnections(text string) string {
	text = passwordAssigned.ReplaceAllString(text, "${1}"+masked)
	text = passwordQuoted.ReplaceAllString(text, "${1}''"+masked+"''")
	return userInfoPassword.ReplaceAllString(text, "${1}"+masked+"@")
}
