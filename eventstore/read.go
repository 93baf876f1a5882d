package eventstore

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed read.sql
var readSQL string

// Read yields the events after a position in their order, limit of them at
// most, all if it is 0. Everything comes out of one statement, and so from one
// moment: it ends where the log ended then. An error ends it.
//
// The events stream through q, which cannot be used for anything else meanwhile.
// Whoever stops early still receives the rest, unseen: then give a limit.
func (s *Store) Read(ctx context.Context, q Querier, after int64, limit int) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		rows, err := q.Query(ctx, readSQL, binaryResults(), after, limit)
		if err == nil {
			err = yieldRows(rows, yield)
		}
		if err != nil {
			yield(Recorded{}, fmt.Errorf("read the log after position %d: %w", after, err))
		}
	}
}

func yieldRows(rows pgx.Rows, yield func(Recorded, error) bool) error {
	defer rows.Close()
	for rows.Next() {
		recorded, err := parseRecorded(rows.RawValues())
		if err != nil {
			return err
		}
		if !yield(recorded, nil) {
			return nil
		}
	}
	return rows.Err()
}

// A RawEvent is lent for the time of one call: who keeps bytes copies them.
type RawEvent struct {
	Position      int64
	Type          []byte
	SchemaVersion int
	Changes       []byte
}

//go:embed scan.sql
var scanSQL string

// Scan calls fold with the events after a position in their order, limit of
// them at most, all if it is 0. It is Read for those who fold many events:
// nothing is copied, and only what a fold needs is read. An error of fold ends
// it and is returned as it is.
func (s *Store) Scan(ctx context.Context, q Querier, after int64, limit int, fold func(RawEvent) error) error {
	rows, err := q.Query(ctx, scanSQL, binaryResults(), after, limit)
	if err != nil {
		return fmt.Errorf("scan the log after position %d: %w", after, err)
	}
	defer rows.Close()
	for rows.Next() {
		event, err := parseRaw(rows.RawValues())
		if err != nil {
			return fmt.Errorf("scan the log after position %d: %w", after, err)
		}
		if err := fold(event); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("scan the log after position %d: %w", after, err)
	}
	return nil
}

func parseRaw(v [][]byte) (RawEvent, error) {
	if len(v) != 4 || len(v[0]) != 8 || len(v[2]) != 4 {
		return RawEvent{}, errMalformed
	}
	return RawEvent{
		Position:      int64(binary.BigEndian.Uint64(v[0])),
		Type:          v[1],
		SchemaVersion: int(int32(binary.BigEndian.Uint32(v[2]))),
		Changes:       v[3],
	}, nil
}

// NotFound says that the log has no event at a position.
type NotFound struct{ Position int64 }

func (e NotFound) Error() string {
	return fmt.Sprintf("the log has no event at position %d", e.Position)
}

//go:embed get.sql
var getSQL string

// Get is the event at a position, or NotFound.
func (s *Store) Get(ctx context.Context, position int64) (Recorded, error) {
	rows, err := s.pool.Query(ctx, getSQL, binaryResults(), position)
	if err != nil {
		return Recorded{}, fmt.Errorf("get event %d: %w", position, err)
	}
	recorded, err := pgx.CollectExactlyOneRow(rows, collectRecorded)
	if errors.Is(err, pgx.ErrNoRows) {
		return Recorded{}, NotFound{Position: position}
	}
	if err != nil {
		return Recorded{}, fmt.Errorf("get event %d: %w", position, err)
	}
	return recorded, nil
}

//go:embed position_at.sql
var positionAtSQL string

// PositionAt is where the log ended at a time: the position of the last event
// recorded then or before, 0 if there was none.
func (s *Store) PositionAt(ctx context.Context, q Querier, t time.Time) (int64, error) {
	var position int64
	err := q.QueryRow(ctx, positionAtSQL, t).Scan(&position)
	if err != nil {
		return 0, fmt.Errorf("find the position at %s: %w", t.Format(time.RFC3339Nano), err)
	}
	return position, nil
}
