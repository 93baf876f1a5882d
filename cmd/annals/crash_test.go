package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/migrations/pgtest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const (
	crashRounds     = 6   // unless ANNALS_CRASH_ROUNDS says otherwise
	crashOperations = 240 // over all rounds, unless ANNALS_CRASH_OPERATIONS says otherwise
	crashClients    = 4
	crashNodes      = 2

	silenceLimit = 20 * time.Second     // a node that lives has answered by then
	killDelay    = 8 * time.Millisecond // the kill falls somewhere within an operation
	auditPages   = 100                  // events asked for at once
)

// TestKilledNodesLoseNothing kills nodes with SIGKILL in the middle of
// metadata operations and holds every single request against the log: what was
// answered with success is there once and whole, what was refused is not, what
// was never answered is there once and whole or not at all. Both nodes show
// the same metadata, it is what the log says, and the chain verifies.
//
//	ANNALS_CRASH_ROUNDS, ANNALS_CRASH_OPERATIONS    how long
//	ANNALS_CRASH_SEED                               repeat the choices of a failed run
func TestKilledNodesLoseNothing(t *testing.T) {
	rounds := fromEnvironment(t, "ANNALS_CRASH_ROUNDS", crashRounds)
	operations := fromEnvironment(t, "ANNALS_CRASH_OPERATIONS", crashOperations)
	seed := uint64(fromEnvironment(t, "ANNALS_CRASH_SEED", int(rand.Uint32())))
	t.Logf("repeat with ANNALS_CRASH_SEED=%d", seed)

	trial := newCrashTrial(t, seed)
	for round := range rounds {
		trial.round(t, max(crashClients, operations/rounds))
		trial.check(t)
		require.False(t, t.Failed(), "in round %d of %d, seed %d", round+1, rounds, seed)
	}
	trial.report(t)
}

func fromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	named := os.Getenv(name)
	if named == "" {
		return otherwise
	}
	n, err := strconv.Atoi(named)
	require.NoError(t, err, name)
	return n
}

// A crashTrial is two nodes on one database, the clients that talk to them,
// and what is known of every request and every event so far.
type crashTrial struct {
	nodes    *nodes
	chance   *rand.Rand // of the killer
	clients  []*crashClient
	requests *ledger
	log      []loggedEvent
}

func newCrashTrial(t *testing.T, seed uint64) *crashTrial {
	program, database := buildAnnals(t), pgtest.Empty(t)
	trial := &crashTrial{
		nodes:    newNodes(),
		chance:   rand.New(rand.NewPCG(seed, 0)),
		requests: &ledger{byID: map[string]*asked{}},
	}
	for range crashNodes {
		port, err := freePort()
		require.NoError(t, err)
		start := launch{program: program, database: database, port: port}
		running, err := start.start(t.Context())
		require.NoError(t, err)
		trial.nodes.all = append(trial.nodes.all, &node{launch: start, server: running, up: true})
	}
	t.Cleanup(func() { assert.NoError(t, trial.nodes.stop()) })
	for i := range crashClients {
		trial.clients = append(trial.clients, &crashClient{
			trial:  trial,
			chance: rand.New(rand.NewPCG(seed, uint64(i)+1)),
			http:   &http.Client{Timeout: silenceLimit},
		})
	}
	return trial
}

// round lets the clients send so many operations and kills a node, at times
// both, somewhere in between. It ends with all nodes up and nobody asking.
func (trial *crashTrial) round(t *testing.T, operations int) {
	ahead := make(chan struct{}, operations) // one per operation not yet sent
	done := make(chan struct{}, operations)  // one per operation that ended
	for range operations {
		ahead <- struct{}{}
	}
	close(ahead)
	working, ctx := errgroup.WithContext(t.Context())
	for _, c := range trial.clients {
		working.Go(func() error { return c.work(ctx, ahead, done) })
	}
	working.Go(func() error { return trial.killAfter(ctx, trial.chance.IntN(operations*3/4), done) })
	require.NoError(t, working.Wait())
}

