package deliver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/delivery"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/handlers/outbound"
	"annals/handlers/workers/deliver"
	"annals/migrations"
	"annals/migrations/pgtest"
	"annals/projections/catalog"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// house is a database with a catalog, and the workers on it.
type house struct {
	t       testing.TB
	db      *pgtest.DB
	handler *command.Handler
	live    *catalog.Live
}

func newHouse(t testing.TB) *house {
	t.Helper()
	db := pgtest.New(t)
	store := eventstore.New(db.Pool, eventstore.Config{})
	version, err := command.Start(t.Context(), db.Pool, store, metadata.Environment{"VALUE": "from the environment"})
	require.NoError(t, err)
	h := &house{t: t, db: db, live: catalog.NewLive(version)}
	h.handler = command.New(command.Parts{Pool: db.Pool, Store: store, Live: h.live}, command.Config{})
	h.exec(`create table t (id int primary key)`)
	h.call(`{"type":"track_table","args":"t"}`)
	return h
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.db.Pool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

func (h *house) call(body string) {
	h.t.Helper()
	req, err := metadata.Parse([]byte(body))
	require.NoError(h.t, err)
	_, err = h.handler.Execute(h.t.Context(), command.Request{Request: req, Session: domain.Session{Role: domain.AdminRole}})
	require.NoError(h.t, err)
}

// trigger makes an event trigger that only what is queued by hand sets off.
func (h *house) trigger(name, url, members string) {
	h.t.Helper()
	h.call(fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":%q,"table":"t","enable_manual":true,"webhook":%q%s}}`, name, url, members))
}

// queue queues deliveries, and returns their ids. The columns are those of the
// queue's row that are not as usual.
func (h *house) queue(lane, kind, trigger string, n int, columns ...string) []string {
	h.t.Helper()
	names, values := "", ""
	if len(columns) > 0 {
		names, values = ", "+columns[0], ", "+columns[1]
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
		h.exec(`with d as (
			insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
			values ($1, $2, $3, 'public', 't', '{"op":"MANUAL","data":`+fmt.Sprint(i)+`}', clock_timestamp()) returning id, due_at)
			insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at`+names+`)
			select id, due_at, $4, due_at`+values+` from d`, ids[i], kind, trigger, lane)
	}
	return ids
}

func (h *house) events(trigger string, n int) []string {
	return h.queue("event:"+trigger, "manual", trigger, n)
}

// work starts a worker that the test ends, or the returned function.
func (h *house) work(c deliver.Config) (*deliver.Worker, func()) {
	h.t.Helper()
	return h.workBy(outbound.Config{}, slog.DiscardHandler, c)
}

// workBy is work with a way out, and a log.
func (h *house) workBy(door outbound.Config, lines slog.Handler, c deliver.Config) (*deliver.Worker, func()) {
	h.t.Helper()
	client := outbound.New(door)
	h.t.Cleanup(client.Close)
	hooks := &deliver.Webhooks{Client: client, World: h.world, LeaseMargin: time.Second, Log: slog.New(slog.DiscardHandler)}
	senders := map[delivery.Kind]deliver.Sender{}
	for _, kind := range hooks.Kinds() {
		senders[kind] = hooks
	}
	return h.workWith(senders, lines, c)
}

func (h *house) world() metadata.World { return h.live.Current().World }

// workWith is work with senders, and a log.
func (h *house) workWith(senders map[delivery.Kind]deliver.Sender, lines slog.Handler, c deliver.Config) (*deliver.Worker, func()) {
	h.t.Helper()
	if c.Node == "" {
		c.Node = "node"
	}
	c.FetchInterval = 50 * time.Millisecond
	worker, err := deliver.New(deliver.Parts{Pool: h.db.Pool, World: h.world, Senders: senders, Registry: prometheus.NewRegistry(), Log: slog.New(lines)}, c)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		require.NoError(h.t, <-ended)
	})
	h.t.Cleanup(stop)
	return worker, stop
}

