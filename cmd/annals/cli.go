package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"annals/handlers/outbound"
)

// Version is what the service calls itself. It is v1.3.3, whose admin API it
// speaks, to tools that compare versions; behind the plus sign it says what it
// is. A release sets the latter when it is built.
var Version = "v1.3.3+annals.dev"

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// commands is the command line: one field a subcommand.
type commands struct {
	Serve serveCommand `cmd:"" group:"run" help:"Serve the APIs, on a database that is named or one of annals' own."`

	Log        logCommand        `cmd:"" group:"look" help:"List what was done to the metadata: when, by whom, what and why."`
	Show       showCommand       `cmd:"" group:"look" help:"Show one event, with each object before and after it."`
	Diff       diffCommand       `cmd:"" group:"look" help:"Show what changed between two moments."`
	Export     exportCommand     `cmd:"" group:"look" help:"Print the metadata, as it is or as it was."`
	Verify     verifyCommand     `cmd:"" group:"look" help:"Verify that no event was changed, and that the catalog is what the history says."`
	Deliveries deliveriesCommand `cmd:"" group:"look" help:"List, show and redeliver webhook deliveries."`
	Rollback   rollbackCommand   `cmd:"" group:"change" help:"Restore the metadata of an earlier moment. The history stays."`
	Replace    replaceCommand    `cmd:"" group:"change" help:"Make the metadata what a file says."`
	Execute    executeCommand    `cmd:"" group:"change" help:"Carry out one call of the metadata API."`
	Receive    receiveCommand    `cmd:"" group:"run" help:"Receive webhooks and print them, to try triggers on."`
	Rebuild    rebuildCommand    `cmd:"" group:"keep" help:"Make the persisted catalog anew from the history."`
	Migrate    migrateCommand    `cmd:"" group:"keep" help:"Bring a database's schema annals up to this program."`
	Version    versionCommand    `cmd:"" group:"keep" help:"Print the version."`
}

// commandGroups are the headings of the help.
var commandGroups = []kong.Group{
	{Key: "run", Title: "Run:"},
	{Key: "look", Title: "Look at the history:"},
	{Key: "change", Title: "Change the metadata:"},
	{Key: "keep", Title: "Keep house:"},
	{Key: "Target", Title: "What to work on", Description: "A server (--url), or a database; with neither, annals' own PostgreSQL in --data-dir."},
}

// typed are the flags that stand on the command line itself.
type typed map[string]bool

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, con console) int {
	cli, status := commands{}, -1
	parser, err := newParser(ctx, &cli, con, func(code int) { status = code })
	if err != nil {
		return con.fail(exitUsage, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	switch {
	case status >= 0: // --help was printed
		return status
	case err != nil:
		return con.fail(exitUsage, fmt.Errorf("%w%s", err, origin(parser, args, err)))
	}
	given := typed{}
	for _, step := range chosen.Path {
		if step.Flag != nil {
			given[step.Flag.Name] = true
		}
	}
	if err := chosen.Run(given); err != nil && !errors.Is(err, context.Canceled) {
		return con.fail(exitFailure, err)
	}
	return exitOK
}

// origin names the variable that a value came from which is wrong, where kong
// does not say.
func origin(parser *kong.Kong, args []string, err error) string {
	if strings.Contains(err.Error(), "(from envar") {
		return ""
	}
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			name := "--" + flag.Name
			if !slices.Contains(args, command.Name) || !mentions(err.Error(), name) || isTyped(args, name) {
				continue
			}
			for _, variable := range flag.Envs {
				if _, set := os.LookupEnv(variable); set {
					return " (from envar " + variable + ")"
				}
			}
		}
	}
	return ""
}

// mentions reports whether a message begins with a flag, after the command.
func mentions(message, flag string) bool {
	_, rest, found := strings.Cut(message, flag)
	return found && (rest == "" || rest[0] == ' ' || rest[0] == ':')
}

func isTyped(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

func newParser(ctx context.Context, cli *commands, con console, exit func(int)) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("annals"),
		kong.Description("A GraphQL engine over PostgreSQL whose metadata is an append-only, verifiable history."),
		kong.Writers(con.out, con.err),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups(commandGroups),
		kong.Vars{"apis": strings.Join(knownAPIs, ", "), "logtypes": strings.Join(knownLogTypes, ", "), "ranges": strings.Join(outbound.Ranges(), ", ")},
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(con),
	)
}

type versionCommand struct{}

// Run implements kong's command.
func (versionCommand) Run(con console) error {
	_, err := fmt.Fprintln(con.out, Version)
	return err
}
