package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"annals/domain"
)

// carrier is where in a request its token is. The zero value is the
// Authorization header.
type carrier struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

const (
	inHeader = "Authorization"
	inCookie = "Cookie"
)

func (c carrier) validate() error {
	switch {
	case c.Type == inHeader && c.Name == "", c.Type == inCookie && validCookieName(c.Name):
		return nil
	case c.Type == inHeader:
		return errors.New("the Authorization header has no other name")
	case c.Type == inCookie:
		return errors.New(`a cookie needs a name: {"type":"Cookie","name":"..."}`)
	}
	return fmt.Errorf("type: expecting Authorization or Cookie, not %q", c.Type)
}

func validCookieName(name string) bool {
	return (&http.Cookie{Name: name, Value: "x"}).Valid() == nil
}

// token returns the token that a request carries; empty when it carries none.
// A token that is not where it should be is refused, not passed over.
func (c carrier) token(h http.Header) (string, error) {
	if c.Type == inCookie {
		return c.fromCookie(h)
	}
	values := distinct(h.Values(inHeader))
	if len(values) == 0 {
		return "", nil
	}
	words := strings.Fields(values[0])
	if len(values) > 1 || len(words) != 2 || words[0] != "Bearer" {
		return "", invalidHeaders("Malformed Authorization header")
	}
	return words[1], nil
}

func (c carrier) fromCookie(h http.Header) (string, error) {
	var values []string
	for _, cookie := range (&http.Request{Header: h}).CookiesNamed(c.Name) {
		values = append(values, cookie.Value)
	}
	values = distinct(values)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1 || values[0] == "":
		return "", invalidHeaders("Malformed Cookie header")
	}
	return values[0], nil
}

// missing is the refusal of a request without a token.
func (c carrier) missing() error {
	if c.Type == inCookie {
		return invalidHeaders("Missing cookie %s in JWT authentication mode", c.Name)
	}
	return invalidHeaders("Missing Authorization header in JWT authentication mode")
}

func invalidHeaders(format string, args ...any) error {
	return domain.RefuseAt("$", domain.InvalidHeaders, format, args...)
}
