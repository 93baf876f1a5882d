package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lestrrat-go/jwx/v3/jwk"
)

// key verifies signatures. Which algorithms it is for follows from the key,
// never from a token: a public key is no shared secret, whatever a token says.
type key struct {
	id         string // empty: it has none
	algorithms []string
	material   any // []byte, *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// String keeps secrets out of whatever prints a key.
func (k key) String() string { return fmt.Sprintf("key %q for %v", k.id, k.algorithms) }

// GoString does the same for %#v.
func (k key) GoString() string { return k.String() }

// The families of algorithms, as the name of an algorithm is written.
var (
	rsaAlgorithms   = [...]string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	edwardsNames    = [...]string{"EdDSA", "Ed25519"} // two names of one algorithm
	hmacAlgorithms  = [...]hmacAlgorithm{{"HS256", 32}, {"HS384", 48}, {"HS512", 64}}
	ecdsaAlgorithms = [...]ecdsaAlgorithm{{"ES256", elliptic.P256()}, {"ES384", elliptic.P384()}, {"ES512", elliptic.P521()}}
)

type hmacAlgorithm struct {
	name string
	min  int // bytes of a secret: as many as the hash has
}

type ecdsaAlgorithm struct {
	name  string
	curve elliptic.Curve
}

// minRSABits is how long the modulus of an RSA key must be.
const minRSABits = 2048

// algorithmsOf lists the algorithms that a key may be used with; none when it
// is too weak for any.
func algorithmsOf(material any) []string {
	var names []string
	switch k := material.(type) {
	case []byte:
		for _, a := range hmacAlgorithms {
			if len(k) >= a.min {
				names = append(names, a.name)
			}
		}
	case *rsa.PublicKey:
		if k.N.BitLen() >= minRSABits {
			names = rsaAlgorithms[:]
		}
	case *ecdsa.PublicKey:
		for _, a := range ecdsaAlgorithms {
			if k.Curve == a.curve {
				names = append(names, a.name)
			}
		}
	case ed25519.PublicKey:
		names = edwardsNames[:]
	}
	return names
}

// parseKey reads the key of the settings, which is for one algorithm.
func parseKey(algorithm, text string) (key, error) {
	if i := slices.IndexFunc(hmacAlgorithms[:], func(a hmacAlgorithm) bool { return a.name == algorithm }); i >= 0 {
		return parseSharedSecret(hmacAlgorithms[i], text)
	}
	if !asymmetric(algorithm) {
		return key{}, wording(fmt.Sprintf("Key type: %s is not supported", algorithm))
	}
	material, err := parsePEM(text)
	if err != nil {
		return key{}, err
	}
	if !slices.Contains(algorithmsOf(material), algorithm) {
		return key{}, fmt.Errorf("the key cannot be used with %s: it is of another type, or too short", algorithm)
	}
	names := []string{algorithm}
	if slices.Contains(edwardsNames[:], algorithm) {
		names = edwardsNames[:]
	}
	return key{algorithms: names, material: material}, nil
}

func asymmetric(algorithm string) bool {
	return slices.Contains(rsaAlgorithms[:], algorithm) || slices.Contains(edwardsNames[:], algorithm) ||
		slices.ContainsFunc(ecdsaAlgorithms[:], func(a ecdsaAlgorithm) bool { return a.name == algorithm })
}

func parseSharedSecret(a hmacAlgorithm, text string) (key, error) {
	if strings.Contains(text, "-----BEGIN") {
		return key{}, fmt.Errorf("a key in PEM form is not a shared secret: %s cannot use it", a.name)
	}
	if len(text) < a.min {
		return key{}, wording(fmt.Sprintf("Key size too small; should be atleast %d characters", a.min))
	}
	return key{algorithms: []string{a.name}, material: []byte(text)}, nil
}

// parsePEM reads a public key, or the one in a certificate. The certificate's
// own dates and signature say nothing here: the operator vouches for it.
func parsePEM(text string) (any, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("could not decode PEM: expecting a public key or an X.509 certificate")
	}
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	}
	return nil, fmt.Errorf("a PEM block %q is neither a public key nor an X.509 certificate", block.Type)
}

// parseJWK reads one key of a set. Keys that are not for verifying signatures
// are refused.
func parseJWK(text []byte) (key, error) {
	k, err := jwk.ParseKey(text)
	if err != nil {
		return key{}, err
	}
	if use, ok := k.KeyUsage(); ok && use != "sig" {
		return key{}, fmt.Errorf("the key is for %q", use)
	}
	if operations, ok := k.KeyOps(); ok && !slices.Contains(operations, jwk.KeyOpVerify) {
		return key{}, errors.New("the key is not for verifying")
	}
	material, err := public(k)
	if err != nil {
		return key{}, err
	}
	id, _ := k.KeyID()
	algorithms := algorithmsOf(material)
	if stated, ok := k.Algorithm(); ok {
		algorithms = restrict(algorithms, stated.String())
	}
	if len(algorithms) == 0 {
		return key{}, errors.New("the key fits no algorithm that is supported, or is too short")
	}
	return key{id, algorithms, material}, nil
}

// public is the part of a key that verifies.
func public(k jwk.Key) (any, error) {
	k, err := k.PublicKey()
	if err != nil {
		return nil, err
	}
	var material any
	if err := jwk.Export(k, &material); err != nil {
		return nil, err
	}
	return material, nil
}

// restrict narrows a key's algorithms to the one it says it is for.
func restrict(algorithms []string, stated string) []string {
	switch {
	case !slices.Contains(algorithms, stated):
		return nil
	case slices.Contains(edwardsNames[:], stated):
		return algorithms
	}
	return []string{stated}
}
