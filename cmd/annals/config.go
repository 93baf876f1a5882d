package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
	"annals/domain/graphql"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/command"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
	"annals/handlers/outbound"
	"annals/handlers/workers/deliver"
	"annals/migrations/localpg"
)

// Database says which database to use. None of its flags given means a
// PostgreSQL of our own, in DataDir.
type Database struct {
	DatabaseURL string `name:"database-url" env:"SERVICE_GRAPHQL_DATABASE_URL,HASURA_GRAPHQL_DATABASE_URL" help:"URL of the PostgreSQL database. Without it, annals starts a PostgreSQL of its own in --data-dir." placeholder:"URL"`
	Host        string `help:"Host of the database, instead of --database-url." placeholder:"NAME"`
	Port        int    `help:"Port of the database, with --host." default:"5432"`
	User        string `help:"User of the database, with --host." placeholder:"NAME"`
	Password    string `help:"Password of the database, with --host." placeholder:"TEXT"`
	DBName      string `name:"dbname" help:"Name of the database, with --host." placeholder:"NAME"`
	DataDir     string `env:"SERVICE_GRAPHQL_DATA_DIR,HASURA_GRAPHQL_DATA_DIR" help:"Folder of annals' own PostgreSQL, used when no database is given. Default: annals in the folder for state of this user." placeholder:"DIR"`
	PostgresBin string `env:"SERVICE_GRAPHQL_POSTGRES_BIN,HASURA_GRAPHQL_POSTGRES_BIN" help:"Folder of the PostgreSQL server programs for annals' own PostgreSQL. Default: they are looked for." placeholder:"DIR"`

	PGDump        string   `name:"pg-dump" env:"SERVICE_GRAPHQL_PG_DUMP,HASURA_GRAPHQL_PG_DUMP" help:"The program pg_dump, at least as new as the database, for /v1alpha1/pg_dump. Default: it is looked for." placeholder:"FILE"`
	PGDumpTimeout duration `name:"pg-dump-timeout" env:"SERVICE_GRAPHQL_PG_DUMP_TIMEOUT,HASURA_GRAPHQL_PG_DUMP_TIMEOUT" help:"Longest time one dump may take." default:"10m"`

	Retries      int      `env:"SERVICE_GRAPHQL_NO_OF_RETRIES,HASURA_GRAPHQL_NO_OF_RETRIES" help:"How often to try again to connect at the start, one second apart." default:"1"`
	Connections  int32    `short:"c" env:"SERVICE_GRAPHQL_PG_CONNECTIONS,HASURA_GRAPHQL_PG_CONNECTIONS" help:"Most connections to the database at once; a quarter of them is kept for the metadata. Short operations are fastest with few, such as six for each processor of the database." default:"50"`
	IdleTimeout  duration `name:"timeout" env:"SERVICE_GRAPHQL_PG_TIMEOUT,HASURA_GRAPHQL_PG_TIMEOUT" help:"How long a connection that nobody uses is kept." default:"180s"`
	ConnLifetime duration `env:"SERVICE_GRAPHQL_PG_CONN_LIFETIME,HASURA_GRAPHQL_PG_CONN_LIFETIME" help:"Longest life of a connection, such as 10m. 0 means no limit." default:"0"`
}

// url returns the database's URL; empty when annals is to bring its own.
func (d Database) url() string {
	if d.DatabaseURL != "" || d.Host == "" {
		return d.DatabaseURL
	}
	u := url.URL{Scheme: "postgres", Host: d.Host + ":" + strconv.Itoa(d.Port), Path: "/" + d.DBName}
	if d.User != "" {
		u.User = url.UserPassword(d.User, d.Password)
	}
	return u.String()
}

// dataDir is where annals' own PostgreSQL lives.
func (d Database) dataDir() (string, error) {
	if d.DataDir != "" {
		return filepath.Abs(d.DataDir)
	}
	dir, err := localpg.DefaultDataDir()
	if err != nil {
		return "", fmt.Errorf("%w; name one with --data-dir", err)
	}
	return dir, nil
}

