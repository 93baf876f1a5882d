package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// board is what subscriptions in these tests are about: one text, which everybody sees.
// "query ..." is answered with the caller, "query { long }" with very much, anything else is
// a subscription to the board.
type board struct {
	mu     sync.Mutex
	text   string
	failed error
	heard  []execution.Client // of each operation that was begun
}

func (b *board) write(text string, failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text, b.failed = text, failed
}

func (b *board) Run(context.Context, execution.Request) ([]byte, error) { return nil, nil }

func (b *board) Begin(_ context.Context, r execution.Request) (execution.Begun, error) {
	b.mu.Lock()
	b.heard = append(b.heard, r.Client)
	b.mu.Unlock()
	if !strings.HasPrefix(r.Query.Query, "query") {
		return execution.Begun{Kind: plan.Subscription}, nil
	}
	return execution.Begun{Kind: plan.Query, Run: func(context.Context) ([]byte, error) {
		if r.Query.Query == "query { long }" {
			return append(bytes.Repeat([]byte(" "), 64<<20), '0'), nil
		}
		return fmt.Appendf(nil, `{"data":{"role":%q}}`, r.Session.Role), nil
	}}, nil
}

func (b *board) PrepareLive(context.Context, execution.Request) (*execution.Live, error) {
	return &execution.Live{Shape: &execution.Shape{ID: sha256.Sum256(nil)}}, nil
}

func (b *board) IsCurrent(*execution.Live) bool { return true }

func (b *board) AnswerLive(_ context.Context, all []*execution.Live) ([][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answers := make([][]byte, len(all))
	for i := range answers {
		answers[i] = fmt.Appendf(nil, `{"data":{"text":%q}}`, b.text)
	}
	return answers, b.failed
}

// kept begins with the board, and keeps with a hub.
type kept struct {
	*board
	*livequery.Hub
}

// authenticator tells who has sent headers.
type authenticator func(http.Header) (auth.Caller, error)

func (a authenticator) Authenticate(_ context.Context, h http.Header) (auth.Caller, error) {
	return a(h)
}

func byRole(h http.Header) (auth.Caller, error) {
	return auth.Caller{Session: domain.Session{Role: h.Get("X-Hasura-Role")}}, nil
}

// following is a service with websockets and subscriptions to a board.
type following struct {
	*board
	hub *livequery.Hub
	url string
}

func followed(t *testing.T, c api.Config, who authenticator) following {
	t.Helper()
	f := following{board: &board{text: "one"}}
	f.hub = livequery.New(f.board, livequery.Config{Interval: 5 * time.Millisecond})
	t.Cleanup(f.hub.Close)
	a := api.New(c, api.Deps{
		Auth: who, Commands: &commands{}, Operations: f.board, Subscriptions: kept{f.board, f.hub},
		State: &state{}, Registry: prometheus.NewRegistry(), Log: new(lines).take,
	})
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		a.StopSockets(t.Context())
		server.Close()
	})
	f.url = server.URL
	return f
}

// speaks is a client that is let in.
func (f following) speaks(t *testing.T, path, protocol string) client {
	t.Helper()
	c := dialWith(t, f.url+path, http.Header{}, protocol)
	c.says(`{"type":"connection_init","payload":{"headers":{"X-Hasura-Role":"user"}}}`)
	c.hears(ack)
	return c
}

const (
	legacy  = "graphql-ws"
	current = "/v1/graphql"
	alpha   = "/v1alpha1/graphql"
)

func TestASubscriberHearsOfChangesUntilItStops(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{}, byRole)
	for protocol, words := range map[string]struct{ start, data, stop string }{
		legacy: {"start", "data", "stop"}, transport: {"subscribe", "next", "complete"},
	} {
		f.write("one", nil)
		c := f.speaks(t, current, protocol)
		c.says(`{"type":"` + words.start + `","id":"a","payload":{"query":"subscription { text }"}}`)
		c.hears(`{"type":"` + words.data + `","id":"a","payload":{"data":{"text":"one"}}}`)
		f.write("two", nil)
		c.hears(`{"type":"` + words.data + `","id":"a","payload":{"data":{"text":"two"}}}`)
		c.says(`{"type":"`+words.stop+`","id":"a"}`, `{"type":"`+words.stop+`","id":"a"}`, `{"type":"`+words.stop+`","id":"unknown"}`)
		c.says(`{"type":"` + words.start + `","id":"a","payload":{"query":"query { role }"}}`)
		c.hears(`{"type":"`+words.data+`","id":"a","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"a"}`)
		require.Zero(t, f.hub.Stats(), "nobody asks for what nobody waits for")
	}
}

