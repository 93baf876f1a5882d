package eventstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed save_snapshot.sql
var saveSnapshotSQL string

// SaveSnapshot keeps what a reader has made of the events up to a position, in a
// form that only the reader knows.
func (s *Store) SaveSnapshot(ctx context.Context, q Querier, position int64, state []byte) error {
	if _, err := q.Exec(ctx, saveSnapshotSQL, position, state); err != nil {
		return fmt.Errorf("save the snapshot at position %d: %w", position, err)
	}
	return nil
}

//go:embed snapshot_at_or_before.sql
var snapshotAtOrBeforeSQL string

// SnapshotAtOrBefore is the nearest snapshot that is not later than a position;
// not ok if there is none. From there on the events tell the rest.
func (s *Store) SnapshotAtOrBefore(ctx context.Context, q Querier, position int64) (at int64, state []byte, ok bool, err error) {
	err = q.QueryRow(ctx, snapshotAtOrBeforeSQL, position).Scan(&at, &state)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil, false, nil
	}
	if err != nil {
		return 0, nil, false, fmt.Errorf("load the snapshot at or before position %d: %w", position, err)
	}
	return at, state, true, nil
}

//go:embed prune_snapshots.sql
var pruneSnapshotsSQL string

// PruneSnapshots drops all but the newest snapshots.
func (s *Store) PruneSnapshots(ctx context.Context, q Querier, keep int) error {
	if _, err := q.Exec(ctx, pruneSnapshotsSQL, keep); err != nil {
		return fmt.Errorf("prune snapshots: %w", err)
	}
	return nil
}