// killAfter waits until so many operations have ended and kills within the next.
func (trial *crashTrial) killAfter(ctx context.Context, operations int, done <-chan struct{}) error {
	for range operations {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	waited(ctx, time.Duration(trial.chance.Int64N(int64(killDelay)))) // chance: of what the nodes are at then
	victims := []*node{trial.nodes.all[trial.chance.IntN(crashNodes)]}
	if trial.chance.IntN(4) == 0 {
		victims = trial.nodes.all
	}
	for _, victim := range victims {
		trial.nodes.kill(victim)
	}
	for _, victim := range victims {
		if err := trial.nodes.restart(ctx, victim); err != nil {
			return err
		}
	}
	return nil
}

// nodes knows which of the nodes can be talked to.
type nodes struct {
	mu      sync.Mutex
	changed *sync.Cond
	all     []*node
	kills   int
}

type node struct {
	launch launch
	server *server
	up     bool
}

func newNodes() *nodes {
	n := &nodes{}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// kill strikes first and tells afterwards, so that requests are under way.
func (n *nodes) kill(victim *node) {
	defer victim.server.kill() // which waits for the end
	_ = victim.server.cmd.Process.Kill()
	n.mu.Lock()
	defer n.mu.Unlock()
	victim.up = false
	n.kills++
}

func (n *nodes) restart(ctx context.Context, victim *node) error {
	running, err := victim.launch.start(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.changed.Broadcast()
	victim.up = true // also on failure: the clients must come to an end
	if err != nil {
		return fmt.Errorf("start a killed node again: %w", err)
	}
	victim.server = running
	return nil
}

// one returns the address of a node that is up, waiting for one if it must.
func (n *nodes) one(chance *rand.Rand) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		var up []*node
		for _, candidate := range n.all {
			if candidate.up {
				up = append(up, candidate)
			}
		}
		if len(up) > 0 {
			return up[chance.IntN(len(up))].server.url
		}
		n.changed.Wait()
	}
}

func (n *nodes) stop() error {
	var failures []error
	for _, running := range n.all {
		failures = append(failures, running.server.stop())
	}
	return errors.Join(failures...)
}

// asked is one request and what became of it.
type asked struct {
	types    []string // of the events it makes when it is taken
	status   int      // 0: never answered
	position int64    // as the answer named it
	body     string
}

type ledger struct {
	mu   sync.Mutex
	byID map[string]*asked
}

func (l *ledger) enter(id string, a *asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[id] = a
}

// A crashClient sends operations of its own choice to nodes of its own choice.
type crashClient struct {
	trial  *crashTrial
	chance *rand.Rand
	http   *http.Client
}

// work asks as long as there are operations ahead.
func (c *crashClient) work(ctx context.Context, ahead <-chan struct{}, done chan<- struct{}) error {
	for range ahead {
		if err := c.ask(ctx); err != nil {
			return err
		}
		done <- struct{}{}
	}
	return nil
}

// ask sends one operation and enters what became of it. A connection that
// breaks is what this test is about; a node that keeps silent is a failure.
func (c *crashClient) ask(ctx context.Context) error {
	body, types := c.request()
	id := uuid.NewString()
	entry := &asked{types: types}
	defer c.trial.requests.enter(id, entry)

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.trial.nodes.one(c.chance)+"/v1/query", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Request-Id", id)
	answer, err := c.http.Do(request)
	if err != nil {
		return unlessBroken(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return unlessBroken(err)
	}
	entry.status, entry.body = answer.StatusCode, string(said)
	if entry.status == http.StatusOK {
		entry.position, err = strconv.ParseInt(answer.Header.Get("X-Service-Resource-Version"), 10, 64)
	}
	return err
}

func unlessBroken(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("a node kept silent: %w", err)
	}
	return nil
}

// request returns one operation, or a bulk of some, and the types of the
// events it makes. The names are few, so that clients get in each other's way
// and a part of the operations is refused: of the bulks most, so that every
// other one is about a collection that nobody else knows.
func (c *crashClient) request() (body string, types []string) {
	var items []crashOperation
	switch c.chance.IntN(8) {
	case 0:
		for range 2 + c.chance.IntN(4) {
			items = append(items, c.operation())
		}
	case 1:
		items = c.wholeCollection()
	default:
		single := c.operation()
		return single.body(), []string{single.kind}
	}
	var bodies []string
	for _, item := range items {
		bodies, types = append(bodies, item.body()), append(types, item.kind)
	}
	return fmt.Sprintf(`{"type":"bulk","args":[%s]}`, strings.Join(bodies, ",")), types
}

type crashOperation struct{ kind, args string }

func (o crashOperation) body() string { return fmt.Sprintf(`{"type":%q,"args":%s}`, o.kind, o.args) }

func (c *crashClient) wholeCollection() []crashOperation {
	name := fmt.Sprintf("own_%x", c.chance.Uint64())
	return []crashOperation{
		{"create_query_collection", fmt.Sprintf(`{"name":%q,"definition":{"queries":[]}}`, name)},
		{"add_query_to_collection", fmt.Sprintf(`{"collection_name":%q,"query_name":"only","query":"query { a }"}`, name)},
		{"add_collection_to_allowlist", fmt.Sprintf(`{"collection":%q}`, name)},
	}
}

func (c *crashClient) operation() crashOperation {
	collection := fmt.Sprintf("collection_%d", c.chance.IntN(6))
	query := fmt.Sprintf("query_%d", c.chance.IntN(4))
	trigger := fmt.Sprintf("trigger_%d", c.chance.IntN(6))
	minute := c.chance.IntN(60)
	kinds := []crashOperation{
		{"create_query_collection", fmt.Sprintf(`{"name":%q,"definition":{"queries":[]}}`, collection)},
		{"create_query_collection", fmt.Sprintf(`{"name":%q,"definition":{"queries":[{"name":"first","query":"query { a }"}]}}`, collection)},
		{"add_query_to_collection", fmt.Sprintf(`{"collection_name":%q,"query_name":%q,"query":"query { b }"}`, collection, query)},
		{"add_query_to_collection", fmt.Sprintf(`{"collection_name":%q,"query_name":%q,"query":"query { c }"}`, collection, query)},
		{"drop_query_from_collection", fmt.Sprintf(`{"collection_name":%q,"query_name":%q}`, collection, query)},
		{"drop_query_collection", fmt.Sprintf(`{"collection":%q,"cascade":true}`, collection)},
		{"add_collection_to_allowlist", fmt.Sprintf(`{"collection":%q}`, collection)},
		{"create_cron_trigger", cronTrigger(trigger, minute, false)},
		{"create_cron_trigger", cronTrigger(trigger, minute, true)},
		{"delete_cron_trigger", fmt.Sprintf(`{"name":%q}`, trigger)},
	}
	return kinds[c.chance.IntN(len(kinds))]
}

func cronTrigger(name string, minute int, replace bool) string {
	return fmt.Sprintf(`{"name":%q,"webhook":"http://127.0.0.1:9/hook","schedule":"%d 3 1 1 *","include_in_metadata":true,"replace":%t}`,
		name, minute, replace)
}

// loggedEvent is what is looked at of one event of the audit.
type loggedEvent struct {
	Position int64           `json:"position"`
	Type     string          `json:"type"`
	Args     json.RawMessage `json:"args"`
	Batch    *string         `json:"batch"`
	Actor    struct {
		RequestID string `json:"request_id"`
	} `json:"actor"`
}

// check holds the requests so far against the log, and the nodes against each other.
func (trial *crashTrial) check(t *testing.T) {
	exports := trial.settledExports(t)
	trial.checkRequests(t)
	for _, export := range exports[1:] {
		assert.Equal(t, exports[0], export, "the nodes disagree at position %d", len(trial.log))
	}
	assert.Equal(t, modelOf(t, trial.log), modelOfExport(t, exports[0]), "the metadata is not what the log says")
	for _, n := range trial.nodes.all {
		trial.verify(t, n)
	}
}

// settledExports returns what every node exports at the end of the log. The
// last word of a killed node may still be on its way through the database:
// when the log has grown meanwhile, it is read again.
func (trial *crashTrial) settledExports(t *testing.T) []string {
	trial.readLog(t)
	for {
		seen := len(trial.log)
		exports := trial.exports(t)
		if trial.readLog(t); len(trial.log) == seen {
			return exports
		}
	}
}

// readLog reads on from the newest event known; the audit shows the newest first.
func (trial *crashTrial) readLog(t *testing.T) {
	var fresh []loggedEvent
	known := int64(len(trial.log))
	for cursor, more := "", true; more; {
		var page struct {
			Events []loggedEvent `json:"events"`
			Next   *int64        `json:"next"`
		}
		path := fmt.Sprintf("/v1/audit/events?limit=%d%s", auditPages, cursor)
		trial.get(t, trial.nodes.all[0], path, &page)
		for _, event := range page.Events {
			if event.Position > known {
				fresh = append(fresh, event)
			}
		}
		more = page.Next != nil && len(page.Events) > 0 && page.Events[len(page.Events)-1].Position > known
		if more {
			cursor = fmt.Sprintf("&cursor=%d", *page.Next)
		}
	}
	slices.Reverse(fresh)
	trial.log = append(trial.log, fresh...)
	for i, event := range trial.log {
		require.Equal(t, int64(i+1), event.Position, "positions have no gaps and no repeats")
	}
}

func (trial *crashTrial) checkRequests(t *testing.T) {
	made := map[string][]loggedEvent{}
	for _, event := range trial.log {
		made[event.Actor.RequestID] = append(made[event.Actor.RequestID], event)
	}
	for id := range made {
		assert.Contains(t, trial.requests.byID, id, "an event of a request that nobody sent")
	}
	for id, request := range trial.requests.byID {
		if err := request.fits(made[id]); err != nil {
			t.Errorf("request %s %v, answered %d %s: %v", id, request.types, request.status, request.body, err)
		}
	}
}

// fits says what is wrong with the events a request left in the log.
func (a *asked) fits(events []loggedEvent) error {
	switch {
	case a.status == 0 && len(events) == 0:
		return nil
	case a.status != 0 && a.status != http.StatusOK:
		return mustBe(len(events) == 0, "it was refused and is in the log")
	case a.status == http.StatusOK && len(events) == 0:
		return errors.New("it was answered and is not in the log")
	}
	for i, event := range events {
		if i >= len(a.types) || event.Type != a.types[i] || event.Position != events[0].Position+int64(i) {
			return fmt.Errorf("event %d of it is %s at %d, the first being at %d", i, event.Type, event.Position, events[0].Position)
		}
	}
	if len(events) != len(a.types) {
		return fmt.Errorf("only %d of its %d events are in the log", len(events), len(a.types))
	}
	last := events[len(events)-1].Position
	return mustBe(a.status == 0 || a.position == last, fmt.Sprintf("it named position %d, its last is %d", a.position, last))
}

func mustBe(holds bool, complaint string) error {
	if holds {
		return nil
	}
	return errors.New(complaint)
}

// exports returns the metadata of every node once it has seen the whole log.
func (trial *crashTrial) exports(t *testing.T) []string {
	var exports []string
	for _, n := range trial.nodes.all {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.server.url+"/v1/query",
			strings.NewReader(`{"type":"export_metadata","args":{}}`))
		require.NoError(t, err)
		request.Header.Set("X-Service-Min-Version", strconv.Itoa(len(trial.log)))
		exports = append(exports, string(send(t, request)))
	}
	return exports
}

