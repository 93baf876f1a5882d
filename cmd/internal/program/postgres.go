package program

import (
	"context"
	"errors"
	"os"

	"annals/migrations/localpg"
)

// WithPostgres lends work a PostgreSQL of its own, in a folder that is gone
// afterwards. Its programs are in bin; empty: they are found.
func WithPostgres(ctx context.Context, bin string, work func(*localpg.Server) error) (err error) {
	dir, err := os.MkdirTemp("", "annals-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the server's user must get in
		return err
	}
	server, err := localpg.Start(ctx, localpg.Config{DataDir: dir + "/data", BinDir: bin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(ctx)) }()
	return work(server)
}
