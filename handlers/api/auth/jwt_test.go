package auth_test

import (
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api/auth"
)

type object = map[string]any

// now is the time of all tests that do not let it pass.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func seconds(d time.Duration) int64 { return now.Add(d).Unix() }

const namespace = "https://hasura.io/jwt/claims"

var hs256 = signer{algorithm: "HS256", private: shared}

// editor is the session that most tokens carry.
func editor() object {
	return object{
		"x-hasura-allowed-roles": []string{"editor", "reader"}, "x-hasura-default-role": "editor", "x-hasura-user-id": "7",
	}
}

// claims are those of a good token, with others added; nil takes one away.
func claims(others object) object {
	all := object{"exp": seconds(time.Hour), namespace: editor()}
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// service believes tokens that s signed, with more settings.
func service(t *testing.T, s signer, more object) auth.Config {
	t.Helper()
	settings := s.settings()
	maps.Copy(settings, more)
	return believing(t, settings)
}

func believing(t *testing.T, settings object) auth.Config {
	t.Helper()
	jwt, err := auth.ParseJWTConfig(string(must(json.Marshal(settings))))
	require.NoError(t, err)
	return auth.Config{Secrets: secretService.Secrets, JWT: &jwt, Now: func() time.Time { return now }}
}

func bearing(token string, more ...string) http.Header {
	return headers(append([]string{"Authorization", "Bearer " + token}, more...)...)
}

// refused holds an error against the code and message that a client sees.
func refused(t *testing.T, err error, code domain.Code, message string) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, message, refusal.Message)
	require.Equal(t, code, refusal.Code)
	require.Equal(t, "$", refusal.Path)
}

const unverified = "Could not verify JWT: "

func TestATokenOfEveryFamilyLetsItsBearerIn(t *testing.T) {
	for _, s := range families() {
		t.Run(s.algorithm, func(t *testing.T) {
			caller, err := ask(t, service(t, s, nil), bearing(s.token(claims(nil))))
			require.NoError(t, err)
			require.Equal(t, domain.Session{Role: "editor", Variables: map[string]string{
				"x-service-role": "editor", "x-service-user-id": "7",
			}}, caller.Session)
			require.Equal(t, "jwt", caller.Credential)
			require.True(t, caller.Expires.Equal(now.Add(time.Hour)))
			require.False(t, caller.BackendOnly)
		})
	}
}

func TestAPublicKeyIsReadInEveryForm(t *testing.T) {
	rs := signer{algorithm: "RS256", private: rsaKey()}
	es := signer{algorithm: "ES384", private: p384()}
	ed := signer{algorithm: "EdDSA", private: edwards()}
	for name, c := range map[string]struct {
		signer signer
		key    string
	}{
		"PKIX":                       {rs, pkix(rs.public())},
		"PKCS 1":                     {rs, pemOf("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey))},
		"a certificate, also an old": {rs, rs.certificate()},
		"a certificate of a curve":   {es, es.certificate()},
		"a certificate of Edwards'":  {ed, ed.certificate()},
		"with text around":           {es, "my key:\n" + pkix(es.public()) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, service(t, c.signer, object{"key": c.key}), bearing(c.signer.token(claims(nil))))
			require.NoError(t, err)
		})
	}
}

func TestATokenThatOthersSignedIsRefused(t *testing.T) {
	for _, s := range families() {
		t.Run(s.algorithm, func(t *testing.T) {
			token := s.token(claims(nil))
			cfg := service(t, s, nil)
			forged := token[:strings.LastIndex(token, ".")+1] + b64(make([]byte, 64))
			_, err := ask(t, cfg, bearing(forged))
			refused(t, err, auth.InvalidJWT, unverified+"JWSError JWSInvalidSignature")
		})
	}
	stranger := signer{algorithm: "RS256", private: otherRSA()}
	_, err := ask(t, service(t, signer{algorithm: "RS256", private: rsaKey()}, nil), bearing(stranger.token(claims(nil))))
	refused(t, err, auth.InvalidJWT, unverified+"JWSError JWSInvalidSignature")
}

