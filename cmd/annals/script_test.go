package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

// TestScripts runs the built program as the scripts in testdata/script say:
// each of them has an empty database, which the program finds by its variable,
// and these commands beside those of testscript:
//
//	server [FLAG]...           starts a server on the database; $URL is where it is
//	own [FLAG]...              starts a server on a PostgreSQL of its own; $DATA_DIR is its folder
//	stop, crash                ends the server, in good order or as a power cut would
//	query [-H HEADER]... STATUS BODY [ANSWER]     a call of the metadata API
//	get [-H HEADER]... STATUS PATH [ANSWER]       any other resource
//	post [-H HEADER]... STATUS PATH BODY [ANSWER]
//	keep NAME                  keeps what the command before has printed, as $NAME
//
// $HOOK_PORT is a free port, and {{HOOK}} in definitions http://127.0.0.1:$HOOK_PORT.
// BODY and ANSWER are JSON, or the name of a file that holds it; the answer
// must be the same JSON. The ANSWER success is the one that most operations have.
func TestScripts(t *testing.T) {
	program := buildAnnals(t)
	files, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := &script{ctx: t.Context(), program: program, database: pgtest.Empty(t), dataDir: func() string { return pgtest.DataDir(t) }}
			testscript.Run(t, testscript.Params{Files: []string{file}, Setup: s.setup, Cmds: s.commands(), RequireUniqueNames: true})
		})
	}
}

// A script is one script that runs, and the server it has started.
type script struct {
	ctx               context.Context
	program, database string
	dataDir           func() string
	server            *server
}

func (s *script) setup(env *testscript.Env) error {
	env.Setenv("PATH", filepath.Dir(s.program)+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("SERVICE_GRAPHQL_DATABASE_URL", s.database)
	env.Setenv("TZ", "UTC")
	port, err := freePort()
	if err != nil {
		return err
	}
	env.Setenv("HOOK_PORT", strconv.Itoa(port))
	env.Defer(func() {
		if s.server != nil {
			s.server.kill()
		}
	})
	return nil
}

func (s *script) commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"server": s.start, "own": s.own, "stop": s.stop, "crash": s.crash, "query": s.query, "get": s.get, "post": s.post, "keep": keep,
	}
}

func (s *script) start(ts *testscript.TestScript, _ bool, flags []string) {
	s.launch(ts, launch{program: s.program, database: s.database, flags: flags})
}

// own starts a server on a PostgreSQL of its own; its folder is the same each
// time in one script.
func (s *script) own(ts *testscript.TestScript, _ bool, flags []string) {
	if ts.Getenv("DATA_DIR") == "" {
		ts.Setenv("DATA_DIR", s.dataDir())
	}
	flags = append([]string{"--data-dir", ts.Getenv("DATA_DIR")}, flags...)
	if programs := os.Getenv("ANNALS_POSTGRES_BIN"); programs != "" {
		flags = append(flags, "--postgres-bin", programs)
	}
	s.launch(ts, launch{program: s.program, flags: flags})
}

func (s *script) launch(ts *testscript.TestScript, l launch) {
	if s.server != nil {
		ts.Fatalf("a server is running: stop it first")
	}
	l.environment = append(l.environment, "HOOK=http://127.0.0.1:"+ts.Getenv("HOOK_PORT"))
	running, err := l.start(s.ctx)
	ts.Check(err)
	s.server = running
	ts.Setenv("URL", running.url)
}

func (s *script) stop(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(s.server.stop())
	_, err := io.WriteString(ts.Stdout(), s.server.output.String())
	ts.Check(err)
	s.server = nil
}

func (s *script) crash(*testscript.TestScript, bool, []string) {
	s.server.kill()
	s.server = nil
}

func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("expected a name")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func (s *script) query(ts *testscript.TestScript, _ bool, args []string) {
	headers, args := headerFlags(ts, args, "status, body and maybe the answer", 2)
	body := textOrFile(ts, args[1])
	s.expect(ts, http.MethodPost, "/v1/query", body, headers, args[0], args[2:])
}

func (s *script) get(ts *testscript.TestScript, _ bool, args []string) {
	headers, args := headerFlags(ts, args, "status, path and maybe the answer", 2)
	s.expect(ts, http.MethodGet, args[1], nil, headers, args[0], args[2:])
}

func (s *script) post(ts *testscript.TestScript, _ bool, args []string) {
	headers, args := headerFlags(ts, args, "status, path, body and maybe the answer", 3)
	s.expect(ts, http.MethodPost, args[1], textOrFile(ts, args[2]), headers, args[0], args[3:])
}

func headerFlags(ts *testscript.TestScript, args []string, rest string, least int) (http.Header, []string) {
	headers := http.Header{}
	for len(args) > 1 && args[0] == "-H" {
		name, value, _ := strings.Cut(args[1], ":")
		headers.Add(name, strings.TrimSpace(value))
		args = args[2:]
	}
	if len(args) < least || len(args) > least+1 {
		ts.Fatalf("expected %s", rest)
	}
	return headers, args
}

// textOrFile returns JSON as it stands in the script, or in a file of it.
func textOrFile(ts *testscript.TestScript, text string) []byte {
	switch {
	case text == "success":
		return []byte(`{"message":"success"}`)
	case text == "" || strings.ContainsAny(text[:1], `{["`):
		return []byte(text)
	}
	return []byte(ts.ReadFile(text))
}

// expect sends a request, shows the answer's body as the command's output, and
// fails unless the answer is the one that the script says.
func (s *script) expect(ts *testscript.TestScript, method, path string, body []byte, h http.Header, status string, want []string) {
	r, err := http.NewRequestWithContext(s.ctx, method, s.server.url+path, bytes.NewReader(body))
	ts.Check(err)
	r.Header = h
	got, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(append(text, '\n'))
	ts.Check(err)
	if strconv.Itoa(got.StatusCode) != status {
		ts.Fatalf("status %d, expected %s: %s", got.StatusCode, status, text)
	}
	if len(want) == 0 {
		return
	}
	diff, err := compareJSON(textOrFile(ts, want[0]), text)
	ts.Check(err)
	if diff != "" {
		ts.Fatalf("the answer is another one (-expected +got):\n%s\n%s", diff, text)
	}
}

func compareJSON(want, got []byte) (string, error) {
	var w, g any
	if err := errors.Join(json.Unmarshal(want, &w), json.Unmarshal(got, &g)); err != nil {
		return "", err
	}
	return cmp.Diff(w, g), nil
}
