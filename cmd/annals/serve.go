package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"annals/handlers/api"
)

// serveCommand is `annals serve`.
type serveCommand struct{ Serve }

// Help is printed below the flags.
func (serveCommand) Help() string {
	return `Examples:
  annals serve --demo                                        a PostgreSQL of annals' own, with a music shop in it
  annals serve --database-url postgres://localhost/shop --admin-secret "$SECRET"
  SERVICE_GRAPHQL_SERVER_PORT=9000 annals serve              each flag has a variable, in two spellings`
}

// Run implements kong's command.
func (c *serveCommand) Run(ctx context.Context, con console) (err error) {
	tuneCollector()
	app, err := NewApp(ctx, c.Serve, con.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	listener, err := c.listen()
	if err != nil {
		return err
	}
	if c.Demo {
		if err := app.loadDemo(ctx); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	app.announce(ctx, listener.Addr())
	if c.Demo {
		app.printTips(con.err, listener.Addr())
	}
	return app.Run(ctx, listener)
}

// announce tells, once, what was started, and shouts where it is open.
func (a *App) announce(ctx context.Context, address net.Addr) {
	a.lines(ctx, api.Line{Type: lineStartup, Level: slog.LevelInfo, Detail: startup{
		Kind: "server_configuration",
		Info: configuration{
			Version: Version, Address: address.String(), EnabledAPIs: a.cfg.EnabledAPIs, AdminSecretSet: a.cfg.hasSecret(),
			OwnDatabase: a.db.own != nil, Position: a.Position(), InconsistentObjects: a.Inconsistent(),
		},
	}})
	if !a.cfg.hasSecret() {
		a.log.Warn("no admin secret is set: whoever reaches this server is its admin; set one with --admin-secret or SERVICE_GRAPHQL_ADMIN_SECRET")
	}
	if ignored := variablesSet(withoutEffect, os.LookupEnv); len(ignored) > 0 {
		a.log.Warn("variables are set that have no effect here: " + strings.Join(ignored, ", "))
	}
	if n := a.Inconsistent(); n > 0 {
		a.log.Warn(fmt.Sprintf("Inconsistent Metadata! %d objects are left out; get_inconsistent_metadata lists them", n))
	}
}

const lineStartup = "startup"

type startup struct {
	Kind string `json:"kind"`
	Info any    `json:"info"`
}

type configuration struct {
	Version             string   `json:"version"`
	Address             string   `json:"address"`
	EnabledAPIs         []string `json:"enabled_apis"`
	AdminSecretSet      bool     `json:"is_admin_secret_set"`
	OwnDatabase         bool     `json:"own_database"`
	Position            int64    `json:"position"`
	InconsistentObjects int      `json:"inconsistent_objects"`
}
