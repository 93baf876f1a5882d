package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/cmd/internal/program"
)

// perSecond is the rate at which rows come.
const perSecond = 100

// paced does something at the rate.
func paced(length time.Duration, do func() error) error {
	started := time.Now()
	for i := range int(length.Seconds() * perSecond) {
		time.Sleep(time.Until(started.Add(time.Duration(i) * time.Second / perSecond)))
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// latency measures the time from a row to its call.
func (b *bench) latency(ctx context.Context) error {
	db, n, err := b.listening(ctx, "paced")
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	defer n.Stop()
	for _, way := range []struct {
		name   string
		insert func() error
	}{
		{"SQL", func() error { _, err := db.Exec(ctx, insertOne); return err }},
		{"mutations", func() error {
			return n.Post(ctx, "/v1/graphql", `{"query":"mutation { insert_orders(objects: {customer_id: 7, status: \"new\", amount: 12.5, note: \"a small note of ordinary length\"}) { affected_rows } }"}`)
		}},
	} {
		b.hook.heard()
		if err := errors.Join(paced(b.paced, way.insert), settled(ctx, db)); err != nil {
			return err
		}
		heard := b.hook.heard()
		fmt.Printf("latency   %d rows a second by %s: p50 %.1f ms, p99 %.1f ms\n", perSecond, way.name, quantile(heard, 0.5), quantile(heard, 0.99))
	}
	return nil
}

// slowly measures how many connections slow endpoints take.
func (b *bench) slowly(ctx context.Context) error {
	db, n, err := b.listening(ctx, "slow")
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	n.Stop()
	if n, err = program.Start(ctx, b.annals, b.server.URL("slow"), "--events-http-pool-size", fmt.Sprint(2*perSecond*int(b.slow.Seconds()+1))); err != nil {
		return err
	}
	defer n.Stop()
	if err := n.Query(ctx, `{"type":"delete_event_trigger","args":{"name":"orders"}}`); err != nil {
		return err
	}
	if err := listen(ctx, n, "orders", b.hook.url("/slow/"+b.slow.String())); err != nil {
		return err
	}
	most, held := 0, 0
	err = paced(b.slow+b.paced, func() error {
		_, err := db.Exec(ctx, insertOne)
		return errors.Join(err, b.look(ctx, db, &most, &held))
	})
	if err != nil {
		return err
	}
	ended := time.Now()
	if err := settled(ctx, db); err != nil {
		return err
	}
	fmt.Printf("slow      endpoints of %v at %d rows a second: %d calls at once, %d connections; all over %.1f s after the last row\n",
		b.slow, perSecond, held, most, time.Since(ended).Seconds())
	return nil
}

// look notes the most connections that the node had, and deliveries in hand.
func (b *bench) look(ctx context.Context, db *pgx.Conn, connections, leased *int) error {
	var now, held int
	err := db.QueryRow(ctx, `select (select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()),
		(select count(*) from annals.delivery_queue where leased_by is not null)`).Scan(&now, &held)
	*connections, *leased = max(*connections, now), max(*leased, held)
	return err
}

// hanging measures one trigger beside another whose endpoint never answers, in
// turn with one that has no other.
func (b *bench) hanging(ctx context.Context) error {
	alone, n, err := b.listening(ctx, "alone")
	if err != nil {
		return err
	}
	defer alone.Close(ctx)
	defer n.Stop()
	beside, other, err := b.listening(ctx, "beside")
	if err != nil {
		return err
	}
	defer beside.Close(ctx)
	defer other.Stop()
	if err := b.hang(ctx, beside, other); err != nil {
		return err
	}
	var ratios []float64
	for range b.rounds {
		limit, err := b.live(ctx, alone)
		if err != nil {
			return err
		}
		rate, err := b.live(ctx, beside)
		if err != nil {
			return err
		}
		ratios = append(ratios, rate/limit)
	}
	fmt.Printf("hanging   beside a trigger whose endpoint never answers: %.2f of the rate alone\n", median(ratios))
	return nil
}

// hang makes a trigger whose endpoint never answers, with more to send than may
// be sent at once.
func (b *bench) hang(ctx context.Context, db *pgx.Conn, n *program.Node) error {
	if _, err := db.Exec(ctx, "create table stuck (id int)"); err != nil {
		return err
	}
	if err := errors.Join(n.Query(ctx, `{"type":"track_table","args":"stuck"}`), listen(ctx, n, "stuck", b.hook.url("/hang"))); err != nil {
		return err
	}
	_, err := db.Exec(ctx, "insert into stuck select generate_series(1, $1::int)", 10*perSecond)
	return err
}

// live is the rate at which rows are delivered as they come.
func (b *bench) live(ctx context.Context, db *pgx.Conn) (float64, error) {
	started := time.Now()
	for left := b.n; left > 0; left -= perClaim {
		if _, err := db.Exec(ctx, insertMany, min(left, perClaim)); err != nil {
			return 0, err
		}
	}
	for queued := 1; queued > 0; {
		if err := db.QueryRow(ctx, "select count(*) from annals.delivery_queue where lane = 'event:orders'").Scan(&queued); err != nil {
			return 0, err
		}
	}
	return float64(b.n) / time.Since(started).Seconds(), nil
}