// Serve is the settings of `annals serve`. Each has a flag and an environment
// variable, in two spellings; the flag wins.
type Serve struct {
	Database `embed:"" group:"Database"`

	ServerPort  int      `env:"SERVICE_GRAPHQL_SERVER_PORT,HASURA_GRAPHQL_SERVER_PORT" help:"Port to serve on. 0 takes a free one." default:"8080" group:"Server"`
	ServerHost  string   `env:"SERVICE_GRAPHQL_SERVER_HOST,HASURA_GRAPHQL_SERVER_HOST" help:"Address to serve on; * means all." default:"*" group:"Server"`
	EnabledAPIs apiNames `name:"enabled-apis" env:"SERVICE_GRAPHQL_ENABLED_APIS,HASURA_GRAPHQL_ENABLED_APIS" help:"APIs to serve, separated by commas: ${apis}." default:"metadata,graphql,pgdump,config" placeholder:"LIST" group:"Server"`
	CorsDomain  string   `env:"SERVICE_GRAPHQL_CORS_DOMAIN,HASURA_GRAPHQL_CORS_DOMAIN" help:"Origins that browsers may call from, separated by commas, such as https://*.example.org; * allows all." default:"*" group:"Server"`
	DisableCors toggle   `env:"SERVICE_GRAPHQL_DISABLE_CORS,HASURA_GRAPHQL_DISABLE_CORS" help:"Send no CORS headers." default:"false" group:"Server"`
	MaxBody     size     `name:"max-body-size" env:"SERVICE_GRAPHQL_MAX_BODY_SIZE,HASURA_GRAPHQL_MAX_BODY_SIZE" help:"Largest body of a request, such as 100MiB." default:"100MiB" group:"Server"`
	WaitLimit   duration `name:"min-version-wait" env:"SERVICE_GRAPHQL_MIN_VERSION_WAIT,HASURA_GRAPHQL_MIN_VERSION_WAIT" help:"How long a request with X-Service-Min-Version waits for this node." default:"10s" group:"Server"`
	AnswerLimit duration `name:"answer-timeout" env:"SERVICE_GRAPHQL_ANSWER_TIMEOUT,HASURA_GRAPHQL_ANSWER_TIMEOUT" help:"How long a client may take to take in each 64KiB of an answer, before it is given up." default:"30s" group:"Server"`
	Proxies     prefixes `name:"trusted-proxies" env:"SERVICE_GRAPHQL_TRUSTED_PROXIES,HASURA_GRAPHQL_TRUSTED_PROXIES" help:"Addresses of reverse proxies whose X-Forwarded-For is believed, separated by commas, such as 10.0.0.0/8. Without any, a request comes from whoever connected." default:"" placeholder:"LIST" group:"Server"`
	HealthEvery duration `name:"health-interval" env:"SERVICE_GRAPHQL_HEALTH_INTERVAL,HASURA_GRAPHQL_HEALTH_INTERVAL" help:"Time between two looks at the database, which /healthz and /readyz answer from." default:"1s" group:"Server"`
	HealthLimit duration `name:"health-timeout" env:"SERVICE_GRAPHQL_HEALTH_TIMEOUT,HASURA_GRAPHQL_HEALTH_TIMEOUT" help:"How long the database may take to answer such a look." default:"2s" group:"Server"`
	ReadyLag    int64    `name:"ready-lag" env:"SERVICE_GRAPHQL_READY_LAG,HASURA_GRAPHQL_READY_LAG" help:"How many events this node may be behind the history and still be ready." default:"100" group:"Server"`
	StopLimit   duration `name:"stop-timeout" env:"SERVICE_GRAPHQL_STOP_TIMEOUT,HASURA_GRAPHQL_STOP_TIMEOUT" help:"How long running requests may take to end when the server stops." default:"20s" group:"Server"`

	AdminSecret      string `env:"SERVICE_GRAPHQL_ADMIN_SECRET,HASURA_GRAPHQL_ADMIN_SECRET" help:"Secret that a request must carry to be the admin. Without one, everybody is." placeholder:"TEXT" group:"Access"`
	AdminSecretsFile string `env:"SERVICE_GRAPHQL_ADMIN_SECRETS_FILE,HASURA_GRAPHQL_ADMIN_SECRETS_FILE" help:"File of more admin secrets, a name, a space and a secret on each line. It is followed: secrets are added and removed while the server runs, and the history tells by name which one was shown." placeholder:"FILE" group:"Access"`
	AccessKey        string `env:"SERVICE_GRAPHQL_ACCESS_KEY,HASURA_GRAPHQL_ACCESS_KEY" help:"Old name of --admin-secret." placeholder:"TEXT" group:"Access"`
	JWTSecret        string `name:"jwt-secret" env:"SERVICE_GRAPHQL_JWT_SECRET,HASURA_GRAPHQL_JWT_SECRET" help:"How tokens (JWT) are verified, and where in them the session is: an object with type and key, or with jwk_url; needs --admin-secret." placeholder:"JSON" group:"Access"`
	AuthHook         string `env:"SERVICE_GRAPHQL_AUTH_HOOK,HASURA_GRAPHQL_AUTH_HOOK" help:"URL of a service that says who a request without a secret comes from; needs --admin-secret." placeholder:"URL" group:"Access"`
	AuthHookMode     string `env:"SERVICE_GRAPHQL_AUTH_HOOK_MODE,HASURA_GRAPHQL_AUTH_HOOK_MODE,SERVICE_GRAPHQL_AUTH_HOOK_TYPE,HASURA_GRAPHQL_AUTH_HOOK_TYPE" help:"How --auth-hook is asked: with the request's headers, or with a body that lists them." enum:"GET,POST" default:"GET" group:"Access"`
	UnauthorizedRole string `env:"SERVICE_GRAPHQL_UNAUTHORIZED_ROLE,HASURA_GRAPHQL_UNAUTHORIZED_ROLE" help:"Role of requests without a secret or a token; needs --admin-secret." placeholder:"ROLE" group:"Access"`
	HeaderPrefix     string `env:"SERVICE_GRAPHQL_HEADER_PREFIX,HASURA_GRAPHQL_HEADER_PREFIX" help:"Spelling of our headers in what the service sends, such as messages. Both are always understood." enum:"x-service-,x-hasura-" default:"x-service-" group:"Access"`
	DevMode          toggle `env:"SERVICE_GRAPHQL_DEV_MODE,HASURA_GRAPHQL_DEV_MODE" help:"Show internal details of errors to every role." default:"false" group:"Access"`
	AdminInternal    toggle `name:"admin-internal-errors" env:"SERVICE_GRAPHQL_ADMIN_INTERNAL_ERRORS,HASURA_GRAPHQL_ADMIN_INTERNAL_ERRORS" help:"Show internal details of errors to the admin." default:"true" group:"Access"`
	ProtectMetrics   toggle `env:"SERVICE_GRAPHQL_PROTECT_METRICS,HASURA_GRAPHQL_PROTECT_METRICS" help:"Answer /metrics to the admin only." default:"false" group:"Access"`

	RunSQLTimeout duration `name:"run-sql-timeout" env:"SERVICE_GRAPHQL_RUN_SQL_TIMEOUT,HASURA_GRAPHQL_RUN_SQL_TIMEOUT" help:"Longest time the SQL of one run_sql may take." default:"3m" group:"Metadata"`
	LockTimeout   duration `env:"SERVICE_GRAPHQL_LOCK_TIMEOUT,HASURA_GRAPHQL_LOCK_TIMEOUT" help:"Longest wait for another change of the metadata, or for a lock on a table." default:"30s" group:"Metadata"`
	PollInterval  duration `env:"SERVICE_GRAPHQL_POLL_INTERVAL,HASURA_GRAPHQL_POLL_INTERVAL" help:"How often to look for events of other nodes when no notification came." default:"500ms" group:"Metadata"`
	SnapshotEvery int64    `env:"SERVICE_GRAPHQL_SNAPSHOT_EVERY,HASURA_GRAPHQL_SNAPSHOT_EVERY" help:"Events between two snapshots of the catalog, which bound the cost of looking back in time." default:"1000" group:"Metadata"`
	Demo          toggle   `env:"SERVICE_GRAPHQL_DEMO,HASURA_GRAPHQL_DEMO" help:"Load a small music shop when the database is empty." default:"false" group:"Metadata"`

	DeliveryRetention duration `name:"delivery-retention" env:"SERVICE_GRAPHQL_DELIVERY_RETENTION,HASURA_GRAPHQL_DELIVERY_RETENTION" help:"How long deliveries that are over are kept, such as 720h; whole days are dropped, and never what is still queued. 0 keeps them for ever." default:"0" group:"Webhooks"`
	FailureRetention  duration `name:"failure-retention" env:"SERVICE_GRAPHQL_FAILURE_RETENTION,HASURA_GRAPHQL_FAILURE_RETENTION" help:"The same for deliveries that failed or were dropped; not shorter than --delivery-retention. 0 keeps them for ever." default:"0" group:"Webhooks"`
	UpkeepInterval    duration `name:"upkeep-interval" env:"SERVICE_GRAPHQL_UPKEEP_INTERVAL,HASURA_GRAPHQL_UPKEEP_INTERVAL" help:"How often capture triggers are checked and mended, and partitions made and dropped." default:"1m" group:"Webhooks"`

	EnableAllowlist toggle `env:"SERVICE_GRAPHQL_ENABLE_ALLOWLIST,HASURA_GRAPHQL_ENABLE_ALLOWLIST" help:"Only operations of allowed collections are answered, except for the admin." default:"false" group:"GraphQL"`
	AllowlistMode   string `name:"allowlist-mode" env:"SERVICE_GRAPHQL_ALLOWLIST_MODE,HASURA_GRAPHQL_ALLOWLIST_MODE" help:"What --enable-allowlist does with an operation that is not allowed: refuse it, or run it and report it in the log." enum:"enforce,report" default:"enforce" group:"GraphQL"`
	RefetchInterval int    `name:"live-queries-multiplexed-refetch-interval" env:"SERVICE_GRAPHQL_LIVE_QUERIES_MULTIPLEXED_REFETCH_INTERVAL,HASURA_GRAPHQL_LIVE_QUERIES_MULTIPLEXED_REFETCH_INTERVAL" help:"Milliseconds between two looks of a subscription." default:"1000" group:"GraphQL"`
	BatchSize       int    `name:"live-queries-multiplexed-batch-size" env:"SERVICE_GRAPHQL_LIVE_QUERIES_MULTIPLEXED_BATCH_SIZE,HASURA_GRAPHQL_LIVE_QUERIES_MULTIPLEXED_BATCH_SIZE" help:"Subscribers with values of their own that share one statement." default:"100" group:"GraphQL"`
	MaxSubscribers  int    `name:"live-queries-max-subscribers" env:"SERVICE_GRAPHQL_LIVE_QUERIES_MAX_SUBSCRIBERS,HASURA_GRAPHQL_LIVE_QUERIES_MAX_SUBSCRIBERS" help:"Subscriptions that this node keeps at once." default:"50000" group:"GraphQL"`
	LiveConnections int    `name:"live-queries-max-connections" env:"SERVICE_GRAPHQL_LIVE_QUERIES_MAX_CONNECTIONS,HASURA_GRAPHQL_LIVE_QUERIES_MAX_CONNECTIONS" help:"Connections to the database that subscriptions use at once." default:"8" group:"GraphQL"`
	Stringify       toggle `name:"stringify-numeric-types" env:"SERVICE_GRAPHQL_STRINGIFY_NUMERIC_TYPES,HASURA_GRAPHQL_STRINGIFY_NUMERIC_TYPES" help:"Send bigint, numeric and double precision as strings." default:"false" group:"GraphQL"`
	NullCollapse    toggle `name:"v1-boolean-null-collapse" env:"SERVICE_GRAPHQL_V1_BOOLEAN_NULL_COLLAPSE,HASURA_GRAPHQL_V1_BOOLEAN_NULL_COLLAPSE" help:"Leave a null out of a filter, as v1.3 did, so that {id: {_eq: null}} is true of every row. Otherwise it is refused." default:"false" group:"GraphQL"`

	StatementTimeout duration `env:"SERVICE_GRAPHQL_STATEMENT_TIMEOUT,HASURA_GRAPHQL_STATEMENT_TIMEOUT" help:"Longest time one statement of an operation may take. 0 means no limit." default:"60s" group:"GraphQL"`
	Isolation        string   `name:"tx-iso" short:"i" env:"SERVICE_GRAPHQL_TX_ISOLATION,HASURA_GRAPHQL_TX_ISOLATION" help:"Isolation of mutations." enum:"read-committed,repeatable-read,serializable" default:"read-committed" group:"GraphQL"`
	PlanCacheSize    int      `name:"query-plan-cache-size" env:"SERVICE_GRAPHQL_QUERY_PLAN_CACHE_SIZE,HASURA_GRAPHQL_QUERY_PLAN_CACHE_SIZE" help:"Plans of operations that are kept for when the same text comes again. 0 keeps none." default:"4000" group:"GraphQL"`
	MaxDepth         int      `name:"max-query-depth" env:"SERVICE_GRAPHQL_MAX_QUERY_DEPTH,HASURA_GRAPHQL_MAX_QUERY_DEPTH" help:"How deep the selections of an operation may nest." default:"64" group:"GraphQL"`
	MaxNodes         int      `name:"max-query-nodes" env:"SERVICE_GRAPHQL_MAX_QUERY_NODES,HASURA_GRAPHQL_MAX_QUERY_NODES" help:"How many fields an operation, or columns a command about rows, may select, fragments spread out." default:"10000" group:"GraphQL"`
	MaxTokens        int      `name:"max-query-tokens" env:"SERVICE_GRAPHQL_MAX_QUERY_TOKENS,HASURA_GRAPHQL_MAX_QUERY_TOKENS" help:"How many words and signs the text of an operation may have." default:"500000" group:"GraphQL"`
	MaxIntrospection int      `name:"max-introspection" env:"SERVICE_GRAPHQL_MAX_INTROSPECTION,HASURA_GRAPHQL_MAX_INTROSPECTION" help:"How many times over the introspections of one operation may answer the schema." default:"50" group:"GraphQL"`
	MaxRows          int      `name:"max-rows" env:"SERVICE_GRAPHQL_MAX_ROWS,HASURA_GRAPHQL_MAX_ROWS" help:"How many rows one operation, or a statement of run_sql, may read; related ones included." default:"1000000" group:"GraphQL"`
	MaxResult        size     `name:"max-result-size" env:"SERVICE_GRAPHQL_MAX_RESULT_SIZE,HASURA_GRAPHQL_MAX_RESULT_SIZE" help:"How long these rows may be together, such as 100MiB." default:"1GiB" group:"GraphQL"`
	MaxBatch         int      `name:"max-batch-size" env:"SERVICE_GRAPHQL_MAX_BATCH_SIZE,HASURA_GRAPHQL_MAX_BATCH_SIZE" help:"How many operations one request may have." default:"1000" group:"GraphQL"`
	ParallelActions  int      `env:"SERVICE_GRAPHQL_PARALLEL_ACTIONS,HASURA_GRAPHQL_PARALLEL_ACTIONS" help:"How many handlers of actions one query has called at the same time." default:"10" group:"GraphQL"`

	JoinKeys         int  `name:"remote-join-max-keys" env:"SERVICE_GRAPHQL_REMOTE_JOIN_MAX_KEYS,HASURA_GRAPHQL_REMOTE_JOIN_MAX_KEYS" help:"How many different keys the remote relationships of one operation may have." default:"100000" group:"GraphQL"`
	JoinBatch        int  `name:"remote-join-batch-size" env:"SERVICE_GRAPHQL_REMOTE_JOIN_BATCH_SIZE,HASURA_GRAPHQL_REMOTE_JOIN_BATCH_SIZE" help:"How many keys one request to a remote schema may hold; more go in further requests." default:"1000" group:"GraphQL"`
	JoinConcurrency  int  `name:"remote-join-concurrency" env:"SERVICE_GRAPHQL_REMOTE_JOIN_CONCURRENCY,HASURA_GRAPHQL_REMOTE_JOIN_CONCURRENCY" help:"How many of an operation's requests for remote relationships are under way at a time." default:"4" group:"GraphQL"`
	MaxHops          int  `name:"remote-max-hops" env:"SERVICE_GRAPHQL_REMOTE_MAX_HOPS,HASURA_GRAPHQL_REMOTE_MAX_HOPS" help:"How many servers an operation may come by that have each other as remote schemas; one that comes by more is refused, where it would go round." default:"8" group:"GraphQL"`
	RemoteMaxSize    size `name:"remote-schema-max-size" env:"SERVICE_GRAPHQL_REMOTE_SCHEMA_MAX_SIZE,HASURA_GRAPHQL_REMOTE_SCHEMA_MAX_SIZE" help:"Longest answer of a remote server that is asked for its schema." default:"10MiB" group:"GraphQL"`
	RemoteMaxTypes   int  `name:"remote-schema-max-types" env:"SERVICE_GRAPHQL_REMOTE_SCHEMA_MAX_TYPES,HASURA_GRAPHQL_REMOTE_SCHEMA_MAX_TYPES" help:"How many types a remote schema may have." default:"20000" group:"GraphQL"`
	RemoteMaxMembers int  `name:"remote-schema-max-members" env:"SERVICE_GRAPHQL_REMOTE_SCHEMA_MAX_MEMBERS,HASURA_GRAPHQL_REMOTE_SCHEMA_MAX_MEMBERS" help:"How many fields, arguments and enum values a remote schema may have." default:"500000" group:"GraphQL"`
	RemoteMaxDepth   int  `name:"remote-schema-max-depth" env:"SERVICE_GRAPHQL_REMOTE_SCHEMA_MAX_DEPTH,HASURA_GRAPHQL_REMOTE_SCHEMA_MAX_DEPTH" help:"How deep lists and non-null types may nest in a type of a remote schema." default:"16" group:"GraphQL"`

	RemoteInterval duration `name:"remote-schema-check-interval" env:"SERVICE_GRAPHQL_REMOTE_SCHEMA_CHECK_INTERVAL,HASURA_GRAPHQL_REMOTE_SCHEMA_CHECK_INTERVAL" help:"How often remote servers are asked whether their types are still those that are kept; one that gives no answer, sooner. Nothing is changed by it. 0 asks nobody." default:"5m" group:"GraphQL"`

	EventsPoolSize      int      `name:"events-http-pool-size" env:"SERVICE_GRAPHQL_EVENTS_HTTP_POOL_SIZE,HASURA_GRAPHQL_EVENTS_HTTP_POOL_SIZE" help:"Webhooks of one trigger that are called at once. Where endpoints are quick, more of them make a backlog go faster." default:"100" group:"Deliveries"`
	EventsMaxInFlight   int      `name:"events-max-in-flight" env:"SERVICE_GRAPHQL_EVENTS_MAX_IN_FLIGHT,HASURA_GRAPHQL_EVENTS_MAX_IN_FLIGHT" help:"Webhooks of all triggers together that are called at once." default:"10000" group:"Deliveries"`
	EventsFetchInterval int      `name:"events-fetch-interval" env:"SERVICE_GRAPHQL_EVENTS_FETCH_INTERVAL,HASURA_GRAPHQL_EVENTS_FETCH_INTERVAL" help:"Milliseconds between two looks for deliveries when there were none." default:"1000" group:"Deliveries"`
	EventsMaxResponse   size     `name:"events-max-response" env:"SERVICE_GRAPHQL_EVENTS_MAX_RESPONSE,HASURA_GRAPHQL_EVENTS_MAX_RESPONSE" help:"How much of a webhook's answer is kept, such as 1MiB." default:"1MiB" group:"Deliveries"`
	EventsLeaseMargin   duration `name:"events-lease-margin" env:"SERVICE_GRAPHQL_EVENTS_LEASE_MARGIN,HASURA_GRAPHQL_EVENTS_LEASE_MARGIN" help:"How long after a webhook's timeout another node may take over a delivery whose node is gone." default:"30s" group:"Deliveries"`
	RedeliveryLimit     int      `name:"redelivery-limit" env:"SERVICE_GRAPHQL_REDELIVERY_LIMIT,HASURA_GRAPHQL_REDELIVERY_LIMIT" help:"How many events one redeliver_events begins that does not say how many." default:"10000" group:"Deliveries"`
	MaxRedelivery       int      `name:"max-redelivery" env:"SERVICE_GRAPHQL_MAX_REDELIVERY,HASURA_GRAPHQL_MAX_REDELIVERY" help:"How many events one redeliver_events can be about." default:"100000" group:"Deliveries"`
	LogHeadersFromEnv   toggle   `name:"log-headers-from-env" env:"SERVICE_GRAPHQL_LOG_HEADERS_FROM_ENV,HASURA_GRAPHQL_LOG_HEADERS_FROM_ENV" help:"Keep the values of headers from the environment in the log of attempts, not the variables' names." default:"false" group:"Deliveries"`

	OutboundDeny        addressRanges `name:"outbound-deny" env:"SERVICE_GRAPHQL_OUTBOUND_DENY,HASURA_GRAPHQL_OUTBOUND_DENY" help:"Addresses that webhooks and remote servers may not have, separated by commas: ${ranges}." default:"" placeholder:"LIST" group:"Deliveries"`
	OutboundMaxResponse size          `name:"outbound-max-response" env:"SERVICE_GRAPHQL_OUTBOUND_MAX_RESPONSE,HASURA_GRAPHQL_OUTBOUND_MAX_RESPONSE" help:"Longest answer of a remote server that is read." default:"10MiB" group:"Deliveries"`

	KeepAlive         duration `name:"websocket-keepalive" env:"SERVICE_GRAPHQL_WEBSOCKET_KEEPALIVE,HASURA_GRAPHQL_WEBSOCKET_KEEPALIVE" help:"Time between two signs of life over a websocket." default:"5s" group:"Websockets"`
	InitTimeout       duration `name:"websocket-init-timeout" env:"SERVICE_GRAPHQL_WEBSOCKET_INIT_TIMEOUT,HASURA_GRAPHQL_WEBSOCKET_INIT_TIMEOUT" help:"How long a websocket may be open before its client says who it is." default:"10s" group:"Websockets"`
	SocketTimeout     duration `name:"websocket-write-timeout" env:"SERVICE_GRAPHQL_WEBSOCKET_WRITE_TIMEOUT,HASURA_GRAPHQL_WEBSOCKET_WRITE_TIMEOUT" help:"How long a client may take to take in one message, before it is given up. Of what a subscriber has not taken in yet only the newest answer is kept." default:"30s" group:"Websockets"`
	SocketConnections int      `name:"websocket-max-connections" env:"SERVICE_GRAPHQL_WEBSOCKET_MAX_CONNECTIONS,HASURA_GRAPHQL_WEBSOCKET_MAX_CONNECTIONS" help:"Websockets that may be open on this node. One more is refused with 503." default:"10000" group:"Websockets"`
	SocketOperations  int      `name:"websocket-max-operations" env:"SERVICE_GRAPHQL_WEBSOCKET_MAX_OPERATIONS,HASURA_GRAPHQL_WEBSOCKET_MAX_OPERATIONS" help:"Operations, subscriptions among them, that may run at once over one websocket." default:"1000" group:"Websockets"`
	MaxMessage        size     `name:"websocket-max-message-size" env:"SERVICE_GRAPHQL_WEBSOCKET_MAX_MESSAGE_SIZE,HASURA_GRAPHQL_WEBSOCKET_MAX_MESSAGE_SIZE" help:"Longest message of a client over a websocket, such as 16MiB; 64KiB before it says who it is." default:"16MiB" group:"Websockets"`
	SocketCompression toggle   `name:"websocket-compression" env:"SERVICE_GRAPHQL_CONNECTION_COMPRESSION,HASURA_GRAPHQL_CONNECTION_COMPRESSION" help:"Compress what is sent over websockets, for clients that can read that." default:"false" group:"Websockets"`
	ReadCookie        toggle   `name:"ws-read-cookie" env:"SERVICE_GRAPHQL_WS_READ_COOKIE,HASURA_GRAPHQL_WS_READ_COOKIE" help:"Believe the cookie of a websocket's handshake although --disable-cors is set, which only that needs." default:"false" group:"Websockets"`

	LogLevel string       `env:"SERVICE_GRAPHQL_LOG_LEVEL,HASURA_GRAPHQL_LOG_LEVEL" help:"Least level of log lines." enum:"debug,info,warn,error" default:"info" group:"Logs"`
	LogTypes logTypeNames `name:"enabled-log-types" env:"SERVICE_GRAPHQL_ENABLED_LOG_TYPES,HASURA_GRAPHQL_ENABLED_LOG_TYPES" help:"Kinds of log lines, separated by commas: ${logtypes}." default:"startup,http-log,webhook-log,websocket-log" placeholder:"LIST" group:"Logs"`

	// A tool that is a server to itself only: see [target].
	credential string // name of the admin secret in the history
	keepSchema bool   // refuse a database that is to be migrated
}

