package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"annals/migrations/localpg"
	"annals/migrations/pgtest"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

const (
	crashListeners   = 20   // on each node
	crashVisitors    = 1000 // unless ANNALS_CRASH_VISITORS says otherwise
	crashSlowReaders = 5
	listenLimit      = time.Minute // until everybody has heard of a change
	spareGoroutines  = 10          // those of requests that just end
)

// TestSubscribersHearOfChangesWhateverDies has subscribers on two nodes while PostgreSQL's
// processes and then a node are killed with SIGKILL, clients come and go, most of them without a
// word, and others stop reading. Whoever stays, or comes again, hears of every row what is
// in it and of no other; a node that lost everybody has nothing left of them.
//
//	ANNALS_CRASH_VISITORS    how many clients come and go
func TestSubscribersHearOfChangesWhateverDies(t *testing.T) {
	visitors := fromEnvironment(t, "ANNALS_CRASH_VISITORS", crashVisitors)
	trial := newListeningTrial(t)
	a, b := trial.nodes[0], trial.nodes[1]
	idle := a.gauges(t)

	trial.losesPermission(t, a, b)
	for range crashListeners {
		trial.listen(t, a, b)
		trial.listen(t, b, a)
	}
	trial.changeIsHeard(t)
	for _, strike := range []func(*testing.T){
		func(t *testing.T) { trial.receive(t, visitors) }, trial.bearSlowReaders, trial.killBackends,
	} {
		strike(t)
		trial.changeIsHeard(t)
		trial.nobodyHeardAmiss(t)
	}
	b.kill()
	trial.changeIsHeard(t)
	require.Equal(t, 2*crashListeners, a.gauges(t).subscribers, "all are with the node that is left")

	trial.leave()
	left := assert.Eventually(t, func() bool {
		now := a.gauges(t)
		return now.websockets == 0 && now.subscribers == 0 && now.shapes == 0 && now.goroutines <= idle.goroutines+spareGoroutines
	}, listenLimit, 50*time.Millisecond)
	require.True(t, left, "what is left: %+v; before anybody came: %+v", a.gauges(t), idle)
	trial.nobodyHeardAmiss(t)
}

// A listeningTrial is two nodes on a PostgreSQL of their own, and those who listen to them.
// Every listener has a row of its own in the table item; turn is how often all of them changed.
type listeningTrial struct {
	nodes     []*server
	database  string
	turn      int64
	listeners []*listener
	leaving   context.CancelFunc
	stay      context.Context
	gone      sync.WaitGroup
}

func newListeningTrial(t *testing.T) *listeningTrial {
	t.Helper()
	config := pgtest.Config(t, pgtest.DataDir(t))
	postgres, err := localpg.Start(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, postgres.Stop(context.Background())) })
	trial := &listeningTrial{database: postgres.URL("postgres")}
	trial.stay, trial.leaving = context.WithCancel(t.Context())
	program := buildAnnals(t)
	for range 2 {
		l := launch{program: program, database: trial.database, flags: []string{
			"--live-queries-multiplexed-refetch-interval", "50", "--live-queries-multiplexed-batch-size", "7",
			"--websocket-write-timeout", "1s", "--log-level", "error",
		}}
		node, err := l.start(t.Context())
		require.NoError(t, err)
		t.Cleanup(node.kill)
		trial.nodes = append(trial.nodes, node)
	}
	t.Cleanup(trial.leave)
	trial.nodes[0].tell(t, fmt.Sprintf(`{"type":"bulk","args":[
		{"type":"run_sql","args":{"sql":"create table item (id int primary key, turn bigint not null default 0, body text); insert into item select generate_series(1, %d); create table large as select 0 as turn, repeat('x', 1000000) as body"}},
		{"type":"track_table","args":"item"}, {"type":"track_table","args":"large"},
		{"type":"create_select_permission","args":{"table":"item","role":"watcher","permission":{"columns":["turn"],"filter":{"id":1}}}}]}`, 2*crashListeners))
	return trial
}

// tell sends a call of the metadata API.
func (s *server) tell(t *testing.T, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/query", strings.NewReader(body))
	require.NoError(t, err)
	send(t, request)
}

// gauges are what a node says it has.
type gauges struct{ goroutines, websockets, subscribers, shapes int }

func (s *server) gauges(t *testing.T) gauges {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", nil)
	require.NoError(t, err)
	text := string(send(t, request))
	read := func(name string) int {
		found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindStringSubmatch(text)
		require.NotNil(t, found, name)
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n
	}
	return gauges{read("go_goroutines"), read("annals_websockets"), read("annals_live_query_subscribers"), read("annals_live_query_shapes")}
}

// losesPermission has a subscriber of one node lose its permission by a call to the other.
func (trial *listeningTrial) losesPermission(t *testing.T, here, there *server) {
	t.Helper()
	s, err := dialSocket(t.Context(), here.url+"/v1/graphql")
	require.NoError(t, err)
	defer s.close()
	require.NoError(t, s.introduce(t.Context(), map[string]string{"X-Hasura-Role": "watcher"}))
	require.NoError(t, s.send(t.Context(), makeObject("id", "1", "type", "start", "payload", graphQL("subscription { item { turn } }"))))
	require.NoError(t, s.wantNext(t.Context(), "data"))
	there.tell(t, `{"type":"drop_select_permission","args":{"table":"item","role":"watcher"}}`)
	require.NoError(t, s.wantNext(t.Context(), "error"))
	require.NoError(t, s.wantNext(t.Context(), "complete"))
}