func (trial *crashTrial) verify(t *testing.T, n *node) {
	var verdict struct {
		OK     bool   `json:"ok"`
		Events int    `json:"events"`
		Reason string `json:"reason"`
	}
	trial.get(t, n, "/v1/audit/verify", &verdict)
	assert.True(t, verdict.OK, "the log does not verify: %s", verdict.Reason)
	assert.Equal(t, len(trial.log), verdict.Events)
}

func (trial *crashTrial) get(t *testing.T, n *node, path string, into any) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.server.url+path, nil)
	require.NoError(t, err)
	body := send(t, request)
	require.NoError(t, json.Unmarshal(body, into), "%s", start(body))
}

func send(t *testing.T, request *http.Request) []byte {
	answer, err := (&http.Client{Timeout: answerLimit}).Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s %s: %s", request.Method, request.URL, start(body))
	return body
}

func (trial *crashTrial) report(t *testing.T) {
	counts := map[string]int{}
	there := map[string]bool{}
	for _, event := range trial.log {
		there[event.Actor.RequestID] = true
	}
	for id, request := range trial.requests.byID {
		switch {
		case request.status == http.StatusOK && len(request.types) > 1:
			counts["bulks taken"]++
		case request.status == http.StatusOK:
			counts["taken"]++
		case request.status != 0:
			counts["refused"]++
		case there[id]:
			counts["unanswered, yet recorded"]++
		default:
			counts["unanswered, not recorded"]++
		}
	}
	t.Logf("%d kills, %d events, requests: %v", trial.nodes.kills, len(trial.log), counts)
	assert.Positive(t, counts["taken"], "no operation was taken")
	assert.Positive(t, counts["bulks taken"], "no bulk was taken")
	assert.Positive(t, counts["refused"], "no operation was refused")
}

