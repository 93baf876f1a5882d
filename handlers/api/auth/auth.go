package auth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

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
	// Expires is when what the caller showed stops to count: a connection that
	// was opened with it is closed then. Zero: never.
	Expires time.Time
	// Revoked has f called once when what the caller showed stops to count for
	// another reason, in a goroutine of its own; stop calls that off. Nil: it does not.
	Revoked func(f func()) (stop func() bool)
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
	// SecretsFile is a file with more of them, which is followed: see
	// [ParseSecrets]. With it the service is not open, also while it is empty.
	SecretsFile string
	// SecretsFileInterval is how often it is looked at. 0: [SecretsFileInterval].
	SecretsFileInterval time.Duration
	// UnauthorizedRole is the role of callers without a secret, and without a
	// token where JWT is set. Empty: they are denied.
	UnauthorizedRole string
	// JWT lets in who shows a signed token. Nil: tokens are not looked at.
	JWT *JWTConfig
	// Webhook asks a service of the operator's who a caller without a secret
	// is. Nil: nobody is asked.
	Webhook *WebhookConfig
	// HeaderPrefix is the spelling of our headers in messages. Empty:
	// [domain.OwnPrefix].
	HeaderPrefix string

	// Client makes the calls to the webhook and to the source of the keys; no
	// redirect is followed, whatever it says. Nil: [NewClient].
	Client *http.Client
	// Now is the time that tokens are held against. Nil: [time.Now].
	Now func() time.Time
	// Log takes what an operator should know: why a call failed. Nil: nothing
	// is told.
	Log *slog.Logger
	// KeysLog takes what is to be known of the source of keys. Nil: Log.
	KeysLog *slog.Logger
	// HookAsked is told of each call of the webhook. Nil: nobody is told.
	HookAsked func(context.Context, HookCall)
}

// Secret is an admin secret and the name it has in the history.
type Secret struct{ Name, Value string }

// Chain is the ways of telling who asks, in the order in which they are tried.
type Chain struct {
	Authenticator
	source *keySource   // nil: nothing is fetched
	file   *secretsFile // nil: nothing is followed
}

// Run keeps fresh what the chain fetches and follows, until the context ends.
// Where there is nothing of the kind, it returns at once.
func (c *Chain) Run(ctx context.Context) {
	var running sync.WaitGroup
	if c.source != nil {
		running.Go(func() { c.source.run(ctx) })
	}
	if c.file != nil {
		running.Go(func() { c.file.follow(ctx) })
	}
	running.Wait()
}

// hasSecret reports whether there is, or may come to be, an admin secret.
func (c Config) hasSecret() bool { return len(c.Secrets) > 0 || c.SecretsFile != "" }

// New returns the chain that the settings ask for, or an error that says which
// settings do not fit together. It calls nobody: a source of keys that is down
// does not stop a start.
func New(c Config) (*Chain, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !c.hasSecret() {
		return &Chain{Authenticator: open{c.HeaderPrefix}}, nil
	}
	chain := &Chain{}
	first, err := newSecrets(c.Secrets, c.HeaderPrefix, chain.withoutSecret(c))
	if err != nil {
		return nil, err
	}
	chain.Authenticator = first
	if c.SecretsFile != "" {
		chain.file = &secretsFile{
			path: c.SecretsFile, interval: c.SecretsFileInterval, log: c.Log, given: *first.known.Load(), secrets: first,
		}
		if err := chain.file.look(); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

func (c Config) withDefaults() Config {
	c.SecretsFileInterval = cmp.Or(c.SecretsFileInterval, SecretsFileInterval)
	c.HeaderPrefix = cmp.Or(c.HeaderPrefix, domain.OwnPrefix)
	if c.Client == nil {
		c.Client = NewClient()
	}
	c.Client = staying(c.Client)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.KeysLog == nil {
		c.KeysLog = c.Log
	}
	if c.HookAsked == nil {
		c.HookAsked = func(context.Context, HookCall) {}
	}
	return c
}

// validate holds the settings against each other.
func (c Config) validate() error {
	secret := c.hasSecret()
	switch {
	case c.JWT != nil && c.Webhook != nil:
		return errors.New("an authentication webhook and JWT exclude each other: set one of them")
	case c.JWT != nil && !secret:
		return errors.New("JWT needs an admin secret: without one every caller is admin")
	case c.Webhook != nil && !secret:
		return errors.New("an authentication webhook needs an admin secret: without one every caller is admin")
	case c.UnauthorizedRole != "" && !secret:
		return errors.New("an unauthorized role needs an admin secret: without one every caller is admin")
	case c.UnauthorizedRole != "" && c.Webhook != nil:
		return errors.New("an unauthorized role and an authentication webhook exclude each other: the webhook decides who callers without a secret are")
	}
	if c.Webhook != nil {
		return c.Webhook.validate()
	}
	return nil
}

// withoutSecret is the link for callers that show no secret.
func (chain *Chain) withoutSecret(c Config) Authenticator {
	switch {
	case c.Webhook != nil:
		return newHook(*c.Webhook, c)
	case c.JWT != nil:
		link := newBearer(c)
		chain.source, _ = link.keys.(*keySource)
		return link
	case c.UnauthorizedRole != "":
		return anonymous{c.UnauthorizedRole}
	}
	return nobody{c.HeaderPrefix}
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