// A listener subscribes to its row, at another node where the one it was at is gone.
type listener struct {
	row   int
	nodes []*server
	heard atomic.Int64 // the newest turn
	amiss atomic.Value // what should not have been said
}

func (trial *listeningTrial) listen(t *testing.T, first, second *server) {
	t.Helper()
	l := &listener{row: len(trial.listeners) + 1, nodes: []*server{first, second}}
	l.heard.Store(-1)
	trial.listeners = append(trial.listeners, l)
	trial.gone.Go(func() {
		for try := 0; trial.stay.Err() == nil; try++ {
			_ = l.follow(trial.stay, l.nodes[try%2].url) // it ends with its node
			waited(trial.stay, 10*time.Millisecond)
		}
	})
}

func (l *listener) follow(ctx context.Context, url string) error {
	conn, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"/v1/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	const subscribe = `{"type":"subscribe","id":"1","payload":{"query":"subscription ($id: Int!) { item_by_pk(id: $id) { id turn } }","variables":{"id":%d}}}`
	for _, frame := range []string{`{"type":"connection_init"}`, fmt.Sprintf(subscribe, l.row)} {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			return err
		}
	}
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		l.take(frame)
	}
}

// take takes a message in. Errors are told while the database is away, and pass.
func (l *listener) take(frame []byte) {
	var message struct {
		Type    string
		Payload struct {
			Data struct {
				Item *struct {
					ID   int
					Turn int64
				} `json:"item_by_pk"`
			}
		}
	}
	err := json.Unmarshal(frame, &message)
	item := message.Payload.Data.Item
	switch {
	case message.Type == "error" || err != nil || item != nil && item.ID != l.row:
		l.amiss.CompareAndSwap(nil, string(frame))
	case item != nil:
		l.heard.Store(item.Turn)
	}
}

// changeIsHeard changes all rows, and waits until every listener knows.
func (trial *listeningTrial) changeIsHeard(t *testing.T) {
	t.Helper()
	trial.turn++
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), trial.database)
		if err != nil {
			return false // it may be coming up again
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), "update item set turn = $1", trial.turn)
		return err == nil
	}, listenLimit, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		for _, l := range trial.listeners {
			if l.heard.Load() != trial.turn {
				return false
			}
		}
		return true
	}, listenLimit, 10*time.Millisecond, "not everybody has heard of change %d", trial.turn)
}

func (trial *listeningTrial) nobodyHeardAmiss(t *testing.T) {
	t.Helper()
	for _, l := range trial.listeners {
		assert.Nil(t, l.amiss.Load(), "the listener to row %d", l.row)
	}
}

// leave has all listeners go.
func (trial *listeningTrial) leave() {
	trial.leaving()
	trial.gone.Wait()
}

// receive has so many clients come, say more or less, and hang up.
func (trial *listeningTrial) receive(t *testing.T, visitors int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range visitors {
		group.Go(func() error {
			conn, _, err := websocket.Dial(t.Context(), strings.Replace(trial.nodes[i%2].url, "http", "ws", 1)+"/v1/graphql", nil)
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			frames := []string{
				`{"type":"connection_init"}`,
				fmt.Sprintf(`{"type":"start","id":"1","payload":{"query":"subscription { item(where: {id: {_gt: %d}}) { id } }"}}`, i%10),
				`{"type":"start","id":"2","payload":{"query":"{ item { id } }"}}`, `{"type":"stop","id":"1"}`,
			}
			for _, frame := range frames[:i%(len(frames)+1)] {
				if err := conn.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
					return err
				}
			}
			if i%3 == 0 {
				_, _, err = conn.Read(t.Context())
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
}

// bearSlowReaders has clients subscribe to long answers which they do not read, until
// the node has given them up.
func (trial *listeningTrial) bearSlowReaders(t *testing.T) {
	t.Helper()
	node := trial.nodes[0]
	require.Eventually(t, func() bool { return node.gauges(t).websockets == crashListeners }, listenLimit, 10*time.Millisecond)
	for range crashSlowReaders {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(node.url, "http", "ws", 1)+"/v1/graphql", nil)
		require.NoError(t, err)
		defer conn.CloseNow()
		for _, frame := range []string{`{"type":"connection_init"}`, `{"type":"start","id":"1","payload":{"query":"subscription { large { turn body } }"}}`} {
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(frame)))
		}
	}
	require.Eventually(t, func() bool { return node.gauges(t).subscribers == crashListeners+crashSlowReaders }, listenLimit, 10*time.Millisecond)
	conn, err := pgx.Connect(t.Context(), trial.database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.Eventually(t, func() bool { // more than the buffers on the way can hold
		_, err := conn.Exec(t.Context(), "update large set turn = turn + 1")
		return err == nil && node.gauges(t).websockets == crashListeners
	}, listenLimit, 60*time.Millisecond)
}

// killBackends kills the processes that serve the nodes. PostgreSQL then ends all others, and
// recovers.
func (trial *listeningTrial) killBackends(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), trial.database)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(), "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()") // CollectRows has the error
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.NotEmpty(t, pids)
	for _, pid := range pids {
		require.Greater(t, pid, 1)
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with the first
	}
}
