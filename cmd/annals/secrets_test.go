package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

// canaries are words that must not be found again, each with where it was put.
type canaries struct{ places map[string]string }

func (c *canaries) put(place string) string {
	word := fmt.Sprintf("canary%016x", rand.Uint64())
	c.places[word] = place
	return word
}

func (c *canaries) areNotIn(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		for word, place := range c.places {
			assert.NotContains(t, line, word, "what was put into %s is in the log", place)
		}
	}
}

// url is one with a password and a key in its query.
func (c *canaries) url(place, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // the tests' own
	}
	u.User = url.UserPassword("me", c.put("the password of "+place))
	u.RawQuery = "api_key=" + c.put("the query of "+place)
	return u.String()
}

// database is a database's URL with a password, which nobody asks for.
func (c *canaries) database(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.UserPassword(u.User.Username(), c.put("the database's URL"))
	return u.String()
}

// headers are those that hold a credential, and some that nobody knows.
func (c *canaries) headers() map[string]string {
	named := map[string]string{}
	for _, name := range []string{
		"Authorization", "Cookie", "Proxy-Authorization", "X-Hasura-Access-Token", "X-Service-Api-Key",
		"X-Hasura-Db-Password", "X-Service-Client-Secret", "X-Api-Key", "X-Amz-Security-Token", "Referer",
	} {
		named[name] = "word " + c.put("the header "+name)
	}
	return named
}

// logsEverything starts a server that logs all it can.
func logsEverything(t *testing.T, program, database string, environment []string, flags ...string) *server {
	t.Helper()
	s, err := launch{
		program: program, database: database, environment: environment,
		flags: append([]string{"--log-level", "debug", "--dev-mode", "--enabled-log-types", "startup,http-log,webhook-log,websocket-log,query-log"}, flags...),
	}.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.stop()) })
	return s
}

func TestNoSecretIsInTheLog(t *testing.T) {
	t.Parallel()
	c := &canaries{map[string]string{}}
	secret, file := c.put("the admin secret"), filepath.Join(t.TempDir(), "secrets")
	fileSecret := c.put("the file of secrets")
	require.NoError(t, os.WriteFile(file, []byte("ci "+fileSecret+"\n"), 0o600))
	who := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Known") == "" {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprintf(w, `{"X-Hasura-Role":"user","X-Hasura-Access-Token":%q,"note":%q}`, c.put("the webhook's answer"), "seen")
	}))
	defer who.Close()
	s := logsEverything(t, buildAnnals(t), c.database(t, pgtest.Empty(t)), nil, "--admin-secret", secret, "--admin-secrets-file", file, "--auth-hook", c.url("the webhook", who.URL+"/who"))
	a := newClient(s.url, mode{})
	admin := map[string]string{"X-Hasura-Admin-Secret": secret}

	// What is refused, and what is not found.
	for _, path := range []string{"/v1/query", "/v1/graphql", "/v1alpha1/graphql", "/v1/graphql/explain", "/v1/metadata", "/nothing/there"} {
		for _, extra := range []map[string]string{{}, {"X-Known": "1"}, {adminSecretHeader: c.put("a wrong secret")}, {"X-Hasura-Access-Key": fileSecret}} {
			headers := c.headers()
			for name, value := range extra {
				headers[name] = value
			}
			body := makeObject("type", "export_metadata", "args", newObject(), "query", "{ __typename }")
			_, err := a.post(t.Context(), path+"?token="+c.put("a query string"), body, headers)
			require.NoError(t, err)
		}
	}
	// What a definition holds, that can be kept and that cannot.
	for _, operation := range secretDefinitions(c) {
		parsed, err := parseJSON([]byte(operation))
		require.NoError(t, err, operation)
		_, err = a.post(t.Context(), "/v1/query", parsed, admin)
		require.NoError(t, err)
	}
	awaitAttempt(t, a, admin)
	c.sayOverWebsocket(t, s)
	c.areNotIn(t, s.lines.String())
	require.NotEmpty(t, s.logged("webhook-log"))
	require.NotEmpty(t, s.logged("query-log"))
	require.NotEmpty(t, s.logged("websocket-log"))
}

