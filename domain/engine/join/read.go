package join

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads JSON once, from its beginning to its end. What it returns lies in
// the text that it reads. Of members with one name it yields all.
type reader struct {
	text []byte
	dec  *jsontext.Decoder
}

func newReader(text []byte) reader {
	return reader{text, jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))}
}

// kind is what comes next, by its first byte: n, t, f, ", 0, {, }, [ or ].
func (r reader) kind() byte { return byte(r.dec.PeekKind()) }

func (r reader) value() ([]byte, error) {
	v, err := r.dec.ReadValue()
	end := int(r.dec.InputOffset())
	return r.text[end-len(v) : end], err
}

func (r reader) skip() error { return r.dec.SkipValue() }

// end fails where something follows.
func (r reader) end() error {
	_, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("more than one value")
	}
	return err
}

// members calls f with the name of each member of an object; f reads the value.
func (r reader) members(f func(name []byte) error) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.kind() == '"' {
		name, err := r.name()
		if err != nil {
			return err
		}
		if err := f(name); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

func (r reader) name() ([]byte, error) {
	quoted, err := r.value()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}

// items calls f before each item of a list; f reads it.
func (r reader) items(f func() error) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for kind := r.kind(); kind != ']' && kind != 0; kind = r.kind() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}