func TestAnErrorOfALaterAnswerIsToldAndTheNextAnswerToo(t *testing.T) {
	t.Parallel()
	broken := domain.RefuseAt("$", domain.DataException, "broken")
	for path, listed := range map[string]string{
		current: `{"extensions":{"path":"$","code":"data-exception"},"message":"broken"}`,
		alpha:   `{"path":"$","error":"broken","code":"data-exception"}`,
	} {
		f := followed(t, api.Config{}, byRole)
		c := f.speaks(t, path, legacy)
		c.says(`{"type":"start","id":"a","payload":{"query":"subscription { text }"}}`)
		c.hears(`{"type":"data","id":"a","payload":{"data":{"text":"one"}}}`)
		f.write("", &execution.Spoiled{Err: broken})
		c.hears(`{"type":"data","id":"a","payload":{"data":null,"errors":[` + listed + `]}}`)
		f.write("two", nil)
		c.hears(`{"type":"data","id":"a","payload":{"data":{"text":"two"}}}`)
	}
}

func TestAFirstAnswerThatIsRefusedEndsTheSubscription(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{}, byRole)
	f.write("", &execution.Spoiled{Err: domain.RefuseAt("$", domain.DataException, "a bad value")})
	c := f.speaks(t, current, transport)
	c.says(`{"type":"subscribe","id":"a","payload":{"query":"subscription { text }"}}`)
	c.hears(`{"type":"error","id":"a","payload":[{"extensions":{"path":"$","code":"data-exception"},"message":"a bad value"}]}`)
	c = f.speaks(t, alpha, legacy)
	c.says(`{"type":"start","id":"a","payload":{"query":"subscription { text }"}}`)
	c.hears(`{"type":"error","id":"a","payload":{"path":"$","error":"a bad value","code":"data-exception"}}`, `{"type":"complete","id":"a"}`)
	require.Zero(t, f.hub.Stats())
}

func TestSignsOfLifeComeBeforeAnythingElseAndRegularly(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{KeepAlive: 20 * time.Millisecond}}, byRole)
	c := dialWith(t, f.url+current, nil, legacy)
	for range 3 { // the client has said nothing yet
		_, frame, err := c.conn.Read(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"ka"}`, string(frame))
	}
	c = f.speaks(t, current, transport)
	_, frame, err := c.conn.Read(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ping"}`, string(frame))
}

func TestTheAcknowledgementIsFollowedByASignOfLife(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{KeepAlive: time.Hour}}, byRole)
	c := dialWith(t, f.url+current, nil, legacy)
	c.says(`{"type":"connection_init"}`)
	for _, want := range []string{`{"type":"ka"}`, ack, `{"type":"ka"}`} {
		_, frame, err := c.conn.Read(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, want, string(frame))
	}
}

func TestAClientMayIntroduceItselfAgainAndIsSomebodyElseThen(t *testing.T) {
	t.Parallel()
	var seen []http.Header
	f := followed(t, api.Config{}, func(h http.Header) (auth.Caller, error) {
		seen = append(seen, h) // one client, which waits for each answer
		return byRole(h)
	})
	c := dialWith(t, f.url+current, http.Header{"X-Hasura-Role": {"ignored"}, "X-Token": {"of the handshake"}}, legacy)
	const asked = `{"type":"start","id":"a","payload":{"query":"query { role }"}}`
	for _, role := range []string{"user", "other"} {
		c.says(`{"type":"connection_init","payload":{"headers":{"x-hasura-role":"`+role+`"}}}`, asked)
		c.hears(ack, `{"type":"data","id":"a","payload":{"data":{"role":"`+role+`"}}}`, `{"type":"complete","id":"a"}`)
	}
	require.Equal(t, []string{"of the handshake"}, seen[0]["X-Token"])
	require.NotContains(t, seen[1], "X-Token", "the handshake counts once")
	require.NotContains(t, f.heard[0].Header, "X-Token", "what others are sent of the client's headers is what it said itself")
	require.Equal(t, "user", f.heard[0].Header.Get("X-Hasura-Role"))
}

func TestTheHandshakesCookieIsBelievedWhereCORSProtectsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config api.Config
		want   string
	}{
		"with CORS":                    {api.Config{}, "session=1"},
		"without":                      {api.Config{CORS: api.NoCORS()}, ""},
		"without, and believed anyway": {api.Config{CORS: api.NoCORS(), Sockets: api.Sockets{ReadCookie: true}}, "session=1"},
	} {
		got := make(chan string, 1)
		f := followed(t, c.config, func(h http.Header) (auth.Caller, error) {
			got <- h.Get("Cookie")
			return byRole(h)
		})
		dialWith(t, f.url+current, http.Header{"Cookie": {"session=1"}}, legacy).says(`{"type":"connection_init"}`)
		require.Equal(t, c.want, <-got, name)
	}
}

