package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/command"
)

// The demo is a small music shop: its tables and rows, and the calls of the
// metadata API that make a service of them.
var (
	//go:embed demo/shop.sql
	shopSQL string
	//go:embed demo/shop.json
	shopCalls json.RawMessage
)

// loadDemo fills an empty database with the demo: one batch of ordinary
// operations, made by the actor demo.
func (a *App) loadDemo(ctx context.Context) error {
	empty, err := a.isEmpty(ctx)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	if !empty {
		a.log.Info("the database is not empty, so the demo is not loaded")
		return nil
	}
	call, err := demoCall()
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	_, err = a.handler.Execute(ctx, call)
	var refusal *domain.Error
	if errors.As(err, &refusal) && refusal.Code == domain.Conflict {
		return nil // another node was faster
	}
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	a.log.Info("demo loaded", "position", a.Position())
	return nil
}

// isEmpty reports whether nobody has used the database yet.
func (a *App) isEmpty(ctx context.Context) (bool, error) {
	if a.Position() > 0 {
		return false, nil
	}
	const tables = `select exists (select from pg_catalog.pg_class
		where relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'public') and relkind in ('r', 'p', 'v', 'm', 'f'))`
	var used bool
	err := a.db.pool.QueryRow(ctx, tables).Scan(&used)
	return !used, err
}

// demoCall is the demo as one call. It expects an untouched history, so that
// of two nodes that start at once, one loads it.
func demoCall() (command.Request, error) {
	var calls []json.RawMessage
	if err := json.Unmarshal(shopCalls, &calls); err != nil {
		return command.Request{}, err
	}
	tables, err := json.Marshal(call{Type: "run_sql", Args: map[string]string{"sql": shopSQL}})
	if err != nil {
		return command.Request{}, err
	}
	beginning := int64(0)
	body, err := json.Marshal(call{
		Type: "bulk", Args: append([]json.RawMessage{tables}, calls...),
		Comment: "a small music shop to try things on", Expected: &beginning,
	})
	if err != nil {
		return command.Request{}, err
	}
	parsed, err := metadata.Parse(body)
	return command.Request{
		Request: parsed,
		Session: domain.Session{Role: domain.AdminRole},
		Actor:   domain.Actor{Role: domain.AdminRole, Credential: "demo", UserAgent: "annals/" + Version},
	}, err
}

// printTips says what to try with the demo: three lines for a shell that work
// as they are.
func (a *App) printTips(w io.Writer, address net.Addr) {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return
	}
	curl, base := "curl -s", "http://localhost:"+port
	if a.cfg.hasSecret() {
		curl += ` -H "X-Service-Admin-Secret: $SERVICE_GRAPHQL_ADMIN_SECRET"`
	}
	fmt.Fprintf(w, `
annals serves a small music shop on %s. To try, in another terminal:

  %s %s/v1/query -d '{"type":"export_metadata","args":{}}'

  %s %s/v1/query -H 'X-Service-Comment: %s' -d '%s'

  %s '%s/v1/audit/events?limit=3'

`, base, curl, base, curl, base, a.tip().comment, a.tip().body, curl, base)
}

// tip is a change worth trying.
type tip struct{ comment, body string }

// tip makes a permission, or drops it where that was tried before: what is
// printed has to work each time.
func (a *App) tip() tip {
	key := metadata.Key{Kind: metadata.KindPermission, Name: domain.JoinKey("public", "customers", "clerk", metadata.MaySelect)}
	if a.live.Current().World.Catalog.Has(key) {
		return tip{"clerks see too much", `{"type":"drop_select_permission","args":{"table":"customers","role":"clerk"}}`}
	}
	return tip{"clerks call customers back", strings.Join([]string{
		`{"type":"create_select_permission","args":{"table":"customers","role":"clerk",`,
		`"permission":{"columns":["id","name","country"],"filter":{}}}}`,
	}, "")}
}