// knownAPIs and knownLogTypes are the names that the two lists may hold.
var (
	knownAPIs     = []string{"metadata", "graphql", "pgdump", "config", "developer"}
	knownLogTypes = []string{"startup", "http-log", "webhook-log", "websocket-log", "query-log", lineAction}
)

// Validate holds the settings against each other.
func (s *Serve) Validate() error {
	if err := s.validateNumbers(); err != nil {
		return err
	}
	if err := s.validateSpans(); err != nil {
		return err
	}
	if s.AdminSecret != "" && s.AccessKey != "" && s.AdminSecret != s.AccessKey {
		return fmt.Errorf("--admin-secret and its old name --access-key differ: give only --admin-secret")
	}
	if s.UnauthorizedRole != "" && !s.hasSecret() {
		return fmt.Errorf("--unauthorized-role needs --admin-secret: without a secret, every request is the admin's")
	}
	if s.FailureRetention > 0 && (s.FailureRetention < s.DeliveryRetention || s.DeliveryRetention == 0) {
		return fmt.Errorf("--failure-retention: failures are kept at least as long as other deliveries, which --delivery-retention says")
	}
	if bool(s.ReadCookie) && !bool(s.DisableCors) {
		return fmt.Errorf("--ws-read-cookie needs --disable-cors: with CORS settings, cookies of origins that they allow are read anyway")
	}
	access, err := authOf(*s)
	if err != nil {
		return err
	}
	_, err = auth.New(access)
	return err
}

