// Package pgtest gives a test a real PostgreSQL database of its own.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	func TestAppend(t *testing.T) {
//		db := pgtest.New(t)
//		db.Pool.Exec(t.Context(), ...)
//	}
//
// All test binaries of a user share one server, started by the first and
// stopped by the last (see [localpg]). Each test attaches for as long as it
// runs, so nothing is left running even where Main was forgotten; Main only
// keeps the server up between one binary's tests. A binary that is killed
// leaves the server for the next run to attach to, and that run stops it and
// removes the databases.
//
// A database is a copy of a template that holds every migration and is made
// again when a migration changes. The server gives up durability, so its folder
// (in the system's temporary folder, by user) may be removed at any time that
// no test runs.
//
// The server's programs are looked for as [localpg.FindPrograms] does, then in
// .postgres/bin at the top of the repository; ANNALS_POSTGRES_BIN names their
// folder and ends the search.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"annals/migrations/localpg"
)

// cleanupLimit bounds what is done after a test, when its own context has ended.
const cleanupLimit = time.Minute

// A DB is a database that one test owns.
type DB struct {
	URL  string
	Pool *pgxpool.Pool
}

// Main runs a package's tests with the server kept up in between, and exits.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	server, err := start(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return 1
	}
	code := m.Run()
	ctx, cancel := context.WithTimeout(ctx, cleanupLimit)
	defer cancel()
	if err := server.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// New makes a database with every migration in it. It is dropped after the test.
func New(t testing.TB) *DB {
	t.Helper()
	s := attach(t)
	name, err := s.copyTemplate(t.Context())
	if err != nil {
		t.Fatalf("make a migrated database: %v", err)
	}
	url := s.lend(t, name)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatalf("open a pool: %v", err)
	}
	t.Cleanup(pool.Close)
	return &DB{URL: url, Pool: pool}
}

// Empty makes a database with nothing in it and returns its URL. It is dropped
// after the test.
func Empty(t testing.TB) string {
	t.Helper()
	s := attach(t)
	name, err := s.createEmpty(t.Context())
	if err != nil {
		t.Fatalf("make an empty database: %v", err)
	}
	return s.lend(t, name)
}

// DataDir makes a data folder for a program that starts a PostgreSQL itself,
// with an initialised cluster in it that does not wait for the disk. After the
// test whatever runs in it is stopped and the folder is removed.
func DataDir(t testing.TB) string {
	t.Helper()
	dir, err := newDataDir(t.Context())
	if dir != "" {
		t.Cleanup(func() { discard(t, dir) })
	}
	if err != nil {
		t.Fatalf("make a data folder: %v", err)
	}
	return dir
}

// Config is how a test starts a PostgreSQL of its own in dataDir, such as one
// from [DataDir]: with the programs of the shared server, and as fast.
func Config(t testing.TB, dataDir string) localpg.Config {
	t.Helper()
	base, err := baseFolder()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(base)
	cfg.DataDir = dataDir
	return cfg
}

// attach uses the shared server until the end of the test.
func attach(t testing.TB) server {
	t.Helper()
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return server{s}
}

// lend hands out a database for the length of the test.
func (s server) lend(t testing.TB, name string) (url string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return s.URL(name)
}

func discard(t testing.TB, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	if err := localpg.Discard(ctx, dir); err != nil {
		t.Errorf("remove the data folder: %v", err)
	}
}
