package auth

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DefaultClaimsNamespace is where a token's claims are when nothing else is said.
const DefaultClaimsNamespace = "https://hasura.io/jwt/claims"

// MaxTokenBytes is how long a token may be.
const MaxTokenBytes = 16 << 10

// The forms that claims may have in a token.
const (
	formatJSON        = "json"
	formatStringified = "stringified_json"
)

// JWTConfig says which tokens are believed, and where in them the session is.
// It is made by [ParseJWTConfig].
type JWTConfig struct {
	key       *key   // nil: the keys come from keysURL
	keysURL   string // empty: there is one key
	audiences []string
	issuer    string
	skew      time.Duration
	carrier   carrier
	claims    claimsPlace
	mapText   stdjson.RawMessage
}

// String keeps the secret out of whatever prints the settings.
func (c JWTConfig) String() string { return "JWT settings" }

// GoString does the same for %#v.
func (c JWTConfig) GoString() string { return c.String() }

// ClaimsNamespace is the claim that holds the session, or the path to it.
func (c JWTConfig) ClaimsNamespace() string {
	return cmp.Or(c.ClaimsNamespacePath(), c.claims.namespace)
}

// ClaimsNamespacePath is the path to the claim that holds the session; empty
// when the claim is named.
func (c JWTConfig) ClaimsNamespacePath() string {
	if c.claims.path == nil {
		return ""
	}
	return c.claims.pathText
}

// InCookie reports whether a cookie carries the token.
func (c JWTConfig) InCookie() bool { return c.carrier.Type == inCookie }

// ClaimsFormat is json or stringified_json.
func (c JWTConfig) ClaimsFormat() string { return c.claims.format }

// ClaimsMap is the map of claims as it was given; nil when none was.
func (c JWTConfig) ClaimsMap() stdjson.RawMessage { return c.mapText }

// jwtSettings is the text of the settings. Unknown members are refused: one
// that is misspelled may be the one that keeps strangers out.
type jwtSettings struct {
	Type          string         `json:"type"`
	Key           *string        `json:"key"`
	JWKURL        *string        `json:"jwk_url"`
	Namespace     *string        `json:"claims_namespace"`
	NamespacePath *string        `json:"claims_namespace_path"`
	Format        *string        `json:"claims_format"`
	Audience      jsontext.Value `json:"audience"`
	Issuer        *string        `json:"issuer"`
	ClaimsMap     jsontext.Value `json:"claims_map"`
	AllowedSkew   *float64       `json:"allowed_skew"`
	Header        *carrier       `json:"header"`
}

// ParseJWTConfig reads the settings, a JSON object. No error repeats the key.
func ParseJWTConfig(text string) (JWTConfig, error) {
	var s jwtSettings
	if err := json.Unmarshal([]byte(text), &s, json.RejectUnknownMembers(true)); err != nil {
		return JWTConfig{}, describeJSON(err)
	}
	var c JWTConfig
	for _, read := range []func(jwtSettings) error{c.readKey, c.readClaims, c.readAudience, c.readIssuer, c.readSkew, c.readHeader} {
		if err := read(s); err != nil {
			return JWTConfig{}, err
		}
	}
	return c, nil
}

// wording is an error in the words of v1.3, which begin as sentences do.
type wording string

func (w wording) Error() string { return string(w) }

// describeJSON says what is wrong with the settings, without the value that is.
func describeJSON(err error) error {
	var wrong *json.SemanticError
	switch {
	case errors.As(err, &wrong) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("there is no setting %s", wrong.JSONPointer)
	case errors.As(err, &wrong) && wrong.JSONPointer != "":
		return fmt.Errorf("the value of %s has the wrong type", wrong.JSONPointer)
	}
	return errors.New(`expecting a JSON object, such as {"type":"HS256","key":"..."}`)
}

