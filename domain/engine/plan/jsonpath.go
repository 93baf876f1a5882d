package plan

import (
	"errors"
	"fmt"
	"strings"

	"annals/domain/engine/schema"
)

// jsonPath reads the argument path of a JSON column: $, .a.b, arr[0], ['key']
// and their combinations.
func (b *builder) jsonPath(args arguments) []string {
	v, at, ok := args.optional("path", wanted{name: schema.String})
	if !ok {
		return nil
	}
	text(at, v)
	path, err := parsePath(v.text)
	if err != nil {
		at.fail("parse json path error: %v", err)
	}
	return path
}

// parsePath reads names and indexes.
func parsePath(s string) ([]string, error) {
	var path []string
	rest := strings.TrimPrefix(s, "$")
	for first := len(rest) == len(s); rest != ""; first = false {
		var step string
		var err error
		switch {
		case rest[0] == '[':
			step, rest, err = bracketed(rest[1:])
		case rest[0] == '.' && strings.HasPrefix(rest, ".["):
			step, rest, err = bracketed(rest[2:])
		case rest[0] == '.':
			step, rest, err = named(rest[1:])
		case first:
			step, rest, err = named(rest)
		default:
			err = fmt.Errorf("expected . or [ before %q", rest)
		}
		if err != nil {
			return nil, err
		}
		path = append(path, step)
	}
	return path, nil
}

func named(s string) (step, rest string, err error) {
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	if end == 0 {
		return "", "", errors.New("a name is empty")
	}
	return s[:end], s[end:], nil
}

// bracketed reads 0], 'key'] or "key"].
func bracketed(s string) (step, rest string, err error) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		quote := s[:1]
		step, rest, closed := strings.Cut(s[1:], quote+"]")
		if !closed {
			return "", "", errors.New("a quoted key does not end")
		}
		return step, rest, nil
	}
	step, rest, closed := strings.Cut(s, "]")
	if !closed || step == "" || strings.Trim(step, "0123456789") != "" {
		return "", "", errors.New("an index is no number")
	}
	return step, rest, nil
}
