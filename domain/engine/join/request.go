package join

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain/wire"
)

// Request is one document for one remote. Variables are those that it declares,
// whose values go with it. MayFail is set where all of its calls answer null
// when it fails.
type Request struct {
	Remote string
	// Body is the request as GraphQL has it in JSON, but for its variables and
	// its end: {"query":"...". A document may be long, and is written once.
	Body      []byte
	Variables []Variable
	MayFail   bool
	asks      []int
}

const bodyStart = `{"query":`

// Query returns the document.
func (r Request) Query() string {
	text, _ := jsontext.AppendUnquote(nil, r.Body[len(bodyStart):]) // what was quoted here
	return string(text)
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
	body := make([]byte, 0, size+1<<8) // and the declarations
	body = append(escaped(append(body, bodyStart+`"query `...), declarations(r.Variables)), " {"...)
	texts := escapedTexts{}
	for _, i := range asks {
		body = append(n.appendAlias(append(body, ' '), i), ": "...)
		body = texts.of(n.asks[i].call).append(body, n.key(i))
	}
	r.Body = append(body, ` }"`...)
	return r
}

// escapedTexts are the texts of calls as they stand within JSON: they come again
// with each key.
type escapedTexts map[*Call]Text

func (e escapedTexts) of(c *Call) Text {
	text, ok := e[c]
	if !ok {
		for _, p := range c.Text {
			text = append(text, Part{string(escaped(nil, p.Text)), p.Key})
		}
		e[c] = text
	}
	return text
}

// escaped adds a text as it stands within a string of JSON.
func escaped[T string | []byte](b []byte, text T) []byte {
	if isPlain(text) {
		return append(b, text...)
	}
	quoted := wire.AppendString(nil, string(text))
	return append(b, quoted[1:len(quoted)-1]...)
}

// isPlain reports whether a text is in JSON as it is. There may be others.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
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
