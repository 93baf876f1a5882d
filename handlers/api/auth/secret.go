package auth

import (
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// secrets lets in as admin whoever shows a secret, and leaves callers that
// show none to the next link. Which secrets are known may change.
type secrets struct {
	known  atomic.Pointer[[]hashedSecret]
	prefix string
	next   Authenticator
}

type hashedSecret struct {
	name string
	hash [sha512.Size256]byte
}

func newSecrets(list []Secret, prefix string, next Authenticator) (*secrets, error) {
	known, err := hashed(list)
	if err != nil {
		return nil, err
	}
	s := &secrets{prefix: prefix, next: next}
	s.known.Store(&known)
	return s, nil
}

// hashed is what is kept of secrets.
func hashed(list []Secret) ([]hashedSecret, error) {
	var known []hashedSecret
	for _, secret := range list {
		if secret.Value == "" {
			return nil, fmt.Errorf("the secret %q is empty: leave it out, or give it a value", secret.Name)
		}
		if strings.TrimSpace(secret.Value) != secret.Value || strings.ContainsAny(secret.Value, "\r\n\x00") {
			return nil, errors.New("an admin secret cannot begin or end with a space or hold a line break: no header can carry it")
		}
		known = append(known, hashedSecret{secret.Name, sha512.Sum512_256([]byte(secret.Value))})
	}
	return known, nil
}

func (s *secrets) Authenticate(ctx context.Context, h http.Header) (Caller, error) {
	shown, ok := shownSecret(h)
	if !ok {
		return s.next.Authenticate(ctx, h)
	}
	name, ok := s.find(shown)
	if !ok {
		return Caller{}, &Denied{"invalid " + s.prefix + "admin-secret/x-hasura-access-key"}
	}
	return trusted(h, s.prefix, name)
}

// find looks at every secret, also after one fits, so that the time it takes
// tells nothing.
func (s *secrets) find(shown string) (name string, ok bool) {
	hash := sha512.Sum512_256([]byte(shown))
	for _, known := range *s.known.Load() {
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 {
			name, ok = known.name, true
		}
	}
	return name, ok
}

// shownSecret returns the secret of the first header that may hold one. An
// empty one is a wrong secret, not an absent one; several are one wrong secret.
func shownSecret(h http.Header) (secret string, ok bool) {
	for _, name := range secretHeaders {
		if values := h.Values(name); len(values) > 0 {
			return strings.Join(distinct(values), ", "), true
		}
	}
	return "", false
}
