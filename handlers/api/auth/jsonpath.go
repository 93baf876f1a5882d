package auth

import (
	"fmt"
	"regexp"
	"strconv"
)

// jsonPath leads to a value inside a JSON value:
//
//	path = [ "$" ] { "." name | [ "." ] ( "[" number "]" | "['" text "']" | '["' text '"]' ) }
//
// The first name may go without its dot where there is no $; a dot before a
// bracket means nothing, and is how v1.3 has it in its examples.
type jsonPath []step

// step is a member of an object, or an element of a list.
type step struct {
	name    string
	index   int
	element bool
}

var (
	memberStep  = regexp.MustCompile(`^\.?([\pL_][\pL\pN_-]*)`)
	elementStep = regexp.MustCompile(`^\.?\[([0-9]{1,9})\]`)
	quotedStep  = regexp.MustCompile(`^\.?\[(?:'([^']*)'|"([^"]*)")\]`)
)

func parseJSONPath(text string) (jsonPath, error) {
	rest, rooted := text, false
	if rest != "" && rest[0] == '$' {
		rest, rooted = rest[1:], true
	}
	path := jsonPath{}
	for rest != "" {
		s, n := nextStep(rest)
		bare := n > 0 && rest[0] != '.' && rest[0] != '['
		if n == 0 || bare && (rooted || len(path) > 0) {
			return nil, fmt.Errorf("invalid JSON path %q at %q: expecting something like $.hasura.claims or $['https://example.org'].roles[0]", text, rest)
		}
		path, rest = append(path, s), rest[n:]
	}
	if len(path) == 0 && !rooted {
		return nil, fmt.Errorf("invalid JSON path %q: expecting something like $.hasura.claims, or $ for all", text)
	}
	return path, nil
}

// nextStep reads the step that a text begins with, and says how long it is; 0
// when there is none.
func nextStep(text string) (step, int) {
	if m := memberStep.FindStringSubmatch(text); m != nil {
		return step{name: m[1]}, len(m[0])
	}
	if m := elementStep.FindStringSubmatch(text); m != nil {
		index, _ := strconv.Atoi(m[1]) // nine digits at most
		return step{index: index, element: true}, len(m[0])
	}
	if m := quotedStep.FindStringSubmatch(text); m != nil {
		return step{name: m[1] + m[2]}, len(m[0])
	}
	return step{}, 0
}

// find returns the value that the path leads to.
func (p jsonPath) find(value any) (any, bool) {
	for _, s := range p {
		switch container := value.(type) {
		case map[string]any:
			member, ok := container[s.name]
			if s.element || !ok {
				return nil, false
			}
			value = member
		case []any:
			if !s.element || s.index >= len(container) {
				return nil, false
			}
			value = container[s.index]
		default:
			return nil, false
		}
	}
	return value, true
}
