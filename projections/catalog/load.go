package catalog

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain/metadata"
	"annals/eventstore"
)

//go:embed load.sql
var loadSQL string

// Load reads the persisted catalog and the position it stands at, both in one
// snapshot of the database.
func Load(ctx context.Context, pool *pgxpool.Pool, store *eventstore.Store) (metadata.Catalog, int64, error) {
	var c metadata.Catalog
	var head eventstore.Head
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, pool, options, func(tx pgx.Tx) (err error) {
		if head, err = store.HeadIn(ctx, tx); err != nil {
			return err
		}
		c, err = load(ctx, tx)
		return err
	})
	if err != nil {
		return metadata.Catalog{}, 0, fmt.Errorf("load catalog: %w", err)
	}
	return c, head.Position, nil
}

func load(ctx context.Context, tx pgx.Tx) (metadata.Catalog, error) {
	rows, err := tx.Query(ctx, loadSQL, pgx.QueryResultFormats{pgx.TextFormatCode, pgx.TextFormatCode, pgx.TextFormatCode, pgx.BinaryFormatCode})
	if err != nil {
		return metadata.Catalog{}, err
	}
	defer rows.Close()
	fold := metadata.FoldFrom(metadata.Catalog{})
	for rows.Next() {
		raw := rows.RawValues()
		key := metadata.Key{Kind: metadata.Kind(raw[0]), Name: string(raw[1])}
		fold.Put(key, int64(binary.BigEndian.Uint64(raw[3])), bytes.Clone(raw[2]))
	}
	return fold.Catalog(), rows.Err()
}
