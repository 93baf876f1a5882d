package catalog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain/metadata"
	"annals/eventstore"
)

// Report tells how a rebuilt catalog compares with the persisted one.
type Report struct {
	Position int64 `json:"position"`
	Objects  int   `json:"objects"`
	// Differing names the objects whose persisted row was not what the log
	// says, in the catalog's order.
	Differing []metadata.Key `json:"differing"`
}

// Compare folds the log from zero and compares the result with annals.catalog,
// in one snapshot of the database.
func Compare(ctx context.Context, pool *pgxpool.Pool, store *eventstore.Store) (Report, error) {
	var report Report
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, pool, options, func(tx pgx.Tx) (err error) {
		report, _, err = compare(ctx, tx, store)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("compare catalog with the log: %w", err)
	}
	return report, nil
}

// Rebuild folds the log from zero and writes the persisted rows that differ.
// No operation runs meanwhile: the head of the history is locked.
func Rebuild(ctx context.Context, pool *pgxpool.Pool, store *eventstore.Store) (Report, error) {
	var report Report
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := store.Lock(ctx, tx); err != nil {
			return err
		}
		r, rows, err := compare(ctx, tx, store)
		if err != nil {
			return err
		}
		report = r
		return write(ctx, tx, rows)
	})
	if err != nil {
		return Report{}, fmt.Errorf("rebuild catalog: %w", err)
	}
	return report, nil
}

// compare returns what differs, and the rows as they should be.
func compare(ctx context.Context, tx pgx.Tx, store *eventstore.Store) (Report, map[metadata.Key]row, error) {
	head, err := store.HeadIn(ctx, tx)
	if err != nil {
		return Report{}, nil, err
	}
	want, err := fold(ctx, tx, store)
	if err != nil {
		return Report{}, nil, err
	}
	have, err := load(ctx, tx)
	if err != nil {
		return Report{}, nil, err
	}
	report := Report{Position: head.Position, Objects: want.Len(), Differing: []metadata.Key{}}
	rows := map[metadata.Key]row{}
	for e := range want.All() {
		if !same(e, have.Get(e.Key)) {
			report.Differing = append(report.Differing, e.Key)
			rows[e.Key] = row{e.Position, string(e.Definition)}
		}
	}
	for e := range have.All() {
		if !want.Has(e.Key) {
			report.Differing = append(report.Differing, e.Key)
			rows[e.Key] = row{}
		}
	}
	return report, rows, nil
}

func fold(ctx context.Context, tx pgx.Tx, store *eventstore.Store) (metadata.Catalog, error) {
	f := metadata.FoldFrom(metadata.Catalog{})
	err := store.Scan(ctx, tx, 0, 0, func(e eventstore.RawEvent) error {
		return f.Event(e.Position, e.SchemaVersion, e.Changes)
	})
	if err != nil {
		return metadata.Catalog{}, err
	}
	return f.Catalog(), nil
}

func same(a, b *metadata.Entry) bool {
	return b != nil && a.Position == b.Position && bytes.Equal(a.Definition, b.Definition)
}