// eventually waits until a query answers with a number.
func (h *house) eventually(want int, sql string, args ...any) {
	h.t.Helper()
	var got int
	require.Eventually(h.t, func() bool {
		return h.db.Pool.QueryRow(h.t.Context(), sql, args...).Scan(&got) == nil && got == want
	}, patience, 5*time.Millisecond, "%s: wanted %d", sql, want)
}

func (h *house) empty() { h.t.Helper(); h.eventually(0, `select count(*) from annals.delivery_queue`) }

// story is what the history tells of a delivery.
func (h *house) story(id string) []string {
	h.t.Helper()
	rows, err := h.db.Pool.Query(h.t.Context(), `select concat_ws(' ', entry, outcome, round, attempt, status, (next_due_at is not null)::text)
		from annals.delivery_log where delivery_id = $1 order by recorded_at`, id)
	require.NoError(h.t, err)
	var story []string
	for rows.Next() {
		var line string
		require.NoError(h.t, rows.Scan(&line))
		story = append(story, line)
	}
	return story
}

// hook is a receiver.
func hook(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func answering(t *testing.T, status int) string {
	return hook(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

func TestWhatIsDueIsSentAndRemembered(t *testing.T) {
	h := newHouse(t)
	got := make(chan *http.Request, 1)
	body := make(chan []byte, 1)
	url := hook(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got <- r
		body <- text
		_, _ = io.WriteString(w, "thanks")
	})
	h.trigger("sends", url, `,"headers":[{"name":"X-Env","value_from_env":"VALUE"}]`)
	h.work(deliver.Config{})
	id := h.events("sends", 1)[0]
	r := <-got
	require.Equal(t, "from the environment", r.Header.Get("X-Env"))
	require.Equal(t, id, r.Header.Get("Webhook-Id"))
	text := <-body
	var sent map[string]any
	require.NoError(t, json.Unmarshal(text, &sent))
	require.Equal(t, id, sent["id"])
	require.Equal(t, map[string]any{"current_retry": 0.0, "max_retries": 0.0}, sent["delivery_info"])
	h.empty()
	require.Equal(t, []string{"attempt delivered 1 1 200 false"}, h.story(id))
	var request, response string
	require.NoError(t, h.db.Pool.QueryRow(t.Context(), `select request::text, response::text from hdb_catalog.event_invocation_logs`).Scan(&request, &response))
	require.Contains(t, request, `{"payload":`+string(text)+`,"headers":[`)
	require.Contains(t, request, `{"name":"X-Env","value_from_env":"VALUE"}`)
	require.NotContains(t, request, "from the environment")
	require.Contains(t, response, `"body":"thanks"`)
}

func TestAFailedDeliveryIsTriedAsOftenAsItsTriggerSays(t *testing.T) {
	h := newHouse(t)
	h.trigger("fails", answering(t, 503), `,"retry_conf":{"num_retries":2,"interval_sec":0}`)
	h.work(deliver.Config{})
	id := h.events("fails", 1)[0]
	h.empty()
	require.Equal(t, []string{"attempt retry 1 1 503 true", "attempt retry 1 2 503 true", "attempt failed 1 3 503 false"}, h.story(id))
}

func TestAnEndpointThatNamesATimeIsTriedThenThoughNoTryIsLeft(t *testing.T) {
	h := newHouse(t)
	var calls atomic.Int32
	h.trigger("asks", hook(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= 2 {
			w.Header().Set("retry-after", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}), `,"retry_conf":{"num_retries":0,"interval_sec":1000}`)
	h.work(deliver.Config{})
	id := h.events("asks", 1)[0]
	h.empty()
	require.Equal(t, []string{"attempt retry 1 1 429 true", "attempt retry 1 2 429 true", "attempt delivered 1 3 200 false"}, h.story(id))
	h.eventually(1, `select (max(started_at) - min(started_at) >= interval '2 s')::int from annals.delivery_log`)
}

func TestARetryThatIsTooLateIsDropped(t *testing.T) {
	h := newHouse(t)
	h.call(fmt.Sprintf(`{"type":"create_cron_trigger","args":{"name":"late","webhook":%q,"schedule":"0 0 1 1 *","include_in_metadata":true,
		"retry_conf":{"num_retries":100,"retry_interval_seconds":1,"tolerance_seconds":0.9}}}`, answering(t, 500)))
	h.work(deliver.Config{})
	id := h.queue("cron:late", "cron", "late", 1)[0]
	h.eventually(0, `select count(*) from annals.delivery_queue where delivery_id = $1`, id)
	require.Equal(t, []string{"attempt retry 1 1 500 true", "dropped 1 0 false"}, h.story(id))
}

func TestWhatCannotBeResolvedFailsAndSaysWhat(t *testing.T) {
	h := newHouse(t)
	id := h.queue("scheduled", "scheduled", "", 1)[0]
	h.exec(`update annals.deliveries set definition = '{"webhook":"{{NOT_SET}}/x","retry_conf":{"tolerance_seconds":60}}'`)
	h.work(deliver.Config{})
	h.empty()
	require.Equal(t, []string{"attempt failed 1 1 1000 false"}, h.story(id))
	var response string
	require.NoError(t, h.db.Pool.QueryRow(t.Context(), `select response->'data'->>'message' from annals.delivery_log`).Scan(&response))
	require.Equal(t, `"Value for environment variables not found: NOT_SET"`, response)
}

// breaking is a sender that breaks down.
type breaking struct{}

func (breaking) Send(context.Context, deliver.Job) deliver.Attempt { panic("broken") }

func TestASenderThatBreaksDownFailsItsTryAndTheWorkerGoesOn(t *testing.T) {
	h := newHouse(t)
	h.trigger("breaks", "http://127.0.0.1:1/", `,"retry_conf":{"num_retries":1,"interval_sec":0}`)
	h.workWith(map[delivery.Kind]deliver.Sender{delivery.Manual: breaking{}}, slog.DiscardHandler, deliver.Config{})
	for range 2 {
		id := h.events("breaks", 1)[0]
		h.empty()
		require.Equal(t, []string{"attempt retry 1 1 500 true", "attempt failed 1 2 500 false"}, h.story(id))
	}
	var response string
	require.NoError(t, h.db.Pool.QueryRow(t.Context(), `select response->'data'->>'message' from annals.delivery_log limit 1`).Scan(&response))
	require.Equal(t, `"internal error"`, response, "what broke is the log's to tell")
}

func TestAnEndpointThatHangsFillsItsOwnSlotsOnly(t *testing.T) {
	h := newHouse(t)
	held := make(chan struct{})
	h.trigger("hangs", hook(t, func(http.ResponseWriter, *http.Request) { <-held }), "")
	defer close(held)
	h.trigger("runs", answering(t, 200), "")
	h.work(deliver.Config{Slots: 4, Grace: time.Millisecond})
	h.events("hangs", 50)
	h.eventually(4, `select count(*) from annals.delivery_queue where leased_by is not null`)
	h.events("runs", 200)
	h.eventually(200, `select count(*) from annals.delivery_log where outcome = 'delivered'`)
	h.eventually(50, `select count(*) from annals.delivery_queue`)
}

func TestADeliveryWithoutItsTriggerRestsAndNoTryCounts(t *testing.T) {
	h := newHouse(t)
	h.work(deliver.Config{})
	id := h.events("missing", 1)[0]
	h.eventually(1, `select count(*) from annals.delivery_queue where leased_by is null and tries = 0
		and available_at between now() + interval '50 s' and now() + interval '60 s'`)
	require.Empty(t, h.story(id))
}

func TestAFireThatIsTooLateIsDroppedWithItsReason(t *testing.T) {
	h := newHouse(t)
	h.call(fmt.Sprintf(`{"type":"create_cron_trigger","args":{"name":"late","webhook":%q,"schedule":"0 0 1 1 *","include_in_metadata":true}}`, answering(t, 200)))
	id := h.queue("cron:late", "cron", "late", 1)[0]
	h.exec(`update annals.deliveries set due_at = now() - interval '7 h' where id = $1`, id)
	h.exec(`update annals.delivery_queue q set first_due_at = d.due_at from annals.deliveries d where d.id = q.delivery_id and q.delivery_id = $1`, id)
	h.work(deliver.Config{})
	h.eventually(0, `select count(*) from annals.delivery_queue where delivery_id = $1`, id)
	require.Equal(t, []string{"dropped 1 0 false"}, h.story(id))
}

func TestALaneThatRestsWaits(t *testing.T) {
	h := newHouse(t)
	h.trigger("rests", answering(t, 200), "")
	h.trigger("runs", answering(t, 200), "")
	h.exec(`insert into annals.paused_lanes (lane) values ('event:rests')`)
	rests := h.events("rests", 1)[0]
	h.work(deliver.Config{})
	h.events("runs", 1)
	h.eventually(1, `select count(*) from annals.delivery_queue`)
	require.Empty(t, h.story(rests))
	h.exec(`delete from annals.paused_lanes`)
	h.empty()
}

func TestRowsWithOneOrderingKeyAreDeliveredInTurnAndAFailingOneParksOnlyItsOwn(t *testing.T) {
	h := newHouse(t)
	var mu sync.Mutex
	var taken []string
	var fixed atomic.Bool
	url := hook(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Event struct{ Data int }
			ID    string
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if body.Event.Data == 0 && !fixed.Load() {
			w.WriteHeader(500)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, body.ID)
	})
	h.trigger("ordered", url, `,"retry_conf":{"num_retries":1000,"interval_sec":0}`)
	parked := h.queue("event:ordered", "manual", "ordered", 3, "ordering_key", "'a'")
	h.exec(`update annals.deliveries set payload = '{"data":1}' where trigger = 'ordered' and id <> $1`, parked[0])
	other := h.queue("event:ordered", "manual", "ordered", 3, "ordering_key", "'b'")
	h.exec(`update annals.deliveries set payload = '{"data":1}' where id = any($1::text[]::uuid[])`, other)
	h.work(deliver.Config{})
	h.eventually(3, `select count(*) from annals.delivery_queue`)
	mu.Lock()
	require.Equal(t, other, taken)
	mu.Unlock()
	fixed.Store(true)
	h.empty()
	require.Equal(t, append(other, parked...), taken)
}

func TestTheRequestOfEachTryIsRememberedByteByByte(t *testing.T) {
	h := newHouse(t)
	sent := make(chan []byte, 2)
	url := hook(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent <- text
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	h.trigger("tries_again", url, `,"retry_conf":{"num_retries":1,"interval_sec":0}`)
	for _, created := range []string{"2026-11-21T19:20:00.12Z", "2026-11-21T19:20:10Z", "2026-11-21T19:20:10.000001Z"} {
		id := h.events("tries_again", 1)[0]
		h.exec(`update annals.deliveries set created_at = $2, payload = '{"op" : "MANUAL","data":"\u00e9 ü"}' where id = $1`, id, created)
		_, stop := h.work(deliver.Config{})
		h.empty()
		stop()
		rows, err := h.db.Pool.Query(t.Context(), `select request::text from hdb_catalog.event_invocation_logs where event_id = $1 order by created_at`, id)
		require.NoError(t, err)
		remembered, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Len(t, remembered, 2)
		for _, request := range remembered {
			require.Contains(t, request, `{"payload":`+string(<-sent)+`,"headers":[{"name":"Content-Type","value":"application/json"}`)
		}
	}
}

func TestWhatIsClaimedAheadIsSentInItsTurn(t *testing.T) {
	h := newHouse(t)
	sent := make(chan string, 60)
	h.trigger("one_by_one", hook(t, func(_ http.ResponseWriter, r *http.Request) { sent <- r.Header.Get("Webhook-Id") }), `,"max_concurrency":1`)
	ids := h.events("one_by_one", cap(sent))
	h.work(deliver.Config{})
	h.empty()
	for _, id := range ids {
		require.Equal(t, id, <-sent)
	}
}

func TestMaxConcurrencyBoundsATrigger(t *testing.T) {
	h := newHouse(t)
	var now, most atomic.Int32
	pair := make(chan struct{})
	h.trigger("narrow", hook(t, func(_ http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		select { // each waits for another one: two there are, and while they wait a third would show
		case pair <- struct{}{}:
		case <-pair:
		case <-r.Context().Done():
		}
		now.Add(-1)
	}), `,"max_concurrency":2`)
	h.work(deliver.Config{})
	h.events("narrow", 40)
	h.empty()
	require.Equal(t, int32(2), most.Load())
}

func TestAWorkerThatStopsGivesBackWhatItHas(t *testing.T) {
	h := newHouse(t)
	held := make(chan struct{})
	h.trigger("hangs", hook(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}), "")
	defer close(held)
	_, stop := h.work(deliver.Config{Grace: 10 * time.Millisecond})
	ids := h.events("hangs", 3)
	h.eventually(3, `select count(*) from annals.delivery_queue where leased_by = 'node'`)
	stop()
	h.eventually(3, `select count(*) from annals.delivery_queue where leased_by is null and available_at <= now() and tries = 0`)
	require.Empty(t, h.story(ids[0]))
}

func TestALeaseThatRanOutIsAnotherNodesAndTheLateOutcomeChangesNothing(t *testing.T) {
	h := newHouse(t)
	var calls atomic.Int32
	held := make(chan struct{})
	h.trigger("slow", hook(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			<-held
			w.WriteHeader(500)
		}
	}), "")
	_, stop := h.work(deliver.Config{Node: "first"})
	id := h.events("slow", 1)[0]
	h.eventually(1, `select count(*) from annals.delivery_queue where leased_by = 'first'`)
	h.exec(`update annals.delivery_queue set available_at = now()`) // the lease runs out
	h.work(deliver.Config{Node: "second"})
	h.empty()
	close(held)
	stop()
	require.Equal(t, []string{"attempt delivered 1 1 200 false"}, h.story(id))
}

