package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jws"

	"annals/domain"
)

// The codes that tokens are refused with, in the words of the v1.3 API.
const (
	InvalidJWT        domain.Code = "invalid-jwt"
	InvalidClaims     domain.Code = "jwt-invalid-claims"
	MissingRoleClaims domain.Code = "jwt-missing-role-claims"
)

// JWTCredential is the name of the credential of callers that a token let in.
const JWTCredential = "jwt"

// bearer lets in whoever carries a token that is signed as the settings say,
// as one of the roles in it.
type bearer struct {
	cfg    JWTConfig
	keys   keyring
	now    func() time.Time
	others Authenticator // callers without a token; nil: they are refused
}

func newBearer(c Config) *bearer {
	b := &bearer{cfg: *c.JWT, now: c.Now}
	if b.cfg.key != nil {
		b.keys = fixedKey{*b.cfg.key}
	} else {
		b.keys = newKeySource(b.cfg.keysURL, c)
	}
	if c.UnauthorizedRole != "" {
		b.others = anonymous{c.UnauthorizedRole}
	}
	return b
}

func (b *bearer) Authenticate(ctx context.Context, h http.Header) (Caller, error) {
	token, err := b.cfg.carrier.token(h)
	switch {
	case err != nil:
		return Caller{}, err
	case token == "" && b.others != nil:
		return b.others.Authenticate(ctx, h)
	case token == "":
		return Caller{}, b.cfg.carrier.missing()
	}
	payload, err := b.verify(ctx, token)
	if err != nil {
		return Caller{}, err
	}
	claims, expires, err := b.cfg.read(payload, b.now())
	if err != nil {
		return Caller{}, err
	}
	requested, err := Single(h, "Role")
	if err != nil {
		return Caller{}, err
	}
	session, err := b.cfg.claims.session(claims, requested)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Session: session, Credential: JWTCredential, Expires: expires}, nil
}

// verify returns what a token says, once its signature is found good. Nothing
// of a token but the name of its key is looked at before.
func (b *bearer) verify(ctx context.Context, token string) ([]byte, error) {
	if len(token) > MaxTokenBytes {
		return nil, unverified("the token has more than %d bytes", MaxTokenBytes)
	}
	head, err := readHead(token)
	if err != nil {
		return nil, unverified("%s", err)
	}
	keys, err := b.keys.named(ctx, head.KeyID)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, unverified("JWSError NoUsableKeys")
	}
	return head.verify(token, keys)
}

// tokenHead is the part of a token's header that chooses a key.
type tokenHead struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// parts of a token: header, payload, signature.
const tokenParts = 3

func readHead(token string) (tokenHead, error) {
	var head tokenHead
	if strings.Count(token, ".") != tokenParts-1 {
		return head, errors.New("JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts)")
	}
	text, _, _ := strings.Cut(token, ".")
	header, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return head, errors.New("JWSError (JSONDecodeError: the header is not base64url)")
	}
	if err := json.Unmarshal(header, &head); err != nil {
		return head, errors.New("JWSError (JSONDecodeError: the header is not a JSON object with a text alg)")
	}
	return head, nil
}

// verify holds a token against each key that goes with its algorithm. The
// algorithm "none" goes with no key.
func (head tokenHead) verify(token string, keys []key) ([]byte, error) {
	algorithm, known := jwa.LookupSignatureAlgorithm(head.Algorithm)
	fitting := slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return !slices.Contains(k.algorithms, head.Algorithm) })
	if !known || len(fitting) == 0 {
		return nil, unverified("JWSError AlgorithmMismatch")
	}
	for _, k := range fitting {
		if payload, err := jws.VerifyCompactFast(k.material, []byte(token), algorithm); err == nil {
			return payload, nil
		}
	}
	return nil, unverified("JWSError JWSInvalidSignature")
}

// unverified refuses a token, with what v1.3 calls the reason.
func unverified(format string, args ...any) error {
	return domain.RefuseAt("$", InvalidJWT, "Could not verify JWT: "+format, args...)
}

// fault is a refusal that is the server's, or its operator's, doing.
func fault(message string) *domain.Error {
	return &domain.Error{Code: domain.Unexpected, Path: "$", Message: message, Fault: true}
}

// read returns the claims of a verified token, and when it expires. The allowed
// skew is in the token's favour, at both ends.
func (c JWTConfig) read(payload []byte, now time.Time) (claims map[string]any, expires time.Time, err error) {
	if err := json.Unmarshal(payload, &claims); err != nil || claims == nil {
		return nil, time.Time{}, unverified("JWTClaimsSetDecodeError: expecting a JSON object without repeated names")
	}
	expires, err = instant(claims, "exp")
	if err != nil {
		return nil, time.Time{}, err
	}
	if !expires.IsZero() {
		expires = expires.Add(c.skew)
	}
	if !expires.IsZero() && !now.Before(expires) {
		return nil, time.Time{}, unverified("JWTExpired")
	}
	if err := c.begun(claims, now); err != nil {
		return nil, time.Time{}, err
	}
	return claims, expires, c.meant(claims)
}

// begun refuses tokens of the future.
func (c JWTConfig) begun(claims map[string]any, now time.Time) error {
	for _, claim := range [2]struct{ name, reason string }{{"nbf", "JWTNotYetValid"}, {"iat", "JWTIssuedAtFuture"}} {
		from, err := instant(claims, claim.name)
		if err != nil {
			return err
		}
		if now.Add(c.skew).Before(from) {
			return unverified("%s", claim.reason)
		}
	}
	return nil
}

// meant refuses tokens that others made, or that were made for others. A token
// that does not say is refused too, where the settings ask.
func (c JWTConfig) meant(claims map[string]any) error {
	if c.issuer != "" && claims["iss"] != c.issuer {
		return unverified("JWTNotInIssuer")
	}
	if len(c.audiences) == 0 {
		return nil
	}
	named, _ := oneOrMore(claims["aud"])
	if !slices.ContainsFunc(named, func(a string) bool { return slices.Contains(c.audiences, a) }) {
		return unverified("JWTNotInAudience")
	}
	return nil
}

// maxInstant is the last second of the year 9999: later ones are as good as never.
const maxInstant = 253402300799

// instant reads a claim that is a number of seconds since 1970; zero when it is
// absent.
func instant(claims map[string]any, name string) (time.Time, error) {
	value, ok := claims[name]
	if !ok {
		return time.Time{}, nil
	}
	seconds, ok := value.(float64)
	if !ok {
		return time.Time{}, unverified("JWTClaimsSetDecodeError: %s is not a number", name)
	}
	seconds = min(max(seconds, 0), maxInstant)
	whole := int64(seconds)
	return time.Unix(whole, int64((seconds-float64(whole))*float64(time.Second))), nil
}
