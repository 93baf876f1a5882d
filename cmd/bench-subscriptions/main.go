// Command bench-subscriptions measures live queries: N subscribers of one shape, each with
// a value of its own, over websockets, on one node.
//
//	bench-subscriptions -annals path/to/annals [-n 10000] [-sockets 1000] [-rounds 20]
//
// It runs on a PostgreSQL of its own in a temporary folder. First nothing changes, then, in
// each round, every subscriber's row changes by one commit, and then one row alone, each at a
// random moment between two looks. Latency is from the commit until the subscriber has the
// message; with the default refetch interval of a second, half a second of it is waiting
// for the next look. CPU is that of one core.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/cmd/internal/program"
	"annals/migrations/localpg"
)

// interval is the default time between two looks.
const interval = time.Second

type bench struct {
	subscribers, sockets, rounds int
	quiet                        time.Duration
}

func main() {
	log.SetFlags(0)
	var b bench
	flag.IntVar(&b.subscribers, "n", 10_000, "subscribers")
	flag.IntVar(&b.sockets, "sockets", 1000, "websockets that the subscribers share")
	flag.IntVar(&b.rounds, "rounds", 20, "changes of all rows, and of one, to measure")
	flag.DurationVar(&b.quiet, "quiet", 10*time.Second, "how long to measure while nothing changes")
	binary := flag.String("annals", "", "program to measure")
	bin := flag.String("postgres-bin", "", "folder of PostgreSQL's server programs; found if not given")
	flag.Parse()
	ctx := context.Background()
	err := program.WithPostgres(ctx, *bin, func(server *localpg.Server) error { return b.run(ctx, *binary, server) })
	if err != nil {
		log.Fatal("bench-subscriptions: ", err)
	}
}

func (b bench) run(ctx context.Context, binary string, server *localpg.Server) error {
	db, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	n, err := program.Start(ctx, binary, server.URL("postgres"))
	if err != nil {
		return err
	}
	defer n.Stop()
	if err := prepare(ctx, n, b.subscribers); err != nil {
		return err
	}
	meter := meter{db: db, node: n.PID()}
	return b.measure(ctx, n, meter)
}

func (b bench) measure(ctx context.Context, n *program.Node, m meter) error {
	before, err := m.read(ctx)
	if err != nil {
		return err
	}
	audience := newAudience(b.subscribers)
	defer audience.close()
	began := time.Now()
	if err := audience.subscribe(ctx, n.Address, b.sockets); err != nil {
		return err
	}
	if _, err := audience.all(b.subscribers, began); err != nil {
		return err
	}
	fmt.Printf("%d subscribers over %d websockets: all have their first answer after %d ms\n",
		b.subscribers, b.sockets, time.Since(began).Milliseconds())
	for _, phase := range []struct {
		name  string
		about func() ([]time.Duration, error)
	}{
		{"nothing changes", func() ([]time.Duration, error) { time.Sleep(b.quiet); return nil, nil }},
		{"all rows change", func() ([]time.Duration, error) {
			return b.change(ctx, m.db, audience, "UPDATE item SET turn = turn + 1", b.subscribers)
		}},
		{"one row changes", func() ([]time.Duration, error) {
			return b.change(ctx, m.db, audience, "UPDATE item SET turn = turn + 1 WHERE id = 0", 1)
		}},
	} {
		start, err := m.read(ctx)
		if err != nil {
			return err
		}
		latencies, err := phase.about()
		if err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
		end, err := m.read(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("%-16s %s%s\n", phase.name, end.since(start), quantiles(latencies))
	}
	after, err := m.read(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("memory of the node: %d MiB, %d MiB before, %d KiB for each subscriber\n",
		after.resident>>20, before.resident>>20, (after.resident-before.resident)>>10/int64(b.subscribers))
	return nil
}

// change makes a change at a random moment between two looks, round by round, and returns how
// long it took each of so many subscribers to hear of it.
func (b bench) change(ctx context.Context, db *pgx.Conn, a *audience, statement string, hear int) ([]time.Duration, error) {
	var latencies []time.Duration
	for range b.rounds {
		time.Sleep(rand.N(interval))
		if _, err := db.Exec(ctx, statement); err != nil {
			return nil, err
		}
		heard, err := a.all(hear, time.Now())
		if err != nil {
			return nil, err
		}
		latencies = append(latencies, heard...)
	}
	return latencies, nil
}

func quantiles(latencies []time.Duration) string {
	if len(latencies) == 0 {
		return ""
	}
	slices.Sort(latencies)
	at := func(q float64) int64 { return latencies[int(q*float64(len(latencies)-1))].Milliseconds() }
	return fmt.Sprintf("; change to push p50 %d ms, p99 %d ms", at(.5), at(.99))
}
