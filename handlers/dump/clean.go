package dump

import (
	"bufio"
	"io"
	"regexp"
	"strings"
)

var (
	// noise is a line that only prepares the session, makes what every database
	// has, or says something in passing.
	noise = regexp.MustCompile(`^(SET \w+ = .*;|SELECT pg_catalog\.set_config\('search_path', '', false\);|` +
		`CREATE SCHEMA public;|COMMENT ON SCHEMA public IS 'standard public schema';|--.*|\\(un)?restrict .*|)$`)
	// capture is a line about a database trigger that an event trigger has on a table.
	capture = regexp.MustCompile(`^(CREATE TRIGGER .* EXECUTE (FUNCTION|PROCEDURE) annals\.|ALTER TABLE .* TRIGGER "?annals_)`)
	tag     = regexp.MustCompile(`^\$\w*\$`)
)

// withoutNoise reads what pg_dump wrote without the lines that only set the session
// up, comments and blank lines between statements, and without the triggers
// that capture changes for webhooks. Bodies of functions, and rows, stay as
// they are.
func withoutNoise(text io.Reader) io.Reader {
	return &cleaner{lines: bufio.NewReader(text)}
}

type cleaner struct {
	lines *bufio.Reader
	// inside is what ends the text that is not to be touched; empty outside of any.
	inside string
	ready  string
	err    error
}

// endOfRows is the line behind the rows of a COPY.
const endOfRows = `\.`

// Read implements [io.Reader].
func (c *cleaner) Read(p []byte) (int, error) {
	for c.ready == "" && c.err == nil {
		var line string
		line, c.err = c.lines.ReadString('\n')
		if c.keeps(strings.TrimRight(line, "\r\n")) {
			c.ready = line
		}
	}
	if c.ready == "" {
		return 0, c.err
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// keeps reports whether a line stays, and follows where quoted text begins and ends.
func (c *cleaner) keeps(line string) bool {
	if c.inside == endOfRows {
		if line == endOfRows {
			c.inside = ""
		}
		return true
	}
	outside := c.inside == ""
	if outside && (noise.MatchString(line) || capture.MatchString(line)) {
		return false
	}
	c.inside = quoted(c.inside, line)
	if outside && strings.HasPrefix(line, "COPY ") && strings.HasSuffix(line, " FROM stdin;") {
		c.inside = endOfRows
	}
	return true
}

// quoted returns the mark that ends the quoted text which goes on behind a
// line, given the one that went on before it; empty is outside of any.
func quoted(inside, line string) string {
	for i := 0; i < len(line); {
		rest := line[i:]
		switch {
		case inside != "":
			end := strings.Index(rest, inside)
			if end < 0 {
				return inside
			}
			i, inside = i+end+len(inside), ""
		case strings.HasPrefix(rest, "--"):
			return ""
		case rest[0] == '\'' || rest[0] == '"':
			i, inside = i+1, rest[:1]
		default:
			i++
			if tag := tag.FindString(rest); tag != "" {
				i, inside = i-1+len(tag), tag
			}
		}
	}
	return inside
}
