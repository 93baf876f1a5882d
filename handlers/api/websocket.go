package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"annals/domain"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// Subscriptions begins operations, and keeps those that are subscriptions.
type Subscriptions interface {
	Begin(context.Context, execution.Request) (execution.Begun, error)
	// Subscribe has notify called when there is something to take.
	Subscribe(ctx context.Context, r execution.Request, notify func()) (*livequery.Subscription, error)
}

// Sockets says how websockets are kept. Zero is the default of each.
type Sockets struct {
	// KeepAlive is the time between two signs of life.
	KeepAlive time.Duration
	// InitTimeout is how long a client may take to say who it is.
	InitTimeout time.Duration
	// WriteTimeout is how long a client may take to take in one message.
	WriteTimeout time.Duration
	// MaxConnections is how many websockets may be open on this node.
	MaxConnections int
	// MaxOperations is how many operations of one client may run at once.
	MaxOperations int
	// MaxMessageBytes is how long a message of a client may be. Before it has said
	// who it is, it is [MaxIntroductionBytes] at most.
	MaxMessageBytes int64
	// ReadCookie believes the cookies of a handshake although no CORS settings
	// protect them.
	ReadCookie bool
	// Compress has messages compressed, for clients that can read that.
	Compress bool
}

// The defaults of [Sockets].
const (
	DefaultKeepAlive       = 5 * time.Second
	DefaultInitTimeout     = 10 * time.Second
	DefaultWriteTimeout    = 30 * time.Second
	DefaultMaxConnections  = 10_000
	DefaultMaxOperations   = 1000
	DefaultMaxMessageBytes = 16 << 20
)

// MaxIntroductionBytes is how long a message of a client may be that has not said who it is.
const MaxIntroductionBytes = MaxHeaderBytes

func (s Sockets) withDefaults() Sockets {
	setDefault(&s.KeepAlive, DefaultKeepAlive)
	setDefault(&s.InitTimeout, DefaultInitTimeout)
	setDefault(&s.WriteTimeout, DefaultWriteTimeout)
	setDefault(&s.MaxConnections, DefaultMaxConnections)
	setDefault(&s.MaxOperations, DefaultMaxOperations)
	setDefault(&s.MaxMessageBytes, DefaultMaxMessageBytes)
	return s
}

// webSocket answers GraphQL operations over a websocket: what [graphQL] does for one
// request, it does for as many as the client sends, and for subscriptions.
type webSocket struct {
	graphQL
	subscriptions Subscriptions
	// present is an error as the endpoint spells it, alone and in a list.
	present func(problem) errorForm
}

// errorForm is an error in the two places that it can have.
type errorForm struct{ alone, listed any }

func presentGraphQL(p problem) errorForm {
	body := graphQLErrors(p)
	return errorForm{body, body.Errors[0]}
}

// presentBare is how /v1alpha1/graphql spells errors over websockets.
func presentBare(p problem) errorForm { return errorForm{p, p} }

// errOrigin and errNoSocket are the refusals of a handshake.
var (
	errOrigin   = domain.RefuseAt("$", domain.AccessDenied, "received origin header does not match configured CORS domains")
	errNoSocket = &noSuchResource{"only '/v1/graphql', '/v1alpha1/graphql' and '/v1beta1/relay' are supported on websockets"}
)

func errTooManySockets(most int) error {
	return domain.RefuseAt("$", domain.Busy,
		"%d websockets are open on this node, which is all it may have: close some, ask another node, or raise --websocket-max-connections", most)
}

func wantsSocket(r *http.Request) bool {
	return strings.EqualFold(strings.TrimSpace(r.Header.Get("Upgrade")), "websocket")
}

// ServeHTTP implements [http.Handler]: it is the handshake.
func (e webSocket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !wantsSocket(r) {
		e.notFound(w, r)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && !e.cfg.CORS.disabled && !e.cfg.CORS.allows(origin) {
		e.reject(w, r, e.problemOf(r, errOrigin))
		return
	}
	if most := e.cfg.Sockets.MaxConnections; !e.sockets.reserve(most) {
		p := e.problemOf(r, errTooManySockets(most))
		p.status = http.StatusServiceUnavailable
		e.reject(w, r, p)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{transportProtocol, legacyProtocol},
		InsecureSkipVerify: true, // the origin was looked at above
		CompressionMode:    e.compression(),
	})
	if err != nil {
		e.sockets.release()
		return // it is answered
	}
	conn.SetReadLimit(-1) // the socket limits what it reads itself, and says how
	s := e.newSocket(conn, r)
	if !e.sockets.enter(s) {
		s.close(websocket.StatusGoingAway, stopping)
		e.sockets.release()
		return
	}
	// The request ends here, with its log line; the connection lives on.
	go func() {
		defer e.sockets.leave(s)
		s.serve()
	}()
}

// reject answers a handshake with an error.
func (e webSocket) reject(w http.ResponseWriter, r *http.Request, p problem) {
	e.logRejected(r, p)
	answer(w, p.status, encode(graphQLErrors(p)))
}

func (e webSocket) compression() websocket.CompressionMode {
	if e.cfg.Sockets.Compress {
		return websocket.CompressionNoContextTakeover
	}
	return websocket.CompressionDisabled
}

func (e webSocket) newSocket(conn *websocket.Conn, r *http.Request) *socket {
	s := &socket{
		webSocket: e, conn: conn, speaks: dialectOf(conn.Subprotocol()), handshake: r, id: uuid.NewString(),
		news: make(chan struct{}, 1), running: map[string]*ongoing{},
	}
	s.alive, s.end = context.WithCancel(context.WithoutCancel(r.Context()))
	return s
}

// sockets are the websockets that are open on this node.
type sockets struct {
	mu     sync.Mutex
	closed bool
	taken  int // places, those of handshakes under way among them
	open   map[*socket]struct{}
	wait   sync.WaitGroup
}

// reserve takes a place for a websocket that is to be opened, if one is free.
func (all *sockets) reserve(most int) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.taken >= most {
		return false
	}
	all.taken++
	return true
}

// release gives up the place of a websocket that was not opened.
func (all *sockets) release() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.taken--
}

// enter counts a socket in, unless the node is being stopped.
func (all *sockets) enter(s *socket) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	if all.open == nil {
		all.open = map[*socket]struct{}{}
	}
	all.open[s] = struct{}{}
	all.wait.Add(1)
	return true
}

func (all *sockets) leave(s *socket) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, s)
	all.taken--
	all.wait.Done()
}

// meter is how many there are, as a metric.
func (all *sockets) meter() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "annals_websockets", Help: "Websockets that are open."}, func() float64 {
		all.mu.Lock()
		defer all.mu.Unlock()
		return float64(len(all.open))
	})
}

const stopping = "the server is being stopped"

// StopSockets ends all websockets, and waits for them: subscriptions end at once, queries
// and mutations come to their end, or to that of the context. No new one is
// accepted. An http.Server's Shutdown knows nothing of websockets.
func (a *API) StopSockets(ctx context.Context) {
	a.sockets.mu.Lock()
	a.sockets.closed = true
	for s := range a.sockets.open {
		go s.stop(ctx)
	}
	a.sockets.mu.Unlock()
	a.sockets.wait.Wait()
}