func (s *Serve) validateNumbers() error {
	if s.ServerPort < 0 || s.ServerPort > 65535 {
		return fmt.Errorf("--server-port: %d is no port; expecting 0 to 65535", s.ServerPort)
	}
	for _, n := range []struct {
		flag  string
		value int64
	}{
		{"--connections", int64(s.Connections)},
		{"--ready-lag", s.ReadyLag},
		{"--snapshot-every", s.SnapshotEvery},
		{"--max-query-depth", int64(s.MaxDepth)},
		{"--max-query-nodes", int64(s.MaxNodes)},
		{"--max-query-tokens", int64(s.MaxTokens)},
		{"--max-introspection", int64(s.MaxIntrospection)},
		{"--max-rows", int64(s.MaxRows)},
		{"--max-result-size", int64(s.MaxResult)},
		{"--max-batch-size", int64(s.MaxBatch)},
		{"--parallel-actions", int64(s.ParallelActions)},
		{"--remote-join-max-keys", int64(s.JoinKeys)},
		{"--remote-join-batch-size", int64(s.JoinBatch)},
		{"--remote-join-concurrency", int64(s.JoinConcurrency)},
		{"--remote-max-hops", int64(s.MaxHops)},
		{"--remote-schema-max-size", int64(s.RemoteMaxSize)},
		{"--remote-schema-max-types", int64(s.RemoteMaxTypes)},
		{"--remote-schema-max-members", int64(s.RemoteMaxMembers)},
		{"--remote-schema-max-depth", int64(s.RemoteMaxDepth)},
		{"--events-http-pool-size", int64(s.EventsPoolSize)},
		{"--events-max-in-flight", int64(s.EventsMaxInFlight)},
		{"--events-fetch-interval", int64(s.EventsFetchInterval)},
		{"--redelivery-limit", int64(s.RedeliveryLimit)},
		{"--max-redelivery", int64(s.MaxRedelivery)},
		{"--live-queries-multiplexed-batch-size", int64(s.BatchSize)},
		{"--live-queries-multiplexed-refetch-interval", int64(s.RefetchInterval)},
		{"--live-queries-max-subscribers", int64(s.MaxSubscribers)},
		{"--live-queries-max-connections", int64(s.LiveConnections)},
		{"--websocket-max-connections", int64(s.SocketConnections)},
		{"--websocket-max-operations", int64(s.SocketOperations)},
		{"--websocket-max-message-size", int64(s.MaxMessage)},
	} {
		if n.value < 1 {
			return fmt.Errorf("%s: expecting a number above 0, not %d", n.flag, n.value)
		}
	}
	return nil
}

