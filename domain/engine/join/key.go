package join

import "bytes"

// Key is the join keys of one row, as literals of GraphQL in the order of the
// call's places. None of them is null.
type Key []byte

// keyEnd stands behind each literal: none holds it.
const keyEnd = '\x00'

// Written adds a literal as it stands.
func (k Key) Written(literal []byte) Key { return append(append(k, literal...), keyEnd) }

// Quoted adds a text.
func (k Key) Quoted(text []byte) Key { return append(appendQuoted(k, text), keyEnd) }

// JSON adds a JSON value. Objects whose members GraphQL cannot name are refused.
func (k Key) JSON(raw []byte) (Key, error) {
	out, err := appendJSON(k, raw)
	return append(out, keyEnd), err
}

// literal returns a literal by its number.
func (k Key) literal(n int) []byte {
	for range n {
		k = k[bytes.IndexByte(k, keyEnd)+1:]
	}
	return k[:bytes.IndexByte(k, keyEnd)]
}
