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
	known map[*Call]*index
	seed  maphash.Seed
	// latest is the call that something was added for last, and its index.
	latest      *Call
	latestIndex *index
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

// index finds the asks of a call by their keys. It is a table with room for
// twice as many at least, in which a key stands at its hash or, where another
// does, behind that: for a thousand rows it costs a third of what a map does.
type index struct {
	slots []int32 // asks, counted from 1; 0 is free
	taken int
}

// leastSlots is how large a table begins; always a power of two.
const leastSlots = 16

// maxRoom is for how many rows room is made before any came.
const maxRoom = 1 << 12

// usualKey is how long a key is expected to be.
const usualKey = 8

// Expect says for how many rows there may be something to add.
func (n *Needs) Expect(rows int) { n.expected = min(rows, maxRoom) }

// Add notes that the value of a call belongs at a place of the answer. Places
// only grow. The key is the caller's again when Add returns.
func (n *Needs) Add(at int, c *Call, k Key) {
	i := n.find(n.index(c), k)
	if i == len(n.asks) {
		from := len(n.keys)
		n.keys = append(n.keys, k...)
		n.asks = append(n.asks, ask{call: c, from: from, to: len(n.keys)})
	}
	n.holes = append(n.holes, hole{at, i})
}

// find returns the ask of a key; one that is new gets the next number.
func (n *Needs) find(x *index, k Key) int {
	slot := n.slot(x, k)
	if i := x.slots[slot]; i > 0 {
		return int(i) - 1
	}
	if x.taken++; x.taken*2 > len(x.slots) {
		n.widen(x)
		slot = n.slot(x, k)
	}
	x.slots[slot] = int32(len(n.asks)) + 1
	return len(n.asks)
}

// slot is where a key stands, or may stand.
func (n *Needs) slot(x *index, k Key) int {
	last := len(x.slots) - 1
	slot := int(maphash.Bytes(n.seed, k)) & last
	for i := x.slots[slot]; i > 0 && !bytes.Equal(n.key(int(i)-1), k); i = x.slots[slot] {
		slot = (slot + 1) & last
	}
	return slot
}

func (n *Needs) widen(x *index) {
	old := x.slots
	x.slots = make([]int32, 2*len(old))
	for _, i := range old {
		if i > 0 {
			x.slots[n.slot(x, n.key(int(i)-1))] = i
		}
	}
}

// index returns that of a call.
func (n *Needs) index(c *Call) *index {
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
func (n *Needs) meet(c *Call) *index {
	if n.known == nil {
		n.known, n.seed = map[*Call]*index{}, maphash.MakeSeed()
	}
	size := leastSlots
	for size < 2*n.expected {
		size *= 2
	}
	n.known[c] = &index{slots: make([]int32, size)}
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

// isAlias reports whether a name is the one that an ask has in documents.
func (n *Needs) isAlias(name []byte, i int) bool {
	call := n.asks[i].call.Name
	if len(name) < len(call)+len("__0") || string(name[:len(call)]) != call || string(name[len(call):len(call)+len("__")]) != "__" {
		return false
	}
	for at := len(name) - 1; ; at-- { // the last digit first
		if at < len(call)+len("__") || name[at] != '0'+byte(i%10) {
			return false
		}
		if i /= 10; i == 0 {
			return at == len(call)+len("__")
		}
	}
}

// Len is how many different keys are needed.
func (n *Needs) Len() int { return len(n.asks) }
