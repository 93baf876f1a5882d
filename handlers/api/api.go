package api

import (
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"annals/handlers/api/auth"
)

// Deps is what the API works with. All of it is needed.
type Deps struct {
	Auth     auth.Authenticator
	Commands Commands
	// Operations answers GraphQL; nil leaves its endpoints out.
	Operations Operations
	// Subscriptions keeps subscriptions, for websockets; nil leaves them out.
	Subscriptions Subscriptions
	// Explainer explains what Operations answers; nil leaves its endpoints out.
	Explainer Explainer
	// Past is asked for the metadata that an operation is explained under.
	Past    Past
	History History
	// Deliveries is the book of webhook deliveries; nil leaves its endpoints out.
	Deliveries Deliveries
	State      State
	// Dumper answers pg_dump; nil leaves its endpoint out.
	Dumper Dumper
	// Registry gets the API's metrics, and is what /metrics shows.
	Registry *prometheus.Registry
	// Log takes the lines of the log.
	Log Log
}

// API answers HTTP requests. Make one with [New], and have [API.Watch] run
// beside it.
type API struct {
	cfg        Config
	auth       auth.Authenticator
	commands   Commands
	operations Operations
	live       Subscriptions
	explainer  Explainer
	past       Past
	history    History
	deliveries Deliveries
	state      State
	dumper     Dumper
	registry   *prometheus.Registry
	log        Log

	router  *chi.Mux
	handler http.Handler
	meters  meters
	gzip    gzipPool
	health  atomic.Pointer[health]
	// looked is closed after the first look at the database.
	looked     chan struct{}
	firstLooks sync.Once
	sockets    sockets
}

// New returns the API of a service. It registers its metrics, so a registry
// serves one API.
func New(cfg Config, deps Deps) *API {
	a := &API{
		cfg: cfg.withDefaults(), auth: deps.Auth, commands: deps.Commands,
		operations: deps.Operations, live: deps.Subscriptions, explainer: deps.Explainer, past: deps.Past, history: deps.History, deliveries: deps.Deliveries,
		state: deps.State, dumper: deps.Dumper, registry: deps.Registry, log: deps.Log, meters: newMeters(deps.Registry),
	}
	a.looked = make(chan struct{})
	a.registry.MustRegister(a.sockets.meter())
	a.health.Store(&health{err: errNotLookedYet})
	a.router = a.routes()
	a.handler = a.behindProxies(a.tell(a.router))
	return a
}

// ServeHTTP implements [http.Handler].
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// routes is the list of endpoints.
func (a *API) routes() *chi.Mux {
	r := chi.NewRouter()
	r.Use(a.recover, a.cors, middleware.GetHead)
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.notFound)

	r.Get("/v1/version", a.version)
	r.Get(healthzPath, a.healthz)
	r.Get(readyzPath, a.readyz)
	r.Get(metricsPath, a.metrics())
	if a.serves(PartMetadata) {
		r.Post("/v1/query", a.query)
		r.Post("/v1/metadata", a.query)
		r.Post("/api/1/table/{table}/{operation}", a.rowQuery)
		r.Get("/v1/audit/events", a.admin(a.auditEvents))
		r.Get("/v1/audit/events/{position}", a.admin(a.auditEvent))
		r.Get("/v1/audit/objects/{kind}/{key}/history", a.admin(a.auditObject))
		r.Get("/v1/audit/verify", a.admin(a.auditVerify))
	}
	if a.serves(PartMetadata) && a.deliveries != nil {
		r.Get("/v1/audit/deliveries", a.admin(a.auditDeliveries))
		r.Get("/v1/audit/deliveries/{event_id}", a.admin(a.auditDelivery))
	}
	if a.serves(PartMetadata) && a.explainer != nil {
		r.Post("/v1/graphql/explain", a.admin(a.explain))
		r.Post("/v1alpha1/graphql/explain", a.admin(a.explain))
	}
	if a.serves(PartGraphQL) && a.operations != nil {
		r.Method(http.MethodPost, "/v1/graphql", graphQL{a, a.operations, alwaysOK})
		r.Method(http.MethodPost, "/v1alpha1/graphql", graphQL{a, a.operations, asItIs})
		r.Method(http.MethodPost, "/v1beta1/relay", graphQL{a, noRelay{}, alwaysOK})
	}
	if a.operations != nil && a.live != nil {
		r.Method(http.MethodGet, "/v1/graphql", webSocket{graphQL{a, a.operations, alwaysOK}, a.live, presentGraphQL})
		r.Method(http.MethodGet, "/v1alpha1/graphql", webSocket{graphQL{a, a.operations, asItIs}, a.live, presentBare})
		r.Method(http.MethodGet, "/v1beta1/relay", webSocket{graphQL{a, noRelay{}, alwaysOK}, noRelay{}, presentGraphQL})
	}
	if a.serves(PartPGDump) && a.dumper != nil {
		r.Post("/v1alpha1/pg_dump", a.admin(a.pgDump))
	}
	if a.serves(PartConfig) {
		r.Get("/v1alpha1/config", a.admin(a.config))
	}
	return r
}

// The endpoints that machines ask all the time.
const (
	healthzPath = "/healthz"
	readyzPath  = "/readyz"
	metricsPath = "/metrics"
)

func (a *API) serves(p Part) bool { return slices.Contains(a.cfg.APIs, p) }

// behindProxies finds out where requests come from that trusted proxies send on.
func (a *API) behindProxies(next http.Handler) http.Handler {
	if len(a.cfg.TrustedProxies) == 0 {
		return next
	}
	var prefixes []string
	for _, p := range a.cfg.TrustedProxies {
		prefixes = append(prefixes, p.String())
	}
	return middleware.ClientIPFromXFF(prefixes...)(next)
}

// clientOf is where a request comes from; the zero address where that is not known.
func (a *API) clientOf(r *http.Request) netip.Addr {
	if len(a.cfg.TrustedProxies) > 0 {
		return middleware.GetClientIPAddr(r.Context())
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // a tool in this process has none
	return peer.Addr().Unmap()
}

// notFound answers for every path and method that is not served.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	if wantsSocket(r) {
		a.refuse(w, r, errNoSocket)
		return
	}
	a.refuse(w, r, &noSuchResource{"resource does not exist"})
}
