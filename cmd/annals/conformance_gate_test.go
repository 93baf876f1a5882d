package main_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
)

// A gate tells callers without the secret apart, with JWT or with a webhook:
// what a case says in headers becomes a token's claims, or the webhook's answer.
type gate interface {
	// settings are those of the server.
	settings() []setting
	// headers are what a caller sends that a case describes with these.
	headers(map[string]string) (map[string]string, error)
	close()
}

type gateKind string

const (
	jwtGate     gateKind = "JWT"
	webhookGate gateKind = "webhook"
)

func gatedModes(kind gateKind) []mode {
	return []mode{
		{name: string(kind) + " by variables", secret: rightSecret, gate: kind},
		{name: string(kind) + " by flags", secret: rightSecret, gate: kind, flags: true},
	}
}

// modesOf returns the modes that a case is run in. With the variable
// ANNALS_CONFORMANCE_GATES each case is run behind both gates too.
func modesOf(c indexedCase) []mode {
	gates := []mode{gatedModes(jwtGate)[0], gatedModes(webhookGate)[1]}
	switch {
	case c.feature == "jwt":
		return gatedModes(jwtGate)
	case c.feature == "webhook-auth":
		return gatedModes(webhookGate)
	case c.name == "test_backend_user_no_admin_secret_fail":
		return gates // where nothing but the secret is asked for, it is its bearer's right
	case c.auth == "normal" && (strings.HasSuffix(c.feature, "-permissions") || c.feature == "config-api" || os.Getenv("ANNALS_CONFORMANCE_GATES") != ""):
		return append(modes(), gates...)
	}
	return modes()
}

// openGate returns the gate of a case's server; nil where there is none.
func openGate(kind gateKind, c indexedCase) (gate, error) {
	switch kind {
	case jwtGate:
		return newTokenGate(c.class)
	case webhookGate:
		return newHookGate(), nil
	}
	return nil, nil
}

func settingsOf(g gate) []setting {
	if g == nil {
		return nil
	}
	return g.settings()
}

// A tokenGate signs with RS512.
type tokenGate struct {
	key    *rsa.PrivateKey
	config map[string]any
}

const (
	claimsNamespace = "https://hasura.io/jwt/claims"
	mappedNamespace = "https://example.org/jwt"
	caseAudience    = "conformance"
	caseIssuer      = "https://issuer.example.org"
)

var signingKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// newTokenGate makes the settings that the cases of a class are about.
func newTokenGate(class string) (*tokenGate, error) {
	key, err := signingKey()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("write the key: %w", err)
	}
	g := &tokenGate{key, map[string]any{"type": "RS512", "key": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))}}
	switch _, name, _ := strings.Cut(class, "::"); name {
	case "TestJwtAudienceCheck":
		g.config["audience"] = []string{caseAudience, "others"}
	case "TestJwtIssuerCheck":
		g.config["issuer"] = caseIssuer
	case "TestJWTClaimsMapBasic":
		g.config["claims_map"] = map[string]any{
			"x-hasura-user-id":       map[string]any{"path": "$.['" + mappedNamespace + "'].user.id"},
			"x-hasura-allowed-roles": map[string]any{"path": "$.['" + mappedNamespace + "'].role.allowed"},
			"x-hasura-default-role":  map[string]any{"path": "$.['" + mappedNamespace + "'].role.default"},
		}
	}
	return g, nil
}

func (g *tokenGate) settings() []setting {
	config, err := json.Marshal(g.config)
	if err != nil {
		panic(err) // texts and maps of them
	}
	return []setting{{"jwt-secret", string(config)}}
}

// headers makes claims of all headers; the role is the only one that is allowed.
func (g *tokenGate) headers(said map[string]string) (map[string]string, error) {
	claims := map[string]any{}
	for name, value := range said {
		if strings.EqualFold(name, "X-Hasura-Role") {
			claims["X-Hasura-Default-Role"], claims["X-Hasura-Allowed-Roles"] = value, []string{value}
			continue
		}
		claims[name] = value
	}
	return g.bearer(map[string]any{claimsNamespace: claims}, said)
}

// bearer adds to headers a token that says these things.
func (g *tokenGate) bearer(payload map[string]any, said map[string]string) (map[string]string, error) {
	token, err := g.sign(payload)
	if err != nil {
		return nil, err
	}
	headers := maps.Clone(said)
	if headers == nil {
		headers = map[string]string{}
	}
	headers["Authorization"] = "Bearer " + token
	return headers, nil
}

func (g *tokenGate) sign(payload map[string]any) (string, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("write a token: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS512","typ":"JWT"}`)) + "." + encode(text)
	digest := sha512.Sum512([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, g.key, crypto.SHA512, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed + "." + encode(signature), nil
}

func (g *tokenGate) close() {}

// A hookGate is a webhook that answers with what a caller brings in its token.
type hookGate struct{ *httptest.Server }

func newHookGate() hookGate {
	return hookGate{httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if err != nil || len(session) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(session) // a server that has gone is told nothing
	}))}
}

func (g hookGate) settings() []setting { return []setting{{"auth-hook", g.URL}} }

// headers hides all that a case says from the server: it hears it of the webhook.
func (g hookGate) headers(said map[string]string) (map[string]string, error) {
	session, err := json.Marshal(said)
	if err != nil {
		return nil, fmt.Errorf("write a session: %w", err)
	}
	return map[string]string{"Authorization": "Bearer " + base64.StdEncoding.EncodeToString(session)}, nil
}

func (g hookGate) close() { g.Server.Close() }
