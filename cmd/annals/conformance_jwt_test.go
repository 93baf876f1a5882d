package main_test

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// What section 6.7 of the cases' description says of JWT.

func jwtCases() map[string]codedCase {
	const (
		basic  = "test_jwt.py::TestJWTBasic."
		mapped = "test_jwt_claims_map.py::TestJWTClaimsMapBasic."
	)
	return map[string]codedCase{
		basic + "test_jwt_valid_claims_success":           tokenTaken(claims()),
		basic + "test_jwt_invalid_role_in_request_header": tokenRefused(claims("x-hasura-allowed-roles", []string{"contractor", "editor"}, "x-hasura-default-role", "contractor"), "access-denied", "Your requested role is not in allowed roles"),
		basic + "test_jwt_no_allowed_roles_in_claim":      tokenRefused(claims("x-hasura-allowed-roles", nil), "jwt-missing-role-claims", "JWT claim does not contain x-hasura-allowed-roles"),
		basic + "test_jwt_no_default_role":                tokenRefused(claims("x-hasura-default-role", nil), "jwt-missing-role-claims", "JWT claim does not contain x-hasura-default-role"),
		basic + "test_jwt_expired":                        tokenRefused(with(claims(), "exp", time.Now().Add(-time.Minute).Unix()), "invalid-jwt", "Could not verify JWT: JWTExpired"),

		"test_jwt.py::TestJwtAudienceCheck.test_jwt_valid_audience": tokenTaken(with(claims(), "aud", caseAudience)),
		"test_jwt.py::TestJwtIssuerCheck.test_jwt_invalid_issuer":   tokenRefused(with(claims(), "iss", "https://rogue.example.org"), "invalid-jwt", "Could not verify JWT: JWTNotInIssuer"),

		mapped + "test_jwt_claims_map_valid_claims_success": tokenTaken(mappedClaims(map[string]any{"id": "1"})),
		mapped + "test_jwt_claims_map_claim_not_found":      tokenRefused(mappedClaims(nil), "jwt-invalid-claims", "JWT claim from claims_map, x-hasura-user-id not found"),
	}
}

// claims are the contents of a good token, with some claims of its session
// replaced, or taken away with nil.
func claims(changes ...any) map[string]any {
	session := map[string]any{
		"x-hasura-user-id":       "1",
		"x-hasura-allowed-roles": []string{"user", "editor"},
		"x-hasura-default-role":  "user",
	}
	for i := 0; i < len(changes); i += 2 {
		session[changes[i].(string)] = changes[i+1]
		if changes[i+1] == nil {
			delete(session, changes[i].(string))
		}
	}
	now := time.Now()
	return map[string]any{
		"sub": "1234567890", "name": "Jane Doe", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		claimsNamespace: session,
	}
}

func mappedClaims(user map[string]any) map[string]any {
	place := map[string]any{"role": map[string]any{"allowed": []string{"user", "editor"}, "default": "user"}}
	if user != nil {
		place["user"] = user
	}
	return map[string]any{mappedNamespace: place}
}

func with(token map[string]any, name string, value any) map[string]any {
	token[name] = value
	return token
}

// anybodysQuery is one that every role may ask.
const anybodysQuery = "query { __typename }"

// tokenTaken wants who brings the token to be answered as the role user.
func tokenTaken(payload map[string]any) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		return w.withToken(ctx, payload, func(url string, a answer) error {
			want := makeObject("data", makeObject("__typename", "query_root"))
			if a.status != http.StatusOK {
				return fmt.Errorf("wanted 200, got %d: %s", a.status, a.raw)
			}
			return sameText(canonical(want, nil), canonical(a.body, nil))
		})
	}
}

// tokenRefused wants a refusal at both addresses of GraphQL, with the status
// that each has for it.
func tokenRefused(payload map[string]any, code, message string) codedCase {
	statuses := map[string]int{"/v1/graphql": http.StatusOK, "/v1alpha1/graphql": http.StatusBadRequest}
	want := makeObject("errors", []any{makeObject("extensions", makeObject("path", "$", "code", code), "message", message)})
	return func(ctx context.Context, w *world, _ indexedCase) error {
		return w.withToken(ctx, payload, func(url string, a answer) error {
			if a.status != statuses[url] {
				return fmt.Errorf("wanted %d, got %d: %s", statuses[url], a.status, a.raw)
			}
			return sameText(canonical(want, nil), canonical(a.body, nil))
		})
	}
}

// withToken asks both addresses of GraphQL as the role user, with a token.
func (w *world) withToken(ctx context.Context, payload map[string]any, judge func(url string, a answer) error) error {
	tokens, ok := w.gate.(*tokenGate)
	if !ok {
		return fmt.Errorf("the server's gate is %T, which signs nothing", w.gate)
	}
	headers, err := tokens.bearer(payload, map[string]string{"X-Hasura-Role": "user"})
	if err != nil {
		return err
	}
	for _, url := range []string{"/v1/graphql", "/v1alpha1/graphql"} {
		a, err := w.post(ctx, url, graphQL(anybodysQuery), headers)
		if err != nil {
			return err
		}
		if err := judge(url, a); err != nil {
			return fmt.Errorf("POST %s: %w", url, err)
		}
	}
	return nil
}
