package auth_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api/auth"
)

var (
	openService   = auth.Config{}
	secretService = auth.Config{Secrets: []auth.Secret{{Name: "admin-secret", Value: "s3cret"}, {Name: "deploy", Value: "other"}}}
	publicService = auth.Config{Secrets: secretService.Secrets, UnauthorizedRole: "anonymous"}
)

// headers makes a header of names and values in turn.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func ask(t *testing.T, cfg auth.Config, h http.Header) (auth.Caller, error) {
	t.Helper()
	authenticator, err := auth.New(cfg)
	require.NoError(t, err)
	return authenticator.Authenticate(t.Context(), h)
}

func TestTheCallerIsWhoTheModeSays(t *testing.T) {
	for _, c := range []struct {
		name       string
		cfg        auth.Config
		headers    http.Header
		role       string
		credential string
	}{
		{"open without a role is admin", openService, headers(), "admin", ""},
		{"open believes the role", openService, headers("X-Service-Role", "user"), "user", ""},
		{"open understands the other spelling", openService, headers("X-Hasura-Role", "user"), "user", ""},
		{"our spelling wins", openService, headers("X-Hasura-Role", "user", "X-Service-Role", "editor"), "editor", ""},
		{"an empty role counts as none", openService, headers("X-Service-Role", ""), "admin", ""},
		{"an empty role of ours leaves the other spelling's", openService, headers("X-Service-Role", "", "X-Hasura-Role", "user"), "user", ""},
		{"a role given twice alike is one role", openService, headers("X-Service-Role", "user", "X-Service-Role", "user"), "user", ""},
		{"open takes no notice of a secret", openService, headers("X-Service-Admin-Secret", "x"), "admin", ""},

		{"the right secret is admin", secretService, headers("X-Service-Admin-Secret", "s3cret"), "admin", "admin-secret"},
		{"another right secret has its own name", secretService, headers("X-Service-Admin-Secret", "other"), "admin", "deploy"},
		{"the secret in the other spelling", secretService, headers("X-Hasura-Admin-Secret", "s3cret"), "admin", "admin-secret"},
		{"the secret as the old access key", secretService, headers("X-Hasura-Access-Key", "s3cret"), "admin", "admin-secret"},
		{"the first header that may hold a secret decides", secretService,
			headers("X-Service-Admin-Secret", "s3cret", "X-Hasura-Admin-Secret", "wrong", "X-Hasura-Access-Key", "wrong"), "admin", "admin-secret"},
		{"a secret given twice alike is one secret", secretService,
			headers("X-Service-Admin-Secret", "s3cret", "X-Service-Admin-Secret", "s3cret"), "admin", "admin-secret"},
		{"an admin may act as another role", secretService,
			headers("X-Service-Admin-Secret", "s3cret", "X-Service-Role", "user"), "user", "admin-secret"},

		{"who shows no secret has the unauthorized role", publicService, headers(), "anonymous", ""},
		{"the unauthorized role cannot be changed", publicService, headers("X-Service-Role", "admin"), "anonymous", ""},
		{"the right secret goes before the unauthorized role", publicService, headers("X-Service-Admin-Secret", "s3cret"), "admin", "admin-secret"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller, err := ask(t, c.cfg, c.headers)
			require.NoError(t, err)
			require.Equal(t, c.role, caller.Role)
			require.Equal(t, c.credential, caller.Credential)
			require.Equal(t, c.role, caller.Variables["x-service-role"], "the session says the same role")
			require.Equal(t, c.role == "admin", caller.Admin())
		})
	}
}

func TestWhoShowsNoGoodSecretIsDenied(t *testing.T) {
	const missing = "x-service-admin-secret/x-hasura-access-key required, but not found"
	const wrong = "invalid x-service-admin-secret/x-hasura-access-key"
	for _, c := range []struct {
		name    string
		cfg     auth.Config
		headers http.Header
		message string
	}{
		{"none", secretService, headers(), missing},
		{"none, but a role", secretService, headers("X-Service-Role", "admin"), missing},
		{"wrong", secretService, headers("X-Service-Admin-Secret", "wrong"), wrong},
		{"empty", secretService, headers("X-Service-Admin-Secret", ""), wrong},
		{"a prefix of the right one", secretService, headers("X-Service-Admin-Secret", "s3cre"), wrong},
		{"right in the wrong case", secretService, headers("X-Service-Admin-Secret", "S3CRET"), wrong},
		{"wrong in ours, right in the other spelling", secretService,
			headers("X-Service-Admin-Secret", "wrong", "X-Hasura-Admin-Secret", "s3cret"), wrong},
		{"two that differ, one of them right", secretService,
			headers("X-Service-Admin-Secret", "s3cret", "X-Service-Admin-Secret", "wrong"), wrong},
		{"wrong, although there is an unauthorized role", publicService, headers("X-Service-Admin-Secret", "wrong"), wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, c.cfg, c.headers)
			var denied *auth.Denied
			require.ErrorAs(t, err, &denied)
			require.Equal(t, c.message, denied.Message)
		})
	}
}

