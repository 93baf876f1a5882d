package auth

import (
	"context"
	"crypto/sha512"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// secrets lets in as admin whoever shows a secret, and leaves callers that
// show none to the next link. Which secrets are known may change; who showed one that is
// removed is told.
type secrets struct {
	known  atomic.Pointer[[]hashedSecret]
	prefix string
	next   Authenticator
}

// hashedSecret is what is kept of a secret. Its context ends when the secret is removed.
type hashedSecret struct {
	name   string
	hash   [sha512.Size256]byte
	counts context.Context
	remove context.CancelFunc
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
		one := hashedSecret{name: secret.Name, hash: sha512.Sum512_256([]byte(secret.Value))}
		one.counts, one.remove = context.WithCancel(context.Background())
		known = append(known, one)
	}
	return known, nil
}

// become has other secrets count. One that was known before, whatever its name, was not
// removed.
func (s *secrets) become(list []hashedSecret) {
	before := *s.known.Load()
	kept := map[[sha512.Size256]byte]hashedSecret{}
	for _, old := range before {
		kept[old.hash] = old
	}
	for i, now := range list {
		if old, ok := kept[now.hash]; ok {
			list[i].counts, list[i].remove = old.counts, old.remove
		}
	}
	s.known.Store(&list)
	for _, old := range before {
		if !slices.ContainsFunc(list, func(now hashedSecret) bool { return now.hash == old.hash }) {
			old.remove()
		}
	}
}

func (s *secrets) Authenticate(ctx context.Context, h http.Header) (Caller, error) {
	shown, ok := shownSecret(h)
	if !ok {
		return s.next.Authenticate(ctx, h)
	}
	secret, ok := s.find(shown)
	if !ok {
		return Caller{}, &Denied{"invalid " + s.prefix + "admin-secret/x-hasura-access-key"}
	}
	caller, err := trusted(h, s.prefix, secret.name)
	caller.Revoked = func(f func()) func() bool { return context.AfterFunc(secret.counts, f) }
	return caller, err
}

// find looks at every secret, also after one fits, so that the time it takes
// tells nothing.
func (s *secrets) find(shown string) (secret hashedSecret, ok bool) {
	hash := sha512.Sum512_256([]byte(shown))
	for _, known := range *s.known.Load() {
		if subtle.ConstantTimeCompare(hash[:], known.hash[:]) == 1 {
			secret, ok = known, true
		}
	}
	return secret, ok
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