func secretDefinitions(c *canaries) []string {
	const nobody = "http://127.0.0.1:1/"
	header := func(place string) string {
		return fmt.Sprintf(`[{"name":"Authorization","value":"Bearer %s"}]`, c.put(place+"'s header"))
	}
	return []string{
		`{"type":"run_sql","args":{"sql":"create table t (id int primary key)"}}`,
		`{"type":"track_table","args":"t"}`,
		fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":"e","table":"t","webhook":%q,"insert":{"columns":"*"},"headers":%s}}`, c.url("an event trigger", nobody), header("an event trigger")),
		fmt.Sprintf(`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":%q,"headers":%s}}}`, c.url("a remote schema", nobody), header("a remote schema")),
		fmt.Sprintf(`{"type":"create_cron_trigger","args":{"name":"c","webhook":%q,"schedule":"* * * * *","include_in_metadata":true,"headers":%s}}`, c.url("a cron trigger", nobody), header("a cron trigger")),
		fmt.Sprintf(`{"type":"create_action","args":{"name":"act","definition":{"arguments":[],"output_type":"Missing","handler":%q,"headers":%s}}}`, c.url("an action", nobody), header("an action")),
		fmt.Sprintf(`{"type":"run_sql","args":{"sql":"alter user nobody_of_that_name password '%s'"}}`, c.put("SQL that fails")),
		`{"type":"insert","args":{"table":"t","objects":[{"id":1}]}}`,
		`{"type":"insert","args":{"table":"t","objects":[{"id":1}]}}`,
	}
}

// awaitAttempt waits until a delivery was tried.
func awaitAttempt(t *testing.T, a *client, admin map[string]string) {
	t.Helper()
	tried := func() bool {
		answer, err := a.send(t.Context(), http.MethodGet, "/v1/audit/deliveries?trigger=e", nil, admin)
		return err == nil && strings.Contains(string(answer.raw), `"state":"failed"`)
	}
	require.Eventually(t, tried, messageLimit, portPause)
}

// sayOverWebsocket introduces who is not let in, and who is, and asks.
func (c *canaries) sayOverWebsocket(t *testing.T, s *server) {
	t.Helper()
	for _, known := range []bool{false, true} {
		socket, err := dialSocket(t.Context(), s.url+"/v1/graphql?token="+c.put("a handshake"))
		require.NoError(t, err)
		defer socket.close()
		headers := c.headers()
		if known {
			headers["X-Known"] = "1"
		}
		if err := socket.introduce(t.Context(), headers); !known {
			require.Error(t, err)
			continue
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, socket.send(t.Context(), makeObject("id", "1", "type", "start", "payload", graphQL("{ __typename }"))))
		_, err = socket.next(t.Context())
		require.NoError(t, err)
	}
}

func TestNoKeyOfTokensIsInTheLog(t *testing.T) {
	t.Parallel()
	program, c := buildAnnals(t), &canaries{map[string]string{}}
	key := c.put("the key") + c.put("the key")
	for _, settings := range []string{
		fmt.Sprintf(`{"type":"HS256","key":%q}`, key),
		fmt.Sprintf(`{"jwk_url":%q}`, c.url("jwk_url", "http://127.0.0.1:1/keys")),
	} {
		s := logsEverything(t, program, pgtest.Empty(t), []string{"SERVICE_GRAPHQL_JWT_SECRET=" + settings}, "--admin-secret", c.put("the admin secret"))
		for _, token := range []string{"", "Bearer " + c.put("a token"), "Bearer a." + c.put("a token") + ".c", "Basic " + c.put("a password")} {
			a, err := newClient(s.url, mode{}).post(t.Context(), "/v1/graphql", graphQL("{ __typename }"), map[string]string{"Authorization": token, "X-Request-Id": "asked"})
			require.NoError(t, err)
			require.True(t, has(a.body, "errors"), "%s", a.raw)
		}
		require.NotEmpty(t, s.logged("http-log"))
		c.areNotIn(t, s.lines.String())
	}
}

func TestThePasswordOfADatabaseThatCannotBeReachedIsNotShown(t *testing.T) {
	t.Parallel()
	program, c := buildAnnals(t), &canaries{map[string]string{}}
	for _, address := range []string{
		"postgres://me:%s@127.0.0.1:1/shop", "postgres://me:%s@127.0.0.1:port/shop", "postgres://me:%s@127.0.0.1/shop?sslmode=nonsense",
		"host=127.0.0.1 port=1 user=me password=%s", "postgres:/me:%s@127.0.0.1/shop", "postgres://me:%s@127.0.0.1/shop?connect_timeout=x",
	} {
		address = fmt.Sprintf(address, c.put("the database's URL"))
		for _, command := range [][]string{{"serve", "--retries", "0"}, {"verify"}, {"migrate"}} {
			told, err := exec.CommandContext(t.Context(), program, append(command, "--database-url", address)...).CombinedOutput()
			require.Error(t, err)
			require.NotEmpty(t, told)
			c.areNotIn(t, string(told))
		}
	}
}
