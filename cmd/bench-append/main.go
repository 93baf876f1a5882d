// Command bench-append measures the event log alone: C callers append one small
// event each, one after the other, for SECS seconds.
//
// It reads C, SECS, LABEL and DATABASE_URL from the environment, migrates the
// database, and prints one line for the benchmark kit:
//
//	label<TAB>clients<TAB>appends/s<TAB>p50 ms<TAB>p99 ms<TAB>failures
//
// A single caller expects the position it left, as one who decides on the state
// of the log does. Several would only refuse each other, there being one log, so
// they append wherever it ends.
//
// Operations append with the same statement, in a transaction that locked the
// head before; what a whole one costs is measured by bench-operations.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/eventstore"
	"annals/migrations"
)

type settings struct {
	clients  int
	duration time.Duration
	label    string
	url      string
}

func main() {
	log.SetFlags(0)
	s := settings{label: os.Getenv("LABEL"), url: os.Getenv("DATABASE_URL")}
	s.clients = positive("C", 1)
	s.duration = time.Duration(positive("SECS", 4)) * time.Second
	if err := run(context.Background(), s); err != nil {
		log.Fatal("bench-append: ", err)
	}
}

// positive reads a number from the environment.
func positive(name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		log.Fatalf("bench-append: %s=%q is not a positive number", name, text)
	}
	return n
}

func run(ctx context.Context, s settings) error {
	pool, err := connect(ctx, s)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := eventstore.New(pool, eventstore.Config{})
	head, err := store.Head(ctx) // and a connection is open before the clock starts
	if err != nil {
		return err
	}
	callers := make([]caller, s.clients)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range callers {
		c := &callers[i]
		c.store, c.alone, c.position = store, s.clients == 1, head.Position
		wg.Go(func() {
			for time.Since(start) < s.duration {
				c.append(ctx)
			}
		})
	}
	wg.Wait()
	report(s, callers, time.Since(start))
	return nil
}

func connect(ctx context.Context, s settings) (*pgxpool.Pool, error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if _, err := migrations.Run(ctx, conn); err != nil {
		return nil, err
	}
	return pgxpool.New(ctx, s.url)
}

type caller struct {
	store    *eventstore.Store
	alone    bool
	position int64
	took     []time.Duration
	failures int
}

func (c *caller) append(ctx context.Context) {
	start := time.Now()
	expected := eventstore.Any()
	if c.alone {
		expected = eventstore.At(c.position)
	}
	recorded, err := c.store.Append(ctx, expected, event())
	if err != nil {
		c.failures++
		log.Print("bench-append: ", err)
		return
	}
	c.position = recorded[0].Position
	c.took = append(c.took, time.Since(start))
}

func event() eventstore.Event {
	return eventstore.Event{
		ID:            uuid.Must(uuid.NewV7()),
		Type:          "Deposited",
		Args:          json.RawMessage(`{"account":"acc-1","amount":125,"currency":"EUR","note":"a small event of ordinary length"}`),
		Changes:       json.RawMessage(`[]`),
		Actor:         json.RawMessage(`{}`),
		SchemaVersion: 1,
	}
}

func report(s settings, callers []caller, elapsed time.Duration) {
	var all []time.Duration
	failures := 0
	for _, c := range callers {
		all = append(all, c.took...)
		failures += c.failures
	}
	slices.Sort(all)
	fmt.Printf("%s\t%d\t%.0f\t%.2f\t%.2f\t%d\n", s.label, s.clients, float64(len(all))/elapsed.Seconds(),
		percentile(all, 50), percentile(all, 99), failures)
}

// percentile is in milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[(len(sorted)-1)*p/100].Microseconds()) / 1000
}