func TestANodeWhoseDatabaseANewerProgramHasMigratedClaimsNothing(t *testing.T) {
	h := newHouse(t)
	known, err := migrations.Known()
	require.NoError(t, err)
	h.trigger("t", hook(t, func(http.ResponseWriter, *http.Request) {}), "")
	h.work(deliver.Config{Node: "older", Schema: known})
	h.events("t", 1)
	h.empty()
	require.Equal(t, []string{"older"}, h.nodes())
	h.exec(`update annals.schema_version set version = version + 1`)
	h.work(deliver.Config{Node: "newer", Schema: known + 1})
	for range 50 {
		h.events("t", 1)
		h.empty()
	}
	require.Equal(t, append([]string{"older"}, slices.Repeat([]string{"newer"}, 50)...), h.nodes())
}

// nodes are those that made the tries, in order.
func (h *house) nodes() []string {
	h.t.Helper()
	rows, err := h.db.Pool.Query(h.t.Context(), `select node from annals.delivery_log order by recorded_at`)
	require.NoError(h.t, err)
	nodes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h.t, err)
	return nodes
}

func TestNoConnectionIsHeldWhileWebhooksAreCalled(t *testing.T) {
	h := newHouse(t)
	held := make(chan struct{})
	var calls atomic.Int32
	h.trigger("slow", hook(t, func(http.ResponseWriter, *http.Request) { calls.Add(1); <-held }), "")
	h.work(deliver.Config{Slots: 300})
	h.events("slow", 300)
	require.Eventually(t, func() bool { return calls.Load() == 300 }, patience, 5*time.Millisecond)
	require.LessOrEqual(t, h.db.Pool.Stat().AcquiredConns(), int32(1), "the next look at the queue")
	close(held)
	h.empty()
}

