package auth

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
)

// claimsMap says of each claim, named in lower case, where its value is.
type claimsMap map[string]mappedClaim

// mappedClaim is a value that is the same for all tokens, or that is at a path
// in the token.
type mappedClaim struct {
	path   jsonPath // nil: the value is given
	given  any      // the value; with a path, for tokens that have nothing there
	absent bool     // no value is given
}

// parseClaimsMap reads the map. Values that are written in it must be of the
// type that their claim has.
func parseClaimsMap(text jsontext.Value) (claimsMap, error) {
	var given map[string]jsontext.Value
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, errors.New("expecting a JSON object")
	}
	list := claimsMap{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !domain.IsSessionVariable(name) {
			return nil, fmt.Errorf("%s: expecting a name that begins with %s or %s", name, domain.OwnPrefix, domain.AliasPrefix)
		}
		claim, err := parseMappedClaim(domain.SessionVariable(name), given[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list[strings.ToLower(name)] = claim
	}
	for _, role := range [2]string{"allowed-roles", "default-role"} {
		if !list.has(domain.OwnPrefix+role) && !list.has(domain.AliasPrefix+role) {
			return nil, fmt.Errorf("%s%s is expected but not found", domain.AliasPrefix, role)
		}
	}
	return list, nil
}

func (m claimsMap) has(name string) bool { _, ok := m[name]; return ok }

func parseMappedClaim(variable string, text jsontext.Value) (mappedClaim, error) {
	if text.Kind() != '{' {
		return givenClaim(variable, text)
	}
	var place struct {
		Path    string         `json:"path"`
		Default jsontext.Value `json:"default"`
	}
	if err := json.Unmarshal(text, &place, json.RejectUnknownMembers(true)); err != nil || place.Path == "" {
		return mappedClaim{}, errors.New(`expecting a value, or {"path":"$...","default":...}`)
	}
	claim := mappedClaim{absent: true}
	if !absent(place.Default) {
		var err error
		if claim, err = givenClaim(variable, place.Default); err != nil {
			return mappedClaim{}, fmt.Errorf("default: %w", err)
		}
	}
	path, err := parseJSONPath(place.Path)
	claim.path = path
	return claim, err
}

// givenClaim reads a value of the settings: a list for the allowed roles, and
// a string for all others.
func givenClaim(variable string, text jsontext.Value) (mappedClaim, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return mappedClaim{}, err
	}
	if variable == allowedRolesClaim {
		if _, ok := listOfStrings(value); !ok {
			return mappedClaim{}, errors.New("expecting an array of strings")
		}
	} else if _, ok := value.(string); !ok {
		return mappedClaim{}, errors.New("expecting a string")
	}
	return mappedClaim{given: value}, nil
}

// find gathers a token's claims. Claims about roles that are not there are
// left out: who looks for them says so in words of its own.
func (m claimsMap) find(token map[string]any) (map[string]any, error) {
	claims := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value, ok := m[name].find(token)
		switch variable := domain.SessionVariable(name); {
		case ok:
			claims[name] = value
		case variable != allowedRolesClaim && variable != defaultRoleClaim:
			return nil, invalidClaims("JWT claim from claims_map, %s not found", name)
		}
	}
	return claims, nil
}

func (c mappedClaim) find(token map[string]any) (any, bool) {
	if c.path != nil {
		if value, ok := c.path.find(token); ok {
			return value, true
		}
	}
	return c.given, !c.absent
}
