package capture

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
	"annals/domain/metadata"
	"annals/domain/sql"
)

// Reconcile makes what is installed for the event triggers of some names as
// the catalog wants it. Its cost is theirs, whatever else the catalog holds.
func Reconcile(ctx context.Context, tx pgx.Tx, c metadata.Catalog, names []string) error {
	if len(names) == 0 {
		return nil
	}
	repairs, err := compareSome(ctx, tx, c, names)
	if err != nil {
		return err
	}
	return apply(ctx, tx, repairs)
}

// ReconcileAll makes all that is installed as the catalog wants it, and
// returns what was not.
func ReconcileAll(ctx context.Context, tx pgx.Tx, c metadata.Catalog) ([]Difference, error) {
	repairs, err := compareAll(ctx, tx, c)
	if err != nil {
		return nil, err
	}
	mended := make([]Difference, len(repairs))
	for i, r := range repairs {
		mended[i] = r.Difference
	}
	return mended, apply(ctx, tx, repairs)
}

//go:embed archive.sql
var archiveSQL string

// Archive ends event triggers that are in no catalog any more, after their
// database triggers went: nothing that they captured is sent from now on. The
// position is that of the command that removed them.
func Archive(ctx context.Context, tx pgx.Tx, names []string, position int64) error {
	if len(names) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, archiveSQL, names, position); err != nil {
		return fmt.Errorf("archive the events of removed event triggers: %w", err)
	}
	return nil
}

func apply(ctx context.Context, tx pgx.Tx, repairs []repair) error {
	for _, r := range repairs {
		for _, statement := range r.statements() {
			if _, err := tx.Exec(ctx, sql.Print(statement).SQL); err != nil {
				return r.presented(err)
			}
		}
	}
	return nil
}

func (r repair) statements() []sql.Node {
	if r.wanted != nil && r.keeps {
		return r.wanted.createFunction()
	}
	drop := sql.Seq(sql.Raw("DROP FUNCTION IF EXISTS "), sql.Qualified("annals", r.Function), sql.Raw("() CASCADE"))
	if r.wanted == nil {
		return []sql.Node{drop}
	}
	return append(append([]sql.Node{drop}, r.wanted.createFunction()...), r.wanted.createTrigger())
}

func (d definition) createFunction() []sql.Node {
	name := sql.Seq(sql.Qualified("annals", d.function()), sql.Raw("()"))
	return []sql.Node{
		sql.Seq(sql.Raw("CREATE OR REPLACE FUNCTION "), name,
			sql.Raw(" RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS "), sql.Literal(d.body())),
		sql.Seq(sql.Raw("REVOKE ALL ON FUNCTION "), name, sql.Raw(" FROM PUBLIC")),
	}
}

func (d definition) createTrigger() sql.Node {
	when := sql.Raw(" FOR EACH ROW")
	if !d.byRow() {
		when = sql.Seq(sql.Raw(" REFERENCING "), d.operation.transition, sql.Raw(" AS "), changed, sql.Raw(" FOR EACH STATEMENT"))
	}
	return sql.Seq(
		sql.Raw("CREATE TRIGGER "), sql.Name(triggerName(d.trigger, d.operation)),
		sql.Raw(" AFTER "), d.operation.event, sql.Raw(" ON "), sql.Qualified(d.table.name.Schema, d.table.name.Name), when,
		sql.Raw(" EXECUTE FUNCTION "), sql.Qualified("annals", d.function()), sql.Raw("()"),
	)
}

// presented tells the caller what PostgreSQL refuses for a reason of theirs:
// a table of somebody else's, a trigger of that name. A lock that was waited
// for too long is the caller's to present.
func (r repair) presented(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code != lockNotAvailable && r.wanted != nil {
		return domain.Refuse(domain.NotSupported, "the changes of table %q cannot be captured for event trigger %q: %s", r.Table, r.Trigger, pg.Message)
	}
	return fmt.Errorf("install capture function %s: %w", r.Function, err)
}

// lockNotAvailable is the SQLSTATE of a lock that was waited for too long.
const lockNotAvailable = "55P03"
