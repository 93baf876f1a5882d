package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

const (
	clients = 8
	// insertFor is how long clients insert rows one by one.
	insertFor = 2 * time.Second
)

// capture measures inserts while nobody delivers.
func (b *bench) capture(ctx context.Context) error {
	bare, err := b.database(ctx, "bare")
	if err != nil {
		return err
	}
	defer bare.Close(ctx)
	captured, n, err := b.listening(ctx, "captured")
	if err != nil {
		return err
	}
	defer captured.Close(ctx)
	n.Stop()
	var single, bulk []float64
	for range b.rounds {
		ones, err := ratio(func(name string) (float64, error) { return b.singles(ctx, name) })
		if err != nil {
			return err
		}
		many, err := ratio(func(name string) (float64, error) { return b.bulk(ctx, name) })
		if err != nil {
			return err
		}
		single, bulk = append(single, ones), append(bulk, many)
	}
	fmt.Printf("capture   rows one by one by %d clients: %.2f of the bare table; %d in one statement: %.2f\n", clients, median(single), b.n, median(bulk))
	return nil
}

// ratio is the rate on the captured table by that on the bare one.
func ratio(rate func(database string) (float64, error)) (float64, error) {
	bare, err := rate("bare")
	captured, again := rate("captured")
	return captured / bare, errors.Join(err, again)
}

// singles is the rate at which clients insert rows, each its own transaction.
func (b *bench) singles(ctx context.Context, database string) (float64, error) {
	counts := make([]int, clients)
	var group errgroup.Group
	for i := range clients {
		group.Go(func() error {
			db, err := pgx.Connect(ctx, b.server.URL(database))
			if err != nil {
				return err
			}
			defer db.Close(ctx)
			for end := time.Now().Add(insertFor); time.Now().Before(end); counts[i]++ {
				if _, err := db.Exec(ctx, insertOne); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	var sum int
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / insertFor.Seconds(), err
}

// bulk is the rate of one statement.
func (b *bench) bulk(ctx context.Context, database string) (float64, error) {
	db, err := pgx.Connect(ctx, b.server.URL(database))
	if err != nil {
		return 0, err
	}
	defer db.Close(ctx)
	started := time.Now()
	_, err = db.Exec(ctx, insertMany, b.n)
	return float64(b.n) / time.Since(started).Seconds(), err
}
