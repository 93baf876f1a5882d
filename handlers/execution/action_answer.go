package execution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/handlers/outbound"
)

// actionFailure is what those who may see it are told of a call that went wrong.
type actionFailure struct {
	Error    any             `json:"error"`
	Request  actionRequest   `json:"request"`
	Response *actionResponse `json:"response"`
}

// actionRequest tells headers as they are defined: no value of the environment
// is shown.
type actionRequest struct {
	URL     string            `json:"url"`
	Body    json.RawMessage   `json:"body"`
	Headers []metadata.Header `json:"headers"`
}

type actionResponse struct {
	Status  int               `json:"status"`
	Body    any               `json:"body"`
	Headers []metadata.Header `json:"headers"`
}

type httpException struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// answerReader reads the answer to one call.
type answerReader struct {
	call     ActionCall
	request  outbound.Request
	response outbound.Response
	body     json.RawMessage // nil where it is not JSON
}

// readActionAnswer reads what came of a call: an answer as the output demands,
// or a refusal in the words of v1.3.
func readActionAnswer(
	c ActionCall, request outbound.Request, response outbound.Response, failed error, out *plan.Output,
) (ActionAnswer, error) {
	r := answerReader{call: c, request: request, response: response}
	if failed != nil {
		return ActionAnswer{}, r.unanswered(failed)
	}
	answer := ActionAnswer{Status: response.Status, Header: response.Header}
	if err := r.readBody(); err != nil {
		return answer, err
	}
	answer.Body = r.body
	switch response.Status / 100 {
	case 2:
		var err error
		answer.Objects, err = r.objects(out)
		return answer, err
	case 4:
		return answer, r.refused()
	}
	return answer, r.fault("internal error", fmt.Sprintf("expecting 2xx or 4xx status code, but found %d", response.Status))
}

func (r *answerReader) unanswered(err error) error {
	message := string(outbound.InternalFailure)
	var known *outbound.Error
	if errors.As(err, &known) {
		message = known.Error()
	}
	detail := actionFailure{httpException{"http_exception", message}, r.told(), nil}
	return &domain.Error{
		Code: domain.Unexpected, Path: "$", Message: "http exception when calling webhook", Internal: asJSON(detail), Fault: true,
	}
}

// readBody reads the body as JSON, whatever the status says.
func (r *answerReader) readBody() error {
	body := bytes.ToValidUTF8(r.response.Body, []byte("\uFFFD"))
	var compact bytes.Buffer
	if r.response.Truncated {
		return r.fault("not a valid json response from webhook", fmt.Sprintf("the response is longer than %d bytes: raise --outbound-max-response", len(r.response.Body)))
	}
	if err := json.Compact(&compact, body); err != nil {
		return r.fault("not a valid json response from webhook", "invalid json: "+err.Error())
	}
	r.body = compact.Bytes()
	return nil
}

// HandlerRefusal is what a handler refused an action with, and the status that
// it said so with: for whoever asks over HTTP, where v1.3 passes it on.
type HandlerRefusal struct {
	Refusal *domain.Error
	Status  int
}

func (r *HandlerRefusal) Error() string { return r.Refusal.Error() }

func (r *HandlerRefusal) Unwrap() error { return r.Refusal }

// refused is the handler's own refusal.
func (r *answerReader) refused() error {
	var said struct {
		Message *string
		Code    *string
	}
	if err := json.Unmarshal(r.body, &said); err != nil || said.Message == nil {
		return r.unexpected(domain.ParseFailed, notARefusal(r.body, said.Message))
	}
	code := domain.Unexpected
	if said.Code != nil {
		code = domain.Code(*said.Code)
	}
	return &HandlerRefusal{&domain.Error{Code: code, Path: "$", Message: *said.Message}, r.response.Status}
}

