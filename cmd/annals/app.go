package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/command"
	"annals/handlers/dump"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
	"annals/handlers/outbound"
	"annals/handlers/workers/deliver"
	"annals/handlers/workers/follow"
	"annals/handlers/workers/remotes"
	"annals/handlers/workers/schedule"
	"annals/handlers/workers/upkeep"
	"annals/migrations/localpg"
	"annals/projections/catalog"
	"annals/projections/deliveries"
)

// App is the service on one node: its parts joined. It serves once Run is
// called, on any number of listeners.
type App struct {
	cfg        Serve
	lines      api.Log
	log        *slog.Logger
	keysLog    *slog.Logger
	db         *openDatabase
	store      *eventstore.Store
	live       *catalog.Live
	handler    *command.Handler
	operations *execution.Executor
	hub        *livequery.Hub
	who        *auth.Chain
	api        *api.API
	upkeep     *upkeep.Worker
	remotes    *remotes.Watch
	registry   *prometheus.Registry
	outbound   *outbound.Client
	deliveries *deliver.Worker
}

// NewApp connects to the database, migrates it, and reads the catalog.
// Whoever gets an App closes it.
func NewApp(ctx context.Context, cfg Serve, out io.Writer) (*App, error) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // an enum
	lines := onlyTypes(api.NewLog(out, level), cfg.LogTypes)
	a := &App{
		cfg: cfg, lines: lines,
		log:     slog.New(logHandler{lines: lines, level: level, kind: lineService}),
		keysLog: slog.New(logHandler{lines: lines, level: level, kind: lineKeys}),
	}

	var err error
	if a.db, err = openDB(ctx, cfg.Database, a.log); err != nil {
		return nil, err
	}
	if err := a.join(ctx); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *App) join(ctx context.Context) error {
	if err := a.prepare(ctx); err != nil {
		return err
	}
	a.store = eventstore.New(a.db.pool, eventstore.Config{PollInterval: time.Duration(a.cfg.PollInterval)})
	version, err := command.Start(ctx, a.db.pool, a.store, environment())
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	a.live = catalog.NewLive(version)
	a.registry, a.outbound = prometheus.NewRegistry(), a.cfg.newOutbound()
	if a.deliveries, err = a.newDeliveries(); err != nil {
		return err
	}
	if err := a.db.openRows(ctx, a.cfg); err != nil {
		return err
	}
	operations := a.cfg.execution(a.log)
	operations.Wake, operations.Outbound, operations.Called = a.deliveries.Wake, a.outbound, a.logAction
	a.operations = execution.New(a.db.rows, func() metadata.World { return a.live.Current().World }, operations)
	a.hub = livequery.New(a.operations, a.cfg.liveQueries())
	a.handler = command.New(command.Parts{Pool: a.db.pool, Store: a.store, Live: a.live, Rows: a.operations, Deliveries: a.cfg.book(), Remote: a.cfg.introspector(a.outbound), Wake: a.deliveries.Wake}, a.cfg.commands())
	a.upkeep, a.remotes = a.newUpkeep(), a.newRemotes()
	a.api, err = a.newAPI()
	return err
}

// prepare makes sure that the schema annals is this program's. A tool that only
// looks leaves the database as it found it.
func (a *App) prepare(ctx context.Context) error {
	if a.cfg.keepSchema {
		return a.db.upToDate(ctx)
	}
	return a.db.migrate(ctx, a.log)
}

func (a *App) newAPI() (*api.API, error) {
	access, err := authOf(a.cfg)
	if err != nil {
		return nil, err
	}
	config, err := a.cfg.api(access)
	if err != nil {
		return nil, err
	}
	access.Log, access.KeysLog = a.log, a.keysLog
	access.HookAsked = func(ctx context.Context, c auth.HookCall) { a.lines(ctx, api.HookLine(c)) }
	if a.who, err = auth.New(access); err != nil {
		return nil, err
	}
	a.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), a.metrics(), remoteFigures{a.remotes})
	return api.New(config, api.Deps{Auth: a.who, Commands: a.handler, Operations: a.operations, Subscriptions: subscriptions{a.operations, a.hub}, Explainer: a.operations, Past: a.handler, History: a.store, Deliveries: deliveries.Reader{DB: a.db.pool}, State: a, Dumper: a.dumper(), Registry: a.registry, Log: a.lines}), nil
}

// dumper dumps the database with the pg_dump that the settings name, or that
// is found.
func (a *App) dumper() dump.Dumper {
	cfg := a.cfg.Database
	return dump.Dumper{
		Database: a.db.url,
		Timeout:  time.Duration(cfg.PGDumpTimeout),
		Program: func(ctx context.Context) (string, error) {
			if cfg.PGDump != "" {
				return cfg.PGDump, nil
			}
			return localpg.FindTool(ctx, localpg.Config{BinDir: cfg.PostgresBin}, "pg_dump")
		},
	}
}

// subscriptions begin with the executor, and are kept by the hub.
type subscriptions struct {
	*execution.Executor
	*livequery.Hub
}

func corsOf(cfg Serve) (api.CORS, error) {
	if cfg.DisableCors {
		return api.NoCORS(), nil
	}
	cors, err := api.ParseCORS(cfg.CorsDomain)
	if err != nil {
		return cors, fmt.Errorf("--cors-domain: %w", err)
	}
	return cors, nil
}

