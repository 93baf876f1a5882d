package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"annals/domain"
)

// Caller is who asks.
type Caller struct {
	domain.Session
	// Credential is the name, never the value, of what the caller proved to
	// hold; empty when nothing was asked for.
	Credential string
	// BackendOnly asks for the permissions that are kept for backends.
	BackendOnly bool
}

// Admin reports whether the caller may do everything.
func (c Caller) Admin() bool { return c.Role == domain.AdminRole }

// Authenticator tells who sent a request with these headers. It returns a
// [Denied] when the caller may not be let in, and a domain.Error when what was
// sent makes no sense.
type Authenticator interface {
	Authenticate(ctx context.Context, h http.Header) (Caller, error)
}

// Denied says that the caller was asked for a credential and did not show a
// good one. It is told apart from a refusal for lack of permission, although
// both have the code access-denied.
type Denied struct{ Message string }

func (d *Denied) Error() string { return "authentication: " + d.Message }

// Config says how callers are told apart. Its zero value lets everybody in as
// admin.
type Config struct {
	// Secrets are the admin secrets; each of them opens. None: the service is
	// open.
	Secrets []Secret
	// UnauthorizedRole is the role of callers without a secret. Empty: they
	// are denied.
	UnauthorizedRole string
	// HeaderPrefix is the spelling of our headers in messages. Empty:
	// [domain.OwnPrefix].
	HeaderPrefix string
}

// Secret is an admin secret and the name it has in the history.
type Secret struct{ Name, Value string }

// New returns the authenticator that the settings ask for, or an error that
// says which settings do not fit together.
func New(c Config) (Authenticator, error) {
	prefix := cmp.Or(c.HeaderPrefix, domain.OwnPrefix)
	if len(c.Secrets) == 0 {
		if c.UnauthorizedRole != "" {
			return nil, errors.New("an unauthorized role needs an admin secret: without one every caller is admin")
		}
		return open{prefix}, nil
	}
	next := Authenticator(nobody{prefix})
	if c.UnauthorizedRole != "" {
		next = anonymous{c.UnauthorizedRole}
	}
	return newSecrets(c.Secrets, prefix, next)
}

// open believes everybody.
type open struct{ prefix string }

func (o open) Authenticate(_ context.Context, h http.Header) (Caller, error) {
	return trusted(h, o.prefix, "")
}

// anonymous gives everybody one role. It believes all session variables but
// the role.
type anonymous struct{ role string }

func (a anonymous) Authenticate(_ context.Context, h http.Header) (Caller, error) {
	return Caller{Session: session(h, a.role)}, nil
}

// nobody is the end of a chain that nobody passes without a credential.
type nobody struct{ prefix string }

func (n nobody) Authenticate(context.Context, http.Header) (Caller, error) {
	return Caller{}, &Denied{n.prefix + "admin-secret/x-hasura-access-key required, but not found"}
}

// trusted is the caller that the headers claim to be.
func trusted(h http.Header, prefix, credential string) (Caller, error) {
	role, err := Single(h, "Role")
	if err != nil {
		return Caller{}, err
	}
	if role == "" {
		role = domain.AdminRole
	}
	backendOnly, err := backendOnly(h, prefix)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Session: session(h, role), Credential: credential, BackendOnly: backendOnly}, nil
}
