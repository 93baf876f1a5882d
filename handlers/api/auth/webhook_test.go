package auth_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api/auth"
)

// hookRequest is what reached a webhook.
type hookRequest struct {
	method  string
	headers http.Header
	body    string
}

// answering is a webhook that gives one answer, and what reaches it.
func answering(t *testing.T, status int, body string) (*httptest.Server, <-chan hookRequest) {
	t.Helper()
	reached := make(chan hookRequest, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		reached <- hookRequest{r.Method, r.Header, string(text)}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server, reached
}

func asking(server *httptest.Server, mode auth.HookMode) auth.Config {
	return auth.Config{
		Secrets: secretService.Secrets, Webhook: &auth.WebhookConfig{URL: server.URL, Mode: mode},
		Now: func() time.Time { return now },
	}
}

// clientHeaders are those of a browser behind a proxy, and of who uses it.
func clientHeaders() http.Header {
	return headers(
		"Content-Length", "7", "Content-MD5", "x", "User-Agent", "browser", "Host", "us", "Origin", "http://us", "Referer", "http://us/x",
		"Accept", "*/*", "Accept-Encoding", "gzip", "Accept-Language", "pt", "Accept-Datetime", "x", "Cache-Control", "no-cache",
		"Connection", "upgrade", "DNT", "1", "Content-Type", "text/plain", "Upgrade", "websocket", "Transfer-Encoding", "chunked",
		"Authorization", "Basic x", "Cookie", "a=1", "Cookie", "b=2", "X-Hasura-Role", "admin", "X-Token", "1", "X-Token", "2",
	)
}

const editorAnswer = `{"X-Hasura-Role":"editor"}`

func TestAWebhookIsAskedByGETWithTheHeadersOfTheRequest(t *testing.T) {
	server, reached := answering(t, http.StatusOK, editorAnswer)
	h := clientHeaders()
	_, err := ask(t, asking(server, ""), h)
	require.NoError(t, err)
	got := <-reached
	require.Equal(t, http.MethodGet, got.method)
	require.Empty(t, got.body)
	require.Equal(t, headers(
		"Authorization", "Basic x", "Cookie", "a=1", "Cookie", "b=2", "X-Hasura-Role", "admin", "X-Token", "1", "X-Token", "2",
		"Content-Type", "application/json", "User-Agent", "annals",
	), got.headers)
	require.Equal(t, clientHeaders(), h, "the request's own are as they were")
}

func TestAWebhookIsAskedByPOSTWithAllHeadersInTheBody(t *testing.T) {
	server, reached := answering(t, http.StatusOK, editorAnswer)
	h := clientHeaders()
	h.Set("X-Name", "Zo\xeb")
	_, err := ask(t, asking(server, auth.HookPOST), h)
	require.NoError(t, err)
	got := <-reached
	require.Equal(t, http.MethodPost, got.method)
	require.Equal(t, "application/json", got.headers.Get("Content-Type"))
	require.Equal(t, "annals", got.headers.Get("User-Agent"))
	require.Empty(t, got.headers.Get("Authorization"))
	var body struct{ Headers map[string]string }
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	require.Len(t, body.Headers, len(h))
	require.Equal(t, "Basic x", body.Headers["Authorization"])
	require.Equal(t, "a=1; b=2", body.Headers["Cookie"])
	require.Equal(t, "1, 2", body.Headers["X-Token"])
	require.Equal(t, "browser", body.Headers["User-Agent"])
	require.Equal(t, "Zo\uFFFD", body.Headers["X-Name"])
}

func TestTheWebhookSaysWhoAsks(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		session      map[string]string
	}{
		{"a role", editorAnswer, map[string]string{"x-service-role": "editor"}},
		{"a role in our spelling", `{"x-service-role":"editor"}`, map[string]string{"x-service-role": "editor"}},
		{"two roles, ours counts", `{"x-service-role":"editor","X-Hasura-Role":"admin"}`, map[string]string{"x-service-role": "editor"}},
		{"admin", `{"x-hasura-role":"admin"}`, map[string]string{"x-service-role": "admin"}},
		{"all else, in lower case", `{"X-Hasura-Role":"editor","X-HASURA-User-Id":"7","Team":"A","x-service-org":"acme"}`,
			map[string]string{"x-service-role": "editor", "x-service-user-id": "7", "team": "A", "x-service-org": "acme"}},
		{"a name twice by case, alike", `{"X-Hasura-Role":"editor","x-hasura-role":"editor"}`, map[string]string{"x-service-role": "editor"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, _ := answering(t, http.StatusOK, c.answer)
			caller, err := ask(t, asking(server, auth.HookGET), headers("X-Hasura-Role", "owner", "X-Service-Role", "owner",
				"X-Hasura-Country", "pt", "X-Service-Use-Backend-Only-Permissions", "true"))
			require.NoError(t, err)
			require.Equal(t, c.session["x-service-role"], caller.Role)
			require.Equal(t, c.session, caller.Variables)
			require.Equal(t, "webhook", caller.Credential)
			require.False(t, caller.BackendOnly)
			require.Zero(t, caller.Expires)
		})
	}
}