// notARefusal says in what an answer is no refusal, in the words of v1.3's decoder.
func notARefusal(body json.RawMessage, message *string) string {
	switch {
	case body[0] != '{':
		return "parsing ActionWebhookErrorResponse failed, expected Object"
	case message == nil && !bytes.Contains(body, []byte(`"message"`)):
		return "When parsing the record ActionWebhookErrorResponse the key message was not present."
	}
	return "parsing Text failed, expected String"
}

// objects reads the objects of an answer, and holds them against their type.
func (r *answerReader) objects(out *plan.Output) (objects []map[string]json.RawMessage, err error) {
	switch r.body[0] {
	case '[':
		err = json.Unmarshal(r.body, &objects)
		if err == nil && slices.ContainsFunc(objects, func(o map[string]json.RawMessage) bool { return o == nil }) {
			err = errors.New("null is no object")
		}
	case '{':
		objects = make([]map[string]json.RawMessage, 1)
		err = json.Unmarshal(r.body, &objects[0])
	default:
		err = errors.New("neither an object nor a list")
	}
	switch isList := r.body[0] == '['; {
	case err != nil:
		return nil, r.unexpected(domain.ParseFailed, "expecting object or array of objects for action webhook response")
	case isList && !out.List:
		return nil, r.unexpected(domain.Unexpected, "expecting object for action webhook response but got array")
	case !isList && out.List:
		return nil, r.unexpected(domain.Unexpected, "expecting array for action webhook response but got object")
	}
	for _, o := range objects {
		if message := mistake(o, out.Members); message != "" {
			return nil, r.unexpected(domain.Unexpected, message)
		}
	}
	return objects, nil
}

// mistake is what is wrong with an object of an answer; empty for nothing.
func mistake(o map[string]json.RawMessage, members []plan.OutputMember) string {
	var extra []string
	for name := range o {
		if !slices.ContainsFunc(members, func(m plan.OutputMember) bool { return m.Name == name }) {
			extra = append(extra, name)
		}
	}
	if extra != nil {
		slices.Sort(extra)
		return "unexpected fields in webhook response: " + strings.Join(extra, ", ")
	}
	for _, m := range members {
		value, ok := o[m.Name]
		switch {
		case m.Required && !ok:
			return "field " + strconv.Quote(m.Name) + " expected in webhook response, but not found"
		case m.Required && string(value) == "null":
			return "expecting not null value for field " + strconv.Quote(m.Name)
		}
	}
	return ""
}

// unexpected refuses an answer that is not as the action says.
func (r *answerReader) unexpected(code domain.Code, message string) error {
	return &domain.Error{Code: code, Path: "$", Message: message, Internal: r.detail("unexpected response")}
}

// fault is an answer that v1.3 counts as the server's own failure.
func (r *answerReader) fault(message, detail string) error {
	return &domain.Error{Code: domain.Unexpected, Path: "$", Message: message, Internal: r.detail(detail), Fault: true}
}

func (r *answerReader) detail(message string) json.RawMessage {
	response := &actionResponse{Status: r.response.Status, Body: r.body, Headers: headersOf(r.response.Header)}
	if r.body == nil {
		response.Body = string(bytes.ToValidUTF8(r.response.Body, []byte("\uFFFD")))
	}
	return asJSON(actionFailure{message, r.told(), response})
}

func (r *answerReader) told() actionRequest {
	headers := slices.Clone(r.call.Definition.Headers)
	if r.call.Definition.ForwardClientHeaders {
		headers = append(headers, headersOf(r.call.Client)...)
	}
	if headers == nil {
		headers = []metadata.Header{}
	}
	return actionRequest{r.request.URL, r.call.Body(), headers}
}

// headersOf lists headers by name.
func headersOf(h http.Header) []metadata.Header {
	list := []metadata.Header{}
	for name, values := range h {
		for _, value := range values {
			list = append(list, metadata.Header{Name: name, Value: &value})
		}
	}
	slices.SortStableFunc(list, func(a, b metadata.Header) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func asJSON(v any) json.RawMessage {
	text, _ := encoded(v) // of types of this package, which all have a JSON form
	return text
}
