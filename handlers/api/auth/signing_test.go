package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"
)

// signer makes tokens with nothing but the standard library, so that what
// verifies them does not agree with itself only.
type signer struct {
	algorithm string
	private   any
	id        string // kid; empty: none
}

var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521     = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edwards  = sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", 32))) })
	shared   = []byte(strings.Repeat("shared secret 64", 4))
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// families has a signer of every algorithm.
func families() []signer {
	return []signer{
		{algorithm: "HS256", private: shared}, {algorithm: "HS384", private: shared}, {algorithm: "HS512", private: shared},
		{algorithm: "RS256", private: rsaKey()}, {algorithm: "RS384", private: rsaKey()}, {algorithm: "RS512", private: rsaKey()},
		{algorithm: "PS256", private: rsaKey()}, {algorithm: "PS384", private: rsaKey()}, {algorithm: "PS512", private: rsaKey()},
		{algorithm: "ES256", private: p256()}, {algorithm: "ES384", private: p384()}, {algorithm: "ES512", private: p521()},
		{algorithm: "EdDSA", private: edwards()}, {algorithm: "Ed25519", private: edwards()},
	}
}

func (s signer) public() any {
	if secret, ok := s.private.([]byte); ok {
		return secret
	}
	return s.private.(crypto.Signer).Public()
}

// settings is the key as the settings take it.
func (s signer) settings() map[string]any {
	if secret, ok := s.private.([]byte); ok {
		return map[string]any{"type": s.algorithm, "key": string(secret)}
	}
	return map[string]any{"type": s.algorithm, "key": pkix(s.public())}
}

func pkix(public any) string {
	return pemOf("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(public)))
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// certificate is the key in an X.509 certificate.
func (s signer) certificate() string {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(0, 0)}
	return pemOf("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, template, s.public(), s.private)))
}

// jwk is the key as a set of keys holds it.
func (s signer) jwk() map[string]any {
	k := map[string]any{}
	if s.id != "" {
		k["kid"] = s.id
	}
	switch public := s.public().(type) {
	case []byte:
		k["kty"], k["k"] = "oct", b64(public)
	case *rsa.PublicKey:
		k["kty"], k["n"], k["e"] = "RSA", b64(public.N.Bytes()), b64(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point := must(public.Bytes())[1:]
		k["kty"], k["crv"], k["x"], k["y"] = "EC", public.Params().Name, b64(point[:len(point)/2]), b64(point[len(point)/2:])
	case ed25519.PublicKey:
		k["kty"], k["crv"], k["x"] = "OKP", "Ed25519", b64(public)
	}
	return k
}

// token signs claims.
func (s signer) token(claims any) string {
	head := map[string]any{"alg": s.algorithm, "typ": "JWT"}
	if s.id != "" {
		head["kid"] = s.id
	}
	return s.withHead(head, claims)
}

// withHead signs claims under any header. Text is taken as it stands.
func (s signer) withHead(head, claims any) string {
	text := b64(asJSON(head)) + "." + b64(asJSON(claims))
	return text + "." + b64(s.sign([]byte(text)))
}

func asJSON(value any) []byte {
	if text, ok := value.(string); ok {
		return []byte(text)
	}
	return must(json.Marshal(value))
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func (s signer) sign(text []byte) []byte {
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[s.algorithm[2:]]
	switch key := s.private.(type) {
	case []byte:
		h := hmac.New(hash.New, key)
		h.Write(text)
		return h.Sum(nil)
	case ed25519.PrivateKey:
		return ed25519.Sign(key, text)
	case *rsa.PrivateKey:
		if s.algorithm[0] == 'P' {
			return must(rsa.SignPSS(rand.Reader, key, hash, digest(hash, text), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
		}
		return must(rsa.SignPKCS1v15(nil, key, hash, digest(hash, text)))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest(hash, text))
		must(0, err)
		size := (key.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	}
	panic(fmt.Sprintf("sign with %T", s.private))
}

func digest(hash crypto.Hash, text []byte) []byte {
	h := hash.New()
	h.Write(text)
	return h.Sum(nil)
}
