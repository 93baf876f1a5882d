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
	tuneMemory()
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
		Info: a.configuration(address),
	}})
	if !a.cfg.hasSecret() {
		a.log.Warn("no admin secret is set: whoever reaches this server is its admin; set one with --admin-secret or SERVICE_GRAPHQL_ADMIN_SECRET")
	}
	if a.db.own == nil {
		a.warnOfPowers(ctx)
	}
	if ignored := variablesSet(withoutEffect, os.LookupEnv); len(ignored) > 0 {
		a.log.Warn("variables are set that have no effect here: " + strings.Join(ignored, ", "))
	}
	if n := a.Inconsistent(); n > 0 {
		a.log.Warn(fmt.Sprintf("Inconsistent Metadata! %d objects are left out; get_inconsistent_metadata lists them", n))
	}
}

// warnOfPowers tells of a database's user who may do more than the service needs.
func (a *App) warnOfPowers(ctx context.Context) {
	switch yes, err := a.db.reachesOut(ctx); {
	case err != nil:
		a.log.Warn("it is not known what the database's user may do", "error", err)
	case yes:
		a.log.Warn("the database's user may read files or run programs on its machine, and so may whoever holds the admin secret, by run_sql: connect as a user who is no superuser")
	}
}

const lineStartup = "startup"

type startup struct {
	Kind string `json:"kind"`
	Info any    `json:"info"`
}

// configuration is what the server runs with, by the names of v1.3 where it has
// one. No secret is in it, and no URL that could hold one.
type configuration struct {
	Version             string       `json:"version"`
	Address             string       `json:"address"`
	Port                int          `json:"port"`
	ServerHost          string       `json:"server_host"`
	Isolation           string       `json:"transaction_isolation"`
	AdminSecretSet      bool         `json:"admin_secret_set"`
	AuthHookSet         bool         `json:"auth_hook_set"`
	AuthHookMode        string       `json:"auth_hook_mode"`
	JWTSet              bool         `json:"jwt_set"`
	UnauthorizedRole    string       `json:"unauth_role"`
	CORSDomain          string       `json:"cors_domain"`
	CORSDisabled        toggle       `json:"cors_disabled"`
	EnabledAPIs         apiNames     `json:"enabled_apis"`
	EnabledLogTypes     logTypeNames `json:"enabled_log_types"`
	LogLevel            string       `json:"log_level"`
	StringifyNumeric    toggle       `json:"stringify_numeric_types"`
	AllowListEnabled    toggle       `json:"enable_allowlist"`
	DevMode             toggle       `json:"dev_mode"`
	AdminInternalErrors toggle       `json:"admin_internal_errors"`
	OwnDatabase         bool         `json:"own_database"`
	Position            int64        `json:"position"`
	InconsistentObjects int          `json:"inconsistent_objects"`
}

func (a *App) configuration(address net.Addr) configuration {
	c := a.cfg
	return configuration{
		Version: Version, Address: address.String(), Port: c.ServerPort, ServerHost: c.ServerHost,
		Isolation:      c.Isolation,
		AdminSecretSet: c.hasSecret(), AuthHookSet: c.AuthHook != "", AuthHookMode: c.AuthHookMode, JWTSet: c.JWTSecret != "",
		UnauthorizedRole: c.UnauthorizedRole, CORSDomain: c.CorsDomain, CORSDisabled: c.DisableCors,
		EnabledAPIs: c.EnabledAPIs, EnabledLogTypes: c.LogTypes, LogLevel: c.LogLevel,
		StringifyNumeric: c.Stringify, AllowListEnabled: c.EnableAllowlist, DevMode: c.DevMode, AdminInternalErrors: c.AdminInternal,
		OwnDatabase: a.db.own != nil, Position: a.Position(), InconsistentObjects: a.Inconsistent(),
	}
}
