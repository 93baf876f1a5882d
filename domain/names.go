package domain

import (
	"strings"
	"unicode/utf8"
)

// PublicSchema is the namespace that a name without one belongs to.
const PublicSchema = "public"

// MaxIdentifierBytes is the length PostgreSQL cuts an identifier to. A longer
// name cannot name anything.
const MaxIdentifierBytes = 63

// QualifiedName names a table, view or function of the user's database.
type QualifiedName struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

// String prints the name as messages do: bare in the public schema, else with
// its schema before it.
func (n QualifiedName) String() string {
	if n.Schema == PublicSchema {
		return n.Name
	}
	return n.Schema + "." + n.Name
}

// Key prints the name so that it can be told apart from every other, also
// when its parts hold dots or quotes: see [JoinKey].
func (n QualifiedName) Key() string { return JoinKey(n.Schema, n.Name) }

// JoinKey joins the parts of a name with dots. A part that is not made of
// letters, digits, '_', '$' and '-' alone is put in double quotes, inner
// quotes doubled, so that different parts never give the same key:
//
//	JoinKey("public", "author")   public.author
//	JoinKey("public", "a.b")      public."a.b"
func JoinKey(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		writeKeyPart(&b, part)
	}
	return b.String()
}

func writeKeyPart(b *strings.Builder, part string) {
	if part != "" && strings.IndexFunc(part, needsQuote) < 0 {
		b.WriteString(part)
		return
	}
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(part, `"`, `""`))
	b.WriteByte('"')
}

func needsQuote(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '$', r == '-':
		return false
	case r > utf8.RuneSelf && r != utf8.RuneError:
		return false
	}
	return true
}

// IsGraphQLName reports whether s is a name of the GraphQL grammar:
// [_A-Za-z][_0-9A-Za-z]*.
func IsGraphQLName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
