package main

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

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
	"annals/handlers/workers/upkeep"
	"annals/projections/deliveries"
)

// settings are those of a command line that makes sense.
func settings(t *testing.T, args ...string) Serve {
	t.Helper()
	s, err := parse(t, nil, args...)
	require.NoError(t, err)
	return s
}

func TestTheSettingsOfOperationsReachThem(t *testing.T) {
	s := settings(t, "--stringify-numeric-types", "--tx-iso=repeatable-read", "--query-plan-cache-size=2", "--parallel-actions=3",
		"--max-query-depth=4", "--max-query-nodes=5", "--max-query-tokens=12", "--max-introspection=13", "--max-rows=11", "--max-result-size=14B", "--header-prefix=x-hasura-", "--statement-timeout=6s",
		"--remote-join-max-keys=7", "--remote-join-batch-size=8", "--remote-join-concurrency=9", "--remote-max-hops=10",
		"--enable-allowlist", "--allowlist-mode=report", "--v1-boolean-null-collapse")
	require.Equal(t, execution.Config{
		Options: translate.Options{Stringify: true}, Isolation: pgx.RepeatableRead, KeptPlans: 2, ParallelActions: 3,
		Limits: plan.Limits{MaxDepth: 4, MaxNodes: 5, MaxTokens: 12, MaxIntrospection: 13}, MaxRows: 11, MaxBytes: 14, HeaderPrefix: "x-hasura-", StatementTimeout: 6 * time.Second,
		Joins: execution.Joins{MaxKeys: 7, Batch: 8, Concurrency: 9}, MaxHops: 10,
		AllowList: execution.AllowList{Mode: execution.AllowListReport}, DropNulls: true,
	}, s.execution(nil))

	none := settings(t, "--query-plan-cache-size=0", "--allowlist-mode=report")
	require.Negative(t, none.execution(nil).KeptPlans)
	require.Equal(t, execution.AllowListOff, none.execution(nil).AllowList.Mode)
	enforced := settings(t, "--enable-allowlist")
	require.Equal(t, execution.AllowListEnforce, enforced.execution(nil).AllowList.Mode)
}

func TestTheSettingsOfSubscriptionsReachThem(t *testing.T) {
	s := settings(t, "--live-queries-multiplexed-refetch-interval=2", "--live-queries-multiplexed-batch-size=3",
		"--live-queries-max-subscribers=4", "--live-queries-max-connections=5")
	require.Equal(t, livequery.Config{Interval: 2 * time.Millisecond, BatchSize: 3, MaxSubscribers: 4, MaxConnections: 5}, s.liveQueries())
}

func TestTheSettingsOfTheMetadataReachIt(t *testing.T) {
	s := settings(t, "--run-sql-timeout=2s", "--lock-timeout=3s", "--max-rows=4", "--max-result-size=5B")
	require.Equal(t, command.Config{RunSQLTimeout: 2 * time.Second, LockTimeout: 3 * time.Second, RunSQLMaxRows: 4, RunSQLMaxBytes: 5}, s.commands())
}

func TestTheSettingsOfEndpointsReachThem(t *testing.T) {
	secrets := filepath.Join(t.TempDir(), "secrets")
	require.NoError(t, os.WriteFile(secrets, []byte("ci s3cret\n"), 0o600))
	s := settings(t, "--enabled-apis=config", "--cors-domain=https://shop.example", "--max-body-size=2KiB", "--min-version-wait=3s",
		"--enabled-log-types=query-log", "--dev-mode", "--admin-internal-errors=false", "--admin-secrets-file="+secrets,
		"--websocket-keepalive=4s", "--websocket-init-timeout=5s", "--websocket-write-timeout=6s", "--websocket-max-connections=14", "--websocket-max-operations=7",
		"--websocket-max-message-size=8B", "--websocket-compression", "--max-batch-size=9", "--answer-timeout=10s",
		"--health-interval=11s", "--health-timeout=12s", "--ready-lag=13", "--protect-metrics", "--trusted-proxies=10.0.0.0/8, ::1")
	cors, err := api.ParseCORS("https://shop.example")
	require.NoError(t, err)
	apis, err := api.ParseAPIs("config")
	require.NoError(t, err)
	got, err := s.api(auth.Config{})
	require.NoError(t, err)
	require.True(t, got.Report.AdminSecretSet)
	got.Report = api.Report{}
	require.Equal(t, api.Config{
		Version: Version, APIs: apis, CORS: cors, MaxBodyBytes: 2 << 10, MinVersionWait: 3 * time.Second, MaxBatch: 9, AnswerTimeout: 10 * time.Second,
		HealthInterval: 11 * time.Second, HealthTimeout: 12 * time.Second, ReadyLag: 13, ProtectMetrics: true,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		LogQueries:     true, DevMode: true, HideInternal: true,
		Sockets: api.Sockets{
			KeepAlive: 4 * time.Second, InitTimeout: 5 * time.Second, WriteTimeout: 6 * time.Second,
			MaxConnections: 14, MaxOperations: 7, MaxMessageBytes: 8, Compress: true,
		},
	}, got)

	closed := settings(t, "--disable-cors", "--ws-read-cookie")
	got, err = closed.api(auth.Config{})
	require.NoError(t, err)
	require.Equal(t, api.NoCORS(), got.CORS)
	require.True(t, got.Sockets.ReadCookie)
}

