package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/handlers/api/auth"
)

func TestSettingsOfJWTThatMakeNoSenseAreRefused(t *testing.T) {
	const hs = `{"type":"HS256","key":"a secret that is long enough 4 it"`
	short := must(rsa.GenerateKey(rand.Reader, 1024))
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	with := func(algorithm, key string) string { return fmt.Sprintf(`{"type":%q,"key":%q}`, algorithm, key) }
	for _, c := range []struct{ name, text, message string }{
		{"no JSON", `secret`, `expecting a JSON object, such as {"type":"HS256","key":"..."}`},
		{"no object", `["secret"]`, `expecting a JSON object, such as {"type":"HS256","key":"..."}`},
		{"more than an object", hs + `} {}`, `expecting a JSON object, such as {"type":"HS256","key":"..."}`},
		{"a setting nobody knows", hs + `,"audiance":"us"}`, `there is no setting /audiance`},
		{"a setting by another case", hs + `,"Audience":"us"}`, `there is no setting /Audience`},
		{"a setting twice", hs + `,"issuer":"a","issuer":"b"}`, `expecting a JSON object, such as {"type":"HS256","key":"..."}`},
		{"a setting of the wrong type", hs + `,"issuer":1}`, `the value of /issuer has the wrong type`},

		{"neither key nor URL", `{"type":"HS256"}`, "key and jwk_url both cannot be empty"},
		{"key and URL", hs + `,"jwk_url":"http://localhost"}`, "key, jwk_url both cannot be present"},
		{"a key without type", `{"key":"x"}`, "key needs a type, such as HS256 or RS256"},
		{"a type nobody knows", with("HS1", "x"), "Invalid JWK: Key type: HS1 is not supported"},
		{"the type none", with("none", "x"), "Invalid JWK: Key type: none is not supported"},
		{"a type by another case", with("hs256", "x"), "Invalid JWK: Key type: hs256 is not supported"},
		{"a short secret of 256", with("HS256", strings.Repeat("x", 31)), "Invalid JWK: Key size too small; should be atleast 32 characters"},
		{"a short secret of 384", with("HS384", strings.Repeat("x", 47)), "Invalid JWK: Key size too small; should be atleast 48 characters"},
		{"a short secret of 512", with("HS512", strings.Repeat("x", 63)), "Invalid JWK: Key size too small; should be atleast 64 characters"},
		{"a secret as public key", with("RS256", strings.Repeat("x", 64)), "Invalid JWK: could not decode PEM: expecting a public key or an X.509 certificate"},
		{"a private key", with("RS256", pemOf("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(rsaKey())))),
			`Invalid JWK: a PEM block "PRIVATE KEY" is neither a public key nor an X.509 certificate`},
		{"a key of another family", with("RS256", pkix(p256().Public())), "Invalid JWK: the key cannot be used with RS256: it is of another type, or too short"},
		{"a key of another curve", with("ES384", pkix(p256().Public())), "Invalid JWK: the key cannot be used with ES384: it is of another type, or too short"},
		{"a key of a weak curve", with("ES256", pkix(p224.Public())), "Invalid JWK: the key cannot be used with ES256: it is of another type, or too short"},
		{"a short key", with("RS256", pkix(short.Public())), "Invalid JWK: the key cannot be used with RS256: it is of another type, or too short"},
		{"a URL that is none", `{"jwk_url":"keys"}`, "jwk_url: expecting a URL that begins with http:// or https:// and a host"},
		{"a URL of a file", `{"jwk_url":"file:///etc/passwd"}`, "jwk_url: expecting a URL that begins with http:// or https:// and a host"},

		{"two places", hs + `,"claims_namespace":"a","claims_namespace_path":"$.b"}`, "claims_namespace and claims_namespace_path both cannot be set"},
		{"an empty path", hs + `,"claims_namespace_path":""}`, `claims_namespace_path: invalid JSON path "": expecting something like $.hasura.claims, or $ for all`},
		{"a path with a gap", hs + `,"claims_namespace_path":"$.a..b"}`,
			`claims_namespace_path: invalid JSON path "$.a..b" at "..b": expecting something like $.hasura.claims or $['https://example.org'].roles[0]`},
		{"a path without a dot", hs + `,"claims_namespace_path":"$a"}`,
			`claims_namespace_path: invalid JSON path "$a" at "a": expecting something like $.hasura.claims or $['https://example.org'].roles[0]`},
		{"a format nobody knows", hs + `,"claims_format":"xml"}`, `claims_format: expecting json or stringified_json, not "xml"`},
		{"an audience that is a number", hs + `,"audience":1}`, "audience: expecting a string, or an array of strings, none of them empty"},
		{"an audience of nobody", hs + `,"audience":[]}`, "audience: expecting a string, or an array of strings, none of them empty"},
		{"an empty audience", hs + `,"audience":""}`, "audience: expecting a string, or an array of strings, none of them empty"},
		{"an empty issuer", hs + `,"issuer":""}`, "issuer: expecting a string that is not empty"},
		{"a skew before zero", hs + `,"allowed_skew":-1}`, "allowed_skew: expecting a number of seconds, from 0 to 86400"},
		{"a skew of years", hs + `,"allowed_skew":1e300}`, "allowed_skew: expecting a number of seconds, from 0 to 86400"},
		{"another header", hs + `,"header":{"type":"X-Token"}}`, `header: type: expecting Authorization or Cookie, not "X-Token"`},
		{"a header with a name", hs + `,"header":{"type":"Authorization","name":"x"}}`, "header: the Authorization header has no other name"},
		{"a cookie without a name", hs + `,"header":{"type":"Cookie"}}`, `header: a cookie needs a name: {"type":"Cookie","name":"..."}`},
		{"a cookie with no possible name", hs + `,"header":{"type":"Cookie","name":"a b"}}`, `header: a cookie needs a name: {"type":"Cookie","name":"..."}`},

		{"a map without allowed roles", hs + `,"claims_map":{"x-hasura-default-role":"a"}}`, "claims_map: x-hasura-allowed-roles is expected but not found"},
		{"a map without default role", hs + `,"claims_map":{"x-hasura-allowed-roles":["a"]}}`, "claims_map: x-hasura-default-role is expected but not found"},
		{"a map that is none", hs + `,"claims_map":1}`, "claims_map: expecting a JSON object"},
		{"a map of other names", hs + `,"claims_map":{"user":"a"}}`, "claims_map: user: expecting a name that begins with x-service- or x-hasura-"},
		{"a map with roles as text", hs + `,"claims_map":{"x-hasura-allowed-roles":"a"}}`, "claims_map: x-hasura-allowed-roles: expecting an array of strings"},
		{"a map with a number", hs + `,"claims_map":{"x-hasura-id":1}}`, "claims_map: x-hasura-id: expecting a string"},
		{"a map with a default that is a number", hs + `,"claims_map":{"x-hasura-id":{"path":"$","default":1}}}`, "claims_map: x-hasura-id: default: expecting a string"},
		{"a map with a path that is none", hs + `,"claims_map":{"x-hasura-id":{"path":"[x]"}}}`,
			`claims_map: x-hasura-id: invalid JSON path "[x]" at "[x]": expecting something like $.hasura.claims or $['https://example.org'].roles[0]`},
		{"a map with an object without path", hs + `,"claims_map":{"x-hasura-id":{"default":"a"}}}`, `claims_map: x-hasura-id: expecting a value, or {"path":"$...","default":...}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := auth.ParseJWTConfig(c.text)
			require.EqualError(t, err, c.message)
		})
	}
}

func TestSettingsThatAreNullAreNotThere(t *testing.T) {
	_, err := auth.ParseJWTConfig(`{"type":"HS256","key":"a secret that is long enough 4 it","jwk_url":null,"audience":null,"issuer":null,
		"claims_map":null,"header":null,"allowed_skew":null,"claims_namespace":null,"claims_namespace_path":null,"claims_format":null}`)
	require.NoError(t, err)
}

func TestTheSettingsTellWhereClaimsAre(t *testing.T) {
	for _, c := range []struct{ name, more, namespace, format, mapped string }{
		{"by default", ``, auth.DefaultClaimsNamespace, "json", ""},
		{"a namespace", `,"claims_namespace":"ours","claims_format":"stringified_json"`, "ours", "stringified_json", ""},
		{"a path, in the place of a namespace", `,"claims_namespace_path":"$.a.b"`, "$.a.b", "json", ""},
		{"a map, and the default of all else", `,"claims_namespace_path":"$.a","claims_format":"stringified_json","claims_map":{"x-hasura-allowed-roles":["a"],"x-hasura-default-role":"a"}`,
			auth.DefaultClaimsNamespace, "json", `{"x-hasura-allowed-roles":["a"],"x-hasura-default-role":"a"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := auth.ParseJWTConfig(`{"type":"HS256","key":"a secret that is long enough 4 it"` + c.more + `}`)
			require.NoError(t, err)
			require.Equal(t, c.namespace, cfg.ClaimsNamespace())
			require.Equal(t, c.format, cfg.ClaimsFormat())
			require.Equal(t, c.mapped, string(cfg.ClaimsMap()))
		})
	}
}

func TestTheSecretOfJWTIsNeverPrinted(t *testing.T) {
	cfg, err := auth.ParseJWTConfig(`{"type":"HS256","key":"a secret that is long enough 4 it"}`)
	require.NoError(t, err)
	secret := fmt.Sprint([]byte("a secret that is")) // also not as a list of bytes
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		for _, value := range []any{cfg, &cfg, auth.Config{JWT: &cfg}} {
			printed := fmt.Sprintf(format, value)
			require.NotContains(t, printed, "long enough", format)
			require.NotContains(t, printed, strings.Trim(secret, "[]"), format)
		}
	}
}

func TestWaysOfAskingThatExcludeEachOtherAreRefused(t *testing.T) {
	jwt := must(auth.ParseJWTConfig(`{"type":"HS256","key":"a secret that is long enough 4 it"}`))
	hook := &auth.WebhookConfig{URL: "http://localhost"}
	secret := secretService.Secrets
	for name, c := range map[string]struct {
		cfg  auth.Config
		good bool
	}{
		"nothing":                                {auth.Config{}, true},
		"a secret":                               {auth.Config{Secrets: secret}, true},
		"a secret and a role":                    {auth.Config{Secrets: secret, UnauthorizedRole: "anonymous"}, true},
		"a secret and JWT":                       {auth.Config{Secrets: secret, JWT: &jwt}, true},
		"a secret, JWT and a role":               {auth.Config{Secrets: secret, JWT: &jwt, UnauthorizedRole: "anonymous"}, true},
		"a secret and a webhook":                 {auth.Config{Secrets: secret, Webhook: hook}, true},
		"a role":                                 {auth.Config{UnauthorizedRole: "anonymous"}, false},
		"JWT":                                    {auth.Config{JWT: &jwt}, false},
		"a webhook":                              {auth.Config{Webhook: hook}, false},
		"a secret, JWT and a webhook":            {auth.Config{Secrets: secret, JWT: &jwt, Webhook: hook}, false},
		"a secret, a webhook and a role":         {auth.Config{Secrets: secret, Webhook: hook, UnauthorizedRole: "anonymous"}, false},
		"a secret and a webhook without a place": {auth.Config{Secrets: secret, Webhook: &auth.WebhookConfig{}}, false},
		"a secret and a webhook of another mode": {auth.Config{Secrets: secret, Webhook: &auth.WebhookConfig{URL: hook.URL, Mode: "PUT"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.New(c.cfg)
			require.Equal(t, c.good, err == nil, err)
		})
	}
}
