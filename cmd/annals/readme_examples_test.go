package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

// readmeURL is where the README's examples find the server, readmeOther where
// those of joins find a second one, and readmePort where they have a receiver
// of webhooks listen.
const (
	readmeURL   = "http://localhost:8080"
	readmeOther = "http://localhost:8081"
	readmePort  = "9000"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestTheREADMEsExamplesWorkAsTyped types every block of shell lines that
// talk to the demo, in the order of the page, and expects each to succeed.
func TestTheREADMEsExamplesWorkAsTyped(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the README's examples are typed with curl, which this machine has not")
	}
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	program := buildAnnals(t)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, ".bin"), 0o755))
	require.NoError(t, os.Symlink(program, filepath.Join(folder, ".bin", "annals")))
	s, err := launch{program: program, database: pgtest.Empty(t), flags: []string{"--demo"}}.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(s.kill)
	port, err := freePort()
	require.NoError(t, err)
	other, err := launch{program: program, database: pgtest.Empty(t)}.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(other.kill)
	here := strings.NewReplacer(readmeURL, s.url, readmeOther, other.url,
		"localhost:"+readmePort, fmt.Sprintf("localhost:%d", port), "--port "+readmePort, fmt.Sprintf("--port %d", port))
	typed := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[1], readmeURL+"/") && !strings.Contains(block[1], "--url "+readmeURL) {
			continue
		}
		if _, err := exec.LookPath("python3"); err != nil && strings.Contains(block[1], "python3 ") {
			t.Log("an example is not typed: it needs python3, which this machine has not")
			continue
		}
		typed++
		shell := exec.CommandContext(t.Context(), "sh", "-euc", here.Replace(block[1]))
		shell.Dir = folder
		shell.Env = append(os.Environ(), "SERVICE_GRAPHQL_DATABASE_URL=")
		output, err := shell.CombinedOutput()
		require.NoError(t, err, "%s\n%s", block[1], output)
		require.NotRegexp(t, `"errors?":`, string(output), "typed: %s", block[1])
	}
	require.NotZero(t, typed)
}
