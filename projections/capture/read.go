package capture

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/metadata"
)

// Querier is what the database is read through.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// installed is a capture function as it is there, with the triggers that call it.
type installed struct {
	name     string
	source   string
	guarded  bool // runs as its owner, and sets nothing
	triggers []shape
}

//go:embed installed.sql
var installedSQL string

// readInstalled returns what is installed, by the functions' names: of some
// names, or all of them where names is nil.
func readInstalled(ctx context.Context, q Querier, names []string) (map[string]*installed, error) {
	rows, err := q.Query(ctx, installedSQL, names)
	if err != nil {
		return nil, fmt.Errorf("read the capture triggers: %w", err)
	}
	found := map[string]*installed{}
	var (
		f          installed
		table      *uint32
		name       *string
		kind       *int16
		old, fresh *string
		enabled    *bool
	)
	targets := []any{&f.name, &f.source, &f.guarded, &table, &name, &kind, &old, &fresh, &enabled}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		if found[f.name] == nil {
			found[f.name] = &installed{name: f.name, source: f.source, guarded: f.guarded}
		}
		if table != nil {
			s := shape{table: *table, name: *name, kind: *kind, old: text(old), new: text(fresh), enabled: *enabled}
			found[f.name].triggers = append(found[f.name].triggers, s)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the capture triggers: %w", err)
	}
	return found, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

//go:embed relations.sql
var relationsSQL string

// readRelations returns what the tables of event triggers are now. A table that
// is not there is not in the answer.
func readRelations(ctx context.Context, q Querier, triggers []metadata.EventTrigger) (map[domain.QualifiedName]relation, error) {
	schemas, tables := make([]string, len(triggers)), make([]string, len(triggers))
	for i, t := range triggers {
		schemas[i], tables[i] = t.Table.Schema, t.Table.Name
	}
	rows, err := q.Query(ctx, relationsSQL, schemas, tables)
	if err != nil {
		return nil, fmt.Errorf("read the tables of event triggers: %w", err)
	}
	found := map[domain.QualifiedName]relation{}
	var r relation
	_, err = pgx.ForEachRow(rows, []any{&r.name.Schema, &r.name.Name, &r.oid, &r.kind, &r.partition, &r.parent}, func() error {
		found[r.name] = r
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tables of event triggers: %w", err)
	}
	return found, nil
}
