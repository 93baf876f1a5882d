package eventstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed load_checkpoint.sql
var loadCheckpointSQL string

// LoadCheckpoint is the position a named reader has reached, 0 if it has none.
func (s *Store) LoadCheckpoint(ctx context.Context, q Querier, name string) (int64, error) {
	var position int64
	err := q.QueryRow(ctx, loadCheckpointSQL, name).Scan(&position)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("load checkpoint %s: %w", name, err)
	}
	return position, nil
}

//go:embed save_checkpoint.sql
var saveCheckpointSQL string

// SaveCheckpoint keeps the position a named reader has reached. Saved in the
// transaction that writes what the reader made of the events, it makes them
// handled exactly once. A rebuild sets it back.
func (s *Store) SaveCheckpoint(ctx context.Context, q Querier, name string, position int64) error {
	if _, err := q.Exec(ctx, saveCheckpointSQL, name, position); err != nil {
		return fmt.Errorf("save checkpoint %s at position %d: %w", name, position, err)
	}
	return nil
}