func TestAKeyIsUsedWithItsOwnAlgorithmOnly(t *testing.T) {
	for _, configured := range families() {
		for _, signing := range families() {
			sameName := configured.algorithm == signing.algorithm
			edwardsToo := strings.HasPrefix(configured.algorithm, "Ed") && strings.HasPrefix(signing.algorithm, "Ed")
			if sameName || edwardsToo {
				continue
			}
			_, err := ask(t, service(t, configured, nil), bearing(signing.token(claims(nil))))
			refused(t, err, auth.InvalidJWT, unverified+"JWSError AlgorithmMismatch")
		}
	}
}

func TestAPublicKeyIsNoSharedSecret(t *testing.T) {
	for _, s := range families()[3:] {
		for _, secret := range []string{pkix(s.public()), strings.TrimSpace(pkix(s.public())), s.certificate()} {
			confusing := signer{algorithm: "HS256", private: []byte(secret)}
			_, err := ask(t, service(t, s, object{"key": secret}), bearing(confusing.token(claims(nil))))
			refused(t, err, auth.InvalidJWT, unverified+"JWSError AlgorithmMismatch")
			_, err = auth.ParseJWTConfig(string(must(json.Marshal(confusing.settings()))))
			require.Error(t, err, "nor can it be set as one")
		}
	}
}

func TestATokenThatIsNotSignedAsItSaysIsRefused(t *testing.T) {
	const mismatch = "JWSError AlgorithmMismatch"
	const invalid = "JWSError JWSInvalidSignature"
	const undecodable = "JWSError (JSONDecodeError: the header is not a JSON object with a text alg)"
	good := claims(nil)
	unsigned := func(head string) string { return b64([]byte(head)) + "." + b64(asJSON(good)) + "." }
	for name, c := range map[string]struct{ token, reason string }{
		"none":                         {unsigned(`{"alg":"none"}`), mismatch},
		"None":                         {unsigned(`{"alg":"None"}`), mismatch},
		"none, with a signature":       {hs256.withHead(`{"alg":"none"}`, good), mismatch},
		"no algorithm":                 {hs256.withHead(`{"typ":"JWT"}`, good), mismatch},
		"an empty algorithm":           {hs256.withHead(`{"alg":""}`, good), mismatch},
		"an algorithm by another case": {hs256.withHead(`{"alg":"hs256"}`, good), mismatch},
		"an algorithm nobody knows":    {hs256.withHead(`{"alg":"HS1"}`, good), mismatch},
		"an algorithm of encryption":   {hs256.withHead(`{"alg":"RSA-OAEP"}`, good), mismatch},
		"two algorithms":               {hs256.withHead(`{"alg":"none","alg":"HS256"}`, good), undecodable},
		"an algorithm that is a list":  {hs256.withHead(`{"alg":["HS256"]}`, good), undecodable},
		"a key's name that is no text": {hs256.withHead(`{"alg":"HS256","kid":1}`, good), undecodable},
		"a header that is no object":   {hs256.withHead(`"HS256"`, good), undecodable},
		"what must be understood":      {hs256.withHead(`{"alg":"HS256","crit":["exp"],"exp":1}`, good), invalid},
		"a payload that is not coded":  {hs256.withHead(`{"alg":"HS256","b64":false}`, good), invalid},
		"no signature":                 {unsigned(`{"alg":"HS256"}`), invalid},
		"a header that is not coded":   {"*." + b64(asJSON(good)) + ".x", "JWSError (JSONDecodeError: the header is not base64url)"},
		"two parts":                    {"a.b", "JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts)"},
		"five parts":                   {"a.b.c.d.e", "JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts)"},
		"nothing but dots":             {strings.Repeat(".", auth.MaxTokenBytes), "JWSError (CompactDecodeError Invalid number of parts: Expected 3 parts)"},
		"too long":                     {strings.Repeat("x", auth.MaxTokenBytes+1), "the token has more than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, nil), bearing(c.token))
			refused(t, err, auth.InvalidJWT, unverified+c.reason)
		})
	}
}

func TestAKeyOfTheSettingsIsUsedWhateverNameATokenGivesIt(t *testing.T) {
	named := signer{algorithm: "HS256", private: shared, id: "2026-11"}
	_, err := ask(t, service(t, hs256, nil), bearing(named.token(claims(nil))))
	require.NoError(t, err)
}

