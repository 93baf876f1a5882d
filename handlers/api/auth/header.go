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

// spellings returns a header's two names, ours first.
func spellings(name string) [2]string {
	return [2]string{"X-Service-" + name, "X-Hasura-" + name}
}

// Single returns the value of a header that has one, named without its prefix.
// Our spelling wins over the other; an empty value counts as none. Different
// values for one spelling are refused with bad-request.
func Single(h http.Header, name string) (string, error) {
	for _, spelling := range spellings(name) {
		values := distinct(h.Values(spelling))
		switch {
		case len(values) > 1:
			return "", domain.RefuseAt("$", domain.BadRequest, "%s: the header is given %d times, with different values",
				strings.ToLower(spelling), len(h.Values(spelling)))
		case len(values) == 1 && values[0] != "":
			return clean(values[0]), nil
		}
	}
	return "", nil
}

// distinct returns the values without repetitions, in order.
func distinct(values []string) []string {
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
	for _, prefix := range [2]string{"X-Hasura-", "X-Service-"} { // ours is written last, over the other
		for name, values := range h {
			if strings.HasPrefix(name, prefix) && isVariable(name[len(prefix):]) {
				// Several values of a variable are a list, as for any header.
				variables[domain.SessionVariable(clean(name))] = clean(strings.Join(values, ", "))
			}
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