func TestAStartAfterAFailedIntroductionSaysWhy(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{}, func(http.Header) (auth.Caller, error) {
		return auth.Caller{}, &auth.Denied{Message: "who are you"}
	})
	c := dialWith(t, f.url+current, nil, legacy)
	c.says(`{"type":"connection_init"}`, `{"type":"start","id":"1","payload":{"query":"query { role }"}}`)
	c.hears(`{"type":"connection_error","payload":"who are you"}`,
		`{"type":"error","id":"1","payload":{"errors":[{"extensions":{"path":"$","code":"start-failed"},"message":"cannot start as connection_init failed with : who are you"}]}}`,
		`{"type":"complete","id":"1"}`)
}

func TestWhatIsNoOperationIsRefusedAndTheConnectionStays(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{}, byRole)
	c := f.speaks(t, current, legacy)
	for payload, message := range map[string]string{
		`,"payload":[{"query":"query { role }"}]`: "parsing Object failed, expected Object, but encountered Array", // a batch
		`,"payload":{"variables":{}}`:             `key \"query\" not found`,
		``:                                        "parsing Object failed, expected Object, but encountered Null",
		`,"payload":{"query":"query { role }","variables":"{}"}`: "parsing HashMap failed, expected Object",
	} {
		c.says(`{"type":"start","id":"1"` + payload + `}`)
		kind, frame := c.next()
		require.Equal(t, "error", kind)
		require.Contains(t, frame, `"code":"parse-failed"},"message":"`+message+`"`)
		c.hears(`{"type":"complete","id":"1"}`)
	}
	for _, frame := range []string{`no JSON`, `[]`, `{"type":"stop"}`, `{"type":"start","payload":{"query":"query { role }"}}`, `{"type":"subscribe","id":"1"}`, `{"type":"connection_init","payload":[]}`} {
		c.says(frame)
		kind, got := c.next()
		require.Equal(t, "connection_error", kind, got)
		require.Contains(t, got, "parsing ClientMessage failed: ")
	}
}

func TestAConnectionEndsWithWhatItsClientShowed(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{}, func(h http.Header) (auth.Caller, error) {
		caller, err := byRole(h)
		caller.Expires = time.Now().Add(300 * time.Millisecond)
		return caller, err
	})
	for _, protocol := range []string{legacy, transport} {
		c := f.speaks(t, current, protocol)
		c.isClosed(4403)
	}
	require.Eventually(t, func() bool { return f.hub.Stats() == livequery.Stats{} }, time.Minute, time.Millisecond)
}

func TestAClientThatDoesNotIntroduceItselfIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{InitTimeout: 50 * time.Millisecond}}, byRole)
	dialWith(t, f.url+current, nil, transport).isClosed(4408)
	dialWith(t, f.url+current, nil, legacy).isClosed(4408)
}

func TestAClientThatIsDeniedIsNotWaitedForEither(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{InitTimeout: 100 * time.Millisecond}}, func(h http.Header) (auth.Caller, error) {
		if h.Get("Known") == "" {
			return auth.Caller{}, &auth.Denied{Message: "who are you"}
		}
		return byRole(h)
	})
	c := dialWith(t, f.url+current, nil, legacy)
	c.says(`{"type":"connection_init"}`)
	c.hears(`{"type":"connection_error","payload":"who are you"}`)
	c.isClosed(4403)
	c = dialWith(t, f.url+current, nil, legacy)
	c.says(`{"type":"connection_init","payload":{"headers":{"Known":"yes"}}}`)
	c.hears(ack)
	c.says(`{"type":"connection_init","payload":{"headers":{}}}`) // known no more
	c.hears(`{"type":"connection_error","payload":"who are you"}`)
	c.isClosed(4403)
}

func TestANodeHasSoManyWebsockets(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{MaxConnections: 1}}, byRole)
	dialed := func() (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(t.Context(), strings.Replace(f.url, "http", "ws", 1)+current, &websocket.DialOptions{Subprotocols: []string{transport}})
	}
	first := dialWith(t, f.url+current, nil, transport)
	_, refused, err := dialed()
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	body, err := io.ReadAll(refused.Body)
	require.NoError(t, err)
	require.Equal(t, `{"errors":[{"extensions":{"path":"$","code":"busy"},"message":"1 websockets are open on this node, which is all it may have: close some, ask another node, or raise --websocket-max-connections"}]}`, string(body))
	require.NoError(t, first.conn.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool {
		conn, _, err := dialed()
		if err == nil {
			_ = conn.CloseNow()
		}
		return err == nil
	}, time.Minute, time.Millisecond, "the place is free again")
}

