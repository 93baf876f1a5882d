package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Version is what the service calls itself. It is v1.3.3, whose admin API it
// speaks, to tools that compare versions; behind the plus sign it says what it
// is. A release sets the latter when it is built.
var Version = "v1.3.3+annals.dev"

// commands is the command line: one field a subcommand.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Serve the APIs, on a database that is named or one of annals' own."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// streams is where a subcommand writes.
type streams struct{ out, err io.Writer }

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, out, err io.Writer) int {
	var cli commands
	status, exited := 0, false
	parser, perr := kong.New(&cli,
		kong.Name("annals"),
		kong.Description("A GraphQL engine over PostgreSQL whose metadata is an append-only, verifiable history."),
		kong.Writers(out, err),
		kong.Exit(func(code int) { status, exited = code, true }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"apis": strings.Join(knownAPIs, ", "), "logtypes": strings.Join(knownLogTypes, ", ")},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(streams{out, err}),
	)
	if perr != nil {
		fmt.Fprintf(err, "annals: %v\n", perr)
		return 2
	}
	chosen, perr := parser.Parse(args)
	switch {
	case exited: // --help
		return status
	case perr != nil:
		fmt.Fprintf(err, "annals: %v\n", perr)
		return 2
	}
	if rerr := chosen.Run(); rerr != nil && !errors.Is(rerr, context.Canceled) {
		fmt.Fprintf(err, "annals: %v\n", rerr)
		return 1
	}
	return 0
}

type versionCommand struct{}

// Run implements kong's command.
func (versionCommand) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, Version)
	return err
}
