package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain/wire"
)

// masked stands where a secret stood.
const masked = "***"

// Mask hides the secrets in the arguments or changes of an event before they
// are shown:
//
//   - the literal value of each entry of a list of headers;
//   - in a URL, the password (or a lone user name, which is a token then) and
//     the values of parameters named like a secret; {{ENV}} templates stay;
//   - in SQL, literals after the word PASSWORD, and passwords in connection
//     strings.
//
// All else stays as it is, byte for byte. Text that is no JSON is hidden whole.
func Mask(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	m := masker{raw: raw, dec: jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))}
	if err := m.run(); err != nil {
		return wire.AppendString(nil, masked)
	}
	return append(m.out, raw[m.copied:]...)
}

// masker walks a JSON text and copies it, secrets left out.
type masker struct {
	raw    json.RawMessage
	dec    *jsontext.Decoder
	out    []byte
	copied int
	// open holds, for each object and array around the next token, the name
	// under which it or the array around it stands.
	open []container
}

type container struct {
	name  string // of the member that holds it
	array bool
	// member is the name of the object's last member.
	member string
}

func (m *masker) run() error {
	for {
		value, err := m.dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch value.Kind() {
		case '{', '[':
			m.open = append(m.open, container{name: m.name(), array: value.Kind() == '['})
		case '}', ']':
			m.open = m.open[:len(m.open)-1]
		case '"':
			m.text(value.String())
		}
	}
}

// name is the name under which the next value stands: an item of an array has
// the array's.
func (m *masker) name() string {
	if len(m.open) == 0 {
		return ""
	}
	top := m.open[len(m.open)-1]
	if top.array {
		return top.name
	}
	return top.member
}

func (m *masker) text(text string) {
	kind, length := m.dec.StackIndex(m.dec.StackDepth())
	if kind == '{' && length%2 == 1 {
		m.open[len(m.open)-1].member = text
		return
	}
	if hidden := m.hide(text); hidden != text {
		m.replace(hidden)
	}
}

// replace puts another string in the place of the one just read.
func (m *masker) replace(text string) {
	end := int(m.dec.InputOffset())
	start := openingQuote(m.raw[:end])
	m.out = append(m.out, m.raw[m.copied:start]...)
	m.out = wire.AppendString(m.out, text)
	m.copied = end
}

// openingQuote finds where the string begins that ends the text.
func openingQuote(text []byte) int {
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == '"' && !escaped(text[:i]) {
			return i
		}
	}
	return 0
}

// hide returns a string without the secrets that its place lets expect.
func (m *masker) hide(text string) string {
	name := m.name()
	switch {
	case name == "value" && m.inHeaders():
		return masked
	case name == "sql":
		return maskSQL(text)
	case urlMembers[name]:
		return MaskURL(text)
	}
	return text
}

// urlMembers are the members that hold the address of a webhook or server.
var urlMembers = map[string]bool{"webhook": true, "webhook_conf": true, "handler": true, "url": true}

// inHeaders reports whether the next value belongs to an entry of a list of
// headers: headers, header_conf.
func (m *masker) inHeaders() bool {
	depth := len(m.open)
	if depth < 2 || m.open[depth-1].array || !m.open[depth-2].array {
		return false
	}
	return strings.Contains(strings.ToLower(m.open[depth-2].name), "header")
}

// MaskURL hides the secrets of a URL or template of one, as [Mask] does.
func MaskURL(text string) string {
	address, fragment, hasFragment := strings.Cut(text, "#")
	address, query, hasQuery := strings.Cut(address, "?")
	address = maskUserInfo(address)
	if hasQuery {
		address += "?" + maskQuery(query)
	}
	if hasFragment {
		address += "#" + maskQuery(fragment)
	}
	return address
}

func maskUserInfo(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	authority, path, hasPath := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return address
	}
	user, password, hasPassword := strings.Cut(authority[:at], ":")
	if hasPassword {
		user += ":" + maskLiterals(password)
	} else {
		user = maskLiterals(user)
	}
	address = scheme + "://" + user + authority[at:]
	if hasPath {
		address += "/" + path
	}
	return address
}

func maskQuery(query string) string {
	parameters := strings.Split(query, "&")
	for i, parameter := range parameters {
		if name, value, ok := strings.Cut(parameter, "="); ok && isSecretName(name) {
			parameters[i] = name + "=" + maskLiterals(value)
		}
	}
	return strings.Join(parameters, "&")
}

// maskLiterals hides a text but for the templates in it.
func maskLiterals(text string) string {
	t, err := parseURLTemplate(text)
	if err != nil {
		return masked
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable {
			b.WriteString("{{" + p.text + "}}")
		} else {
			b.WriteString(masked)
		}
	}
	return b.String()
}

// secretWords are found in the names of parameters that hold secrets. A name
// that is just "code" is one too.
var secretWords = [...]string{"token", "secret", "pass", "pwd", "key", "sig", "auth", "credential", "jwt"}

func isSecretName(name string) bool {
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return name == "code"
}
