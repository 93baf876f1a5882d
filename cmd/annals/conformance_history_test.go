package main_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"annals/eventstore"
	"annals/projections/catalog"
)

// checkHistory holds a database that a server has left against its history:
// the chain must be whole, and the catalog folded from zero must be the
// persisted one, byte for byte.
func checkHistory(database string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return fmt.Errorf("look at the history: %w", err)
	}
	defer pool.Close()
	store := eventstore.New(pool, eventstore.Config{})
	chain, err := store.Verify(ctx, eventstore.VerifyOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("verify the history: %w", err)
	case !chain.OK:
		return fmt.Errorf("the history is broken at %d: %s", chain.Position, chain.Reason)
	}
	rebuilt, err := catalog.Compare(ctx, pool, store)
	if err != nil {
		return err
	}
	if len(rebuilt.Differing) > 0 {
		return fmt.Errorf("the catalog is not what the history says of %v", rebuilt.Differing)
	}
	return nil
}