// validateSpans refuses the time spans that cannot be 0. Where 0 means that
// there is no limit, or that something is not done, the flag says so.
func (s *Serve) validateSpans() error {
	for _, d := range []struct {
		flag string
		span duration
	}{
		{"--pg-dump-timeout", s.PGDumpTimeout},
		{"--min-version-wait", s.WaitLimit},
		{"--answer-timeout", s.AnswerLimit},
		{"--health-interval", s.HealthEvery},
		{"--health-timeout", s.HealthLimit},
		{"--stop-timeout", s.StopLimit},
		{"--run-sql-timeout", s.RunSQLTimeout},
		{"--lock-timeout", s.LockTimeout},
		{"--poll-interval", s.PollInterval},
		{"--upkeep-interval", s.UpkeepInterval},
		{"--events-lease-margin", s.EventsLeaseMargin},
		{"--websocket-keepalive", s.KeepAlive},
		{"--websocket-init-timeout", s.InitTimeout},
		{"--websocket-write-timeout", s.SocketTimeout},
	} {
		if d.span == 0 {
			return fmt.Errorf("%s: expecting a time span above 0", d.flag)
		}
	}
	return nil
}

// variablePrefixes are the two spellings of environment variables.
var variablePrefixes = []string{"SERVICE_GRAPHQL_", "HASURA_GRAPHQL_"}