func TestEachKindOfLossIsFound(t *testing.T) {
	event := func(position int64, kind string) loggedEvent { return loggedEvent{Position: position, Type: kind} }
	bulk := []string{"a", "b"}
	tests := []struct {
		name   string
		asked  asked
		events []loggedEvent
		fits   bool
	}{
		{"answered and recorded", asked{types: bulk, status: 200, position: 8}, []loggedEvent{event(7, "a"), event(8, "b")}, true},
		{"refused and not recorded", asked{types: bulk, status: 400}, nil, true},
		{"unanswered and not recorded", asked{types: bulk}, nil, true},
		{"unanswered and recorded", asked{types: bulk}, []loggedEvent{event(7, "a"), event(8, "b")}, true},
		{"answered and lost", asked{types: bulk, status: 200, position: 8}, nil, false},
		{"answered with another position", asked{types: bulk, status: 200, position: 9}, []loggedEvent{event(7, "a"), event(8, "b")}, false},
		{"refused and recorded", asked{types: []string{"a"}, status: 400}, []loggedEvent{event(7, "a")}, false},
		{"unanswered and half recorded", asked{types: bulk}, []loggedEvent{event(7, "a")}, false},
		{"unanswered and recorded apart", asked{types: bulk}, []loggedEvent{event(7, "a"), event(9, "b")}, false},
		{"unanswered and recorded twice", asked{types: []string{"a"}}, []loggedEvent{event(7, "a"), event(8, "a")}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.asked.fits(test.events)
			assert.Equal(t, test.fits, err == nil, "%v", err)
		})
	}
}
