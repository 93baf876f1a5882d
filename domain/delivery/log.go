package delivery

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"annals/domain/wire"
)

// Format is the version that the log of an attempt says it has.
func (k Kind) Format() string {
	if k.OfEventTrigger() {
		return "2"
	}
	return "1"
}

// RequestLog is a request as it is remembered: its body, and the headers as
// they are configured. Values from the environment are named only, unless they
// are to be shown; trace and signature are left out.
//
// The body of an event trigger's delivery is the longest part of its history,
// and all but max_retries is in its record and in the number of the try. So
// that alone is kept: annals.delivery_request puts the body together again.
func RequestLog(k Kind, r Request, p Plan, userAgent string, showEnv bool) json.RawMessage {
	o := newObject(256)
	if k.OfEventTrigger() {
		o.number("max_retries", p.Policy.Retries)
	} else {
		o.raw("payload", r.Body)
	}
	o.name("headers")
	o.b = append(o.b, '[')
	o.b = appendHeader(o.b, "Content-Type", "value", contentType)
	o.b = appendHeader(append(o.b, ','), "User-Agent", "value", userAgent)
	for _, h := range p.Headers {
		if isOurs(h.Name) {
			continue
		}
		o.b = append(o.b, ',')
		if h.FromEnv != "" && !showEnv {
			o.b = appendHeader(o.b, h.Name, "value_from_env", h.FromEnv)
		} else {
			o.b = appendHeader(o.b, h.Name, "value", h.Value)
		}
	}
	o.b = append(o.b, ']')
	return o.text("version", k.Format()).close()
}

func appendHeader(b []byte, name, key, value string) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, name)
	b = append(b, `,"`+key+`":`...)
	return append(wire.AppendString(b, value), '}')
}

// AnswerLog is an HTTP answer as it is remembered.
func AnswerLog(k Kind, status int, header []Field, body []byte, truncated bool) json.RawMessage {
	o := newObject(len(body) + 128 + 64*len(header))
	o.text("type", "webhook_response")
	o.object("data").number("status", status)
	o.name("body")
	o.b = appendBody(o.b, body)
	o.name("headers")
	o.b = appendHeaders(o.b, header)
	if truncated {
		o.raw("truncated", json.RawMessage("true"))
	}
	return o.end().text("version", k.Format()).close()
}

// appendBody writes a string, or for bytes that are no text ["Base64", "..."].
func appendBody(b, body []byte) []byte {
	if utf8.Valid(body) {
		return wire.AppendString(b, string(body))
	}
	b = wire.AppendString(append(b, `["Base64",`...), base64.StdEncoding.EncodeToString(body))
	return append(b, ']')
}

func appendHeaders(b []byte, header []Field) []byte {
	b = append(b, '[')
	for i, field := range header {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendHeader(b, field.Name, "value", field.Value)
	}
	return append(b, ']')
}

// FailureLog is the lack of an answer as it is remembered: the message is JSON
// text within the text, as in v1.3.
func FailureLog(k Kind, message string) json.RawMessage {
	o := newObject(len(message) + 128)
	o.text("type", "client_error")
	o.object("data").text("message", string(wire.AppendString(nil, message))).end()
	return o.text("version", k.Format()).close()
}
