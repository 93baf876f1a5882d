package join

import (
	"slices"
	"strings"
)

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
	var piece []byte
	for _, i := range asks {
		piece = append(n.appendAlias(append(piece[:0], ' '), i), ": "...)
		query.Write(piece)
		n.asks[i].call.Text.write(&query, n.key(i))
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