// withoutEffect are settings of v1.3 that may be set, and that nothing here
// looks at.
var withoutEffect = []string{
	"PG_STRIPES", "USE_PREPARED_STATEMENTS", "ENABLE_CONSOLE", "CONSOLE_ASSETS_DIR",
	"ENABLE_TELEMETRY",
}

// variablesSet returns those of some variables that have a value, by either
// spelling.
func variablesSet(names []string, lookup func(string) (string, bool)) []string {
	var found []string
	for _, name := range names {
		for _, prefix := range variablePrefixes {
			if value, set := lookup(prefix + name); set && value != "" {
				found = append(found, prefix+name)
			}
		}
	}
	return found
}

func (s *Serve) allowListMode() execution.AllowListMode {
	switch {
	case !bool(s.EnableAllowlist):
		return execution.AllowListOff
	case s.AllowlistMode == "report":
		return execution.AllowListReport
	}
	return execution.AllowListEnforce
}

// commands is how calls of the metadata API are carried out.
func (s *Serve) commands() command.Config {
	return command.Config{
		RunSQLTimeout: time.Duration(s.RunSQLTimeout), LockTimeout: time.Duration(s.LockTimeout),
		RunSQLMaxRows: s.MaxRows, RunSQLMaxBytes: int64(s.MaxResult),
	}
}

