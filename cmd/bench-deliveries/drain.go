package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"annals/cmd/internal/program"
)

// drain measures how fast deliveries that wait are made, beside a bare loop.
func (b *bench) drain(ctx context.Context) error {
	bare, err := b.database(ctx, "loop")
	if err != nil {
		return err
	}
	defer bare.Close(ctx)
	if _, err := bare.Exec(ctx, `create table waiting (id bigint generated always as identity primary key, payload json not null, done_at timestamptz);
		create index waiting_first on waiting (id) where done_at is null`); err != nil {
		return err
	}
	db, n, err := b.listening(ctx, "drained")
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	n.Stop()
	var rates, limits []float64
	for range b.rounds {
		limit, err := b.loop(ctx, bare)
		if err != nil {
			return err
		}
		rate, err := b.drainOnce(ctx, db, "drained")
		if err != nil {
			return err
		}
		rates, limits = append(rates, rate), append(limits, rate/limit)
	}
	fmt.Printf("drain     %.0f deliveries a second, each with its history: %.2f of a bare loop of claims, calls and updates\n", median(rates), median(limits))
	return nil
}

// drainOnce is the rate of a node that finds deliveries waiting.
func (b *bench) drainOnce(ctx context.Context, db *pgx.Conn, database string) (float64, error) {
	if _, err := db.Exec(ctx, insertMany, b.n); err != nil {
		return 0, err
	}
	b.hook.reset()
	n, err := program.Start(ctx, b.annals, b.server.URL(database))
	if err != nil {
		return 0, err
	}
	defer n.Stop()
	err = settled(ctx, db)
	return float64(b.n) / time.Since(b.hook.began()).Seconds(), err
}

const (
	loops    = 2
	perClaim = 200
	perLoop  = 32 // calls at once
)

// loop is the rate of the least that delivers: rows are locked while they are
// called for.
func (b *bench) loop(ctx context.Context, db *pgx.Conn) (float64, error) {
	if _, err := db.Exec(ctx, `insert into waiting (payload) select json_build_object('id', i, 'data', json_build_object('old', null, 'new',
		json_build_object('id', i, 'customer_id', 7, 'status', 'new', 'amount', 12.5, 'note', 'a small note of ordinary length', 'made_at', 1))) from generate_series(1, $1::int) i`, b.n); err != nil {
		return 0, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loops * perLoop}}
	defer client.CloseIdleConnections()
	started := time.Now()
	var group errgroup.Group
	for range loops {
		group.Go(func() error {
			own, err := pgx.Connect(ctx, db.Config().ConnString())
			if err != nil {
				return err
			}
			defer own.Close(ctx)
			for more := true; more && err == nil; {
				more, err = b.loopOnce(ctx, own, client)
			}
			return err
		})
	}
	err := group.Wait()
	return float64(b.n) / time.Since(started).Seconds(), err
}

func (b *bench) loopOnce(ctx context.Context, db *pgx.Conn, client *http.Client) (more bool, err error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, tx.Commit(ctx)) }()
	rows, err := tx.Query(ctx, `select id, payload::text from waiting where done_at is null order by id limit $1 for update skip locked`, perClaim)
	if err != nil {
		return false, err
	}
	var ids []int64
	var calls errgroup.Group
	calls.SetLimit(perLoop)
	var id int64
	var payload string
	_, err = pgx.ForEachRow(rows, []any{&id, &payload}, func() error {
		ids = append(ids, id)
		body := []byte(payload)
		calls.Go(func() error { return call(client, b.hook.url("/"), body) })
		return nil
	})
	if err = errors.Join(err, calls.Wait()); err != nil || len(ids) == 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, "update waiting set done_at = now() where id = any($1)", ids)
	return true, err
}

func call(client *http.Client, url string, body []byte) error {
	answer, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// claim measures whether what is over slows down what is not.
func (b *bench) claim(ctx context.Context) error {
	db, n, err := b.listening(ctx, "old")
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	n.Stop()
	var before, after []float64
	for range b.rounds {
		rate, err := b.drainOnce(ctx, db, "old")
		if err != nil {
			return err
		}
		before = append(before, rate)
	}
	if err := b.fill(ctx, db); err != nil {
		return err
	}
	for range b.rounds {
		rate, err := b.drainOnce(ctx, db, "old")
		if err != nil {
			return err
		}
		after = append(after, rate)
	}
	fmt.Printf("claim     with %d deliveries in the history: %.2f of the rate with %d\n", b.history, median(after)/median(before), b.rounds*b.n)
	return nil
}

// fill makes deliveries that are over.
func (b *bench) fill(ctx context.Context, db *pgx.Conn) error {
	_, err := db.Exec(ctx, `with d as (
			insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
			select annals.delivery_id(clock_timestamp()), 'event', 'orders', 'public', 'orders', '{"op":"INSERT","data":{"old":null,"new":{"id":1}}}', clock_timestamp()
			from generate_series(1, $1::int) returning id)
		insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, status)
		select id, 'attempt', 'delivered', 1, 1, 200 from d`, b.history)
	if err != nil {
		return err
	}
	_, err = db.Exec(ctx, "vacuum analyze annals.deliveries, annals.delivery_log")
	return err
}
