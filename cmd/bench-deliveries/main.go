// Command bench-deliveries measures webhook deliveries: what capture costs the
// writer, how fast deliveries are made and how soon, and what does not slow
// them down.
//
//	bench-deliveries -annals path/to/annals [-n 20000] [-rounds 3] [-history 1000000] [-only capture,drain]
//
// It runs on a PostgreSQL of its own in a temporary folder, with the disk's
// guarantees on, against an endpoint in this process:
//
//	capture   rows that clients insert one by one, and in one statement, on a table with an event trigger;
//	          against the same table without
//	drain     n deliveries that wait; against a bare loop of claims (SKIP LOCKED), calls and updates
//	latency   100 rows a second, from the commit to the call: by SQL, and by mutations
//	slow      endpoints that take their time at 100 rows a second: the connections that it takes
//	claim     the statement that claims, with deliveries in the history and without
//	hanging   one trigger's rate while another's endpoint never answers; against its rate alone
//
// Figures are medians over the rounds, each ratio taken within its round. Read
// them against each other, taken in one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/cmd/internal/program"
	"annals/migrations/localpg"
)

type bench struct {
	annals      string
	n, rounds   int
	history     int
	slow, paced time.Duration

	server *localpg.Server
	hook   *endpoint
}

func main() {
	log.SetFlags(0)
	var b bench
	flag.StringVar(&b.annals, "annals", "", "program to measure")
	flag.IntVar(&b.n, "n", 20_000, "deliveries of one round")
	flag.IntVar(&b.rounds, "rounds", 3, "rounds")
	flag.IntVar(&b.history, "history", 1_000_000, "deliveries that are over, for claim")
	flag.DurationVar(&b.slow, "slow", 10*time.Second, "how long an endpoint of slow takes")
	flag.DurationVar(&b.paced, "paced", 5*time.Second, "how long rows are inserted at a rate")
	only := flag.String("only", "capture,drain,latency,slow,claim,hanging", "what to measure")
	bin := flag.String("postgres-bin", "", "folder of PostgreSQL's server programs; found if not given")
	flag.Parse()
	ctx := context.Background()
	err := program.WithPostgres(ctx, *bin, func(server *localpg.Server) error {
		b.server = server
		return b.run(ctx, strings.Split(*only, ","))
	})
	if err != nil {
		log.Fatal("bench-deliveries: ", err)
	}
}

func (b *bench) run(ctx context.Context, only []string) error {
	b.hook = newEndpoint()
	defer b.hook.close()
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"capture", b.capture}, {"drain", b.drain}, {"latency", b.latency},
		{"slow", b.slowly}, {"claim", b.claim}, {"hanging", b.hanging},
	} {
		if !slices.Contains(only, part.name) {
			continue
		}
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// table is the table whose changes are captured.
const table = `create table orders (
	id bigint generated always as identity primary key, customer_id int not null, status text not null, amount numeric(10,2) not null,
	note text not null, made_at bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint)`

// Statements that insert one row, and many.
const (
	insertOne  = `insert into orders (customer_id, status, amount, note) values (7, 'new', 12.5, 'a small note of ordinary length')`
	insertMany = `insert into orders (customer_id, status, amount, note) select 7, 'new', 12.5, 'a small note of ordinary length' from generate_series(1, $1)`
)

// database makes a database with the table.
func (b *bench) database(ctx context.Context, name string) (*pgx.Conn, error) {
	admin, err := pgx.Connect(ctx, b.server.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return nil, err
	}
	db, err := pgx.Connect(ctx, b.server.URL(name))
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, table)
	return db, err
}

// listening makes a database whose table has an event trigger, and the node
// that made it.
func (b *bench) listening(ctx context.Context, name string) (*pgx.Conn, *program.Node, error) {
	db, err := b.database(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	n, err := program.Start(ctx, b.annals, b.server.URL(name))
	if err != nil {
		return nil, nil, err
	}
	return db, n, errors.Join(n.Query(ctx, `{"type":"track_table","args":"orders"}`), listen(ctx, n, "orders", b.hook.url("/")))
}

// settled waits until nothing is queued.
func settled(ctx context.Context, db *pgx.Conn) error {
	for {
		var queued int
		if err := db.QueryRow(ctx, "select count(*) from annals.delivery_queue").Scan(&queued); err != nil || queued == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}