// execution is how operations are run.
func (s *Serve) execution(log *slog.Logger) execution.Config {
	c := execution.Config{
		AllowList:    execution.AllowList{Mode: s.allowListMode(), Log: log},
		HeaderPrefix: s.HeaderPrefix, StatementTimeout: time.Duration(s.StatementTimeout),
		Options:   translate.Options{Stringify: bool(s.Stringify)},
		Isolation: pgx.TxIsoLevel(strings.ReplaceAll(s.Isolation, "-", " ")),
		KeptPlans: s.PlanCacheSize, ParallelActions: s.ParallelActions, MaxRows: s.MaxRows, MaxBytes: int64(s.MaxResult),
		MaxHops: s.MaxHops,
		Joins: execution.Joins{
			MaxKeys: s.JoinKeys, Batch: s.JoinBatch, Concurrency: s.JoinConcurrency, Log: log,
		},
		DropNulls: bool(s.NullCollapse),
		Limits:    plan.Limits{MaxDepth: s.MaxDepth, MaxNodes: s.MaxNodes, MaxTokens: s.MaxTokens, MaxIntrospection: s.MaxIntrospection},
	}
	if s.PlanCacheSize == 0 {
		c.KeptPlans = -1
	}
	return c
}

// hasSecret reports whether the server asks for a secret.
func (s *Serve) hasSecret() bool { return s.secret() != "" || s.AdminSecretsFile != "" }