func TestAnAnswerThatTheDatabaseCannotKeepCostsNoDelivery(t *testing.T) {
	h := newHouse(t)
	h.trigger("odd", hook(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 0xff, 0xfe, '\\', 0}) }), "")
	h.work(deliver.Config{})
	h.events("odd", 5)
	h.empty()
	h.eventually(5, `select count(*) from annals.delivery_log where outcome = 'delivered'`)
}

func TestADeliveryToAnAddressThatIsDeniedFailsWithoutAConnection(t *testing.T) {
	h := newHouse(t)
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { connections.Add(1) }
	server.Start()
	t.Cleanup(server.Close)
	h.trigger("denied", server.URL, `,"retry_conf":{"num_retries":1,"interval_sec":0}`)
	h.workBy(outbound.Config{Deny: []string{outbound.Loopback}}, slog.DiscardHandler, deliver.Config{})
	id := h.events("denied", 1)[0]
	h.empty()
	require.Equal(t, []string{"attempt retry 1 1 1000 true", "attempt failed 1 2 1000 false"}, h.story(id))
	require.Zero(t, connections.Load())
	var response string
	require.NoError(t, h.db.Pool.QueryRow(t.Context(), `select response::text from annals.delivery_log where outcome = 'failed'`).Scan(&response))
	require.Equal(t, `{"type":"client_error","data":{"message":"\"AddressDenied 127.0.0.1 is a loopback address, and those are not called\""},"version":"2"}`, response)
}

