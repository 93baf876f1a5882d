package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/migrations"
	"annals/migrations/localpg"
)

const (
	testPrefix     = "annals_test_"
	templatePrefix = "annals_template_"

	// abandonedAfter is the age from which a test's leftovers are taken for
	// those of a killed run; no test takes as long.
	abandonedAfter = time.Hour
	// templateKept is how long a template of other migrations is kept.
	templateKept = 7 * 24 * time.Hour

	// templateLock is the advisory lock under which the template is made.
	templateLock int64 = 0x7067746573740001 // "pgtest" and a number
)

// A server is the shared server, seen as a maker of databases.
type server struct{ *localpg.Server }

// copyTemplate makes a migrated database by copying the template.
func (s server) copyTemplate(ctx context.Context) (name string, err error) {
	fingerprint, err := migrations.Fingerprint()
	if err != nil {
		return "", err
	}
	template := templatePrefix + fingerprint[:16]
	err = s.administer(ctx, func(admin *pgx.Conn) error {
		if err := s.ensureTemplate(ctx, admin, template); err != nil {
			return fmt.Errorf("make the template: %w", err)
		}
		name, err = create(ctx, admin, template)
		return err
	})
	return name, err
}

func (s server) createEmpty(ctx context.Context) (name string, err error) {
	err = s.administer(ctx, func(admin *pgx.Conn) error {
		name, err = create(ctx, admin, "template0")
		return err
	})
	return name, err
}

func create(ctx context.Context, admin *pgx.Conn, template string) (name string, err error) {
	random := make([]byte, 8)
	rand.Read(random) // never fails
	name = testPrefix + hex.EncodeToString(random)
	_, err = admin.Exec(ctx, "CREATE DATABASE "+quote(name)+" TEMPLATE "+quote(template)+strategy(admin))
	return name, err
}

// strategy is how to copy a template. Without durability a copy of its files is
// twice as fast as one through the log, which is what PostgreSQL would do by
// itself; before version 15 it knew no other way.
func strategy(admin *pgx.Conn) string {
	if strings.HasPrefix(admin.PgConn().ParameterStatus("server_version"), "14") {
		return ""
	}
	return " STRATEGY file_copy"
}

func (s server) drop(ctx context.Context, name string) error {
	return s.administer(ctx, func(admin *pgx.Conn) error {
		_, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)")
		return err
	})
}

// administer lends a connection to the database that always exists.
func (s server) administer(ctx context.Context, work func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return work(conn)
}

// ensureTemplate makes the template if it is missing; of several at once, one does.
func (s server) ensureTemplate(ctx context.Context, admin *pgx.Conn, template string) error {
	if exists, err := databaseExists(ctx, admin, template); exists || err != nil {
		return err
	}
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return err
	}
	// Closing the connection would do as well; this lets the next one begin sooner.
	defer admin.Exec(ctx, "SELECT pg_advisory_unlock($1)", templateLock)
	if exists, err := databaseExists(ctx, admin, template); exists || err != nil {
		return err
	}
	return errors.Join(s.makeTemplate(ctx, admin, template), sweep(ctx, admin, template))
}

// makeTemplate builds under another name, so that a half migrated template is
// never copied.
func (s server) makeTemplate(ctx context.Context, admin *pgx.Conn, template string) error {
	building := template + "_new"
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + quote(building) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(building) + " TEMPLATE template0",
	} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := migrate(ctx, s.URL(building)); err != nil {
		return err
	}
	for _, sql := range []string{
		"ALTER DATABASE " + quote(building) + " ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + quote(building) + " RENAME TO " + quote(template),
	} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func migrate(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = migrations.Run(ctx, conn)
	return err
}

func databaseExists(ctx context.Context, admin *pgx.Conn, name string) (exists bool, err error) {
	err = admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists)
	return exists, err
}

// sweep drops what killed runs left behind: databases nobody is connected to,
// by the age of a file that is written when a database is made.
func sweep(ctx context.Context, admin *pgx.Conn, current string) error {
	rows, err := admin.Query(ctx, `
		SELECT datname
		FROM pg_database AS d,
		     LATERAL (SELECT now() - modification AS age FROM pg_stat_file('base/' || d.oid || '/PG_VERSION', true)) AS made
		WHERE (starts_with(datname, $1) AND age > $2 OR starts_with(datname, $3) AND age > $4 AND datname <> $5)
		  AND NOT EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.datid = d.oid)`,
		testPrefix, abandonedAfter, templatePrefix, templateKept, current)
	if err != nil {
		return fmt.Errorf("look for abandoned databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for abandoned databases: %w", err)
	}
	for _, name := range names {
		// Not by force: a connection means that it is not abandoned after all.
		_, _ = admin.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name))
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
