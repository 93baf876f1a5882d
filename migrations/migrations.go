// Package migrations is the database as a place: the tables, functions and
// triggers of the schema annals, and the way from any older state to this one.
//
// A file NNNN_subject.sql is one step. Steps are numbered without gaps, go
// forward only, and each runs once, in a transaction of its own. The number of
// the last one is kept in annals.schema_version.
//
// What always holds:
//
//   - A published file never changes; what it made is changed by a later one.
//   - Any number of processes may call [Run] at the same time: they queue on an
//     advisory lock, the first does the work and the others find none.
//   - A file is sent to the database as it stands. In particular {{ and }} mean
//     nothing, although tern, which keeps the count, knows templates.
//   - A database that is ahead of this program is left alone ([AheadError]).
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"
)

//go:embed *.sql
var files embed.FS

const (
	versionTable = "annals.schema_version"

	// runLock is the advisory lock of a run. It is taken outside tern's own,
	// because the schema that holds tern's table must be made under a lock too:
	// CREATE SCHEMA IF NOT EXISTS fails when two sessions race.
	runLock int64 = 0x616e6e616c73 // "annals"
)

// AheadError says that a newer program has migrated the database.
type AheadError struct {
	Database int // the database's version
	Program  int // the newest version this program knows
}

func (e AheadError) Error() string {
	return fmt.Sprintf("the database is at schema version %d, and this program knows versions up to %d: "+
		"run the program that migrated it or a newer one, or restore a backup made before", e.Database, e.Program)
}

// Run brings the database to this program's version and returns how many steps
// that took. Session settings of conn are reset if it took any.
func Run(ctx context.Context, conn *pgx.Conn) (applied int, err error) {
	return run(ctx, conn, files)
}

// Pending is the number of steps Run would take. It changes nothing.
func Pending(ctx context.Context, conn *pgx.Conn) (int, error) {
	steps, err := load(files)
	if err != nil {
		return 0, err
	}
	current, err := version(ctx, conn)
	if err != nil {
		return 0, err
	}
	return ahead(current, len(steps))
}

// Known is the newest version of the database that this program knows.
func Known() (int, error) {
	steps, err := load(files)
	return len(steps), err
}

// Fingerprint changes with every change of any step. Databases with the same
// fingerprint have the same tables.
func Fingerprint() (string, error) { return fingerprint(files) }

func fingerprint(files fs.FS) (string, error) {
	steps, err := load(files)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, s := range steps {
		fmt.Fprintf(sum, "%s\x00%d\x00%s", s.name, len(s.sql), s.sql)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func run(ctx context.Context, conn *pgx.Conn, files fs.FS) (applied int, err error) {
	steps, err := load(files)
	if err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", runLock); err != nil {
		return 0, fmt.Errorf("wait for other migrations: %w", err)
	}
	defer func() {
		// Also after ctx has ended; on a broken connection the lock is gone already.
		_, unlock := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", runLock)
		if err == nil && unlock != nil {
			err = fmt.Errorf("let other migrations go on: %w", unlock)
		}
	}()
	current, err := version(ctx, conn)
	if err != nil {
		return 0, err
	}
	pending, err := ahead(current, len(steps))
	if err != nil || pending == 0 {
		return 0, err
	}
	if err := take(ctx, conn, steps, &applied); err != nil {
		return applied, fmt.Errorf("migrate the database: %w", err)
	}
	return applied, nil
}

// take runs the steps that are left, counting those begun less a failed one.
func take(ctx context.Context, conn *pgx.Conn, steps []step, applied *int) error {
	if err := ensureSchema(ctx, conn); err != nil {
		return err
	}
	migrator, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return err
	}
	for _, s := range steps {
		migrator.AppendMigration(s.name, s.sql, "")
	}
	migrator.OnStart = func(int32, string, string, string) { *applied++ }
	if err := migrator.Migrate(ctx); err != nil {
		*applied = max(0, *applied-1)
		return err
	}
	return nil
}

// ensureSchema asks first: IF NOT EXISTS needs the right to create schemas
// even where there is nothing to create.
func ensureSchema(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regnamespace('annals') IS NOT NULL").Scan(&exists); err != nil {
		return err
	}
	if exists {
		return nil
	}
	_, err := conn.Exec(ctx, "CREATE SCHEMA annals")
	return err
}

// version is the database's, 0 if it was never migrated.
func version(ctx context.Context, conn *pgx.Conn) (int, error) {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&exists); err != nil {
		return 0, fmt.Errorf("look for the schema version: %w", err)
	}
	if !exists {
		return 0, nil
	}
	var v int
	err := conn.QueryRow(ctx, "SELECT version FROM "+versionTable).Scan(&v)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return v, nil
}

func ahead(database, program int) (pending int, err error) {
	if database > program {
		return 0, AheadError{Database: database, Program: program}
	}
	return program - database, nil
}

// A step is one migration file.
type step struct{ name, sql string }

// load reads the steps in order. tern finds gaps and doubles, but passes over
// a file whose name it does not understand; here that is an error.
func load(files fs.FS) ([]step, error) {
	names, err := migrate.FindMigrations(files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	all, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	if len(all) != len(names) {
		return nil, fmt.Errorf("read the migrations: of %v only %v are named NNNN_subject.sql", all, names)
	}
	steps := make([]step, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		steps[i] = step{name, string(text)}
	}
	return steps, nil
}
