// Command annals is a GraphQL engine over PostgreSQL whose metadata is an
// append-only, verifiable history.
//
// It wires and holds no rule of its own: [App] joins the parts, a file for
// each subcommand says what that does, config.go holds the settings of the
// server, target.go those of the tools. A tool talks HTTP like everybody else:
// to a server behind a URL, or to an App in its own process.
//
// Run `annals --help` for what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], newConsole(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}
