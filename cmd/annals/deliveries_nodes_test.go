package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

const (
	punctualEvents = 60
	punctualApart  = 50 * time.Millisecond
	punctual       = time.Second      // how late an event may be
	punctualWorst  = 10 * time.Second // on a machine that is busy with other things
	arrivalLimit   = 90 * time.Second
)

// TestWebhooksComeInTimeFromTwoNodesAndOneOfThemMayDie has two nodes send
// one-off events, the fires of a cron trigger and the changes of rows that are
// made all the while. The one-off events come within a second of their time.
// Then one node is killed: whatever it had in hand comes from the other.
func TestWebhooksComeInTimeFromTwoNodesAndOneOfThemMayDie(t *testing.T) {
	trial := newPunctualTrial(t)
	rows := trial.changeRows(t)

	trial.schedule(t, "/calm")
	trial.await(t, "/calm", punctualEvents)
	late := trial.lateness("/calm")
	t.Logf("late by %s (half), %s (nine of ten), %s (the last)", late[len(late)/2], late[len(late)*9/10], late[len(late)-1])
	assert.Less(t, late[len(late)*9/10], punctual)
	assert.Less(t, late[len(late)-1], punctualWorst)

	trial.schedule(t, "/stormy")
	trial.await(t, "/stormy", punctualEvents/3)
	trial.nodes.kill(trial.nodes.all[0])
	trial.await(t, "/stormy", punctualEvents)
	trial.await(t, "/minutely", 1)

	changed := rows()
	trial.await(t, "/changed", changed)
	trial.settled(t)
	for path, created := range map[string]int{"/calm": punctualEvents, "/stormy": punctualEvents, "/changed": changed} {
		assert.Len(t, trial.arrived(path), created, path)
	}
	assert.LessOrEqual(t, trial.doubled(), crashSlots*3, "what one node had in hand when it died, of three lanes")
}

// A punctualTrial is two nodes on one database, and a receiver that notes what
// comes and how late it is.
type punctualTrial struct {
	nodes    *nodes
	database string
	receiver *httptest.Server

	mu       sync.Mutex
	arrivals map[string]map[string][]time.Duration // by path and event
}

func newPunctualTrial(t *testing.T) *punctualTrial {
	trial := &punctualTrial{nodes: newNodes(), database: pgtest.Empty(t), arrivals: map[string]map[string][]time.Duration{}}
	trial.receiver = httptest.NewServer(trial)
	t.Cleanup(trial.receiver.Close)
	trial.nodes.startDelivering(t, trial.database, 2)
	trial.ask(t, `{"type":"run_sql","args":{"sql":"create table things (id serial primary key)"}}`)
	trial.ask(t, `{"type":"track_table","args":"things"}`)
	trial.ask(t, fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":"changed","table":"things","insert":{"columns":"*"},"webhook":%q,
		"retry_conf":{"num_retries":10,"interval_sec":1,"timeout_sec":1}}}`, trial.receiver.URL+"/changed"))
	trial.ask(t, fmt.Sprintf(`{"type":"create_cron_trigger","args":{"name":"minutely","schedule":"* * * * *","include_in_metadata":true,"webhook":%q,
		"retry_conf":{"num_retries":10,"retry_interval_seconds":1,"timeout_seconds":1}}}`, trial.receiver.URL+"/minutely"))
	return trial
}

func (trial *punctualTrial) ask(t *testing.T, body string) {
	t.Helper()
	answer, err := http.Post(trial.nodes.all[1].server.url+"/v1/query", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
}

// schedule makes one-off events that are due soon, one after another.
func (trial *punctualTrial) schedule(t *testing.T, path string) {
	t.Helper()
	var calls []string
	first := time.Now().Add(2 * time.Second)
	for i := range punctualEvents {
		calls = append(calls, fmt.Sprintf(`{"type":"create_scheduled_event","args":{"webhook":%q,"schedule_at":%q,
			"retry_conf":{"num_retries":10,"retry_interval_seconds":1,"timeout_seconds":1}}}`,
			trial.receiver.URL+path, first.Add(time.Duration(i)*punctualApart).UTC().Format(time.RFC3339Nano)))
	}
	trial.ask(t, `{"type":"bulk","args":[`+strings.Join(calls, ",")+`]}`)
}

// changeRows inserts rows until the function that it returns is called, which
// says how many there are.
func (trial *punctualTrial) changeRows(t *testing.T) func() int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), trial.database)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	changed, failed := 0, make(chan error, 1)
	go func() {
		defer close(failed)
		for waited(ctx, 10*time.Millisecond) {
			if _, err := conn.Exec(t.Context(), "insert into things default values"); err != nil {
				failed <- err
				return
			}
			changed++
		}
	}()
	return func() int {
		stop()
		require.NoError(t, <-failed)
		require.NoError(t, conn.Close(t.Context()))
		return changed
	}
}

// ServeHTTP implements [http.Handler].
func (trial *punctualTrial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var body struct {
		ID        string    `json:"id"`
		Scheduled time.Time `json:"scheduled_time"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // what has no id counts as one event without
	trial.mu.Lock()
	defer trial.mu.Unlock()
	events := trial.arrivals[r.URL.Path]
	if events == nil {
		events = map[string][]time.Duration{}
		trial.arrivals[r.URL.Path] = events
	}
	events[body.ID] = append(events[body.ID], now.Sub(body.Scheduled))
	w.WriteHeader(http.StatusNoContent)
}

// arrived are the events that have come to a path, each with how late it came.
func (trial *punctualTrial) arrived(path string) map[string][]time.Duration {
	trial.mu.Lock()
	defer trial.mu.Unlock()
	events := map[string][]time.Duration{}
	for id, late := range trial.arrivals[path] {
		events[id] = slices.Clone(late)
	}
	return events
}

func (trial *punctualTrial) await(t *testing.T, path string, events int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(trial.arrived(path)) >= events }, arrivalLimit, 20*time.Millisecond, "%d events at %s", events, path)
}

// lateness is how late the events of a path first came, in order.
func (trial *punctualTrial) lateness(path string) []time.Duration {
	var late []time.Duration
	for _, each := range trial.arrived(path) {
		late = append(late, each[0])
	}
	slices.Sort(late)
	return late
}

// settled waits until nothing that is due is queued.
func (trial *punctualTrial) settled(t *testing.T) {
	t.Helper()
	emptied(t, trial.database, "lane <> 'cron:minutely'", arrivalLimit)
}

// doubled is how many times something came that had come before.
func (trial *punctualTrial) doubled() int {
	doubled := 0
	for _, path := range []string{"/calm", "/stormy", "/changed", "/minutely"} {
		for _, each := range trial.arrived(path) {
			doubled += len(each) - 1
		}
	}
	return doubled
}
