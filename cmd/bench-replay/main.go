// Command bench-replay measures how fast the event log is read from its
// beginning and folded into a catalog, over one connection. The checksum is the
// number of objects in the catalog.
//
// It reads LABEL, EVENTS (a million) and DATABASE_URL from the environment,
// migrates the database and, if the log is empty, appends that many events of
// about 300 bytes, chained like any others. It prints one line for the benchmark
// kit:
//
//	label<TAB>events<TAB>seconds<TAB>events/s<TAB>MB/s<TAB>checksum
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain/metadata"
	"annals/eventstore"
	"annals/migrations"
)

const (
	defaultEvents = 1_000_000
	loadedAtOnce  = 2_000
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal("bench-replay: ", err)
	}
}

func run(ctx context.Context) error {
	url := os.Getenv("DATABASE_URL")
	if err := migrate(ctx, url); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := eventstore.New(pool, eventstore.Config{})
	if err := fill(ctx, store, pool); err != nil {
		return err
	}
	return replay(ctx, store, pool)
}

func migrate(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = migrations.Run(ctx, conn)
	return err
}

// fill loads an empty log.
func fill(ctx context.Context, store *eventstore.Store, pool *pgxpool.Pool) error {
	head, err := store.Head(ctx)
	if err != nil || head.Position > 0 {
		return err
	}
	wanted, err := events()
	if err != nil {
		return err
	}
	for n := 0; n < wanted; {
		batch := make([]eventstore.Event, min(loadedAtOnce, wanted-n))
		for i := range batch {
			n++
			batch[i] = event(n)
		}
		if _, err := store.Append(ctx, eventstore.Any(), batch...); err != nil {
			return err
		}
	}
	_, err = pool.Exec(ctx, "vacuum (freeze, analyze) annals.events")
	return err
}

func events() (int, error) {
	text := os.Getenv("EVENTS")
	if text == "" {
		return defaultEvents, nil
	}
	return strconv.Atoi(text)
}

// event changes one of 10,000 objects, in about 300 bytes.
func event(n int) eventstore.Event {
	return eventstore.Event{
		ID:   uuid.Must(uuid.NewV7()),
		Type: "add_query_to_collection",
		Args: json.RawMessage(`{}`),
		Changes: fmt.Appendf(nil, `[{"type":"query_collection_changed","kind":"query_collection","key":"collection-%[1]d",`+
			`"definition":{"name":"collection-%[1]d","definition":{"queries":[{"name":"q%[2]d","query":"query q%[2]d { author(where: {id: {_eq: %[2]d}}, limit: 10) { id name articles { id title } } } # %032[2]x %032[3]x"}]}}}]`,
			n*7919%10000, n, 11*n),
		Actor:         json.RawMessage(`{}`),
		SchemaVersion: metadata.SchemaVersion,
	}
}

// replay folds the whole log into a catalog, as a rebuild does.
func replay(ctx context.Context, store *eventstore.Store, pool *pgxpool.Pool) error {
	var last, bytes int64
	fold := metadata.FoldFrom(metadata.Catalog{})
	start := time.Now()
	err := store.Scan(ctx, pool, 0, 0, func(e eventstore.RawEvent) error {
		if e.Position != last+1 {
			return fmt.Errorf("event %d comes after event %d", e.Position, last)
		}
		last = e.Position
		bytes += int64(len(e.Changes))
		return fold.Event(e.Position, e.SchemaVersion, e.Changes)
	})
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	objects := fold.Catalog().Len()
	fmt.Printf("%s\t%d\t%.3f\t%.0f\t%.0f\t%d\n", os.Getenv("LABEL"), last, seconds, float64(last)/seconds, float64(bytes)/1e6/seconds, objects)
	return nil
}
