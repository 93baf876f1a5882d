package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

// TestACaptureTriggerThatSomebodyDroppedIsToldAndComesBack drops one by hand
// and keeps the table locked: as long as it cannot be mended, /readyz and
// annals verify tell of it; then it is.
func TestACaptureTriggerThatSomebodyDroppedIsToldAndComesBack(t *testing.T) {
	program, database := buildAnnals(t), pgtest.Empty(t)
	start := launch{program: program, database: database, flags: []string{"--upkeep-interval", "100ms", "--lock-timeout", "300ms"}}
	running, err := start.start(t.Context())
	require.NoError(t, err)
	for _, body := range []string{
		`{"type":"run_sql","args":{"sql":"create table things (id int)"}}`,
		`{"type":"track_table","args":"things"}`,
		`{"type":"create_event_trigger","args":{"name":"changed","table":"things","webhook":"http://127.0.0.1:1/","insert":{"columns":"*"}}}`,
	} {
		answer, err := http.Post(running.url+"/v1/query", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, body)
	}
	require.Zero(t, drift(t, running.url))
	require.NoError(t, running.stop())

	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "drop trigger annals_changed_insert on things")
	require.NoError(t, err)
	writer, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = writer.Exec(t.Context(), "lock table things in row exclusive mode") // as whoever writes a row has it
	require.NoError(t, err)

	running, err = start.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, running.stop()) })
	require.Equal(t, 1, drift(t, running.url))
	told, err := verify(t, program, database)
	require.Error(t, err, told)
	require.Regexp(t, "missing +capture_changed_insert", told)

	require.NoError(t, writer.Commit(t.Context()))
	require.Eventually(t, func() bool { return drift(t, running.url) == 0 }, time.Minute, 50*time.Millisecond)
	require.Contains(t, metrics(t, running.url), "\nannals_capture_mended 1\n")
	told, err = verify(t, program, database)
	require.NoError(t, err, told)
	_, err = conn.Exec(t.Context(), "insert into things values (1)")
	require.NoError(t, err)
	var captured int
	require.NoError(t, conn.QueryRow(t.Context(), "select count(*) from annals.deliveries").Scan(&captured))
	require.Equal(t, 1, captured)
}

// drift is what /readyz says of it.
func drift(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url + "/readyz")
	require.NoError(t, err)
	defer answer.Body.Close()
	var body struct {
		Drift *int `json:"capture_drift"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
	require.NotNil(t, body.Drift)
	return *body.Drift
}

func metrics(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func verify(t *testing.T, program, database string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "verify")
	command.Env = append(os.Environ(), fmt.Sprintf("SERVICE_GRAPHQL_DATABASE_URL=%s", database), "NO_COLOR=1")
	output, err := command.CombinedOutput()
	return string(output), err
}
