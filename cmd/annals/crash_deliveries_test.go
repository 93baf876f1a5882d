package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/migrations/localpg"
	"annals/migrations/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const (
	crashChanges   = 500 // unless ANNALS_CRASH_CHANGES says otherwise
	crashStrikes   = 4   // unless ANNALS_CRASH_STRIKES says otherwise
	crashSlots     = 20  // deliveries of one trigger that a node makes at once
	deliveryLimits = 3 * time.Minute
	// blurred is how long before it is noted a death may have been on its way.
	blurred = time.Second
)

// TestEveryDeliveryEndsWhateverDies changes rows while nodes are killed with
// SIGKILL and PostgreSQL is restarted, with receivers that answer 500, hang,
// close in the middle of their answer, and recover. In the end every delivery
// that was created is delivered or failed, exactly once in the history; the
// receiver has taken all that is delivered; and it took none twice but those
// that were on their way when something died, or when they were given up for
// their timeout.
//
//	ANNALS_CRASH_CHANGES, ANNALS_CRASH_STRIKES    how long
//	ANNALS_CRASH_SEED                             repeat the choices of a failed run
func TestEveryDeliveryEndsWhateverDies(t *testing.T) {
	changes := fromEnvironment(t, "ANNALS_CRASH_CHANGES", crashChanges)
	strikes := fromEnvironment(t, "ANNALS_CRASH_STRIKES", crashStrikes)
	seed := uint64(fromEnvironment(t, "ANNALS_CRASH_SEED", int(rand.Uint32())))
	t.Logf("repeat with ANNALS_CRASH_SEED=%d", seed)

	trial := newDeliveryTrial(t, seed)
	working, ctx := errgroup.WithContext(t.Context())
	working.Go(func() error { return trial.change(ctx, changes, strikes) })
	working.Go(func() error { return trial.strike(ctx, strikes) })
	require.NoError(t, working.Wait())
	trial.settle(t)
	trial.check(t, changes)
}

// A deliveryTrial is two nodes on a PostgreSQL of their own, and a receiver.
type deliveryTrial struct {
	nodes    *nodes
	chance   *rand.Rand
	config   localpg.Config
	postgres *localpg.Server
	database string // its URL, which stays
	receiver *moody
	ready    chan struct{} // one for each part of the changes that is made
	deaths   []death
}

// A death is the time for which a node or PostgreSQL was away.
type death struct{ from, to time.Time }

// within reports whether it can have taken the outcome of a try with it: one that
// was taken, and had to be made again.
func (d death) within(taken, again time.Time) bool {
	return d.to.After(taken.Add(-blurred)) && d.from.Before(again)
}

func newDeliveryTrial(t *testing.T, seed uint64) *deliveryTrial {
	trial := &deliveryTrial{
		nodes: newNodes(), chance: rand.New(rand.NewPCG(seed, 7)), receiver: &moody{seen: map[string]int{}, taken: map[string][]time.Time{}},
		config: pgtest.Config(t, pgtest.DataDir(t)), ready: make(chan struct{}, 1000),
	}
	var err error
	trial.postgres, err = localpg.Start(t.Context(), trial.config)
	require.NoError(t, err)
	trial.database = trial.postgres.URL("postgres")
	t.Cleanup(func() { assert.NoError(t, trial.postgres.Stop(context.Background())) })
	receiver := httptest.NewServer(trial.receiver)
	t.Cleanup(receiver.Close)
	trial.nodes.startDelivering(t, trial.database, crashNodes)
	trial.ask(t, `{"type":"run_sql","args":{"sql":"create table things (id int primary key)"}}`)
	trial.ask(t, `{"type":"track_table","args":"things"}`)
	trial.ask(t, trigger("recovers", receiver.URL, 100))
	trial.ask(t, trigger("refuses", receiver.URL, 1))
	return trial
}

// startDelivering starts nodes that deliver, and take over soon what another one
// leaves. They end with the test.
func (n *nodes) startDelivering(t *testing.T, database string, many int) {
	program := buildAnnals(t)
	for range many {
		port, err := freePort()
		require.NoError(t, err)
		start := launch{program: program, database: database, port: port,
			flags: []string{"--events-lease-margin", "2s", "--events-http-pool-size", fmt.Sprint(crashSlots), "--log-level", "warn"}}
		running, err := start.start(t.Context())
		require.NoError(t, err)
		n.all = append(n.all, &node{launch: start, server: running, up: true})
	}
	t.Cleanup(func() { assert.NoError(t, n.stop()) })
}

