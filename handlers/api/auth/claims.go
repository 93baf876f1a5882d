package auth

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"annals/domain"
)

// The claims that hold roles, as a session spells its variables.
const (
	allowedRolesClaim = domain.OwnPrefix + "allowed-roles"
	defaultRoleClaim  = domain.OwnPrefix + "default-role"
)

// The same in messages.
const (
	allowedRolesName = domain.AliasPrefix + "allowed-roles"
	defaultRoleName  = domain.AliasPrefix + "default-role"
)

// claimsPlace says where in a token the session is: in an object of its own,
// or wherever the map says.
type claimsPlace struct {
	namespace string
	path      jsonPath // goes before namespace; nil: none is set
	pathText  string
	format    string
	mapped    claimsMap // goes before all; nil: none is set
}

// session makes a session of a token's claims, for the role that the caller
// asks for; empty asks for the default one.
func (p claimsPlace) session(token map[string]any, requested string) (domain.Session, error) {
	claims, err := p.find(token)
	if err != nil {
		return domain.Session{}, err
	}
	claims = canonical(claims)
	role, err := chooseRole(claims, requested)
	if err != nil {
		return domain.Session{}, err
	}
	variables, err := texts(claims)
	if err != nil {
		return domain.Session{}, err
	}
	variables[RoleVariable] = role
	return domain.Session{Role: role, Variables: variables}, nil
}

func (p claimsPlace) find(token map[string]any) (map[string]any, error) {
	if p.mapped != nil {
		return p.mapped.find(token)
	}
	value, err := p.value(token)
	if err != nil {
		return nil, err
	}
	text, isText := value.(string)
	object, isObject := value.(map[string]any)
	switch {
	case p.format == formatJSON && isObject:
		return object, nil
	case p.format == formatJSON:
		return nil, invalidClaims("expecting a json object when claims_format is json")
	case !isText:
		return nil, invalidClaims("expecting a string when claims_format is stringified_json")
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, invalidClaims("expecting stringified json at: '%s', but found: %s", p, text)
	}
	return object, nil
}

func (p claimsPlace) value(token map[string]any) (any, error) {
	if p.path != nil {
		value, ok := p.path.find(token)
		if !ok {
			return nil, invalidClaims("claims not found at claims_namespace_path: '%s'", p.pathText)
		}
		return value, nil
	}
	value, ok := token[p.namespace]
	if !ok {
		return nil, invalidClaims("claims key: '%s' not found", p.namespace)
	}
	return value, nil
}

func (p claimsPlace) String() string {
	if p.path != nil {
		return "claims_namespace_path " + p.pathText
	}
	return "claims_namespace " + p.namespace
}

// canonical keeps what is a session variable, by its canonical name. Our
// spelling goes before the other.
func canonical(claims map[string]any) map[string]any {
	list := make(map[string]any, len(claims))
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		canonical := domain.SessionVariable(name)
		if _, taken := list[canonical]; domain.IsSessionVariable(name) && (!taken || isOurs(name)) {
			list[canonical] = claims[name]
		}
	}
	return list
}

func isOurs(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), domain.OwnPrefix)
}

// chooseRole takes the claims about roles out of the others, and returns the
// role that the caller has.
func chooseRole(claims map[string]any, requested string) (string, error) {
	allowed, err := allowedRoles(claims)
	if err != nil {
		return "", err
	}
	role, err := defaultRole(claims)
	if err != nil {
		return "", err
	}
	if requested != "" {
		role = requested
	}
	if !slices.Contains(allowed, role) {
		return "", domain.RefuseAt("$", domain.AccessDenied, "Your requested role is not in allowed roles")
	}
	delete(claims, allowedRolesClaim)
	delete(claims, defaultRoleClaim)
	return role, nil
}

func allowedRoles(claims map[string]any) ([]string, error) {
	value, ok := claims[allowedRolesClaim]
	if !ok {
		return nil, missingRole(allowedRolesName)
	}
	list, ok := value.([]any)
	if !ok {
		return nil, invalidClaims("invalid %s; should be a list of roles: parsing [] failed, expected Array, but encountered %s", allowedRolesName, kindOf(value))
	}
	roles, ok := listOfStrings(list)
	if !ok {
		odd := slices.IndexFunc(list, func(v any) bool { _, text := v.(string); return !text })
		return nil, invalidClaims("invalid %s; should be a list of roles: parsing Text failed, expected String, but encountered %s", allowedRolesName, kindOf(list[odd]))
	}
	return slices.DeleteFunc(roles, func(role string) bool { return role == "" }), nil
}

func defaultRole(claims map[string]any) (string, error) {
	value, ok := claims[defaultRoleClaim]
	if !ok {
		return "", missingRole(defaultRoleName)
	}
	role, ok := value.(string)
	if !ok {
		return "", invalidClaims("invalid %s; should be a single role name: parsing Text failed, expected String, but encountered %s", defaultRoleName, kindOf(value))
	}
	return role, nil
}

// texts makes session variables of claims, which must be strings.
func texts(claims map[string]any) (map[string]string, error) {
	variables := make(map[string]string, len(claims)+1)
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		text, ok := claims[name].(string)
		if !ok {
			return nil, invalidClaims("%s* claims: parsing Text failed, expected String, but encountered %s, at %s", domain.AliasPrefix, kindOf(claims[name]), name)
		}
		variables[name] = text
	}
	return variables, nil
}

// kindOf names the kind of a JSON value in the words of v1.3.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "Null"
	case bool:
		return "Boolean"
	case float64:
		return "Number"
	case string:
		return "String"
	case []any:
		return "Array"
	}
	return "Object"
}

func invalidClaims(format string, args ...any) error {
	return domain.RefuseAt("$", InvalidClaims, format, args...)
}

func missingRole(name string) error {
	return domain.RefuseAt("$", MissingRoleClaims, "JWT claim does not contain %s", name)
}