func TestATokenHoldsInItsTimeOnly(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name   string
		skew   float64
		claims object
		reason string // empty: it holds
	}{
		{"before its end", 0, object{"exp": seconds(s)}, ""},
		{"at its end", 0, object{"exp": seconds(0)}, "JWTExpired"},
		{"after its end", 0, object{"exp": seconds(-s)}, "JWTExpired"},
		{"after its end, within the skew", 10, object{"exp": seconds(-9 * s)}, ""},
		{"after its end, at the skew", 10, object{"exp": seconds(-10 * s)}, "JWTExpired"},
		{"an end with a fraction", 0, object{"exp": float64(seconds(0)) + 0.5}, ""},
		{"an end before all time", 0, object{"exp": -1e300}, "JWTExpired"},
		{"no end", 0, object{"exp": nil}, ""},
		{"an end that is text", 0, object{"exp": "tomorrow"}, "JWTClaimsSetDecodeError: exp is not a number"},
		{"before its begin", 0, object{"nbf": seconds(s)}, "JWTNotYetValid"},
		{"at its begin", 0, object{"nbf": seconds(0)}, ""},
		{"before its begin, within the skew", 1, object{"nbf": seconds(s)}, ""},
		{"a begin that is text", 0, object{"nbf": "x"}, "JWTClaimsSetDecodeError: nbf is not a number"},
		{"made in the future", 0, object{"iat": seconds(s)}, "JWTIssuedAtFuture"},
		{"made in the future, within the skew", 1.5, object{"iat": seconds(s)}, ""},
		{"expired and not begun", 0, object{"exp": seconds(-s), "nbf": seconds(s)}, "JWTExpired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, object{"allowed_skew": c.skew}), bearing(hs256.token(claims(c.claims))))
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			refused(t, err, auth.InvalidJWT, unverified+c.reason)
		})
	}
}

func TestACallerExpiresWithTheToken(t *testing.T) {
	for name, c := range map[string]struct {
		skew   int
		exp    any
		expiry time.Time
	}{
		"at its end":         {0, seconds(time.Hour), now.Add(time.Hour)},
		"later by the skew":  {5, seconds(time.Hour), now.Add(time.Hour + 5*time.Second)},
		"never":              {5, nil, time.Time{}},
		"at the end of time": {0, 1e300, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := ask(t, service(t, hs256, object{"allowed_skew": c.skew}), bearing(hs256.token(claims(object{"exp": c.exp}))))
			require.NoError(t, err)
			require.True(t, c.expiry.Equal(caller.Expires), caller.Expires)
		})
	}
}

func TestABadSignatureIsFoundBeforeAnythingElse(t *testing.T) {
	stranger := signer{algorithm: "HS256", private: []byte(strings.Repeat("x", 32))}
	_, err := ask(t, service(t, hs256, object{"audience": "us"}), bearing(stranger.token(claims(object{"exp": seconds(-time.Hour)}))))
	refused(t, err, auth.InvalidJWT, unverified+"JWSError JWSInvalidSignature")
}

func TestATokenIsForWhomItSays(t *testing.T) {
	for _, c := range []struct {
		name          string
		audience, aud any
		good          bool
	}{
		{"none wanted, none named", nil, nil, true},
		{"none wanted, one named", nil, "others", true},
		{"one wanted, none named", "us", nil, false},
		{"one wanted, that one named", "us", "us", true},
		{"one wanted, another named", "us", "others", false},
		{"one wanted, a longer one named", "us", "us2", false},
		{"one wanted, named among others", "us", []string{"others", "us"}, true},
		{"one wanted, not among those named", "us", []string{"others", "they"}, false},
		{"one wanted, an empty list named", "us", []string{}, false},
		{"one wanted, null named", "us", json.RawMessage("null"), false},
		{"one wanted, a number named", "us", 1, false},
		{"one wanted, named in a list with a number", "us", []any{"us", 1}, false},
		{"several wanted, one of them named", []string{"us", "we"}, "we", true},
		{"several wanted, one of them among those named", []string{"us", "we"}, []string{"they", "us"}, true},
		{"several wanted, another named", []string{"us", "we"}, "they", false},
		{"several wanted, none named", []string{"us", "we"}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, object{"audience": c.audience}), bearing(hs256.token(claims(object{"aud": c.aud}))))
			if c.good {
				require.NoError(t, err)
				return
			}
			refused(t, err, auth.InvalidJWT, unverified+"JWTNotInAudience")
		})
	}
}