func (c *JWTConfig) readKey(s jwtSettings) error {
	switch {
	case s.Key == nil && s.JWKURL == nil:
		return errors.New("key and jwk_url both cannot be empty")
	case s.Key != nil && s.JWKURL != nil:
		return errors.New("key, jwk_url both cannot be present")
	case s.JWKURL != nil:
		c.keysURL = *s.JWKURL
		if err := checkURL(c.keysURL); err != nil {
			return fmt.Errorf("jwk_url: %w", err)
		}
		return nil
	case s.Type == "":
		return errors.New("key needs a type, such as HS256 or RS256")
	}
	k, err := parseKey(s.Type, *s.Key)
	if err != nil {
		return wording("Invalid JWK: " + err.Error())
	}
	c.key = &k
	return nil
}

func (c *JWTConfig) readClaims(s jwtSettings) (err error) {
	c.claims = claimsPlace{namespace: DefaultClaimsNamespace, format: formatJSON}
	if s.Namespace != nil && s.NamespacePath != nil {
		return errors.New("claims_namespace and claims_namespace_path both cannot be set")
	}
	if s.Namespace != nil {
		c.claims.namespace = *s.Namespace
	}
	if s.NamespacePath != nil {
		c.claims.pathText = *s.NamespacePath
		if c.claims.path, err = parseJSONPath(c.claims.pathText); err != nil {
			return fmt.Errorf("claims_namespace_path: %w", err)
		}
	}
	if s.Format != nil {
		c.claims.format = *s.Format
	}
	if c.claims.format != formatJSON && c.claims.format != formatStringified {
		return fmt.Errorf("claims_format: expecting json or stringified_json, not %q", c.claims.format)
	}
	return c.readClaimsMap(s.ClaimsMap)
}

// readClaimsMap reads the map, which goes before a namespace and its format.
func (c *JWTConfig) readClaimsMap(text jsontext.Value) (err error) {
	if absent(text) {
		return nil
	}
	if c.claims.mapped, err = parseClaimsMap(text); err != nil {
		return fmt.Errorf("claims_map: %w", err)
	}
	c.mapText = stdjson.RawMessage(text)
	c.claims.namespace, c.claims.path, c.claims.format = DefaultClaimsNamespace, nil, formatJSON
	return nil
}

func (c *JWTConfig) readAudience(s jwtSettings) error {
	if absent(s.Audience) {
		return nil
	}
	var value any
	if err := json.Unmarshal(s.Audience, &value); err != nil {
		return err
	}
	audiences, ok := oneOrMore(value)
	if !ok || len(audiences) == 0 || slices.Contains(audiences, "") {
		return errors.New("audience: expecting a string, or an array of strings, none of them empty")
	}
	c.audiences = audiences
	return nil
}

func (c *JWTConfig) readIssuer(s jwtSettings) error {
	if s.Issuer == nil {
		return nil
	}
	c.issuer = *s.Issuer
	if c.issuer == "" {
		return errors.New("issuer: expecting a string that is not empty")
	}
	return nil
}

// maxSkew is the largest difference between clocks that may be allowed for.
const maxSkew = 24 * time.Hour

func (c *JWTConfig) readSkew(s jwtSettings) error {
	if s.AllowedSkew == nil {
		return nil
	}
	seconds := *s.AllowedSkew
	if math.IsNaN(seconds) || seconds < 0 || seconds > maxSkew.Seconds() {
		return fmt.Errorf("allowed_skew: expecting a number of seconds, from 0 to %.0f", maxSkew.Seconds())
	}
	c.skew = time.Duration(seconds * float64(time.Second))
	return nil
}

func (c *JWTConfig) readHeader(s jwtSettings) error {
	if s.Header == nil {
		return nil
	}
	c.carrier = *s.Header
	if err := c.carrier.validate(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	return nil
}

func absent(text jsontext.Value) bool { return len(text) == 0 || text.Kind() == 'n' }

// oneOrMore reads a string, or a list of them.
func oneOrMore(value any) ([]string, bool) {
	if s, ok := value.(string); ok {
		return []string{s}, true
	}
	return listOfStrings(value)
}

func listOfStrings(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	texts := make([]string, len(list))
	for i, element := range list {
		if texts[i], ok = element.(string); !ok {
			return nil, false
		}
	}
	return texts, true
}
