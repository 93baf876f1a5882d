package auth

import (
	"slices"
	"strings"
)

// Redacted stands for a value that must not be shown.
const Redacted = "<redacted>"

// Redact returns the session variables as a log line or the history may show
// them: the values of those whose names speak of a credential are replaced.
func Redact(variables map[string]string) map[string]string {
	shown := make(map[string]string, len(variables))
	for name, value := range variables {
		if speaksOfCredential(name) {
			value = Redacted
		}
		shown[name] = value
	}
	return shown
}

var credentialWords = [...]string{
	"secret", "password", "passwd", "token", "authorization", "credential", "cookie", "jwt", "signature",
	"access-key", "api-key", "apikey", "private-key",
}

func speaksOfCredential(name string) bool {
	return slices.ContainsFunc(credentialWords[:], func(word string) bool { return strings.Contains(name, word) })
}
