package join

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
)

// Needs is what the answer to one operation needs of remotes. The zero value
// needs nothing.
type Needs struct {
	asks  []ask
	keys  []byte // those of the asks, one after the other
	holes []hole
	known map[*Call]index
	seed  maphash.Seed
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

// index returns that of a call, with room for the rows that are expected.
func (n *Needs) index(c *Call) index {
	if known, ok := n.known[c]; ok {
		return known
	}
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

// Request is one document for one remote. Variables are those that it declares,
// whose values go with it. MayFail is set where all of its calls answer null
// when it fails.
type Request struct {
	Remote    string
	Query     string
	Variables []Variable
	MayFail   bool
	asks      []int
}

// Requests returns what to ask: for each remote one document, or as many as it
// takes for none to hold more than most keys.
func (n *Needs) Requests(most int) []Request {
	var remotes []string
	asks := map[string][]int{}
	for i := range n.asks {
		remote := n.asks[i].call.Remote
		if asks[remote] == nil {
			remotes = append(remotes, remote)
			asks[remote] = make([]int, 0, len(n.asks)-i)
		}
		asks[remote] = append(asks[remote], i)
	}
	var requests []Request
	for _, remote := range remotes {
		for batch := range slices.Chunk(asks[remote], most) {
			requests = append(requests, n.request(remote, batch))
		}
	}
	return requests
}

func (n *Needs) request(remote string, asks []int) Request {
	r := Request{Remote: remote, MayFail: true, asks: asks}
	size := 0
	last := (*Call)(nil)
	for _, i := range asks {
		a := &n.asks[i]
		if a.call != last {
			r.declare(a.call.Variables)
			r.MayFail = r.MayFail && a.call.NullOnError
			last = a.call
		}
		size += a.size()
	}
	var query strings.Builder
	query.Grow(size + 1<<8) // and the declarations
	query.WriteString("query " + declarations(r.Variables) + " {")
	var field []byte
	for _, i := range asks {
		field = append(n.appendAlias(append(field[:0], ' '), i), ": "...)
		field = n.asks[i].call.Text.append(field, n.key(i))
		query.Write(field)
	}
	query.WriteString(" }")
	r.Query = query.String()
	return r
}

// size is about how long the ask is in a document.
func (a *ask) size() int {
	const aliasNumber = len(" __100000: ")
	size := aliasNumber + len(a.call.Name) + a.to - a.from
	for _, p := range a.call.Text {
		size += len(p.Text)
	}
	return size
}

func (r *Request) declare(variables []Variable) {
	for _, v := range variables {
		if !slices.Contains(r.Variables, v) {
			r.Variables = append(r.Variables, v)
		}
	}
}

func declarations(variables []Variable) string {
	if len(variables) == 0 {
		return ""
	}
	texts := make([]string, len(variables))
	for i, v := range variables {
		texts[i] = v.Definition
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
