package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"annals/handlers/api"
)

// Target says what a tool works on: a server, or a database, on which it is a
// server to itself for as long as it runs.
type Target struct {
	URL         string `name:"url" env:"SERVICE_GRAPHQL_URL,HASURA_GRAPHQL_URL" help:"URL of a running server, such as http://localhost:8080." placeholder:"URL" group:"Target"`
	AdminSecret string `env:"SERVICE_GRAPHQL_ADMIN_SECRET,HASURA_GRAPHQL_ADMIN_SECRET" help:"Admin secret of that server." placeholder:"TEXT" group:"Target"`
	Database    `embed:"" group:"Database"`
}

// Output says how a tool prints what it found.
type Output struct {
	JSON bool `name:"json" help:"Print the API's answer as it is, for programs." group:"Output"`
}

// on lends the service that the flags name to work.
func (t Target) on(ctx context.Context, con console, given typed, work func(*service) error) (err error) {
	if t, err = t.choose(given); err != nil {
		return err
	}
	if t.URL != "" {
		return work(remote(t.URL, t.AdminSecret))
	}
	var app *App
	secret := rand.Text()
	err = con.busy("opening the database", func() (err error) {
		app, err = t.open(ctx, con, secret)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	return work(local(app, secret))
}

// choose settles whether a server or a database is meant. A flag goes before a
// variable; where both are named alike, a guess could change the wrong one.
func (t Target) choose(given typed) (Target, error) {
	database := t.url() != "" || given["data-dir"]
	typedDatabase := given["database-url"] || given["host"] || given["data-dir"]
	switch {
	case t.URL == "" || !database:
	case given["url"] == typedDatabase:
		return t, errors.New("--url and a database are both named, by flags or by variables: name one of them")
	case typedDatabase:
		t.URL = ""
	}
	return t, nil
}

// open makes a service of our own on the database. It lets in only who knows
// the secret, by the name of cli in the history, and leaves the database's
// schema as it is.
func (t Target) open(ctx context.Context, con console, secret string) (*App, error) {
	if err := t.found(); err != nil {
		return nil, err
	}
	return NewApp(ctx, Serve{
		Database:    t.Database,
		EnabledAPIs: apiNames{string(api.PartMetadata)},
		DisableCors: true,
		MaxBody:     api.DefaultMaxBodyBytes,
		WaitLimit:   duration(api.DefaultMinVersionWait),
		AdminSecret: secret, AdminInternal: true, credential: "cli",
		LogLevel:   "error",
		keepSchema: true,
	}, con.err)
}

// found refuses to look into a data folder that does not exist: that would
// only make an empty one.
func (t Target) found() error {
	if t.url() != "" {
		return nil
	}
	dir, err := t.dataDir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data in %s: name a server with --url, a database with --database-url, or another --data-dir", dir)
	}
	return nil
}

// baseURL is what the paths of the API are put behind.
func baseURL(text string) string {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	return strings.TrimRight(text, "/")
}
