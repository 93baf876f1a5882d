package main_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// installLimit is how long npm may take to bring what the server needs.
const installLimit = 2 * time.Minute

// TestARemoteServerInNodeIsAnswered holds what Annals sends to a remote against
// graphql-js, which most remote servers are made of: what it takes, others take.
func TestARemoteServerInNodeIsAnswered(t *testing.T) {
	t.Parallel()
	url := startNode(t, installNode(t, "testdata/node"))
	s := newStation(t)
	s.call(`{"type":"run_sql","args":{"sql":"create table track (id int primary key, album text); insert into track values (1, 'a1'), (2, null), (0, 'a2')"}}`)
	s.call(`{"type":"track_table","args":"track"}`)
	s.call(`{"type":"create_select_permission","args":{"table":"track","role":"fan","permission":{"columns":["id"],"filter":{"id":{"_gt":0}}}}}`)
	s.call(`{"type":"add_remote_schema","args":{"name":"songs","definition":{"url":"` + url + `","forward_client_headers":true}}}`)
	s.call(`{"type":"create_remote_relationship","args":{"name":"song","table":"track","hasura_fields":["id"],"remote_schema":"songs","remote_field":{"song":{"arguments":{"id":"$id"}}}}}`)
	s.call(`{"type":"create_remote_relationship","args":{"name":"record","table":"track","hasura_fields":["album"],"remote_schema":"songs","remote_field":{"node":{"arguments":{"id":"$album"}}}}}`)
	for _, c := range []struct{ query, variables, want string }{
		{`query($id: ID!, $loud: Boolean = true, $with: Boolean!) { one: song(id: $id) { ...song next { ...song @include(if: $with) __typename } } track(order_by: {id: desc}, limit: 1) { id } }
			fragment song on Song { title(loud: $loud) genre at notes }`, `{"id":3,"with":false}`,
			`{"data":{"one":{"title":"SONG 3","genre":"JAZZ","at":"2020-11-25T10:00:00Z","notes":{"bars":[1,2.5,null]},"next":{"__typename":"Song"}},"track":[{"id":2}]}}`},
		{`{ node(id: "a1") { __typename id ... on Album { name songs(genre: ROCK) { id genre } } ... on Song { title } } search(text: "x") { ... on Node { id } ... on Song { title } ... on Album { name } } }`, `null`,
			`{"data":{"node":{"__typename":"Album","id":"a1","name":"Album a1","songs":[{"id":"1","genre":"ROCK"},{"id":"2","genre":"ROCK"}]},"search":[{"id":"7","title":"x"},{"id":"a1","name":"Album a1"}]}}`},
		{`query($song: SongInput, $at: Moment) { echo(song: $song, at: $at) also: echo(song: {title: "\"q\" ü \n", tags: ["a", "b"], genre: ROCK, range: {to: 5}, notes: {deep: [1, {x: null}]}}) }`,
			`{"song":{"title":"t","notes":[true]},"at":"now"}`,
			`{"data":{"echo":{"song":{"title":"t","genre":"FOLK","notes":[true]},"at":"now"},"also":{"song":{"title":"\"q\" ü \n","genre":"ROCK","tags":["a","b"],"range":{"from":0,"to":5},"notes":{"deep":[1,{"x":null}]}}}}}`},
		{`mutation($s: SongInput!) { a: add(song: $s) { title genre } b: add(song: {title: "two", genre: ROCK}) { title genre } count insert_track(objects: [{id: 9}]) { affected_rows } }`, `{"s":{"title":"one"}}`,
			`{"data":{"a":{"title":"one","genre":"FOLK"},"b":{"title":"two","genre":"ROCK"},"count":2,"insert_track":{"affected_rows":1}}}`},
		{`mutation { delete_track(where: {id: {_eq: 9}}) { returning { song { title } } } }`, `null`,
			`{"data":{"delete_track":{"returning":[{"song":{"title":"Song 9"}}]}}}`},
		{`{ track(order_by: {id: asc}) { id song { title(loud: true) next { title } } record { id ... on Album { songs(first: 1) { title } } } } }`, `null`,
			`{"data":{"track":[{"id":0,"song":null,"record":{"id":"a2","songs":[{"title":"Song 1"}]}},{"id":1,"song":{"title":"SONG 1","next":{"title":"Song 2"}},"record":{"id":"a1","songs":[{"title":"Song 1"}]}},` +
				`{"id":2,"song":{"title":"SONG 2","next":{"title":"Song 3"}},"record":null}]}}`},
		{`{ song(id: 5) { broken } }`, `null`,
			`{"data":null,"errors":[{"message":"out of tune","locations":[{"line":1,"column":24}],"path":["song","broken"],"extensions":{"code":"TUNE"}}]}`},
		{`{ who }`, `null`, `{"data":{"who":{"role":"admin"}}}`},
		{`{ __type(name: "Genre") { enumValues { name } } s: __type(name: "Moment") { kind description } }`, `null`,
			`{"data":{"__type":{"enumValues":[{"name":"FOLK"},{"name":"JAZZ"},{"name":"ROCK"}]},"s":{"kind":"SCALAR","description":"A moment, as ISO 8601 has it"}}}`},
	} {
		require.Equal(t, c.want, s.graphql(c.query, c.variables), c.query)
	}
	fan := []string{"X-Service-Role", "fan", "X-Service-User-Id", "7", "X-Team", "blue"}
	require.Equal(t, `{"data":{"who":{"role":"fan","user":"7","team":"blue"},"track":[{"song":{"id":"1"}},{"song":{"id":"2"}}]}}`,
		s.graphql(`{ who track(order_by: {id: asc}) { song { id } } }`, "null", fan...))
	require.Contains(t, s.graphql(`{ track { song { broken } } }`, "null"), `"message":"Errors from remote server"`)
	_, reloaded := s.send("/v1/query", `{"type":"reload_remote_schema","args":{"name":"songs"}}`)
	require.Equal(t, `{"message":"success"}`, reloaded)
}