// environment is the process's, for what definitions may refer to.
func environment() metadata.Environment {
	env := metadata.Environment{}
	for _, entry := range os.Environ() {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}

// metrics are the figures of the history on this node.
func (a *App) metrics() prometheus.Collector {
	return gauges{
		{"annals_catalog_position", "Position of the history that this node's catalog stands at.", func() float64 { return float64(a.live.Position()) }},
		{"annals_catalog_objects", "Objects in this node's catalog.", func() float64 { return float64(a.live.Current().World.Catalog.Len()) }},
		{"annals_inconsistent_objects", "Objects of the catalog that cannot stand in the database as it is.", func() float64 { return float64(a.Inconsistent()) }},
		{"annals_capture_drift", "Database triggers that were not as the catalog wants them when that was looked at last.", func() float64 { return float64(a.CaptureDrift()) }},
		{"annals_capture_mended", "Database triggers that this node found not as the catalog wants them, and mended.", func() float64 { return float64(a.upkeep.Mended()) }},
		{"annals_database_connections_in_use", "Connections to the database that are in use.", func() float64 { return float64(a.db.pool.Stat().AcquiredConns()) }},
		{"annals_live_query_subscribers", "Subscriptions that are kept.", func() float64 { return float64(a.hub.Stats().Subscribers) }},
		{"annals_live_query_cohorts", "Different answers that subscriptions wait for.", func() float64 { return float64(a.hub.Stats().Cohorts) }},
		{"annals_live_query_shapes", "Different statements that subscriptions are answered by.", func() float64 { return float64(a.hub.Stats().Shapes) }},
	}
}

// Position implements [api.State].
func (a *App) Position() int64 { return a.live.Position() }

// WaitFor implements [api.State].
func (a *App) WaitFor(ctx context.Context, position int64) error {
	return a.live.WaitFor(ctx, position)
}

// Inconsistent implements [api.State].
func (a *App) Inconsistent() int { return a.live.Current().World.Standing.Inconsistent() }

// CaptureDrift implements [api.State].
func (a *App) CaptureDrift() int { return a.upkeep.Drifting() }

// RemotesAway implements [api.State].
func (a *App) RemotesAway() int { return a.remotes.Away() }

// Head implements [api.State]. It has a connection of its own, so a probe does
// not stand in a queue behind operations.
func (a *App) Head(ctx context.Context) (int64, error) {
	return a.db.withProbe(ctx, func(conn *pgx.Conn) (int64, error) {
		head, err := a.store.HeadIn(ctx, conn)
		return head.Position, err
	})
}

// Run serves on a listener until the context ends, then lets running requests
// come to their end.
func (a *App) Run(ctx context.Context, listener net.Listener) error {
	server := a.api.Server()
	server.ErrorLog = slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)
	// The first days have their partitions before anything is written into them.
	if err := a.upkeep.RunOnce(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("the first upkeep is not done; it is tried again", "error", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(a.cfg.StopLimit))
		defer cancel()
		a.api.StopSockets(stopping)
		if err := server.Shutdown(stopping); err != nil {
			a.log.Warn("requests were still running when the server stopped", "limit", time.Duration(a.cfg.StopLimit).String())
			return server.Close()
		}
		return nil
	})
	group.Go(func() error { a.api.Watch(ctx); return nil })
	group.Go(func() error { a.who.Run(ctx); return nil })
	group.Go(func() error { return a.follower().Run(ctx) })
	group.Go(func() error { return a.deliveries.Run(ctx) })
	group.Go(func() error { return a.scheduler().Run(ctx) })
	group.Go(func() error { return a.upkeep.Run(ctx) })
	group.Go(func() error { return a.remotes.Run(ctx) })
	return group.Wait()
}

func (a *App) scheduler() *schedule.Scheduler {
	return &schedule.Scheduler{DB: a.db.pool, World: func() metadata.World { return a.live.Current().World }, Log: a.log}
}

func (a *App) newUpkeep() *upkeep.Worker {
	return &upkeep.Worker{
		Pool: a.db.pool, Current: a.db.upToDate, Repair: a.handler.RepairCapture, Drift: a.handler.CaptureDrift, Log: a.log,
		Retention: upkeep.Retention{Delivered: time.Duration(a.cfg.DeliveryRetention), Failed: time.Duration(a.cfg.FailureRetention)},
		Interval:  time.Duration(a.cfg.UpkeepInterval),
	}
}

// newRemotes is the watch over the servers of remote schemas.
func (a *App) newRemotes() *remotes.Watch {
	return &remotes.Watch{
		World: func() metadata.World { return a.live.Current().World }, Ask: a.handler.Remote.Introspect,
		Interval: a.cfg.remoteInterval(), Log: a.log,
		ReadAt: func(ctx context.Context, position int64) (time.Time, error) {
			event, err := a.store.Get(ctx, position)
			return event.RecordedAt, err
		},
	}
}

func (a *App) follower() *follow.Follower {
	return &follow.Follower{
		Store: a.store, Live: a.live, CatchUp: a.handler.CatchUp, SnapshotEvery: a.cfg.SnapshotEvery, Log: a.log,
		Snapshot: func(ctx context.Context, v catalog.Version) error {
			return catalog.SaveSnapshot(ctx, a.db.pool, a.store, v.Position, v.World.Catalog)
		},
	}
}

// Close gives everything back: connections, and annals' own PostgreSQL.
func (a *App) Close() error {
	if a.hub != nil {
		a.hub.Close()
	}
	if a.deliveries != nil {
		a.deliveries.Close()
	}
	if a.outbound != nil {
		a.outbound.Close()
	}
	return a.db.close()
}

// listen opens the address that the settings name.
func (s Serve) listen() (net.Listener, error) {
	host := s.ServerHost
	if host == "*" {
		host = ""
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(s.ServerPort)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w; choose another port with --server-port", err)
	}
	return listener, nil
}
