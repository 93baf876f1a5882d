package join

import (
	"slices"
	"strconv"
	"strings"
)

// Needs is what the answer to one operation needs of remotes. The zero value
// needs nothing.
type Needs struct {
	asks  []ask
	known map[*Call]map[string]int // the asks of a call by their keys
	holes []hole
}

// ask is one key of a call; many rows may have it.
type ask struct {
	call  *Call
	key   string
	value []byte
}

// hole is a place in the answer where the value of an ask belongs.
type hole struct{ at, ask int }

// Add notes that the value of a call belongs at a place of the answer. Places
// only grow. The key is the caller's again when Add returns.
func (n *Needs) Add(at int, c *Call, k Key) {
	if n.known == nil {
		n.known = map[*Call]map[string]int{}
	}
	known := n.known[c]
	if known == nil {
		known = map[string]int{}
		n.known[c] = known
	}
	i, ok := known[string(k)]
	if !ok {
		i = len(n.asks)
		n.asks = append(n.asks, ask{call: c, key: string(k)})
		known[n.asks[i].key] = i
	}
	n.holes = append(n.holes, hole{at, i})
}

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
	var fields []byte
	last := (*Call)(nil)
	for _, i := range asks {
		a := &n.asks[i]
		if a.call != last {
			r.declare(a.call.Variables)
			r.MayFail = r.MayFail && a.call.NullOnError
			last = a.call
		}
		fields = append(n.appendAlias(append(fields, ' '), i), ": "...)
		fields = a.call.Text.append(fields, a.key)
	}
	r.Query = "query " + declarations(r.Variables) + " {" + string(fields) + " }"
	return r
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
