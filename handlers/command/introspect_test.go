package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
	"annals/handlers/command"
	"annals/handlers/outbound"
)

// introspector asks with small limits, and closes its connections with the test.
func introspector(t *testing.T) command.Introspector {
	client := outbound.New(outbound.Config{})
	t.Cleanup(client.Close)
	return command.Introspector{
		Outbound: client, MaxBytes: 64 << 10, Env: metadata.Environment{"TOKEN": "secret"},
		Limits: graphql.SchemaLimits{MaxTypes: 50, MaxMembers: 200, MaxWrappers: 8},
	}
}

func remoteAt(url string) metadata.RemoteSchema {
	seconds := 1
	return metadata.RemoteSchema{Name: "r", Definition: metadata.RemoteSchemaDefinition{URL: &url, TimeoutSeconds: &seconds}}
}

// serve is the URL of a server that answers so.
func serve(t *testing.T, handler http.HandlerFunc) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestARemoteServerIsAskedWithItsConfiguredHeadersAlone(t *testing.T) {
	said := graphqltest.New(`type Query { a: Int }`, nil, nil).Introspection()
	var header http.Header
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body) // what is missing fails the test
		_, _ = w.Write([]byte(strings.Replace(string(said), `{"data":`, `{"extensions":{"took":7},"errors":[],"data":`, 1)))
	})
	r := remoteAt(url)
	variable := "TOKEN"
	r.Definition.Headers = []metadata.Header{{Name: "Authorization", ValueFromEnv: &variable}}
	got, err := introspector(t).Introspect(t.Context(), r)
	require.NoError(t, err)
	require.JSONEq(t, string(said), string(got), "what differs each time is left out")
	require.Equal(t, []string{"secret"}, header["Authorization"])
	require.Equal(t, []string{"application/json"}, header["Content-Type"])
	require.Equal(t, "annals", header.Get("User-Agent"))
	require.Empty(t, header.Get("X-Service-Role"))
	var sent map[string]string
	require.NoError(t, json.Unmarshal(body, &sent))
	require.Contains(t, sent["query"], "includeDeprecated: true")
	require.Len(t, sent, 1)
}

func TestARemoteServerThatCannotBeReadIsRefusedInClearWords(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body) // the client is gone otherwise
		}
	}
	wide := `type Query { ` + manyFields(250) + `}`
	for name, c := range map[string]struct {
		handler           http.HandlerFunc
		message, internal string
	}{
		"slow": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body) // only then is the end of the client noticed
			<-r.Context().Done()
		}, "HTTP exception occurred while sending the request to http", `"message":"ResponseTimeout"`},
		"breaks off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"HTTP exception occurred while sending the request to http", `"type":"http_exception"`},
		"breaks off in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"data":`) // the rest never comes
		}, "HTTP exception occurred while sending the request to http", `"type":"http_exception"`},
		"404":             {answer(404, `{"error":"none"}`), "has responded with 404 status code", `{"response":{"error":"none"}}`},
		"500 with a page": {answer(500, `<html>`), "has responded with 500 status code", `{"raw_body":"<html>"}`},
		"a redirect":      {answer(302, ``), "has responded with 302 status code", `{"raw_body":""}`},
		"200 with a page": {answer(200, `<html>hello</html>`), "Error in $: Failed reading: not a valid json value", ""},
		"nothing":         {answer(200, ``), "Error in $: not enough input", ""},
		"half of it":      {answer(200, `{"data":{"__schema":`), "Error in $", ""},
		"an error":        {answer(200, `{"errors":[{"message":"introspection is off"}]}`), "holds no __schema", ""},
		"never ends": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 4096)); err != nil {
					return
				}
			}
		}, "to the introspection query is larger than 65536 bytes", ""},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			drip := time.NewTicker(50 * time.Millisecond)
			defer drip.Stop()
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ") // the context tells when the client has gone
				_ = http.NewResponseController(w).Flush()
				<-drip.C
			}
		}, "HTTP exception occurred while sending the request to http", `ResponseTimeout`},
		"wide": {answer(200, string(graphqltest.New(wide, nil, nil).Introspection())), "the remote schema is too large: it has more than 200 fields", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := introspector(t).Introspect(t.Context(), remoteAt(serve(t, c.handler)))
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.RemoteSchemaError, refusal.Code)
			require.Equal(t, "$.args", refusal.Path)
			require.Contains(t, refusal.Message, c.message)
			require.Contains(t, string(refusal.Internal), c.internal)
		})
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: Int ", i)
	}
	return b.String()
}
