// Command bench-operations measures what a metadata operation costs as the
// catalog grows, how long replace_metadata takes for a large document, and how
// long a node takes to start on a large catalog.
//
//	bench-operations -annals path/to/annals [-tables 10,1000,5000] [-n 200]
//
// It runs on a PostgreSQL of its own in a temporary folder, with the disk's
// guarantees on. Figures are milliseconds; read them against each other, taken
// in one run.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"annals/cmd/internal/program"
	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/command"
	"annals/migrations"
	"annals/migrations/localpg"
	"annals/projections/catalog"
)

func main() {
	sizes := flag.String("tables", "10,1000,5000", "numbers of tracked tables to measure at")
	n := flag.Int("n", 200, "operations of each kind to measure")
	binary := flag.String("annals", "", "program to measure the start of; none skips that")
	bin := flag.String("postgres-bin", "", "folder of PostgreSQL's server programs; found if not given")
	flag.Parse()
	ctx := context.Background()
	err := program.WithPostgres(ctx, *bin, func(server *localpg.Server) error {
		return bench{server: server, n: *n}.run(ctx, *sizes, *binary)
	})
	if err != nil {
		log.Fatal("bench-operations: ", err)
	}
}

func (b bench) run(ctx context.Context, sizes, binary string) error {
	for _, size := range strings.Split(sizes, ",") {
		tables, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("-tables: %w", err)
		}
		if err := b.at(ctx, tables, binary); err != nil {
			return fmt.Errorf("at %d tables: %w", tables, err)
		}
	}
	return b.replace(ctx)
}

type bench struct {
	server *localpg.Server
	n      int
}

// node is one node's parts on a database of their own.
type node struct {
	pool    *pgxpool.Pool
	live    *catalog.Live
	handler *command.Handler
	url     string
}

