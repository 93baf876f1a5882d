package catalog

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
)

//go:embed save.sql
var saveSQL string

//go:embed remove.sql
var removeSQL string

// Moved is the changes of one event, and where it stands.
type Moved struct {
	Position int64
	Changes  []metadata.Change
}

// Save brings annals.catalog up to date with events appended in the same
// transaction: only the rows that changed are written.
func Save(ctx context.Context, tx pgx.Tx, events ...Moved) error {
	last := map[metadata.Key]row{}
	for _, e := range events {
		for _, c := range e.Changes {
			last[c.Key()] = row{e.Position, string(c.Definition)}
		}
	}
	return write(ctx, tx, last)
}

// row is what an object's row becomes; an empty definition means none.
type row struct {
	position   int64
	definition string
}

func write(ctx context.Context, tx pgx.Tx, rows map[metadata.Key]row) error {
	var put, gone columns
	for key, r := range rows {
		if r.definition == "" {
			gone.add(key, r)
		} else {
			put.add(key, r)
		}
	}
	batch := &pgx.Batch{}
	if len(gone.kinds) > 0 {
		batch.Queue(removeSQL, gone.kinds, gone.names)
	}
	if len(put.kinds) > 0 {
		batch.Queue(saveSQL, put.kinds, put.names, put.definitions, put.positions)
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("save catalog: %w", err)
	}
	return nil
}

// columns are rows turned into the arrays that a statement takes.
type columns struct {
	kinds, names, definitions []string
	positions                 []int64
}

func (c *columns) add(key metadata.Key, r row) {
	c.kinds = append(c.kinds, string(key.Kind))
	c.names = append(c.names, key.Name)
	c.definitions = append(c.definitions, r.definition)
	c.positions = append(c.positions, r.position)
}
