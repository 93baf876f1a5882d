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
	keys  []string
	alias string
	value []byte
}

// hole is a place in the answer where the value of an ask belongs.
type hole struct{ at, ask int }

// keySeparator stands between keys: no literal holds it.
const keySeparator = "\x00"

// Add notes that the value of a call belongs at a place of the answer. keys are
// GraphQL literals, none of them null. Places only grow.
func (n *Needs) Add(at int, c *Call, keys []string) {
	if n.known == nil {
		n.known = map[*Call]map[string]int{}
	}
	known := n.known[c]
	if known == nil {
		known = map[string]int{}
		n.known[c] = known
	}
	key := strings.Join(keys, keySeparator)
	i, ok := known[key]
	if !ok {
		i = len(n.asks)
		known[key] = i
		n.asks = append(n.asks, ask{call: c, keys: slices.Clone(keys), alias: c.Name + "__" + strconv.Itoa(i)})
	}
	n.holes = append(n.holes, hole{at, i})
}

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
	var fields strings.Builder
	last := (*Call)(nil)
	for _, i := range asks {
		a := &n.asks[i]
		if a.call != last {
			r.declare(a.call.Variables)
			r.MayFail = r.MayFail && a.call.NullOnError
			last = a.call
		}
		fields.WriteByte(' ')
		fields.WriteString(a.alias)
		fields.WriteString(": ")
		a.call.Text.write(&fields, a.keys)
	}
	r.Query = "query " + declarations(r.Variables) + " {" + fields.String() + " }"
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
