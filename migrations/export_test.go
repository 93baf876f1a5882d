package migrations

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// The tests bring files of their own, and databases from pgtest, which imports
// this package: so they stand outside it.

func RunFiles(ctx context.Context, conn *pgx.Conn, files fs.FS) (applied int, err error) {
	return run(ctx, conn, files)
}

func FingerprintFiles(files fs.FS) (string, error) { return fingerprint(files) }