func TestAnAnswerThatDoesNotSayWhoAsksIsRefused(t *testing.T) {
	const invalid = "Invalid response from authorization hook"
	const noObject = invalid + ": Error in $: expecting a JSON object without repeated names"
	for _, c := range []struct {
		name    string
		status  int
		answer  string
		code    domain.Code
		message string
		fault   bool
	}{
		{"no role", 200, `{}`, domain.InvalidParams, "x-service-role not found in session variables", false},
		{"an empty role", 200, `{"x-hasura-role":""}`, domain.InvalidParams, "x-service-role not found in session variables", false},
		{"no JSON", 200, `who?`, domain.Unexpected, noObject, true},
		{"nothing", 200, ``, domain.Unexpected, noObject, true},
		{"null", 200, `null`, domain.Unexpected, noObject, true},
		{"a list", 200, `["editor"]`, domain.Unexpected, noObject, true},
		{"a name twice", 200, `{"x-hasura-role":"editor","x-hasura-role":"admin"}`, domain.Unexpected, noObject, true},
		{"a name twice by case", 200, `{"x-hasura-role":"editor","X-Hasura-Role":"admin"}`, domain.Unexpected,
			invalid + ": Error in $: two names differ in case only, and have different values", true},
		{"a number", 200, `{"x-hasura-role":"editor","x-hasura-user-id":7}`, domain.Unexpected,
			invalid + ": Error in $: parsing Text failed, expected String, but encountered Number", true},
		{"another success", 204, ``, domain.Unexpected, invalid, true},
		{"forbidden", 403, editorAnswer, domain.Unexpected, invalid, true},
		{"a failure", 500, editorAnswer, domain.Unexpected, invalid, true},
		{"too much", 200, `{"x-hasura-role":"` + strings.Repeat("x", auth.MaxHookAnswerBytes) + `"}`, domain.Unexpected, "webhook authentication request failed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, _ := answering(t, c.status, c.answer)
			_, err := ask(t, asking(server, auth.HookGET), headers())
			refused(t, err, c.code, c.message)
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.fault, refusal.Fault)
		})
	}
}

func TestTheMissingRoleIsSpelledAsTheSettingsSay(t *testing.T) {
	server, _ := answering(t, http.StatusOK, `{}`)
	cfg := asking(server, auth.HookGET)
	cfg.HeaderPrefix = domain.AliasPrefix
	_, err := ask(t, cfg, headers())
	refused(t, err, domain.InvalidParams, "x-hasura-role not found in session variables")
}

func TestWhomTheWebhookDoesNotKnowIsDenied(t *testing.T) {
	server, _ := answering(t, http.StatusUnauthorized, editorAnswer)
	_, err := ask(t, asking(server, auth.HookPOST), headers())
	var denied *auth.Denied
	require.ErrorAs(t, err, &denied)
	require.Equal(t, "Authentication hook unauthorized this request", denied.Message)
}

