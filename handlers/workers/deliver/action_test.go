package deliver_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"annals/domain/delivery"
	"annals/handlers/execution"
	"annals/handlers/outbound"
	"annals/handlers/workers/deliver"
	"annals/projections/actions"
)

// later makes the asynchronous action later.
func (h *house) later(url string, timeout int) {
	h.t.Helper()
	h.call(`{"type":"set_custom_types","args":{"objects":[{"name":"thing","fields":[{"name":"id","type":"Int!"}]}]}}`)
	h.call(fmt.Sprintf(`{"type":"create_action","args":{"name":"later","definition":{"kind":"asynchronous","handler":%q,`+
		`"output_type":"thing","forward_client_headers":true,"timeout":%d}}}`, url, timeout))
}

// asked starts a call of the action and returns its id.
func (h *house) asked() string {
	h.t.Helper()
	id := uuid.New()
	s := actions.Call{
		ID: id, Action: "later", Input: []byte(`{"n":1}`), Session: map[string]string{"x-service-role": "user", "x-service-user-id": "7"},
		Header: http.Header{"Authorization": {"theirs"}},
	}.Start()
	_, err := h.db.Pool.Exec(h.t.Context(), s.SQL, asTexts(s.Values)...)
	require.NoError(h.t, err)
	return id.String()
}

func asTexts(values [][]byte) []any {
	texts := make([]any, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}

// callers starts a worker that makes the calls of actions.
func (h *house) callers(node string) (stop func()) {
	h.t.Helper()
	client := outbound.New(outbound.Config{})
	h.t.Cleanup(client.Close)
	calls := &deliver.Actions{
		Pool: h.db.Pool, World: h.world, LeaseMargin: time.Second, Log: slog.New(slog.DiscardHandler),
		Call: execution.New(h.db.Pool, h.world, execution.Config{Outbound: client}).CallAction,
	}
	_, stop = h.workWith(map[delivery.Kind]deliver.Sender{delivery.Action: calls}, slog.DiscardHandler, deliver.Config{Node: node, Grace: 10 * time.Millisecond})
	return stop
}

// kept is what is kept of a call.
func (h *house) kept(id string) (text string) {
	h.t.Helper()
	require.NoError(h.t, h.db.Pool.QueryRow(h.t.Context(),
		`select concat_ws(' ', status, response, errors->>'code', errors->>'error', headers) from annals.action_log where id = $1`, id).Scan(&text))
	return text
}

func TestTheCallOfAnActionIsMadeOnceAndItsAnswerKept(t *testing.T) {
	h := newHouse(t)
	got := make(chan string, 1)
	h.later(hook(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Header.Get("Authorization") + " " + string(body)
		_, _ = io.WriteString(w, ` {"id": 3} `)
	}), 5)
	h.callers("node")
	id := h.asked()
	require.Equal(t, `theirs {"action":{"name":"later"},"input":{"n":1},"session_variables":{"x-service-role":"user","x-service-user-id":"7"}}`, <-got)
	h.empty()
	require.Equal(t, `completed {"id":3} {}`, h.kept(id))
	require.Equal(t, []string{"attempt delivered 1 1 200 false"}, h.story(id))
}

func TestWhatAHandlerDidWrongIsTheResultAndNotTriedAgain(t *testing.T) {
	h := newHouse(t)
	var calls atomic.Int32
	h.later(hook(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"message":"no","code":"mine"}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"1","x":2}`)
	}), 5)
	stop := h.callers("node")
	refused := h.asked()
	h.empty()
	require.Equal(t, `error mine no {}`, h.kept(refused))
	require.Equal(t, []string{"attempt failed 1 1 400 false"}, h.story(refused))
	wrong := h.asked()
	h.empty()
	require.Equal(t, `error unexpected unexpected fields in webhook response: x {}`, h.kept(wrong))
	require.EqualValues(t, 2, calls.Load())
	stop()

	h.unanswered(t)
	h.callers("another")
	silent := h.asked()
	h.empty()
	require.Equal(t, `error unexpected http exception when calling webhook {}`, h.kept(silent))
	require.Equal(t, []string{"attempt failed 1 1 1000 false"}, h.story(silent))
}

// unanswered has the action's handler be where nobody listens.
func (h *house) unanswered(t *testing.T) {
	url := hook(t, func(http.ResponseWriter, *http.Request) {})
	h.call(fmt.Sprintf(`{"type":"update_action","args":{"name":"later","definition":{"kind":"asynchronous","handler":%q,"output_type":"thing"}}}`,
		url[:len("http://127.0.0.1:")]+"1"))
}

func TestACallWhoseNodeDiedIsMadeByAnother(t *testing.T) {
	h := newHouse(t)
	var calls atomic.Int32
	held := make(chan struct{})
	h.later(hook(t, func(w http.ResponseWriter, _ *http.Request) {
		n := calls.Add(1)
		if n == 1 {
			<-held
		}
		_, _ = fmt.Fprintf(w, `{"id":%d}`, n)
	}), 30)
	stop := h.callers("first")
	id := h.asked()
	h.eventually(1, `select count(*) from annals.action_log where status = 'processing'`)
	h.eventually(1, `select count(*) from annals.delivery_queue where leased_by = 'first'`)
	h.exec(`update annals.delivery_queue set available_at = now()`) // the lease runs out
	h.callers("second")
	h.empty()
	close(held)
	stop()
	require.Equal(t, `completed {"id":2} {}`, h.kept(id), "what the first learned late changes nothing")
	require.Equal(t, []string{"attempt delivered 1 1 200 false"}, h.story(id))
}

func TestACallThatANodeCannotFinishIsGivenBack(t *testing.T) {
	h := newHouse(t)
	held := make(chan struct{})
	defer close(held)
	h.later(hook(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}), 30)
	stop := h.callers("node")
	id := h.asked()
	h.eventually(1, `select count(*) from annals.action_log where status = 'processing'`)
	stop()
	h.eventually(1, `select count(*) from annals.delivery_queue where leased_by is null and tries = 0`)
	require.Empty(t, h.story(id))
	require.Contains(t, h.kept(id), "processing")
}

func TestACallWithoutItsActionRestsAndOneThatWasClearedIsDropped(t *testing.T) {
	h := newHouse(t)
	h.later(answering(t, 200), 5)
	cleared, waits := h.asked(), h.asked()
	h.exec(`delete from annals.action_log where id = $1`, cleared)
	h.exec(`update annals.deliveries set trigger = 'gone' where id = $1`, waits)
	h.callers("node")
	h.eventually(1, `select count(*) from annals.delivery_queue where leased_by is null and available_at > now() + interval '50 s'`)
	h.eventually(1, `select count(*) from annals.delivery_queue`)
	require.Equal(t, []string{"dropped 1 0 false"}, h.story(cleared))
	require.Empty(t, h.story(waits))
}
