package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/handlers/execution"
	"annals/migrations"
	"annals/migrations/localpg"
)

// openDatabase is the database in use: the one that was named, or one that
// this program started.
type openDatabase struct {
	// pool is for the metadata, rows for GraphQL: neither waits for the other.
	pool *pgxpool.Pool
	rows *pgxpool.Pool
	own  *localpg.Server // nil when a database was named
	url  string

	probing sync.Mutex
	probe   *pgx.Conn
}

// connectTimeout bounds one try to connect.
const connectTimeout = 10 * time.Second

// openDB connects to the database that the settings name, starting one where
// they name none.
func openDB(ctx context.Context, cfg Database, log *slog.Logger) (*openDatabase, error) {
	d := &openDatabase{}
	url := cfg.url()
	if url == "" {
		own, err := startOwn(ctx, cfg, log)
		if err != nil {
			return nil, err
		}
		d.own, url = own, own.URL("postgres")
	}
	pool, err := connect(ctx, cfg, url)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.pool, d.url = pool, url
	return d, nil
}

func startOwn(ctx context.Context, cfg Database, log *slog.Logger) (*localpg.Server, error) {
	dir, err := cfg.dataDir()
	if err != nil {
		return nil, err
	}
	own, err := localpg.Start(ctx, localpg.Config{DataDir: dir, BinDir: cfg.PostgresBin, Log: log})
	if err != nil {
		return nil, fmt.Errorf("start a PostgreSQL of our own in %s: %w", dir, err)
	}
	return own, nil
}

func connect(ctx context.Context, cfg Database, url string) (*pgxpool.Pool, error) {
	pc, err := cfg.pool(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := reach(ctx, pool, cfg.Retries); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}

// forEver is longer than any connection lives: the pool itself knows no life
// without an end.
const forEver = 100 * 365 * 24 * time.Hour

// pool is how the connections for the metadata are kept.
func (d Database) pool(url string) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("--database-url: %w", err)
	}
	pc.MaxConns = d.metadataConnections()
	pc.MaxConnLifetime = cmp.Or(time.Duration(d.ConnLifetime), forEver)
	pc.MaxConnIdleTime = time.Duration(d.IdleTimeout)
	pc.ConnConfig.ConnectTimeout = connectTimeout
	pc.ConnConfig.RuntimeParams["application_name"] = "annals"
	pc.ConnConfig.RuntimeParams["jit"] = "off" // compiling costs more than most statements run
	return pc, nil
}

// operations makes the pool's settings those of connections that GraphQL
// operations run on: the ones that the metadata leaves.
func (s *Serve) operations(pc *pgxpool.Config) {
	pc.MaxConns = max(1, s.Connections-pc.MaxConns)
	execution.Connections(pc, time.Duration(s.StatementTimeout))
}

// openRows opens the connections that GraphQL operations run on.
func (d *openDatabase) openRows(ctx context.Context, cfg Serve) (err error) {
	pc := d.pool.Config()
	cfg.operations(pc)
	if d.rows, err = pgxpool.NewWithConfig(ctx, pc); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	return nil
}

// metadataConnections is how many of the connections are kept for the
// metadata, so that busy operations never keep a change from being made.
func (d Database) metadataConnections() int32 { return max(4, d.Connections/4) }

// reach tries until the database answers, at most retries times more than once.
func reach(ctx context.Context, pool *pgxpool.Pool, retries int) error {
	err := pool.Ping(ctx)
	for ; err != nil && retries > 0; retries-- {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		err = pool.Ping(ctx)
	}
	return err
}

// migrate brings the schema annals up to this program's version.
func (d *openDatabase) migrate(ctx context.Context, log *slog.Logger) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer conn.Release()
	applied, err := migrations.Run(ctx, conn.Conn())
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if applied > 0 {
		log.Info("database migrated", "migrations", applied)
	}
	return nil
}

// upToDate refuses a database whose schema annals is not this program's.
func (d *openDatabase) upToDate(ctx context.Context) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("look for migrations: %w", err)
	}
	defer conn.Release()
	pending, err := migrations.Pending(ctx, conn.Conn())
	if err != nil {
		return fmt.Errorf("look for migrations: %w", err)
	}
	if pending > 0 {
		return fmt.Errorf("the database lacks %d of annals' migrations: run `annals migrate` first", pending)
	}
	return nil
}

//go:embed powers.sql
var powersSQL string

// reachesOut reports whether the SQL of this service's admin can reach out of
// the database, to the machine that it is on.
func (d *openDatabase) reachesOut(ctx context.Context) (yes bool, err error) {
	if err := d.pool.QueryRow(ctx, powersSQL).Scan(&yes); err != nil {
		return false, fmt.Errorf("look at what the database's user may do: %w", err)
	}
	return yes, nil
}

// withProbe runs f on a connection that is kept for probes alone: a probe does
// not stand in a queue behind operations.
func (d *openDatabase) withProbe(ctx context.Context, f func(*pgx.Conn) (int64, error)) (int64, error) {
	d.probing.Lock()
	defer d.probing.Unlock()
	if d.probe == nil || d.probe.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
		if err != nil {
			return 0, err
		}
		d.probe = conn
	}
	return f(d.probe)
}

// close ends the connections, and gives back a PostgreSQL of our own: the last
// program that uses it stops it.
func (d *openDatabase) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d.probing.Lock()
	defer d.probing.Unlock()
	if d.probe != nil {
		_ = d.probe.Close(ctx) // nothing is in flight on it
	}
	if d.rows != nil {
		d.rows.Close()
	}
	if d.pool != nil {
		d.pool.Close()
	}
	if d.own == nil {
		return nil
	}
	if err := d.own.Stop(ctx); err != nil {
		return fmt.Errorf("stop our own PostgreSQL: %w", err)
	}
	return nil
}
