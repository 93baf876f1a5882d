package main_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/graphql/graphqltest"
	"annals/migrations/pgtest"
)

// TestClientsOfOthersWork has the built server used by the libraries that people use:
// graphql-ws, the older subscriptions-transport-ws, and Apollo client over both; and has
// graphql-codegen make types of its schema, which a compiler then checks.
//
// The libraries have the versions of testdata/clients/package-lock.json.
func TestClientsOfOthersWork(t *testing.T) {
	t.Parallel()
	folder := installNode(t, "testdata/clients")
	s := sceneForClients(t)
	for _, script := range []string{"clients.mjs", "codegen.mjs"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), "node", script)
			run.Dir, run.Env = folder, append(os.Environ(), "ANNALS_URL="+s.url, "ANNALS_SECRET="+clientsSecret)
			output, err := run.CombinedOutput()
			require.NoError(t, err, "%s\nthe server's output ends:\n%s", output, s.output)
			t.Logf("%s", output)
		})
	}
}

const clientsSecret = "of the clients"

// sceneForClients is a server with something of everything: tables, relationships, an
// enum, a function, actions, a remote schema.
func sceneForClients(t *testing.T) *server {
	t.Helper()
	l := launch{program: buildAnnals(t), database: pgtest.Empty(t), flags: []string{
		"--admin-secret", clientsSecret, "--live-queries-multiplexed-refetch-interval", "20",
	}}
	s, err := l.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.stop()) })

	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"text":"hello"}`) }))
	t.Cleanup(handler.Close)
	other := graphqltest.New(`type Query { remote: About hello(name: String): String } type About { version: String! }`,
		graphqltest.Object{"remote": graphqltest.Object{"version": "1"}, "hello": "hello"}, nil)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off is no request
		_, _ = w.Write(other.Answer(body))
	}))
	t.Cleanup(remote.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/query", strings.NewReader(
		strings.NewReplacer("HANDLER", handler.URL, "REMOTE", remote.URL).Replace(clientsScene)))
	require.NoError(t, err)
	request.Header.Set("X-Hasura-Admin-Secret", clientsSecret)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", body)
	return s
}

const clientsScene = `{"type":"bulk","args":[
	{"type":"run_sql","args":{"sql":"create table mood (value text primary key, comment text); insert into mood values ('calm', null), ('wild', 'very'); create table artist (id serial primary key, name text not null, mood text references mood); create table album (id serial primary key, title text, artist_id int not null references artist); insert into artist (name, mood) values ('one', 'calm'), ('two', 'wild'), ('three', null), ('four', 'calm'); create function find_artists(part text) returns setof artist stable language sql as 'select * from artist where name like ''%'' || part || ''%''';"}},
	{"type":"track_table","args":{"table":"mood","is_enum":true}},
	{"type":"track_table","args":"artist"}, {"type":"track_table","args":"album"}, {"type":"track_function","args":"find_artists"},
	{"type":"create_object_relationship","args":{"table":"album","name":"artist","using":{"foreign_key_constraint_on":"artist_id"}}},
	{"type":"create_array_relationship","args":{"table":"artist","name":"albums","using":{"foreign_key_constraint_on":{"table":"album","column":"artist_id"}}}},
	{"type":"set_custom_types","args":{"objects":[{"name":"Greeting","fields":[{"name":"text","type":"String!"}]}]}},
	{"type":"create_action","args":{"name":"greet","definition":{"kind":"synchronous","handler":"HANDLER","arguments":[{"name":"name","type":"String!"}],"output_type":"Greeting"}}},
	{"type":"add_remote_schema","args":{"name":"other","definition":{"url":"REMOTE"}}}
]}`