func (b bench) node(ctx context.Context, database string) (*node, error) {
	admin, err := pgx.Connect(ctx, b.server.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer admin.Close(ctx)
	if _, err := admin.Exec(ctx, "create database "+pgx.Identifier{database}.Sanitize()); err != nil {
		return nil, err
	}
	url := b.server.URL(database)
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if _, err := migrations.Run(ctx, conn.Conn()); err != nil {
		return nil, err
	}
	store := eventstore.New(pool, eventstore.Config{})
	version, err := command.Start(ctx, pool, store, metadata.Environment{})
	if err != nil {
		return nil, err
	}
	live := catalog.NewLive(version)
	return &node{pool, live, command.New(command.Parts{Pool: pool, Store: store, Live: live}, command.Config{}), url}, nil
}

func (n *node) do(ctx context.Context, body string) error {
	req, err := metadata.Parse([]byte(body))
	if err != nil {
		return fmt.Errorf("%.200s: %w", body, err)
	}
	_, err = n.handler.Execute(ctx, command.Request{Request: req, Session: domain.Session{Role: domain.AdminRole}, Actor: domain.Actor{Role: domain.AdminRole}})
	if err != nil {
		return fmt.Errorf("%.200s: %w", body, err)
	}
	return nil
}

// createTables makes tables that each refer to the one before.
func (n *node) createTables(ctx context.Context, tables int) error {
	const perStatement = 500
	for from := 0; from < tables; from += perStatement {
		var sql strings.Builder
		for i := from; i < min(from+perStatement, tables); i++ {
			fmt.Fprintf(&sql, "create table t%d (id int primary key, name text not null, note text, size numeric, made timestamptz, ref int references t%d (id));\n", i, max(i-1, 0))
		}
		if _, err := n.pool.Exec(ctx, sql.String()); err != nil {
			return err
		}
	}
	_, err := n.pool.Exec(ctx, "analyze pg_class, pg_attribute, pg_constraint")
	return err
}

// document declares the tables, each with a relationship and permissions.
func document(tables, permissions int) string {
	var doc strings.Builder
	doc.WriteString(`{"version":2,"tables":[`)
	for i := range tables {
		if i > 0 {
			doc.WriteByte(',')
		}
		fmt.Fprintf(&doc, `{"table":"t%d","object_relationships":[{"name":"before","using":{"foreign_key_constraint_on":"ref"}}],"select_permissions":[`, i)
		for p := range permissions {
			if p > 0 {
				doc.WriteByte(',')
			}
			fmt.Fprintf(&doc, `{"role":"role%d","permission":{"columns":["id","name","size"],"filter":{"before":{"name":{"_eq":"X-Service-User-Id"}}},"limit":%d}}`, p, p+1)
		}
		doc.WriteString(`]}`)
	}
	doc.WriteString(`]}`)
	return doc.String()
}

// steps are operations that undo each other, so the catalog's size stays.
var steps = []struct{ name, do, undo string }{
	{"permission", `{"type":"create_select_permission","args":{"table":"t%d","role":"bench","permission":{"columns":["id"],"filter":{"before":{"id":1}}}}}`,
		`{"type":"drop_select_permission","args":{"table":"t%d","role":"bench"}}`},
	{"relationship", `{"type":"create_object_relationship","args":{"table":"t%d","name":"bench","using":{"foreign_key_constraint_on":"ref"}}}`,
		`{"type":"drop_relationship","args":{"table":"t%d","relationship":"bench"}}`},
	{"table", `{"type":"track_table","args":"u%d"}`, `{"type":"untrack_table","args":{"table":"u%d"}}`},
	{"cron trigger", `{"type":"create_cron_trigger","args":{"name":"c%d","webhook":"http://127.0.0.1:1/","schedule":"* * * * *","include_in_metadata":true}}`,
		`{"type":"delete_cron_trigger","args":{"name":"c%d"}}`},
}

func (b bench) at(ctx context.Context, tables int, binary string) error {
	n, err := b.node(ctx, fmt.Sprintf("ops%d", tables))
	if err != nil {
		return err
	}
	defer n.pool.Close()
	if err := n.createTables(ctx, tables); err != nil {
		return err
	}
	if _, err := n.pool.Exec(ctx, "do $$ begin for i in 0..9 loop execute format('create table u%s (id int primary key)', i); end loop; end $$"); err != nil {
		return err
	}
	if err := n.do(ctx, `{"type":"replace_metadata","args":`+document(tables, 2)+`}`); err != nil {
		return err
	}
	for _, step := range steps {
		var took []time.Duration
		for i := range b.n {
			for _, body := range []string{step.do, step.undo} {
				started := time.Now()
				if err := n.do(ctx, fmt.Sprintf(body, i%10)); err != nil {
					return err
				}
				took = append(took, time.Since(started))
			}
		}
		print(fmt.Sprintf("%d tables, create and drop a %s", tables, step.name), took)
	}
	if binary == "" {
		return nil
	}
	took, err := startTime(ctx, binary, n.url)
	if err != nil {
		return err
	}
	print(fmt.Sprintf("%d tables, start until ready", tables), []time.Duration{took})
	return nil
}

// replace measures one large document, and the same again.
func (b bench) replace(ctx context.Context) error {
	const tables, permissions = 1000, 5
	n, err := b.node(ctx, "replace")
	if err != nil {
		return err
	}
	defer n.pool.Close()
	if err := n.createTables(ctx, tables); err != nil {
		return err
	}
	body := `{"type":"replace_metadata","args":` + document(tables, permissions) + `}`
	for _, what := range []string{"new", "unchanged"} {
		started := time.Now()
		if err := n.do(ctx, body); err != nil {
			return err
		}
		print(fmt.Sprintf("replace_metadata of %d tables with %d permissions each, %s", tables, permissions, what), []time.Duration{time.Since(started)})
	}
	return nil
}

// print writes a line: what, how often, and how long it took.
func print(what string, took []time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 {
		return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000
	}
	fmt.Printf("%s\tn %d\tp50 %.1f ms\tp99 %.1f ms\tmax %.1f ms\n", what, len(took), ms(0.5), ms(0.99), ms(1))
}
