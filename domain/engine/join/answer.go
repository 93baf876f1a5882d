package join

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"annals/domain"
)

// Take reads what a remote answered to a request. It refuses what is no
// answer, and, unless all calls concerned answer null then, one that tells of
// errors: tolerated is why some calls answer null. The body is kept until the
// answer is woven.
func (n *Needs) Take(r Request, body []byte) (tolerated, err error) {
	a := answer{needs: n, request: r, values: make([]taken, len(r.asks))}
	if err := a.read(body); err != nil {
		return n.Fail(r, err)
	}
	failed := a.failed()
	if a.errors != nil {
		if failed == nil || !a.hasData {
			return n.Fail(r, a.refusal())
		}
		tolerated = a.refusal()
	}
	if !a.hasData {
		return n.Fail(r, noData())
	}
	if err := a.settle(failed); err != nil {
		return n.Fail(r, err)
	}
	return tolerated, nil
}

// Fail notes that a request was not answered. It returns the reason as the
// operation's error, or as what is tolerated: then the calls answer null.
func (n *Needs) Fail(r Request, reason error) (tolerated, err error) {
	if !r.MayFail {
		return nil, reason
	}
	for _, i := range r.asks {
		n.asks[i].value = null
	}
	return reason, nil
}

var null = []byte("null")

// answer is a response of GraphQL to a request, as it is read.
type answer struct {
	needs   *Needs
	request Request
	hasData bool
	// errors is nil when there are none.
	errors []byte
	// values are those of the request's asks, in their order.
	values []taken
	// places are those of the asks by their aliases, made when the answer has
	// another order.
	places map[string]int
}

// taken is the value of an ask, or why there is none. Both are missing where
// the answer does not name the ask.
type taken struct {
	value []byte
	fault error
}

func (a *answer) read(body []byte) error {
	r := newReader(body)
	if r.kind() != '{' {
		if err := r.skip(); err != nil {
			return notJSON(err)
		}
		return noData()
	}
	err := r.members(func(name []byte) (err error) {
		switch string(name) {
		case "data":
			return a.data(r)
		case "errors":
			var list []byte
			list, err = r.value()
			a.errors = someErrors(list)
			return err
		}
		return r.skip()
	})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return notJSON(err)
	}
	return nil
}

// data reads the values of the calls.
func (a *answer) data(r reader) error {
	if a.hasData = r.kind() == '{'; !a.hasData {
		return r.skip()
	}
	next := 0
	return r.members(func(alias []byte) (err error) {
		place := a.place(alias, next)
		if place < 0 {
			return r.skip()
		}
		next = place + 1
		a.values[place], err = take(r, a.needs.asks[a.request.asks[place]].call.Within, alias)
		return err
	})
}

// take reads the value of an ask.
func take(r reader, within []string, alias []byte) (t taken, err error) {
	if len(within) == 0 {
		t.value, err = r.value()
		return t, err
	}
	f := follower{reader: r, within: within}
	err = f.follow(0)
	return taken{f.out, f.fault(string(alias))}, err
}

// place is that of an alias among the asks; most often it is the next. Below 0
// it is none of them.
func (a *answer) place(alias []byte, next int) int {
	if next < len(a.request.asks) && a.needs.isAlias(alias, a.request.asks[next]) {
		return next
	}
	if a.places == nil {
		a.places = make(map[string]int, len(a.request.asks))
		for place, i := range a.request.asks {
			a.places[a.needs.alias(i)] = place
		}
	}
	if place, ok := a.places[string(alias)]; ok {
		return place
	}
	return -1
}

// settle gives the asks their values; those that failed are null.
func (a *answer) settle(failed map[string]bool) error {
	for place, i := range a.request.asks {
		t := a.values[place]
		switch {
		case failed != nil && failed[a.needs.alias(i)]:
			t.value = null
		case t.fault != nil:
			return t.fault
		case t.value == nil:
			return noValue(a.needs.alias(i))
		}
		a.needs.asks[i].value = t.value
	}
	return nil
}

// someErrors is a list of errors unless it is empty, as some servers send it.
func someErrors(raw []byte) []byte {
	if compact := bytes.Join(bytes.Fields(raw), nil); string(compact) == "null" || string(compact) == "[]" {
		return nil
	}
	return raw
}

// failed lists the aliases that the errors are about, when all of these are of
// calls that answer null then; nil otherwise.
func (a *answer) failed() map[string]bool {
	var list []struct {
		Path []json.RawMessage `json:"path"`
	}
	if a.errors == nil || json.Unmarshal(a.errors, &list) != nil {
		return nil
	}
	lenient := map[string]bool{}
	for _, i := range a.request.asks {
		lenient[a.needs.alias(i)] = a.needs.asks[i].call.NullOnError
	}
	failed := make(map[string]bool, len(list))
	for _, e := range list {
		var alias string
		if len(e.Path) == 0 || json.Unmarshal(e.Path[0], &alias) != nil || !lenient[alias] {
			return nil
		}
		failed[alias] = true
	}
	return failed
}

// Weave puts the values into the holes of the answer.
func (n *Needs) Weave(out []byte) []byte {
	if len(n.holes) == 0 {
		return out
	}
	size := len(out)
	for _, h := range n.holes {
		size += len(n.asks[h.ask].value)
	}
	woven, from := make([]byte, 0, size), 0
	for _, h := range n.holes {
		woven = append(append(woven, out[from:h.at]...), n.asks[h.ask].value...)
		from = h.at
	}
	return append(woven, out[from:]...)
}

func (a *answer) refusal() *domain.Error {
	return &domain.Error{
		Code: domain.Unexpected, Message: "Errors from remote server", Path: "$",
		Internal: slices.Concat([]byte(`{"errors":`), a.errors, []byte("}")),
	}
}

// fault is an answer that v1.3 counts as the server's own failure.
func fault(format string, args ...any) *domain.Error {
	e := domain.RefuseAt("$", domain.Unexpected, format, args...)
	e.Fault = true
	return e
}

func notJSON(err error) *domain.Error {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return fault("Remote server response is not valid JSON: %s", reason)
}

func noData() *domain.Error { return fault(`"data" field not found in remote response`) }

func noValue(path string) *domain.Error {
	return fault("cannnot find value in remote response at path %s", path)
}