func TestTheSettingsOfDeliveriesReachThem(t *testing.T) {
	s := settings(t, "--events-http-pool-size=2", "--events-max-in-flight=3", "--events-fetch-interval=4",
		"--events-lease-margin=5s", "--stop-timeout=6s", "--delivery-retention=7h", "--failure-retention=8h", "--upkeep-interval=9s")
	require.Equal(t, deliver.Config{
		Slots: 2, MaxInFlight: 3, FetchInterval: 4 * time.Millisecond, LeaseMargin: 5 * time.Second, Grace: 6 * time.Second,
	}, s.worker())

	told := settings(t, "--events-max-response=2KiB", "--log-headers-from-env", "--events-lease-margin=3s")
	hooks := (&App{cfg: told}).webhooks(nil)
	require.EqualValues(t, 2<<10, hooks.MaxResponse)
	require.True(t, hooks.ShowEnv)
	require.Equal(t, 3*time.Second, hooks.LeaseMargin)

	asked := settings(t, "--redelivery-limit=2", "--max-redelivery=3")
	require.Equal(t, deliveries.Limits{Redelivered: 2, MaxRedelivered: 3}, asked.book().Limits)

	worker := (&App{cfg: s, db: &openDatabase{}, handler: &command.Handler{}}).newUpkeep()
	require.Equal(t, upkeep.Retention{Delivered: 7 * time.Hour, Failed: 8 * time.Hour}, worker.Retention)
	require.Equal(t, 9*time.Second, worker.Interval)
}

func TestTheSettingsOfRemoteServersReachThem(t *testing.T) {
	s := settings(t, "--remote-schema-max-size=2KiB", "--remote-schema-max-types=3", "--remote-schema-max-members=4",
		"--remote-schema-max-depth=5", "--remote-schema-check-interval=6s")
	introspector := s.introspector(nil)
	require.EqualValues(t, 2<<10, introspector.MaxBytes)
	require.Equal(t, graphql.SchemaLimits{MaxTypes: 3, MaxMembers: 4, MaxWrappers: 5}, introspector.Limits)
	require.Equal(t, 6*time.Second, s.remoteInterval())

	nobody := settings(t, "--remote-schema-check-interval=0")
	require.Negative(t, nobody.remoteInterval())
}

func TestAddressesThatAreDeniedAreNotCalled(t *testing.T) {
	s := settings(t, "--outbound-deny=loopback")
	client := s.newOutbound()
	defer client.Close()
	_, err := client.Send(t.Context(), outbound.Request{Method: http.MethodGet, URL: "http://127.0.0.1:1/", Timeout: time.Second})
	require.ErrorContains(t, err, "loopback")
}

func TestTheSettingsOfConnectionsReachThem(t *testing.T) {
	s := settings(t, "--host=db", "--port=5433", "--connections=20", "--timeout=2s", "--conn-lifetime=3m", "--statement-timeout=4s")
	pc, err := s.pool(s.url())
	require.NoError(t, err)
	require.EqualValues(t, 5433, pc.ConnConfig.Port)
	require.EqualValues(t, 5, pc.MaxConns)
	require.Equal(t, 2*time.Second, pc.MaxConnIdleTime)
	require.Equal(t, 3*time.Minute, pc.MaxConnLifetime)
	s.operations(pc)
	require.EqualValues(t, 15, pc.MaxConns)
	require.Equal(t, "4000", pc.ConnConfig.RuntimeParams["statement_timeout"])
}

func TestAConnectionWithoutALimitOfItsLifeLives(t *testing.T) {
	s := settings(t, "--host=db", "--conn-lifetime=0")
	pc, err := s.pool(s.url())
	require.NoError(t, err)
	require.Greater(t, pc.MaxConnLifetime, 10*365*24*time.Hour)
}

func TestTheDumpIsMadeByTheProgramThatIsNamed(t *testing.T) {
	a := &App{cfg: settings(t, "--pg-dump=a/program", "--pg-dump-timeout=2s"), db: &openDatabase{url: "postgres://db"}}
	dumper := a.dumper()
	program, err := dumper.Program(context.Background())
	require.NoError(t, err)
	require.Equal(t, "a/program", program)
	require.Equal(t, 2*time.Second, dumper.Timeout)
	require.Equal(t, "postgres://db", dumper.Database)
}

func TestALimitOfZeroIsRefusedWhereThereMustBeOne(t *testing.T) {
	for _, flag := range []string{
		"connections", "snapshot-every", "max-query-depth", "max-query-nodes", "max-query-tokens", "max-introspection", "max-rows", "parallel-actions",
		"remote-join-max-keys", "remote-join-batch-size", "remote-join-concurrency", "remote-max-hops",
		"remote-schema-max-size", "remote-schema-max-types", "remote-schema-max-members", "remote-schema-max-depth",
		"redelivery-limit", "max-redelivery", "events-http-pool-size", "events-max-in-flight", "events-fetch-interval", "events-max-response", "outbound-max-response",
		"live-queries-multiplexed-batch-size", "live-queries-multiplexed-refetch-interval", "live-queries-max-subscribers", "live-queries-max-connections",
		"websocket-max-connections", "websocket-max-operations", "websocket-max-message-size", "max-body-size",
		"pg-dump-timeout", "min-version-wait", "stop-timeout", "run-sql-timeout", "lock-timeout", "poll-interval", "upkeep-interval",
		"events-lease-margin", "websocket-keepalive", "websocket-init-timeout", "websocket-write-timeout",
	} {
		_, err := parse(t, nil, "--"+flag+"=0")
		require.ErrorContains(t, err, flag)
	}
}

func TestSettingsThatContradictEachOtherAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--failure-retention=1h"}, {"--delivery-retention=2h", "--failure-retention=1h"}, {"--ws-read-cookie"},
	} {
		_, err := parse(t, nil, args...)
		require.Error(t, err, args)
	}
}