func TestMessagesSpellOurHeadersAsTheSettingsSay(t *testing.T) {
	theirs := secretService
	theirs.HeaderPrefix = domain.AliasPrefix
	for message, h := range map[string]http.Header{
		"x-hasura-admin-secret/x-hasura-access-key required, but not found": headers(),
		"invalid x-hasura-admin-secret/x-hasura-access-key":                 headers("X-Service-Admin-Secret", "wrong"),
	} {
		_, err := ask(t, theirs, h)
		var denied *auth.Denied
		require.ErrorAs(t, err, &denied)
		require.Equal(t, message, denied.Message)
	}
}

func TestSessionVariablesAreAllPrefixedHeadersButSecretsAndOrders(t *testing.T) {
	caller, err := ask(t, secretService, headers(
		"X-Service-Admin-Secret", "s3cret", "X-Hasura-Admin-Secret", "s3cret",
		"X-Hasura-Access-Key", "s3cret", "X-Service-Access-Key", "s3cret",
		"X-Service-Role", "user",
		"x-service-user-id", "1", "X-HASURA-ORG-ID", "7",
		"X-Hasura-Team", "theirs", "X-Service-Team", "ours",
		"X-Service-List", "a", "X-Service-List", "b",
		"X-Service-Comment", "why", "X-Service-Expected-Version", "3", "X-Hasura-Min-Version", "4",
		"X-Service-", "no name", "Authorization", "Bearer x", "X-Request-Id", "r",
	))
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"x-service-role":    "user",
		"x-service-user-id": "1",
		"x-service-org-id":  "7",
		"x-service-team":    "ours",
		"x-service-list":    "a, b",
	}, caller.Variables)
}

func TestAnAnonymousCallerSetsAllVariablesButTheRole(t *testing.T) {
	caller, err := ask(t, publicService, headers("X-Service-Role", "admin", "X-Hasura-Role", "admin", "X-Service-User-Id", "1"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"x-service-role": "anonymous", "x-service-user-id": "1"}, caller.Variables)
}

func TestAHeaderThatIsNotTextBecomesText(t *testing.T) {
	caller, err := ask(t, openService, headers("X-Service-Role", "us\xffer", "X-Service-Name", "Zo\xeb"))
	require.NoError(t, err)
	require.Equal(t, "us\uFFFDer", caller.Role)
	require.Equal(t, "Zo\uFFFD", caller.Variables["x-service-name"])
}

func TestARoleGivenTwiceDifferentlyIsRefused(t *testing.T) {
	_, err := ask(t, openService, headers("X-Service-Role", "user", "X-Service-Role", "admin"))
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.BadRequest, refusal.Code)
}

func TestBackendOnlyPermissionsNeedTrust(t *testing.T) {
	const name = "X-Service-Use-Backend-Only-Permissions"
	for _, c := range []struct {
		name    string
		cfg     auth.Config
		headers http.Header
		want    bool
		refused bool
	}{
		{"not asked for", openService, headers(), false, false},
		{"asked for in an open service", openService, headers(name, "true"), true, false},
		{"in any case and short", openService, headers(name, "Y"), true, false},
		{"in the other spelling", openService, headers("X-Hasura-Use-Backend-Only-Permissions", "yes"), true, false},
		{"declined", openService, headers(name, "F"), false, false},
		{"neither true nor false", openService, headers(name, "maybe"), false, true},
		{"asked for with the secret", secretService, headers(name, "t", "X-Service-Admin-Secret", "s3cret"), true, false},
		{"asked for by nobody known", publicService, headers(name, "true"), false, false},
		{"nonsense by nobody known", publicService, headers(name, "maybe"), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller, err := ask(t, c.cfg, c.headers)
			require.Equal(t, c.want, caller.BackendOnly)
			var refusal *domain.Error
			if !c.refused {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.BadRequest, refusal.Code)
			require.Equal(t, "$", refusal.Path)
		})
	}
}

func TestSettingsThatDoNotFitTogetherAreRefused(t *testing.T) {
	for name, cfg := range map[string]auth.Config{
		"an unauthorized role without a secret": {UnauthorizedRole: "anonymous"},
		"an empty secret":                       {Secrets: []auth.Secret{{Name: "admin-secret"}}},
		"a secret no header can carry":          {Secrets: []auth.Secret{{Name: "admin-secret", Value: "a\nb"}}},
		"a secret with a space at its end":      {Secrets: []auth.Secret{{Name: "admin-secret", Value: "a "}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := auth.New(cfg)
			require.Error(t, err)
		})
	}
}

func TestRedactHidesWhatSpeaksOfACredential(t *testing.T) {
	require.Equal(t, map[string]string{
		"x-service-user-id":       "1",
		"x-service-monkey-id":     "2",
		"x-service-refresh-token": auth.Redacted,
		"x-service-api-key":       auth.Redacted,
		"x-service-my-secret":     auth.Redacted,
	}, auth.Redact(map[string]string{
		"x-service-user-id":       "1",
		"x-service-monkey-id":     "2",
		"x-service-refresh-token": "abc",
		"x-service-api-key":       "def",
		"x-service-my-secret":     "ghi",
	}))
}
