package join

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
)

// Needs is what the answer to one operation needs of remotes. The zero value
// needs nothing.
type Needs struct {
	asks  []ask
	keys  []byte // those of the asks, one after the other
	holes []hole
	known map[*Call]index
	seed  maphash.Seed
	// latest is the call that something was added for last, and its index.
	latest      *Call
	latestIndex index
	// expected is how many rows there may be.
	expected int
}

// ask is one key of a call; many rows may have it.
type ask struct {
	call     *Call
	from, to int // of the key in the keys
	value    []byte
}

// hole is a place in the answer where the value of an ask belongs.
type hole struct{ at, ask int }

// index finds the asks of a call by the hashes of their keys. Where two keys
// have one hash, the later one is found behind it.
type index map[uint64]int

// maxRoom is for how many rows room is made before any came.
const maxRoom = 1 << 12

// usualKey is how long a key is expected to be.
const usualKey = 8

// Expect says for how many rows there may be something to add.
func (n *Needs) Expect(rows int) { n.expected = min(rows, maxRoom) }

// Add notes that the value of a call belongs at a place of the answer. Places
// only grow. The key is the caller's again when Add returns.
func (n *Needs) Add(at int, c *Call, k Key) {
	known := n.index(c)
	hash := maphash.Bytes(n.seed, k)
	i, ok := known[hash]
	for ; ok && !bytes.Equal(n.key(i), k); i, ok = known[hash] {
		hash++
	}
	if !ok {
		i = len(n.asks)
		known[hash] = i
		from := len(n.keys)
		n.keys = append(n.keys, k...)
		n.asks = append(n.asks, ask{call: c, from: from, to: len(n.keys)})
	}
	n.holes = append(n.holes, hole{at, i})
}

// index returns that of a call.
func (n *Needs) index(c *Call) index {
	if c != n.latest {
		known, ok := n.known[c]
		if !ok {
			known = n.meet(c)
		}
		n.latest, n.latestIndex = c, known
	}
	return n.latestIndex
}

// meet makes the index of a call, and room for the rows that are expected.
func (n *Needs) meet(c *Call) index {
	if n.known == nil {
		n.known, n.seed = map[*Call]index{}, maphash.MakeSeed()
	}
	n.known[c] = make(index, n.expected)
	n.asks, n.holes = slices.Grow(n.asks, n.expected), slices.Grow(n.holes, n.expected)
	n.keys = slices.Grow(n.keys, n.expected*usualKey)
	return n.known[c]
}

func (n *Needs) key(i int) Key { return Key(n.keys[n.asks[i].from:n.asks[i].to]) }

// appendAlias writes the name that an ask has in documents.
func (n *Needs) appendAlias(b []byte, i int) []byte {
	b = append(append(b, n.asks[i].call.Name...), "__"...)
	return strconv.AppendInt(b, int64(i), 10)
}

func (n *Needs) alias(i int) string { return string(n.appendAlias(nil, i)) }

// Len is how many different keys are needed.
func (n *Needs) Len() int { return len(n.asks) }