func TestAWebhookThatCannotBeAskedLetsNobodyIn(t *testing.T) {
	const failed = "webhook authentication request failed"
	t.Run("nobody there", func(t *testing.T) {
		server, _ := answering(t, http.StatusOK, editorAnswer)
		cfg := asking(server, auth.HookGET)
		var asked []auth.HookCall
		cfg.HookAsked = func(_ context.Context, c auth.HookCall) { asked = append(asked, c) }
		cfg.Webhook.URL = strings.Replace(server.URL, "http://", "http://me:passw0rd@", 1)
		server.Close()
		_, err := ask(t, cfg, headers())
		refused(t, err, domain.Unexpected, failed)
		require.Len(t, asked, 1)
		require.ErrorContains(t, asked[0].Err, "connection refused")
		require.NotContains(t, asked[0].Err.Error(), "passw0rd")
	})
	t.Run("too slow", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer server.Close()
		cfg := asking(server, auth.HookGET)
		cfg.Webhook.Timeout = time.Millisecond
		_, err := ask(t, cfg, headers())
		refused(t, err, domain.Unexpected, failed)
	})
	t.Run("somewhere else", func(t *testing.T) {
		elsewhere, reached := answering(t, http.StatusOK, editorAnswer)
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
		defer server.Close()
		_, err := ask(t, asking(server, auth.HookGET), headers("Authorization", "Basic x"))
		refused(t, err, domain.Unexpected, "Invalid response from authorization hook")
		require.Empty(t, reached)
	})
}

func TestACallerThatHangsUpIsNotTheWebhooksFault(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	chain, err := auth.New(asking(server, auth.HookGET))
	require.NoError(t, err)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	go func() { <-asked; hangUp() }()
	_, err = chain.Authenticate(ctx, headers())
	require.ErrorIs(t, err, context.Canceled)
}

func TestASecretGoesBeforeTheWebhook(t *testing.T) {
	server, reached := answering(t, http.StatusOK, editorAnswer)
	cfg := asking(server, auth.HookGET)
	caller, err := ask(t, cfg, headers("X-Hasura-Admin-Secret", "s3cret"))
	require.NoError(t, err)
	require.Equal(t, "admin", caller.Role)
	_, err = ask(t, cfg, headers("X-Hasura-Admin-Secret", "wrong"))
	var denied *auth.Denied
	require.ErrorAs(t, err, &denied)
	require.Empty(t, reached)
}

func TestTheWebhookSaysHowLongASessionHolds(t *testing.T) {
	for _, c := range []struct {
		name, more string
		expires    time.Time // zero: never
	}{
		{"not at all", ``, time.Time{}},
		{"max-age", `,"Cache-Control":"max-age=6"`, now.Add(6 * time.Second)},
		{"max-age among others", `,"cache-control":"private, max-age=6"`, now.Add(6 * time.Second)},
		{"no time", `,"Cache-Control":"max-age=0"`, now},
		{"Expires", `,"Expires":"Sat, 21 Nov 2026 12:00:09 GMT"`, now.Add(9 * time.Second)},
		{"a time that is over", `,"expires":"Sat, 21 Nov 2026 11:00:00 GMT"`, now},
		{"Cache-Control before Expires", `,"Expires":"Sat, 21 Nov 2026 12:00:09 GMT","Cache-Control":"max-age=6"`, now.Add(6 * time.Second)},
		{"Expires when Cache-Control does not say", `,"Expires":"Sat, 21 Nov 2026 12:00:09 GMT","Cache-Control":"private"`, now.Add(9 * time.Second)},
		{"no date", `,"Expires":"soon"`, time.Time{}},
		{"no number", `,"Cache-Control":"max-age=x"`, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, _ := answering(t, http.StatusOK, `{"X-Hasura-Role":"editor"`+c.more+`}`)
			caller, err := ask(t, asking(server, auth.HookGET), headers())
			require.NoError(t, err)
			require.True(t, c.expires.Equal(caller.Expires), caller.Expires)
		})
	}
	t.Run("not by headers of its own", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "max-age=6")
			io.WriteString(w, editorAnswer)
		}))
		defer server.Close()
		caller, err := ask(t, asking(server, auth.HookGET), headers())
		require.NoError(t, err)
		require.Zero(t, caller.Expires)
	})
}
