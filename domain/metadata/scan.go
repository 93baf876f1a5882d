package metadata

import (
	"bytes"
	"encoding/json"
)

// scanner walks the stored changes of an event and finds kind, key and
// definition of each, decoding nothing else: replay is bound by decoding, not
// by reading. It relies on the text being JSON, as the log's column makes
// sure, and on nothing of its layout.
type scanner struct {
	data []byte
	at   int
	bad  bool

	kind       Kind
	name       []byte // the key, lent
	definition []byte // nil when the object is gone; lent
}

// object is the key of the change, as a string of its own and as a part of
// the one that the catalog is ordered by: one allocation for both.
func (s *scanner) object() (Key, string) {
	stored := string(s.kind) + "/" + string(s.name)
	return Key{s.kind, stored[len(s.kind)+1:]}, stored
}

// next finds the next change; false at the end, or when the text has another
// form: then bad is set.
func (s *scanner) next() bool {
	s.kind, s.name, s.definition = "", nil, nil
	switch s.token() {
	case '[', ',':
	case ']':
		return false
	default:
		return s.fail()
	}
	switch s.token() {
	case '{':
	case ']':
		return false
	default:
		return s.fail()
	}
	for {
		if s.token() != '"' {
			return s.fail()
		}
		name := s.text()
		if s.token() != ':' {
			return s.fail()
		}
		s.member(name)
		switch s.token() {
		case ',':
		case '}':
			return s.kind != "" && len(s.name) > 0 || s.fail()
		default:
			return s.fail()
		}
	}
}

func (s *scanner) member(name []byte) {
	switch string(name) {
	case "kind":
		s.kind = kindOf(s.stringValue())
	case "key":
		s.name = s.stringValue()
	case "definition":
		if raw := s.value(); string(raw) != "null" {
			s.definition = raw
		}
	default:
		s.value()
	}
}

// kindOf finds the constant of a kind, so that a fold shares one string.
func kindOf(b []byte) Kind {
	if s, ok := subjects[Kind(b)]; ok {
		return s.kind
	}
	return Kind(b)
}

func (s *scanner) fail() bool {
	s.bad = true
	return false
}

// token skips white space and takes one byte; 0 at the end.
func (s *scanner) token() byte {
	for ; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
		default:
			s.at++
			return s.data[s.at-1]
		}
	}
	return 0
}

// text takes the rest of a string whose opening quote was taken, as written.
func (s *scanner) text() []byte {
	start := s.at
	for s.at < len(s.data) {
		i := bytes.IndexByte(s.data[s.at:], '"')
		if i < 0 {
			break
		}
		s.at += i + 1
		if !escaped(s.data[start : s.at-1]) {
			return s.data[start : s.at-1]
		}
	}
	s.bad = true
	return nil
}

// escaped reports whether the quote after b is one: an odd run of backslashes.
func escaped(b []byte) bool {
	n := 0
	for i := len(b) - 1; i >= 0 && b[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// stringValue takes a string value and undoes its escapes.
func (s *scanner) stringValue() []byte {
	if s.token() != '"' {
		s.bad = true
		return nil
	}
	raw := s.text()
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text string
	if err := json.Unmarshal(s.data[s.at-len(raw)-2:s.at], &text); err != nil {
		s.bad = true
	}
	return []byte(text)
}

// value takes any value, as written.
func (s *scanner) value() []byte {
	first := s.token()
	start, depth := s.at-1, 0
	for c := first; ; c = s.token() {
		switch c {
		case '"':
			s.text()
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case 0:
			s.bad = true
			return nil
		case ',', ':':
		default:
			s.literal()
		}
		if depth == 0 || s.bad {
			return s.data[start:s.at]
		}
	}
}

// literal takes the rest of a number, true, false or null.
func (s *scanner) literal() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return
		}
		s.at++
	}
}
