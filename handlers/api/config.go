package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Config says how the API behaves. The zero value of each field is usable;
// what it stands for is written beside it.
type Config struct {
	// Version is what the service calls itself. Empty: "dev".
	Version string
	// APIs are the parts that are served. Nil: [DefaultAPIs].
	APIs []Part
	// Report is what the config API tells, besides the version.
	Report Report
	// CORS says which pages of other origins may call. Zero: all.
	CORS CORS

	// GuardCookies has cookies of other sites' pages left out of account, unless
	// CORS names their origins. It is for where a cookie lets its bearer in.
	GuardCookies bool

	// Sockets says how websockets are kept.
	Sockets Sockets

	// MaxBodyBytes is how large a request's body may be. 0: [DefaultMaxBodyBytes].
	MaxBodyBytes int64
	// MaxBatch is how many operations one request of GraphQL may have. 0:
	// [DefaultMaxBatch].
	MaxBatch int
	// AnswerTimeout is how long a client may take to take in each piece of an
	// answer, of [AnswerPieceBytes]. 0: [DefaultAnswerTimeout].
	AnswerTimeout time.Duration
	// MinVersionWait is how long a request waits for this node to reach the
	// version it names. 0: [DefaultMinVersionWait].
	MinVersionWait time.Duration
	// HealthInterval is the time between two looks at the database. 0:
	// [DefaultHealthInterval].
	HealthInterval time.Duration
	// HealthTimeout is how long the database may take to answer such a look.
	// 0: [DefaultHealthTimeout].
	HealthTimeout time.Duration
	// ReadyLag is how many events this node may be behind the history and
	// still call itself ready. 0: [DefaultReadyLag].
	ReadyLag int64

	// LogQueries writes a line with the text of each GraphQL operation, and with
	// the SQL that answers it: see [LineQuery].
	LogQueries bool

	// DevMode shows every caller the internal details of errors.
	DevMode bool
	// HideInternal keeps the internal details of errors from admins as well.
	HideInternal bool
	// ProtectMetrics makes /metrics answer admins only.
	ProtectMetrics bool
	// TrustedProxies are the addresses of reverse proxies whose
	// X-Forwarded-For is believed. Empty: the peer of the connection is the
	// client.
	TrustedProxies []netip.Prefix
}

// Defaults of [Config].
const (
	DefaultMaxBodyBytes   = 100 << 20
	DefaultMaxBatch       = 1000
	DefaultAnswerTimeout  = 30 * time.Second
	DefaultMinVersionWait = 10 * time.Second
	DefaultHealthInterval = time.Second
	DefaultHealthTimeout  = 2 * time.Second
	DefaultReadyLag       = 100
)

// Timeouts and limits of what a client may send. None of them limits how long an
// operation may run: operations have limits of their own.
const (
	ReadHeaderTimeout = 10 * time.Second
	ReadTimeout       = 5 * time.Minute
	IdleTimeout       = 2 * time.Minute
	MaxHeaderBytes    = 64 << 10
)

// Server returns a server of the API that gives up clients who are slow, and
// takes no more of each than it may send. It does not listen yet.
func (a *API) Server() *http.Server {
	return &http.Server{
		Handler: a, ReadHeaderTimeout: ReadHeaderTimeout, ReadTimeout: ReadTimeout,
		IdleTimeout: IdleTimeout, MaxHeaderBytes: MaxHeaderBytes,
	}
}

func (c Config) withDefaults() Config {
	setDefault(&c.Version, "dev")
	setDefault(&c.MaxBodyBytes, DefaultMaxBodyBytes)
	setDefault(&c.MaxBatch, DefaultMaxBatch)
	setDefault(&c.AnswerTimeout, DefaultAnswerTimeout)
	setDefault(&c.MinVersionWait, DefaultMinVersionWait)
	setDefault(&c.HealthInterval, DefaultHealthInterval)
	setDefault(&c.HealthTimeout, DefaultHealthTimeout)
	setDefault(&c.ReadyLag, DefaultReadyLag)
	c.Sockets = c.Sockets.withDefaults()
	if c.APIs == nil {
		c.APIs = DefaultAPIs()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Part is a part of the service that can be switched off.
type Part string

// The parts. Each is served only when it is among [Config.APIs].
const (
	PartMetadata  Part = "metadata"
	PartGraphQL   Part = "graphql"
	PartPGDump    Part = "pgdump"
	PartConfig    Part = "config"
	PartDeveloper Part = "developer"
)

// DefaultAPIs are the parts that are served when nothing else is said.
func DefaultAPIs() []Part { return []Part{PartMetadata, PartGraphQL, PartPGDump, PartConfig} }

// ParseAPIs reads a comma-separated list of parts, in any case. The list
// replaces the default.
func ParseAPIs(list string) ([]Part, error) {
	parts := []Part{}
	for item := range strings.SplitSeq(list, ",") {
		part := Part(strings.ToLower(strings.TrimSpace(item)))
		switch part {
		case PartMetadata, PartGraphQL, PartPGDump, PartConfig, PartDeveloper:
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		default:
			return nil, fmt.Errorf("%q: Only expecting list of comma separated API types metadata,graphql,pgdump,developer,config", item)
		}
	}
	return parts, nil
}
