package auth

import (
	"net/http"
	"slices"
	"strings"

	"annals/domain"
)

// The headers that hold a secret, in the order in which they are looked for.
var secretHeaders = [...]string{
	"X-Service-Admin-Secret", "X-Hasura-Admin-Secret", "X-Service-Access-Key", "X-Hasura-Access-Key",
}

// The headers of ours that speak of one request, not of who asks. They look
// like session variables and are none. Their names go without a prefix: see
// [Single].
const (
	HeaderComment         = "Comment"          // why a change is made
	HeaderExpectedVersion = "Expected-Version" // the position the caller knows
	HeaderMinVersion      = "Min-Version"      // the position this node must have reached
)

// The two spellings of the beginning of headers of ours, ours first.
const (
	ownHeader   = "X-Service-"
	aliasHeader = "X-Hasura-"
)

// Single returns the value of a header that has one, named without its prefix,
// in canonical form. Our spelling wins over the other; an empty value counts as
// none. Different values for one spelling are refused with bad-request.
func Single(h http.Header, name string) (string, error) {
	var room [64]byte // names that are only looked up need no memory of their own
	for _, prefix := range [...]string{ownHeader, aliasHeader} {
		given := h[string(append(append(room[:0], prefix...), name...))]
		if len(given) == 0 {
			continue
		}
		values := distinct(given)
		switch {
		case len(values) > 1:
			return "", domain.RefuseAt("$", domain.BadRequest, "%s: the header is given %d times, with different values",
				strings.ToLower(prefix+name), len(given))
		case values[0] != "":
			return clean(values[0]), nil
		}
	}
	return "", nil
}

// distinct returns the values without repetitions, in order.
func distinct(values []string) []string {
	if len(values) < 2 {
		return values
	}
	var list []string
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// clean makes text of a header's bytes: what is not UTF-8 could neither be
// stored nor be written as JSON.
func clean(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }

// session gathers the session variables of a request and fixes the role.
func session(h http.Header, role string) domain.Session {
	variables := map[string]string{}
	for name, values := range h {
		rest, own := strings.CutPrefix(name, ownHeader)
		if !own {
			var alias bool
			if rest, alias = strings.CutPrefix(name, aliasHeader); !alias {
				continue
			}
		}
		variable := domain.SessionVariable(clean(name))
		if _, known := variables[variable]; isVariable(rest) && (own || !known) { // ours wins over the other
			// Several values of a variable are a list, as for any header.
			variables[variable] = clean(strings.Join(values, ", "))
		}
	}
	variables[RoleVariable] = role
	return domain.Session{Role: role, Variables: variables}
}

// RoleVariable is the session variable that holds the role.
const RoleVariable = domain.OwnPrefix + "role"

func isVariable(name string) bool {
	switch name {
	case "", "Admin-Secret", "Access-Key", HeaderComment, HeaderExpectedVersion, HeaderMinVersion:
		return false
	}
	return true
}

// backendOnly reads the header that asks for the permissions of backends.
func backendOnly(h http.Header, prefix string) (bool, error) {
	value, err := Single(h, "Use-Backend-Only-Permissions")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(value) {
	case "true", "t", "yes", "y":
		return true, nil
	case "", "false", "f", "no", "n":
		return false, nil
	}
	return false, domain.RefuseAt("$", domain.BadRequest, "%suse-backend-only-permissions:  Not a valid boolean text. "+
		`True values are ["true","t","yes","y"] and  False values are ["false","f","no","n"]. All values are case insensitive`, prefix)
}