// trigger makes a trigger that tries so often again, at once.
func trigger(name, url string, retries int) string {
	return fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":%q,"table":"things","insert":{"columns":"*"},"webhook":%q,
		"retry_conf":{"num_retries":%d,"interval_sec":0,"timeout_sec":1}}}`, name, url+"/"+name, retries)
}

func (trial *deliveryTrial) ask(t *testing.T, body string) {
	t.Helper()
	answer, err := http.Post(trial.nodes.all[0].server.url+"/v1/query", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
}

// change inserts rows, some at a time; what PostgreSQL was restarted under is
// inserted again.
func (trial *deliveryTrial) change(ctx context.Context, rows, parts int) error {
	for part := range parts {
		from, to := part*rows/parts+1, (part+1)*rows/parts
		for trial.insert(ctx, from, to) != nil {
			if !waited(ctx, 20*time.Millisecond) {
				return ctx.Err()
			}
		}
		trial.ready <- struct{}{}
	}
	return nil
}

func (trial *deliveryTrial) insert(ctx context.Context, from, to int) error {
	conn, err := pgx.Connect(ctx, trial.database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for id := from; id <= to; id++ {
		if _, err := conn.Exec(ctx, `insert into things values ($1) on conflict do nothing`, id); err != nil {
			return err
		}
	}
	return nil
}

// strike kills a node after each part of the changes, and every fourth time
// restarts PostgreSQL instead.
func (trial *deliveryTrial) strike(ctx context.Context, times int) error {
	for strike := range times {
		select {
		case <-trial.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		waited(ctx, time.Duration(trial.chance.Int64N(int64(50*time.Millisecond)))) // chance: of what the nodes are at then
		from := time.Now()
		if err := trial.hit(ctx, strike); err != nil {
			return err
		}
		trial.deaths = append(trial.deaths, death{from, time.Now()})
	}
	return nil
}

func (trial *deliveryTrial) hit(ctx context.Context, strike int) error {
	if strike%4 == 1 {
		return trial.restartPostgres(ctx)
	}
	victim := trial.nodes.all[trial.chance.IntN(crashNodes)]
	trial.nodes.kill(victim)
	return trial.nodes.restart(ctx, victim)
}

func (trial *deliveryTrial) restartPostgres(ctx context.Context) error {
	if err := trial.postgres.Stop(ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	again, err := localpg.Start(ctx, trial.config)
	if err != nil {
		return fmt.Errorf("start PostgreSQL again: %w", err)
	}
	trial.postgres = again
	return nil
}

// settle waits until nothing is queued.
func (trial *deliveryTrial) settle(t *testing.T) {
	t.Helper()
	emptied(t, trial.database, "true", deliveryLimits)
}

// emptied waits until nothing is queued that a condition is about.
func emptied(t *testing.T, database, condition string, limit time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.Eventually(t, func() bool {
		var queued int
		err := conn.QueryRow(t.Context(), "select count(*) from annals.delivery_queue where "+condition).Scan(&queued)
		return err == nil && queued == 0
	}, limit, 20*time.Millisecond, "deliveries are stuck")
}

// check holds the history against what was changed and what was received.
func (trial *deliveryTrial) check(t *testing.T, changes int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), trial.database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `select d.id::text, d.trigger,
			count(*) filter (where l.outcome = 'delivered'), count(*) filter (where l.outcome = 'failed'),
			count(*) filter (where l.entry in ('dropped', 'cancelled')), count(*) filter (where l.status = 1000)
		from annals.deliveries d left join annals.delivery_log l on l.delivery_id = d.id group by 1, 2`)
	require.NoError(t, err)
	var id, name string
	var delivered, failed, other, unanswered, created, twice int
	_, err = pgx.ForEachRow(rows, []any{&id, &name, &delivered, &failed, &other, &unanswered}, func() error {
		created++
		assert.Equal(t, 1, delivered+failed+other, "ends of %s", id)
		if name == "refuses" {
			assert.Equal(t, 1, failed, "%s was never taken", id)
			return nil
		}
		assert.Equal(t, 1, delivered, "%s was taken in the end", id)
		assert.NotEmpty(t, trial.receiver.taken[id], "%s is said to be delivered", id)
		twice += len(trial.receiver.taken[id]) - 1
		if moodOf(id).unanswered() {
			unanswered = max(0, unanswered-1)
		}
		assert.LessOrEqual(t, trial.unexplained(id), unanswered, "%s was taken at %v", id, trial.receiver.taken[id])
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2*changes, created)
	require.LessOrEqual(t, twice, len(trial.deaths)*crashNodes*2*crashSlots, "no more than was on its way at each death")
	t.Logf("%d deliveries, %d deaths, %d taken more than once", created, len(trial.deaths), twice)
}

// unexplained is how many times the receiver took an event again without a death
// since the time before.
func (trial *deliveryTrial) unexplained(id string) int {
	times, count := trial.receiver.taken[id], 0
	for i := 1; i < len(times); i++ {
		if !slices.ContainsFunc(trial.deaths, func(d death) bool { return d.within(times[i-1], times[i]) }) {
			count++
		}
	}
	return count
}

// moody is a receiver that refuses all that is sent to one path, and on the
// other finds for each event one of several ways to fail its first try.
type moody struct {
	mu    sync.Mutex
	seen  map[string]int         // tries
	taken map[string][]time.Time // answered with success
}

// A mood is how the first try of an event goes.
type mood uint32

const (
	refuses mood = iota
	refusesToo
	hangs // longer than the trigger waits
	breaksOff
	moods mood = 8 // in all others it is taken
)

func moodOf(id string) mood {
	sum := fnv.New32()
	_, _ = sum.Write([]byte(id))
	return mood(sum.Sum32()) % moods
}

// unanswered reports whether the first try gets no whole answer.
func (m mood) unanswered() bool { return m == hangs || m == breaksOff }

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID string `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	if r.URL.Path == "/refuses" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	m.mu.Lock()
	m.seen[body.ID]++
	first := m.seen[body.ID] == 1
	m.mu.Unlock()
	if first && !moodOf(body.ID).takes(w, r) {
		return
	}
	m.mu.Lock()
	m.taken[body.ID] = append(m.taken[body.ID], time.Now())
	m.mu.Unlock()
}

// takes has a first try go as the mood has it, and reports whether it is taken.
func (m mood) takes(w http.ResponseWriter, r *http.Request) bool {
	switch m {
	case refuses, refusesToo:
		w.WriteHeader(http.StatusInternalServerError)
	case hangs:
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	case breaksOff:
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
		panic(http.ErrAbortHandler)
	default:
		return true
	}
	return false
}
