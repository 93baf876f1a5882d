package join

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
)

// Take reads what a remote answered to a request. It refuses what is no
// answer, and, unless all calls concerned answer null then, one that tells of
// errors: tolerated is why some calls answer null.
func (n *Needs) Take(r Request, body []byte) (tolerated, err error) {
	answer, err := readAnswer(body)
	if err != nil {
		return n.Fail(r, err)
	}
	failed := answer.failed(r, n)
	if answer.errors != nil {
		if failed == nil || !isObject(answer.data) {
			return n.Fail(r, answer.refusal())
		}
		tolerated = answer.refusal()
	}
	if !isObject(answer.data) {
		return n.Fail(r, noData())
	}
	if err := n.takeData(r, answer.data, failed); err != nil {
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

// takeData takes the values of a request's calls; those that failed are null.
func (n *Needs) takeData(r Request, data []byte, failed map[string]bool) error {
	byAlias := make(map[string]*ask, len(r.asks))
	for _, i := range r.asks {
		byAlias[n.asks[i].alias] = &n.asks[i]
	}
	err := members(data, func(name string, value []byte) (err error) {
		if a := byAlias[name]; a != nil && !failed[name] {
			a.value, err = follow(nil, value, a.call.Within, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, i := range r.asks {
		switch a := &n.asks[i]; {
		case failed[a.alias]:
			a.value = null
		case a.value == nil:
			return noValue(a.alias)
		}
	}
	return nil
}

// follow appends the value that lies within a value, by the names of fields.
func follow(out, value []byte, within []string, path string) ([]byte, error) {
	if len(within) == 0 || value[0] == 'n' {
		return append(out, value...), nil
	}
	switch value[0] {
	case '[':
		return followItems(out, value, within, path)
	case '{':
		at, found := path+"."+within[0], false
		err := members(value, func(name string, member []byte) (err error) {
			if name == within[0] {
				found = true
				out, err = follow(out, member, within[1:], at)
			}
			return err
		})
		if err == nil && !found {
			err = noValue(at)
		}
		return out, err
	}
	return out, noValue(path + "." + within[0])
}

func followItems(out, list []byte, within []string, path string) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(list))
	_, _ = dec.ReadToken() // the bracket: the value was read before
	out = append(out, '[')
	for first := true; dec.PeekKind() != ']'; first = false {
		if !first {
			out = append(out, ',')
		}
		item, err := dec.ReadValue()
		if err != nil {
			return out, notJSON(err)
		}
		if out, err = follow(out, item, within, path); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
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

// remoteAnswer is a response of GraphQL. errors is nil when there are none.
type remoteAnswer struct {
	data, errors []byte
}

func readAnswer(body []byte) (answer remoteAnswer, err error) {
	if !jsontext.Value(body).IsValid() {
		return answer, notJSON(jsonFault(body))
	}
	if !isObject(bytes.TrimSpace(body)) {
		return answer, noData()
	}
	err = members(body, func(name string, value []byte) error {
		switch name {
		case "data":
			answer.data = slices.Clone(value)
		case "errors":
			answer.errors = someErrors(value)
		}
		return nil
	})
	return answer, err
}

// someErrors is a list of errors unless it is empty, as some servers send it.
func someErrors(raw []byte) []byte {
	if compact := bytes.Join(bytes.Fields(raw), nil); string(compact) == "null" || string(compact) == "[]" {
		return nil
	}
	return slices.Clone(raw)
}

// failed lists the aliases that the errors are about, when all of these are of
// calls that answer null then; nil otherwise.
func (answer remoteAnswer) failed(r Request, n *Needs) map[string]bool {
	var list []struct {
		Path []json.RawMessage `json:"path"`
	}
	if answer.errors == nil || json.Unmarshal(answer.errors, &list) != nil {
		return nil
	}
	lenient := map[string]bool{}
	for _, i := range r.asks {
		lenient[n.asks[i].alias] = n.asks[i].call.NullOnError
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

func (answer remoteAnswer) refusal() *domain.Error {
	return &domain.Error{
		Code: domain.Unexpected, Message: "Errors from remote server", Path: "$",
		Internal: slices.Concat([]byte(`{"errors":`), answer.errors, []byte("}")),
	}
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// members calls f with each member of an object.
func members(object []byte, f func(name string, value []byte) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// jsonFault says where a text stops being JSON.
func jsonFault(body []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(body)).ReadValue()
	if err == nil {
		err = fmt.Errorf("more than one value")
	}
	return err
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
