package domain

import (
	"encoding/json"
	"strings"
)

// AdminRole may do everything and has no permissions of its own.
const AdminRole = "admin"

// Session is who asks: a role, and the variables that permissions may refer
// to. Names of variables are lower case and spelled with OwnPrefix, whichever
// of the two spellings came in.
type Session struct {
	Role      string            `json:"role"`
	Variables map[string]string `json:"variables,omitempty"`
}

// The two spellings of the prefix of session variables. The first is ours;
// the second is understood everywhere.
const (
	OwnPrefix   = "x-service-"
	AliasPrefix = "x-hasura-"
)

// The settings, local to a transaction that changes rows, in which triggers
// find the session that it runs for, as a JSON object: ours, and the one that
// triggers written for v1.3 read, with that one's spelling of the variables.
const (
	SessionSetting      = "annals.session"
	SessionSettingAlias = "hasura.user"
)

// Settings returns what the two settings are for a session.
func (s Session) Settings() (own, alias string) {
	return s.spelled(OwnPrefix), s.spelled(AliasPrefix)
}

// spelled is the role and the variables as JSON, their names with a prefix.
func (s Session) spelled(prefix string) string {
	all := map[string]string{prefix + "role": s.Role}
	for name, value := range s.Variables {
		if rest, ok := strings.CutPrefix(name, OwnPrefix); ok {
			name = prefix + rest
		}
		all[name] = value
	}
	text, _ := json.Marshal(all) // a map of strings has a JSON form
	return string(text)
}

// IsSessionVariable reports whether a JSON string in a permission names a
// session variable: it begins with either prefix, in any case.
func IsSessionVariable(s string) bool {
	return hasPrefixFold(s, OwnPrefix) || hasPrefixFold(s, AliasPrefix)
}

// SessionVariable returns the canonical name of a session variable: lower
// case, with OwnPrefix. Other strings are returned lower-cased.
func SessionVariable(s string) string {
	s = strings.ToLower(s)
	if rest, ok := strings.CutPrefix(s, AliasPrefix); ok {
		return OwnPrefix + rest
	}
	return s
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// Actor is who made a change and how they came: what the history remembers of
// a request. It never holds a credential, only the name of one.
type Actor struct {
	Role          string            `json:"role"`
	Session       map[string]string `json:"session_variables,omitempty"`
	Credential    string            `json:"credential,omitempty"`
	RequestID     string            `json:"request_id,omitempty"`
	RemoteAddress string            `json:"remote_address,omitempty"`
	UserAgent     string            `json:"user_agent,omitempty"`
}