func TestATokenIsFromWhomItSays(t *testing.T) {
	for _, c := range []struct {
		name        string
		issuer, iss any
		good        bool
	}{
		{"none wanted, none named", nil, nil, true},
		{"none wanted, one named", nil, "others", true},
		{"one wanted, that one named", "us", "us", true},
		{"one wanted, none named", "us", nil, false},
		{"one wanted, another named", "us", "others", false},
		{"one wanted, a list named", "us", []string{"us"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, object{"issuer": c.issuer}), bearing(hs256.token(claims(object{"iss": c.iss}))))
			if c.good {
				require.NoError(t, err)
				return
			}
			refused(t, err, auth.InvalidJWT, unverified+"JWTNotInIssuer")
		})
	}
}

func TestAPayloadThatIsNoObjectIsRefused(t *testing.T) {
	for _, payload := range []string{`null`, `[]`, `"x"`, ``, `{`, `{"exp":1,"exp":9999999999}`, "{\"a\":\"\xff\"}"} {
		_, err := ask(t, service(t, hs256, nil), bearing(hs256.token(payload)))
		refused(t, err, auth.InvalidJWT, unverified+"JWTClaimsSetDecodeError: expecting a JSON object without repeated names")
	}
}

func TestTheRoleIsOneThatTheTokenAllows(t *testing.T) {
	for _, c := range []struct {
		name   string
		header []string
		role   string // empty: refused
	}{
		{"the default one", nil, "editor"},
		{"the one asked for", []string{"X-Service-Role", "reader"}, "reader"},
		{"the one asked for in the other spelling", []string{"X-Hasura-Role", "reader"}, "reader"},
		{"an empty one is not asked for", []string{"X-Service-Role", ""}, "editor"},
		{"another one", []string{"X-Service-Role", "owner"}, ""},
		{"admin", []string{"X-Service-Role", "admin"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller, err := ask(t, service(t, hs256, nil), bearing(hs256.token(claims(nil)), c.header...))
			if c.role == "" {
				refused(t, err, domain.AccessDenied, "Your requested role is not in allowed roles")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.role, caller.Role)
			require.Equal(t, c.role, caller.Variables["x-service-role"])
		})
	}
	t.Run("two that differ", func(t *testing.T) {
		_, err := ask(t, service(t, hs256, nil), bearing(hs256.token(claims(nil)), "X-Service-Role", "reader", "X-Service-Role", "editor"))
		var refusal *domain.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, domain.BadRequest, refusal.Code)
	})
}

func TestATokensSessionIsItsOwnAndNotTheHeaders(t *testing.T) {
	session := editor()
	session["X-Service-User-Id"], session["x-hasura-ORG"], session["x-service-role"], session["name"] = "8", "acme", "owner", "left out"
	caller, err := ask(t, service(t, hs256, nil), bearing(hs256.token(claims(object{namespace: session})),
		"X-Service-User-Id", "1", "X-Hasura-Team", "2", "X-Service-Use-Backend-Only-Permissions", "true"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"x-service-role": "editor", "x-service-user-id": "8", "x-service-org": "acme"}, caller.Variables)
	require.False(t, caller.BackendOnly)
}

func TestRolesAreReadInBothSpellings(t *testing.T) {
	token := hs256.token(claims(object{namespace: object{
		"x-service-allowed-roles": []string{"reader"}, "x-hasura-allowed-roles": []string{"admin"},
		"X-Service-Default-Role": "reader", "x-hasura-default-role": "admin",
	}}))
	caller, err := ask(t, service(t, hs256, nil), bearing(token))
	require.NoError(t, err)
	require.Equal(t, domain.Session{Role: "reader", Variables: map[string]string{"x-service-role": "reader"}}, caller.Session)
}