// told is a log whose lines a test waits for.
type told chan string

func (c told) Enabled(context.Context, slog.Level) bool { return true }
func (c told) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c told) WithGroup(string) slog.Handler            { return c }
func (c told) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		c <- r.Message
	}
	return nil
}

func TestALaneThatStaysFullIsToldOfOnceAndSoIsItsEnd(t *testing.T) {
	h := newHouse(t)
	held, lines := make(chan struct{}), make(told, 100)
	h.trigger("slow", hook(t, func(http.ResponseWriter, *http.Request) { <-held }), "")
	h.events("slow", 20)
	h.workBy(outbound.Config{}, lines, deliver.Config{Slots: 2})
	require.Contains(t, <-lines, "events processor may not be keeping up")
	close(held)
	require.Equal(t, "events processor is keeping up again", <-lines)
	h.empty()
	require.Empty(t, lines)
}

func TestALeaseThatIsLongEnoughIsNotRenewed(t *testing.T) {
	h := newHouse(t)
	held := make(chan struct{})
	h.trigger("usual", hook(t, func(http.ResponseWriter, *http.Request) { <-held }), "")
	h.work(deliver.Config{LeaseMargin: time.Second})
	h.exec(`create table renewals (id uuid); create function renewal() returns trigger language plpgsql as $$
		begin if new.lease = old.lease and new.leased_by is not null then insert into renewals values (new.delivery_id); end if; return null; end $$;
		create trigger renewal after update on annals.delivery_queue for each row execute function renewal()`)
	h.events("usual", 20)
	h.eventually(20, `select count(*) from annals.delivery_queue where leased_by is not null`)
	close(held)
	h.empty()
	h.eventually(0, `select count(*) from renewals`)
}

func TestARateLimitSpreadsWhatATriggerStarts(t *testing.T) {
	h := newHouse(t)
	h.trigger("slow", answering(t, 200), `,"rate_limit":10`)
	h.work(deliver.Config{})
	h.events("slow", 25)
	h.empty()
	// A second's worth starts at once; of the other fifteen each has to wait a tenth of a second more.
	h.eventually(1, `select (max(started_at) - min(started_at) >= interval '1.4 s')::int from annals.delivery_log`)
	h.eventually(0, `select count(*) from (select started_at - lag(started_at, 21) over (order by started_at) as took from annals.delivery_log) g where took < interval '0.95 s'`)
}
