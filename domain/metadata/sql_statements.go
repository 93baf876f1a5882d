package metadata

import "strings"

// transactionControl are the first words of statements that begin or end a
// transaction. SAVEPOINT, RELEASE and ROLLBACK TO stay inside of one.
var transactionControl = map[string]bool{
	"BEGIN": true, "START": true, "COMMIT": true, "END": true,
	"ABORT": true, "ROLLBACK": true, "PREPARE TRANSACTION": true,
}

// endsTransaction finds a statement in SQL text that would begin or end a
// transaction. It reads the text as PostgreSQL does with
// standard_conforming_strings on: quoted text, dollar quotes, comments and
// the bodies of SQL-standard functions hide what is in them. Text that lies
// about itself gets past it; the command handler therefore also looks whether
// its transaction is still the same.
func endsTransaction(sql string) (statement string, found bool) {
	l := sqlLexer{text: sql}
	for l.next() {
		if transactionControl[l.verb()] {
			return l.verb(), true
		}
	}
	return "", false
}

// copiesFromClient reports whether a statement of SQL text waits for rows that
// whoever sends the text has to send too. It reads the text as [endsTransaction]
// does.
func copiesFromClient(sql string) bool {
	l := sqlLexer{text: sql}
	for l.next() {
		if l.awaitsRows {
			return true
		}
	}
	return false
}

// sqlLexer walks the statements of a text, keeping the first words of each.
type sqlLexer struct {
	text  string
	at    int
	words []string
	// awaitsRows: the statement is a COPY from whoever sends it.
	awaitsRows bool
	done       bool
}

// firstWords is how many words of a statement tell what it is.
const firstWords = 6

// next takes one statement, up to a semicolon outside of quotes, parentheses
// and BEGIN ATOMIC bodies; false when nothing is left.
func (l *sqlLexer) next() bool {
	if l.done {
		return false
	}
	l.words, l.awaitsRows = l.words[:0], false
	depth, atomic := 0, 0
	last := ""
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case c == '\'':
			l.quoted('\'', strings.EqualFold(last, "E") && l.at > 0 && isWordByte(l.text[l.at-1]))
			last = ""
		case c == '"':
			l.quoted('"', false)
			last = ""
		case strings.HasPrefix(l.text[l.at:], "--"):
			l.lineComment()
		case strings.HasPrefix(l.text[l.at:], "/*"):
			l.blockComment()
		case c == '$' && l.dollarQuoted():
			last = ""
		case isWordByte(c):
			word := strings.ToUpper(l.word())
			if len(l.words) < firstWords {
				l.words = append(l.words, word)
			}
			if depth == 0 && last == "FROM" && (word == "STDIN" || word == "STDOUT") { // PostgreSQL takes either
				l.awaitsRows = l.words[0] == "COPY"
			}
			switch {
			case word == "ATOMIC" && last == "BEGIN", word == "CASE" && atomic > 0:
				atomic++
			case word == "END" && atomic > 0:
				atomic--
			}
			last = word
		case c == '(':
			depth++
			l.at++
		case c == ')':
			depth--
			l.at++
		case c == ';' && depth <= 0 && atomic == 0:
			l.at++
			return true
		default:
			l.at++
		}
	}
	l.done = true
	return len(l.words) > 0
}

// verb is the word that tells what the statement does.
func (l *sqlLexer) verb() string {
	if len(l.words) == 0 {
		return ""
	}
	first := l.words[0]
	rest := l.words[1:]
	switch {
	case first == "PREPARE" && len(rest) > 0 && rest[0] == "TRANSACTION":
		return "PREPARE TRANSACTION"
	case first == "ROLLBACK" && rollsBackToSavepoint(rest):
		return "ROLLBACK TO"
	case (first == "COMMIT" || first == "ROLLBACK") && len(rest) > 0 && rest[0] == "PREPARED":
		return first + " PREPARED" // PostgreSQL itself refuses it inside a transaction
	}
	return first
}

// rollsBackToSavepoint: ROLLBACK [WORK | TRANSACTION] TO ...
func rollsBackToSavepoint(rest []string) bool {
	if len(rest) > 0 && (rest[0] == "WORK" || rest[0] == "TRANSACTION") {
		rest = rest[1:]
	}
	return len(rest) > 0 && rest[0] == "TO"
}

func (l *sqlLexer) word() string {
	start := l.at
	for l.at < len(l.text) && (isWordByte(l.text[l.at]) || l.text[l.at] == '$') {
		l.at++
	}
	return l.text[start:l.at]
}

// quoted skips a quoted text; a doubled quote is one of it, and in an
// E” string a backslash takes the next byte along.
func (l *sqlLexer) quoted(quote byte, backslash bool) {
	for l.at++; l.at < len(l.text); l.at++ {
		switch {
		case backslash && l.text[l.at] == '\\':
			l.at++
		case l.text[l.at] == quote && l.at+1 < len(l.text) && l.text[l.at+1] == quote:
			l.at++
		case l.text[l.at] == quote:
			l.at++
			return
		}
	}
}

func (l *sqlLexer) lineComment() {
	if i := strings.IndexAny(l.text[l.at:], "\r\n"); i >= 0 {
		l.at += i
	} else {
		l.at = len(l.text)
	}
}

// blockComment skips a comment; they nest.
func (l *sqlLexer) blockComment() {
	for depth := 0; l.at < len(l.text); {
		switch {
		case strings.HasPrefix(l.text[l.at:], "/*"):
			depth++
			l.at += 2
		case strings.HasPrefix(l.text[l.at:], "*/"):
			l.at += 2
			if depth--; depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
}

// dollarQuoted skips $tag$ ... $tag$; false when there is none here.
func (l *sqlLexer) dollarQuoted() bool {
	end := l.at + 1
	for end < len(l.text) && isWordByte(l.text[end]) {
		end++
	}
	digit := l.at+1 < len(l.text) && l.text[l.at+1] >= '0' && l.text[l.at+1] <= '9'
	if digit || end >= len(l.text) || l.text[end] != '$' {
		return false
	}
	tag := l.text[l.at : end+1]
	rest := l.text[end+1:]
	if i := strings.Index(rest, tag); i >= 0 {
		l.at = end + 1 + i + len(tag)
	} else {
		l.at = len(l.text)
	}
	return true
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