func TestClaimsThatMakeNoSessionAreRefused(t *testing.T) {
	with := func(name string, value any) object {
		session := editor()
		session[name] = value
		if value == nil {
			delete(session, name)
		}
		return object{namespace: session}
	}
	stringified := object{"claims_format": "stringified_json"}
	for _, c := range []struct {
		name     string
		settings object
		claims   object
		code     domain.Code
		message  string
	}{
		{"no namespace", nil, object{namespace: nil}, auth.InvalidClaims, "claims key: 'https://hasura.io/jwt/claims' not found"},
		{"no namespace of ours", object{"claims_namespace": "ours"}, nil, auth.InvalidClaims, "claims key: 'ours' not found"},
		{"nothing at the path", object{"claims_namespace_path": "$.a.b"}, object{"a": object{}}, auth.InvalidClaims,
			"claims not found at claims_namespace_path: '$.a.b'"},
		{"text, not an object", nil, object{namespace: "{}"}, auth.InvalidClaims, "expecting a json object when claims_format is json"},
		{"a list, not an object", object{"claims_namespace_path": "$.a"}, object{"a": []int{1}}, auth.InvalidClaims,
			"expecting a json object when claims_format is json"},
		{"an object, not text", stringified, nil, auth.InvalidClaims, "expecting a string when claims_format is stringified_json"},
		{"text that is no object", stringified, object{namespace: "[]"}, auth.InvalidClaims,
			"expecting stringified json at: 'claims_namespace https://hasura.io/jwt/claims', but found: []"},
		{"text at a path that is no object", object{"claims_format": "stringified_json", "claims_namespace_path": "$.a"}, object{"a": "{"}, auth.InvalidClaims,
			"expecting stringified json at: 'claims_namespace_path $.a', but found: {"},
		{"no allowed roles", nil, with("x-hasura-allowed-roles", nil), auth.MissingRoleClaims, "JWT claim does not contain x-hasura-allowed-roles"},
		{"no default role", nil, with("x-hasura-default-role", nil), auth.MissingRoleClaims, "JWT claim does not contain x-hasura-default-role"},
		{"allowed roles that are text", nil, with("x-hasura-allowed-roles", "editor"), auth.InvalidClaims,
			"invalid x-hasura-allowed-roles; should be a list of roles: parsing [] failed, expected Array, but encountered String"},
		{"an allowed role that is a number", nil, with("x-hasura-allowed-roles", []any{"editor", 1}), auth.InvalidClaims,
			"invalid x-hasura-allowed-roles; should be a list of roles: parsing Text failed, expected String, but encountered Number"},
		{"a default role that is a list", nil, with("x-hasura-default-role", []string{"editor"}), auth.InvalidClaims,
			"invalid x-hasura-default-role; should be a single role name: parsing Text failed, expected String, but encountered Array"},
		{"a default role that is not allowed", nil, with("x-hasura-default-role", "owner"), domain.AccessDenied, "Your requested role is not in allowed roles"},
		{"an empty role", nil, object{namespace: object{"x-hasura-allowed-roles": []string{""}, "x-hasura-default-role": ""}}, domain.AccessDenied,
			"Your requested role is not in allowed roles"},
		{"a variable that is a number", nil, with("x-hasura-user-id", 7), auth.InvalidClaims,
			"x-hasura-* claims: parsing Text failed, expected String, but encountered Number, at x-service-user-id"},
		{"a variable that is null", nil, with("x-hasura-user-id", json.RawMessage("null")), auth.InvalidClaims,
			"x-hasura-* claims: parsing Text failed, expected String, but encountered Null, at x-service-user-id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, c.settings), bearing(hs256.token(claims(c.claims))))
			refused(t, err, c.code, c.message)
		})
	}
}

func TestClaimsAreFoundWhereTheSettingsSay(t *testing.T) {
	text := string(must(json.Marshal(editor())))
	flat := editor()
	flat["exp"] = seconds(time.Hour)
	for name, c := range map[string]struct {
		settings object
		claims   object
	}{
		"in a namespace of ours":       {object{"claims_namespace": "ours"}, object{"ours": editor()}},
		"as text":                      {object{"claims_format": "stringified_json"}, object{namespace: text}},
		"at a path":                    {object{"claims_namespace_path": "$.a.b"}, object{"a": object{"b": editor()}}},
		"at a path without a root":     {object{"claims_namespace_path": "a.b"}, object{"a": object{"b": editor()}}},
		"at a path in quotes":          {object{"claims_namespace_path": "$['https://x.y'].b"}, object{"https://x.y": object{"b": editor()}}},
		"at a path with a spare dot":   {object{"claims_namespace_path": "$.['https://x.y'].b.[0]"}, object{"https://x.y": object{"b": []any{editor()}}}},
		"at a path in double quotes":   {object{"claims_namespace_path": `$["a b"]`}, object{"a b": editor()}},
		"at a path through a list":     {object{"claims_namespace_path": "$.a[1]"}, object{"a": []any{1, editor()}}},
		"at the root":                  {object{"claims_namespace_path": "$"}, flat},
		"as text at a path":            {object{"claims_namespace_path": "$.a", "claims_format": "stringified_json"}, object{"a": text}},
		"where nothing else is said":   {nil, nil},
		"at a path of other languages": {object{"claims_namespace_path": "$.prénom-1"}, object{"prénom-1": editor()}},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := ask(t, service(t, hs256, c.settings), bearing(hs256.token(claims(c.claims))))
			require.NoError(t, err)
			require.Equal(t, "editor", caller.Role)
			require.Equal(t, "7", caller.Variables["x-service-user-id"])
		})
	}
}

