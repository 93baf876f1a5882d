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
	DefaultMaxOperations   = 1000
	DefaultMaxMessageBytes = 16 << 20
)

// MaxIntroductionBytes is how long a message of a client may be that has not said who it is.
const MaxIntroductionBytes = MaxHeaderBytes

func (s Sockets) withDefaults() Sockets {
	setDefault(&s.KeepAlive, DefaultKeepAlive)
	setDefault(&s.InitTimeout, DefaultInitTimeout)
	setDefault(&s.WriteTimeout, DefaultWriteTimeout)
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
		p := e.problemOf(r, errOrigin)
		e.logRejected(r, p)
		answer(w, p.status, encode(graphQLErrors(p)))
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{transportProtocol, legacyProtocol},
		InsecureSkipVerify: true, // the origin was looked at above
		CompressionMode:    e.compression(),
	})
	if err != nil {
		return // it is answered
	}
	conn.SetReadLimit(min(MaxIntroductionBytes, e.cfg.Sockets.MaxMessageBytes))
	s := e.newSocket(conn, r)
	if !e.sockets.enter(s) {
		s.close(websocket.StatusGoingAway, stopping)
		return
	}
	// The request ends here, with its log line; the connection lives on.
	go func() {
		defer e.sockets.leave(s)
		s.serve()
	}()
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
	open   map[*socket]struct{}
	wait   sync.WaitGroup
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
