package delivery

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Request is what one try sends.
type Request struct {
	URL     string
	Header  []Field
	Body    []byte
	Timeout time.Duration
}

// Field is one header of a request or an answer.
type Field struct{ Name, Value string }

const contentType = "application/json"

// isOurs reports whether a header is one that no configured one takes the
// place of.
func isOurs(name string) bool {
	switch strings.ToLower(name) {
	case "content-type", "user-agent", "webhook-id", "webhook-timestamp", "webhook-signature", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid":
		return true
	}
	return false
}

// Compose makes the request of a try: the tries made before it count, and now
// is when it is made.
//
// Beside what v1.3 sends stand the headers of Standard Webhooks
// (https://www.standardwebhooks.com): webhook-id, the same for every try,
// webhook-timestamp, and with secrets webhook-signature, one for each.
func Compose(d Delivery, p Plan, tries int, now time.Time) Request {
	body := bodyOf(d, p, tries)
	header := []Field{{"Content-Type", contentType}}
	for _, h := range p.Headers {
		if !isOurs(h.Name) {
			header = append(header, Field{h.Name, h.Value})
		}
	}
	header = append(header, traceOf(d, tries)...)
	header = append(header, signatureOf(d.ID, body, p.Secrets, now)...)
	return Request{URL: p.Webhook, Header: header, Body: body, Timeout: p.Policy.Timeout}
}

func signatureOf(id string, body []byte, secrets []string, now time.Time) []Field {
	stamp := strconv.FormatInt(now.Unix(), 10)
	fields := []Field{{"Webhook-Id", id}, {"Webhook-Timestamp", stamp}}
	if len(secrets) == 0 {
		return fields
	}
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = sign(secret, id, stamp, body)
	}
	return append(fields, Field{"Webhook-Signature", strings.Join(signatures, " ")})
}

// sign is "v1," and base64(HMAC-SHA256(key, id || "." || stamp || "." || body)).
func sign(secret, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, signingKey(secret))
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signingKey is the key in a secret: base64 behind "whsec_", as the standard
// writes them, or any other text as it is.
func signingKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// traced is the part of an event's payload that names the trace of the change.
type traced struct {
	Context *struct {
		TraceID uint64 `json:"trace_id"`
		SpanID  uint64 `json:"span_id"`
	} `json:"trace_context"`
}

// traceOf names the span of a try in B3's headers: in the trace of the change
// where that is known, else in one of the delivery's own.
func traceOf(d Delivery, tries int) []Field {
	var t traced
	if d.Kind.OfEventTrigger() && bytes.Contains(d.Payload, traceKey) {
		_ = json.Unmarshal(d.Payload, &t) // a context in another form is none
	}
	span := Field{"X-B3-SpanId", hexadecimal(identifier(d.ID + "#" + strconv.Itoa(tries)))}
	if t.Context == nil {
		return []Field{{"X-B3-TraceId", hexadecimal(identifier(d.ID))}, span}
	}
	return []Field{{"X-B3-TraceId", hexadecimal(t.Context.TraceID)}, span, {"X-B3-ParentSpanId", hexadecimal(t.Context.SpanID)}}
}

// traceKey is in a payload that names a trace. Most name none, and reading a
// payload whole takes longer than all else that a try is made of.
var traceKey = []byte(`"trace_id"`)

// identifier is a number that belongs to a text, evenly spread.
func identifier(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

func hexadecimal(n uint64) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, n))
}