func TestAMapOfClaimsGathersTheSession(t *testing.T) {
	at := func(path string) object { return object{"path": path} }
	or := func(path string, fallback any) object { return object{"path": path, "default": fallback} }
	token := object{"roles": []string{"reader", "editor"}, "user": object{"id": "7", "first": "reader", "age": 7}, namespace: nil}
	for _, c := range []struct {
		name      string
		mapped    object
		variables map[string]string // nil: refused
		code      domain.Code
		message   string
	}{
		{"from paths", object{"x-hasura-allowed-roles": at("$.roles"), "x-hasura-default-role": at("$.user.first"), "x-hasura-user-id": at("$.user.id")},
			map[string]string{"x-service-role": "reader", "x-service-user-id": "7"}, "", ""},
		{"in our spelling, and from a list", object{"X-Service-Allowed-Roles": at("$.roles"), "x-service-default-role": at("$.roles[1]")},
			map[string]string{"x-service-role": "editor"}, "", ""},
		{"as given", object{"x-hasura-allowed-roles": []string{"clerk"}, "x-hasura-default-role": "clerk", "x-hasura-org": "acme"},
			map[string]string{"x-service-role": "clerk", "x-service-org": "acme"}, "", ""},
		{"by default", object{"x-hasura-allowed-roles": or("$.none", []string{"clerk"}), "x-hasura-default-role": or("$.none", "clerk"), "x-hasura-org": or("$.org", "acme")},
			map[string]string{"x-service-role": "clerk", "x-service-org": "acme"}, "", ""},
		{"a default that is not needed", object{"x-hasura-allowed-roles": at("$.roles"), "x-hasura-default-role": or("$.user.first", "editor")},
			map[string]string{"x-service-role": "reader"}, "", ""},
		{"a variable that is not there", object{"x-hasura-allowed-roles": at("$.roles"), "x-hasura-default-role": at("$.user.first"), "X-Hasura-User-Id": at("$.id")},
			nil, auth.InvalidClaims, "JWT claim from claims_map, x-hasura-user-id not found"},
		{"allowed roles that are not there", object{"x-hasura-allowed-roles": at("$.role"), "x-hasura-default-role": at("$.user.first")},
			nil, auth.MissingRoleClaims, "JWT claim does not contain x-hasura-allowed-roles"},
		{"a default role that is not there", object{"x-hasura-allowed-roles": at("$.roles"), "x-hasura-default-role": at("$.user.second")},
			nil, auth.MissingRoleClaims, "JWT claim does not contain x-hasura-default-role"},
		{"a variable that is a number", object{"x-hasura-allowed-roles": at("$.roles"), "x-hasura-default-role": at("$.user.first"), "x-hasura-age": at("$.user.age")},
			nil, auth.InvalidClaims, "x-hasura-* claims: parsing Text failed, expected String, but encountered Number, at x-service-age"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The map goes before the namespace and the format, whatever they say.
			cfg := service(t, hs256, object{"claims_map": c.mapped, "claims_namespace": "elsewhere", "claims_format": "stringified_json"})
			caller, err := ask(t, cfg, bearing(hs256.token(claims(token))))
			if c.variables == nil {
				refused(t, err, c.code, c.message)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.variables, caller.Variables)
		})
	}
}

