package metadata

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/wire"
)

// maxListDepth is how many lists may lie in each other in a type.
const maxListDepth = 20

// parseGraphQLType reads a type reference such as [String!]!. Blanks and
// commas between its parts mean nothing.
func parseGraphQLType(text string) (t *ast.Type, ok bool) {
	p := typeParser{rest: text}
	t = p.reference(0)
	p.skip()
	return t, t != nil && p.rest == ""
}

type typeParser struct{ rest string }

func (p *typeParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n,\ufeff") }

func (p *typeParser) take(mark string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.rest, mark)
	p.rest = rest
	return found
}

// reference reads a type; nil when there is none.
func (p *typeParser) reference(depth int) *ast.Type {
	var t ast.Type
	if p.take("[") {
		if depth == maxListDepth {
			return nil
		}
		if t.Elem = p.reference(depth + 1); t.Elem == nil || !p.take("]") {
			return nil
		}
	} else if t.NamedType = p.name(); t.NamedType == "" {
		return nil
	}
	t.NonNull = p.take("!")
	return &t
}

func (p *typeParser) name() string {
	end := 0
	for end < len(p.rest) && isNameByte(p.rest[end], end == 0) {
		end++
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	return name
}

func isNameByte(c byte, first bool) bool {
	letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return letter || !first && c >= '0' && c <= '9'
}

// decodeGraphQLType reads a type reference and returns it as it is printed.
func decodeGraphQLType(n wire.Node) string {
	text := n.String()
	if !n.Given() {
		return ""
	}
	t, ok := parseGraphQLType(text)
	if !ok {
		n.Fail("not a valid GraphQL type: %s", text)
		return ""
	}
	return t.String()
}

// baseType returns the name in a stored type reference, and whether it is a
// list.
func baseType(text string) (name string, list bool) {
	t, ok := parseGraphQLType(text)
	if !ok {
		return text, false
	}
	return t.Name(), t.Elem != nil
}