// liveQueries is how subscriptions are kept up.
func (s *Serve) liveQueries() livequery.Config {
	return livequery.Config{
		Interval:       time.Duration(s.RefetchInterval) * time.Millisecond,
		BatchSize:      s.BatchSize,
		MaxSubscribers: s.MaxSubscribers,
		MaxConnections: s.LiveConnections,
	}
}

// api is how the endpoints are served.
func (s *Serve) api(access auth.Config) (api.Config, error) {
	cors, err := corsOf(*s)
	if err != nil {
		return api.Config{}, err
	}
	apis, err := api.ParseAPIs(strings.Join(s.EnabledAPIs, ","))
	if err != nil {
		return api.Config{}, err
	}
	return api.Config{
		Version:        Version,
		APIs:           apis,
		CORS:           cors,
		GuardCookies:   access.JWT != nil && access.JWT.InCookie(),
		Sockets:        s.sockets(),
		MaxBodyBytes:   int64(s.MaxBody),
		MaxBatch:       s.MaxBatch,
		AnswerTimeout:  time.Duration(s.AnswerLimit),
		MinVersionWait: time.Duration(s.WaitLimit),
		HealthInterval: time.Duration(s.HealthEvery),
		HealthTimeout:  time.Duration(s.HealthLimit),
		ReadyLag:       s.ReadyLag,
		ProtectMetrics: bool(s.ProtectMetrics),
		TrustedProxies: s.Proxies,
		LogQueries:     slices.Contains(s.LogTypes, api.LineQuery),
		DevMode:        bool(s.DevMode),
		HideInternal:   !bool(s.AdminInternal),
		Report: api.Report{
			AdminSecretSet:   s.hasSecret(),
			AuthHookSet:      access.Webhook != nil,
			JWT:              jwtReport(access.JWT),
			AllowListEnabled: bool(s.EnableAllowlist),
			LiveQueries: api.LiveQueriesReport{
				BatchSize:    s.BatchSize,
				RefetchDelay: time.Duration(s.RefetchInterval) * time.Millisecond,
			},
		},
	}, nil
}

// sockets is how websockets are kept.
func (s *Serve) sockets() api.Sockets {
	return api.Sockets{
		KeepAlive:       time.Duration(s.KeepAlive),
		InitTimeout:     time.Duration(s.InitTimeout),
		WriteTimeout:    time.Duration(s.SocketTimeout),
		MaxConnections:  s.SocketConnections,
		MaxOperations:   s.SocketOperations,
		MaxMessageBytes: int64(s.MaxMessage),
		ReadCookie:      bool(s.ReadCookie),
		Compress:        bool(s.SocketCompression),
	}
}

// worker is how deliveries are made.
func (s *Serve) worker() deliver.Config {
	return deliver.Config{
		Slots: s.EventsPoolSize, MaxInFlight: s.EventsMaxInFlight,
		FetchInterval: time.Duration(s.EventsFetchInterval) * time.Millisecond,
		Grace:         time.Duration(s.StopLimit), LeaseMargin: time.Duration(s.EventsLeaseMargin),
	}
}

// introspector asks remote servers for their schema.
func (s *Serve) introspector(client *outbound.Client) command.Introspector {
	return command.Introspector{
		Outbound: client, Env: environment(), MaxBytes: int64(s.RemoteMaxSize),
		Limits: graphql.SchemaLimits{MaxTypes: s.RemoteMaxTypes, MaxMembers: s.RemoteMaxMembers, MaxWrappers: s.RemoteMaxDepth},
	}
}

// remoteInterval is below 0 where nobody is to be asked.
func (s *Serve) remoteInterval() time.Duration {
	if s.RemoteInterval == 0 {
		return -1
	}
	return time.Duration(s.RemoteInterval)
}

// secret is the admin secret, by either of its names.
func (s *Serve) secret() string {
	if s.AdminSecret != "" {
		return s.AdminSecret
	}
	return s.AccessKey
}