func TestATokenIsReadWhereTheSettingsSay(t *testing.T) {
	good := hs256.token(claims(nil))
	const missing, malformed = "Missing Authorization header in JWT authentication mode", "Malformed Authorization header"
	cookie := object{"header": object{"type": "Cookie", "name": "session"}}
	for _, c := range []struct {
		name     string
		settings object
		headers  http.Header
		message  string // empty: let in
	}{
		{"in the header", nil, headers("Authorization", "Bearer "+good), ""},
		{"in the header by name", object{"header": object{"type": "Authorization"}}, headers("Authorization", "Bearer "+good), ""},
		{"with more blanks", nil, headers("Authorization", " Bearer   "+good+" "), ""},
		{"twice alike", nil, headers("Authorization", "Bearer "+good, "Authorization", "Bearer "+good), ""},
		{"twice, differently", nil, headers("Authorization", "Bearer "+good, "Authorization", "Bearer x"), malformed},
		{"nowhere", nil, headers("Cookie", "session="+good), missing},
		{"in lower case", nil, headers("Authorization", "bearer "+good), malformed},
		{"without a scheme", nil, headers("Authorization", good), malformed},
		{"by another scheme", nil, headers("Authorization", "Basic "+good), malformed},
		{"a scheme without a token", nil, headers("Authorization", "Bearer "), malformed},
		{"an empty header", nil, headers("Authorization", ""), malformed},
		{"two tokens", nil, headers("Authorization", "Bearer "+good+" "+good), malformed},
		{"in the cookie", cookie, headers("Cookie", "a=b; session="+good), ""},
		{"in the cookie, with a header of others", cookie, headers("Cookie", "session="+good, "Authorization", "Basic x"), ""},
		{"in another cookie", cookie, headers("Cookie", "other="+good), "Missing cookie session in JWT authentication mode"},
		{"in the header, not the cookie", cookie, headers("Authorization", "Bearer "+good), "Missing cookie session in JWT authentication mode"},
		{"in an empty cookie", cookie, headers("Cookie", "session="), "Malformed Cookie header"},
		{"in two cookies", cookie, headers("Cookie", "session="+good, "Cookie", "session=x"), "Malformed Cookie header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, service(t, hs256, c.settings), c.headers)
			if c.message == "" {
				require.NoError(t, err)
				return
			}
			refused(t, err, domain.InvalidHeaders, c.message)
		})
	}
}

func TestOnlyACallerWithoutATokenHasTheUnauthorizedRole(t *testing.T) {
	cfg := service(t, hs256, nil)
	cfg.UnauthorizedRole = "anonymous"
	caller, err := ask(t, cfg, headers("X-Service-Role", "admin", "X-Service-Country", "pt"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"x-service-role": "anonymous", "x-service-country": "pt"}, caller.Variables)
	require.Zero(t, caller.Expires)

	_, err = ask(t, cfg, bearing(hs256.token(claims(object{"exp": seconds(-time.Hour)}))))
	refused(t, err, auth.InvalidJWT, unverified+"JWTExpired")
	_, err = ask(t, cfg, headers("Authorization", "Basic x"))
	refused(t, err, domain.InvalidHeaders, "Malformed Authorization header")
}

func TestASecretGoesBeforeAToken(t *testing.T) {
	cfg := service(t, hs256, nil)
	token := hs256.token(claims(nil))
	caller, err := ask(t, cfg, bearing(token, "X-Service-Admin-Secret", "s3cret"))
	require.NoError(t, err)
	require.Equal(t, "admin", caller.Role)
	_, err = ask(t, cfg, bearing(token, "X-Service-Admin-Secret", "wrong"))
	var denied *auth.Denied
	require.ErrorAs(t, err, &denied)
}

func FuzzNothingButASignedTokenGetsIn(f *testing.F) {
	good := hs256.token(object{namespace: editor()})
	jwt := must(auth.ParseJWTConfig(string(must(json.Marshal(hs256.settings())))))
	chain := must(auth.New(auth.Config{Secrets: secretService.Secrets, JWT: &jwt}))
	signed := good[:strings.LastIndex(good, ".")]
	for _, seed := range []string{good, signed, signed + ".", good + ".", "." + good, "..", "e30.e30.", b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(`{}`)) + "."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		_, err := chain.Authenticate(t.Context(), headers("Authorization", "Bearer "+token))
		if err == nil {
			require.Equal(t, signed, token[:strings.LastIndex(token, ".")], "what was not signed was let in")
		}
	})
}
