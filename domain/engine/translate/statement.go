package translate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/sql"
	"annals/domain/wire"
)

// Statement is a statement's text, and what its parameters refer to.
type Statement struct {
	SQL        string
	Parameters []Parameter
	// Many is set where the statement answers many requests: see [Statement.BindMany].
	Many bool
}

// Parameter tells what to bind. Exactly one of Value, Session, Text and Keys is set.
type Parameter struct {
	Value *plan.Value
	// Form is how Value becomes text.
	Form Form
	// Session is all session variables, as a JSON object.
	Session bool
	// Text is a value that is known already: what an earlier statement returned.
	Text *Text
	// Keys is the values of column Keys-1 of [Binding.Rows], as an array of texts.
	Keys int
}

// Text is a value as PostgreSQL prints it; nil is null.
type Text []byte

// Form is how a JSON value is given to PostgreSQL.
type Form uint8

// The forms.
const (
	FormText    Form = iota // strings as they are, everything else as JSON spells it
	FormInteger             // the same, but 1e3 is 1000
	FormNumeric             // the same, but numbers with an exponent as v1.3 spells them: their scale is seen
	FormMoney               // the same, but numbers without an exponent
	FormJSON                // JSON as it is
	FormArray               // a list as an array
	FormJSONs               // a list as an array of its items' JSON
)

// Binding is what one request brings.
type Binding struct {
	Variables map[string]json.RawMessage
	Session   domain.Session
	// Rows are rows that came already, for statements that read what belongs to them.
	Rows [][][]byte
}

func newStatement(n sql.Node) Statement {
	text := sql.Print(n)
	s := Statement{SQL: text.SQL, Parameters: make([]Parameter, len(text.Parameters))}
	for i, p := range text.Parameters {
		s.Parameters[i] = p.(Parameter) // nothing else is put into a node of this package
	}
	return s
}

// Bind returns the statement's parameters as text; nil is null.
func (s Statement) Bind(b Binding) ([][]byte, error) {
	values := make([][]byte, len(s.Parameters))
	for i, p := range s.Parameters {
		var err error
		if values[i], err = p.bind(b); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (p Parameter) bind(b Binding) ([]byte, error) {
	switch {
	case p.Text != nil:
		return *p.Text, nil
	case p.Session:
		return sessionObject(b.Session), nil
	case p.Keys > 0:
		return keyArray(b.Rows, p.Keys-1), nil
	case p.Value.Session != "":
		return sessionVariable(b.Session, p.Value.Session)
	}
	return p.Form.text(Resolve(*p.Value, b.Variables))
}

// Resolve returns the JSON of a value that does not come from the session; nil
// when its variable was not given and has no default.
func Resolve(v plan.Value, variables map[string]json.RawMessage) json.RawMessage {
	if v.Variable == "" {
		return v.Literal
	}
	if given, ok := variables[v.Variable]; ok {
		return given
	}
	return v.Default
}

// MissingSession refuses a request whose session lacks variables.
func MissingSession(names []string) error {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = `"` + name + `"`
	}
	return domain.RefuseAt("$", domain.NotFound, "missing session variables: %s", strings.Join(quoted, ", "))
}

// HasVariable reports whether a session has a variable. The role is one.
func HasVariable(s domain.Session, name string) bool {
	_, ok := s.Variables[name]
	return ok || name == roleVariable
}

const roleVariable = domain.OwnPrefix + "role"

func sessionVariable(s domain.Session, name string) ([]byte, error) {
	if value, ok := s.Variables[name]; ok {
		return []byte(value), nil
	}
	if name == roleVariable {
		return []byte(s.Role), nil
	}
	return nil, MissingSession([]string{name})
}

// sessionObject is the session for a function of the user's: each variable
// under both of its spellings, as functions are written for one of them.
func sessionObject(s domain.Session) []byte {
	both := make(map[string]string, 2*len(s.Variables)+2)
	own := maps.Clone(s.Variables)
	if own == nil {
		own = map[string]string{}
	}
	own[roleVariable] = s.Role
	for name, value := range own {
		both[name] = value
		if rest, ok := strings.CutPrefix(name, domain.OwnPrefix); ok {
			both[domain.AliasPrefix+rest] = value
		}
	}
	text, _ := json.Marshal(both) // a map of strings has a JSON form
	return text
}

func (f Form) text(value json.RawMessage) ([]byte, error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return nil, nil
	}
	switch f {
	case FormJSON:
		return value, nil
	case FormArray:
		return arrayText(value)
	case FormJSONs:
		return jsonsText(value)
	case FormInteger:
		return integerText(value)
	}
	if !hasExponent(value) {
		return plainText(value)
	}
	switch f {
	case FormMoney:
		return []byte(wire.Plain(string(value))), nil
	case FormNumeric:
		return []byte(wire.Scientific(string(value))), nil
	}
	return plainText(value)
}

// hasExponent reports whether a JSON value is a number such as 1e3.
func hasExponent(value json.RawMessage) bool {
	return (value[0] == '-' || value[0] >= '0' && value[0] <= '9') && bytes.ContainsAny(value, "eE")
}

func plainText(value json.RawMessage) ([]byte, error) {
	if value[0] != '"' {
		return value, nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, fmt.Errorf("read a string value: %w", err)
	}
	return withoutNUL(s)
}

// withoutNUL refuses what no text of PostgreSQL can hold, before it ends the protocol's string.
func withoutNUL(s string) ([]byte, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, domain.RefuseAt("$", domain.DataException, `invalid byte sequence for encoding "UTF8": 0x00`)
	}
	return []byte(s), nil
}

// maxExponent bounds what a number such as 1e9 is written out to.
const maxExponent = 400

func integerText(value json.RawMessage) ([]byte, error) {
	if value[0] == '"' || !bytes.ContainsAny(value, ".eE") {
		return plainText(value)
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(string(value)), "e"); ok && len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return value, nil
	}
	r, ok := new(big.Rat).SetString(string(value))
	if !ok || !r.IsInt() || r.Num().BitLen() > maxExponent {
		return value, nil
	}
	return []byte(r.Num().String()), nil
}

// arrayText writes a JSON list as PostgreSQL's array. What is no list is given as it is:
// the text of an array.
func arrayText(value json.RawMessage) ([]byte, error) {
	return arrayOf(value, func(out []byte, item json.RawMessage) ([]byte, error) {
		if item[0] == '[' {
			text, err := arrayText(item)
			return append(out, text...), err
		}
		text, err := FormText.text(item)
		if err != nil {
			return nil, err
		}
		return appendElement(out, text), nil
	})
}

// jsonsText writes a JSON list as PostgreSQL's array of the items as they are.
func jsonsText(value json.RawMessage) ([]byte, error) {
	return arrayOf(value, func(out []byte, item json.RawMessage) ([]byte, error) { return appendElement(out, item), nil })
}

// arrayOf writes a JSON list as an array, each item by a function that appends it.
func arrayOf(value json.RawMessage, write func([]byte, json.RawMessage) ([]byte, error)) (out []byte, err error) {
	if value[0] != '[' {
		return plainText(value)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	out = []byte{'{'}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = write(out, bytes.TrimSpace(item)); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendElement(out, text []byte) []byte {
	if text == nil {
		return append(out, "NULL"...)
	}
	out = append(out, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return append(out, '"')
}

func keyArray(rows [][][]byte, column int) []byte {
	out := []byte{'{'}
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendElement(out, row[column])
	}
	return append(out, '}')
}