// installNode returns a copy of a folder of programs for Node, with all that they need.
// What npm brought is kept for the next time, for as long as the programs ask for the
// same. Where npm is not there, or brings nothing, the test is skipped.
func installNode(t *testing.T, programs string) string {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed here: what is in %s is not tried", name, programs)
		}
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	wanted := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(programs, name))
		require.NoError(t, err)
		wanted.Write(text)
	}
	home := filepath.Join(cache, "annals-tests", fmt.Sprintf("node-%x", wanted.Sum(nil))[:20])
	if _, err := os.Stat(home); err != nil {
		bring(t, programs, home)
	}
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS(programs)))
	require.NoError(t, os.Symlink(filepath.Join(home, "node_modules"), filepath.Join(folder, "node_modules")))
	return folder
}

// bring has npm install what programs need into a folder, which is there whole or not at all.
func bring(t *testing.T, programs, home string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(home), 0o755))
	work, err := os.MkdirTemp(filepath.Dir(home), "new-")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	require.NoError(t, os.CopyFS(work, os.DirFS(programs)))
	ctx, cancel := context.WithTimeout(t.Context(), installLimit)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--prefer-offline")
	install.Dir = work
	if output, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot bring what %s needs (no network?), so it is not tried: %v\n%s", programs, err, output)
	}
	if err := os.Rename(work, home); err != nil {
		require.DirExists(t, home, "another test was sooner: %v", err)
	}
}

// startNode starts the server, which ends with the test.
func startNode(t *testing.T, folder string) (url string) {
	t.Helper()
	command := exec.Command("node", "server.js")
	command.Dir, command.Stderr = folder, os.Stderr
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = input.Close(); _ = command.Wait() }) // how it ended is of no interest
	port, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}
