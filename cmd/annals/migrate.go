package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"annals/migrations"
)

// migrateCommand is `annals migrate`.
type migrateCommand struct {
	Output   `embed:""`
	Database `embed:"" group:"Database"`
}

// Help is printed below the flags.
func (migrateCommand) Help() string {
	return `Examples:
  annals migrate                                             annals' own PostgreSQL
  annals migrate --database-url postgres://localhost/shop    another database
annals serve does the same when it starts. Migrations only go forward; of several
programs at once, one does the work and the others wait.`
}

// Run implements kong's command.
func (c *migrateCommand) Run(ctx context.Context, con console) (err error) {
	var db *openDatabase
	err = con.busy("opening the database", func() (err error) {
		db, err = openDB(ctx, c.Database, slog.New(slog.DiscardHandler))
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	defer conn.Release()
	var applied int
	err = con.busy("migrating", func() (err error) {
		applied, err = migrations.Run(ctx, conn.Conn())
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return c.print(con, applied)
}

func (c *migrateCommand) print(con console, applied int) (err error) {
	switch {
	case c.JSON:
		_, err = fmt.Fprintf(con.out, "{\"applied\":%d}\n", applied)
	case applied == 0:
		_, err = fmt.Fprintln(con.out, "the database is up to date")
	default:
		_, err = fmt.Fprintf(con.out, "%d migrations applied\n", applied)
	}
	return err
}