func TestAHandshakeThatFailsTakesNoPlace(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{MaxConnections: 1}}, byRole)
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+current, nil)
		require.NoError(t, err)
		request.Header.Set("Upgrade", "websocket") // and nothing else of a handshake
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.NotEqual(t, http.StatusServiceUnavailable, answer.StatusCode)
	}
	f.speaks(t, current, transport)
}

func TestAMessageMayBeSoLong(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{MaxMessageBytes: 1 << 20}}, byRole)
	long := func(bytes int) string {
		return `{"type":"start","id":"1","payload":{"query":"query { role }` + strings.Repeat(" ", bytes) + `"}}`
	}
	c := dialWith(t, f.url+current, nil, legacy)
	c.says(long(api.MaxIntroductionBytes))
	c.isClosedFor(websocket.StatusMessageTooBig, "a message may have at most 65536 bytes: more is read of those who were let in")
	c = f.speaks(t, current, legacy)
	c.says(long(api.MaxIntroductionBytes))
	c.hears(`{"type":"data","id":"1","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"1"}`)
	c.says(long(1 << 20))
	c.isClosedFor(websocket.StatusMessageTooBig, "a message may have at most 1048576 bytes: send less, or raise --websocket-max-message-size")
}

func TestAConnectionHasSoManyOperations(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{MaxOperations: 1}}, byRole)
	c := f.speaks(t, current, legacy)
	c.says(`{"type":"start","id":"1","payload":{"query":"subscription { text }"}}`)
	c.hears(`{"type":"data","id":"1","payload":{"data":{"text":"one"}}}`)
	c.says(`{"type":"start","id":"2","payload":{"query":"subscription { text }"}}`)
	c.hears(`{"type":"error","id":"2","payload":{"errors":[{"extensions":{"path":"$","code":"start-failed"},"message":"1 operations run over this connection already, which is all it may have: stop some, open another, or raise --websocket-max-operations"}]}}`,
		`{"type":"complete","id":"2"}`)
}

func TestAnOperationThatWasStoppedCountsUntilItHasLetGoOfItsAnswer(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{MaxOperations: 1, KeepAlive: time.Hour}}, byRole)
	c := f.speaks(t, current, transport)
	c.conn.SetReadLimit(-1)
	c.says(`{"type":"subscribe","id":"a","payload":{"query":"query { long }"}}`)
	_, answer, err := c.conn.Reader(t.Context()) // it is on its way, and too long for the buffers of both ends
	require.NoError(t, err)
	c.says(`{"type":"complete","id":"a"}`, `{"type":"subscribe","id":"b","payload":{"query":"query { role }"}}`)
	_, err = io.Copy(io.Discard, answer)
	require.NoError(t, err)
	c.hears(`{"type":"complete","id":"a"}`)
	kind, frame := c.next()
	require.Equal(t, "error", kind, frame)
	require.Contains(t, frame, "1 operations run over this connection already")
}

func TestAClientThatTakesNothingInIsGivenUp(t *testing.T) {
	t.Parallel()
	f := followed(t, api.Config{Sockets: api.Sockets{WriteTimeout: 100 * time.Millisecond}}, byRole)
	slow, other := f.speaks(t, current, transport), f.speaks(t, current, transport)
	for _, c := range []client{slow, other} {
		c.says(`{"type":"subscribe","id":"a","payload":{"query":"subscription { text }"}}`)
		c.conn.SetReadLimit(-1)
	}
	stopped := make(chan struct{})
	go func() { // more than the buffers of both ends can hold
		defer close(stopped)
		for i := 0; f.hub.Stats().Subscribers > 1; i++ {
			f.write(fmt.Sprint(i)+strings.Repeat("x", 1<<20), nil)
			_, _ = other.next()
		}
	}()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Fatal("the slow client is still waited for")
	}
	f.write("the end", nil)
	for kind, frame := other.next(); ; kind, frame = other.next() {
		require.Equal(t, "next", kind)
		if strings.Contains(frame, "the end") {
			break
		}
	}
}

// next reads the next message that is no sign of life.
func (c client) next() (kind, text string) {
	c.t.Helper()
	for {
		_, frame, err := c.conn.Read(c.t.Context())
		require.NoError(c.t, err)
		text = string(frame)
		if kind, _, _ = strings.Cut(strings.TrimPrefix(text, `{"type":"`), `"`); kind != "ka" && kind != "ping" {
			return kind, text
		}
	}
}
