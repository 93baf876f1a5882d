// Command bench-subscriptions measures live queries: N subscribers of one shape, each
// with a value of its own, on one node, without sockets.
//
// It reads N, ROUNDS and DATABASE_URL, an empty database, from the environment. In each
// round every row is changed by one commit, right after a look, so that latency is about
// the whole interval; then it prints
//
//	subscribers<TAB>until all have a first answer ms<TAB>commit to push p50 ms<TAB>p99 ms<TAB>connections busy on average
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
	"annals/migrations"
	"annals/projections/catalog"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), number("N", 10_000), number("ROUNDS", 5)); err != nil {
		log.Fatal("bench-subscriptions: ", err)
	}
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// timed adds up how long the database was asked.
type timed struct {
	*execution.Executor
	busy atomic.Int64
}

func (t *timed) AnswerLive(ctx context.Context, all []*execution.Live) ([][]byte, error) {
	start := time.Now()
	defer func() { t.busy.Add(int64(time.Since(start))) }()
	return t.Executor.AnswerLive(ctx, all)
}

func run(ctx context.Context, n, rounds int) error {
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer pool.Close()
	source, err := prepare(ctx, pool, n)
	if err != nil {
		return err
	}
	hub := livequery.New(source, livequery.Config{})
	defer hub.Close()

	var pushed sync.WaitGroup
	var mu sync.Mutex
	var began time.Time
	var latencies []time.Duration
	pushed.Add(n)
	start := time.Now()
	for i := range n {
		r := execution.Request{
			Session: domain.Session{Role: domain.AdminRole},
			Query:   plan.Request{Query: `subscription ($id: Int!) { item_by_pk(id: $id) { id turn } }`, Variables: fmt.Appendf(nil, `{"id":%d}`, i)},
		}
		if _, err := hub.Subscribe(ctx, r, func() {
			mu.Lock()
			latencies = append(latencies, time.Since(began))
			mu.Unlock()
			pushed.Done()
		}); err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
	}
	pushed.Wait()
	first := time.Since(start)
	latencies = nil
	source.busy.Store(0)
	measured := time.Now()
	for range rounds {
		pushed.Add(n)
		if _, err := pool.Exec(ctx, "UPDATE item SET turn = turn + 1"); err != nil {
			return fmt.Errorf("change all rows: %w", err)
		}
		mu.Lock()
		began = time.Now()
		mu.Unlock()
		pushed.Wait()
	}
	slices.Sort(latencies)
	at := func(q float64) int64 { return latencies[int(q*float64(len(latencies)-1))].Milliseconds() }
	busy := float64(source.busy.Load()) / float64(time.Since(measured))
	fmt.Printf("%d\t%d\t%d\t%d\t%.2f\n", n, first.Milliseconds(), at(.5), at(.99), busy)
	return nil
}

// prepare makes a tracked table with a row for each subscriber.
func prepare(ctx context.Context, pool *pgxpool.Pool, n int) (*timed, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	_, err = migrations.Run(ctx, conn.Conn())
	conn.Release()
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if _, err := pool.Exec(ctx, fmt.Sprintf("CREATE TABLE item (id int PRIMARY KEY, turn int NOT NULL); INSERT INTO item SELECT i, 0 FROM generate_series(0, %d) i", n)); err != nil {
		return nil, fmt.Errorf("make the table: %w", err)
	}
	store := eventstore.New(pool, eventstore.Config{})
	version, err := command.Start(ctx, pool, store, nil)
	if err != nil {
		return nil, err
	}
	live := catalog.NewLive(version)
	req, err := metadata.Parse([]byte(`{"type":"track_table","args":"item"}`))
	if err != nil {
		return nil, err
	}
	handler := command.New(command.Parts{Pool: pool, Store: store, Live: live}, command.Config{})
	if _, err := handler.Execute(ctx, command.Request{Request: req, Session: domain.Session{Role: domain.AdminRole}, Actor: domain.Actor{Role: domain.AdminRole}}); err != nil {
		return nil, err
	}
	config := pool.Config()
	execution.Connections(config, execution.DefaultStatementTimeout)
	rows, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &timed{Executor: execution.New(rows, func() metadata.World { return live.Current().World }, execution.Config{})}, nil
}
