package main

import (
	"context"
	"fmt"

	"annals/domain/metadata"
)

// diffCommand is `annals diff`.
type diffCommand struct {
	From   string `arg:"" help:"Position, or time such as 2026-01-31T12:00:00Z."`
	To     string `arg:"" optional:"" help:"Position or time. Default: now."`
	Output `embed:""`
	Target `embed:""`
}

// Help is printed below the flags.
func (diffCommand) Help() string {
	return `Examples:
  annals diff 10                      what changed since position 10
  annals diff 10 20                   what led from 10 to 20
  annals diff 2026-01-31T12:00:00Z    what changed since then`
}

// Run implements kong's command.
func (c *diffCommand) Run(ctx context.Context, con console, given typed) error {
	args := map[string]any{"from": momentOf(c.From)}
	if c.To != "" {
		args["to"] = momentOf(c.To)
	}
	return c.on(ctx, con, given, func(s *service) error {
		var got answer
		err := con.busy("comparing", func() (err error) {
			got, err = s.execute(ctx, call{Type: "diff_metadata", Args: args})
			return err
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		return con.printDiff(got)
	})
}

func (c console) printDiff(got answer) error {
	diff, err := read[struct {
		From, To int64
		Changes  []metadata.Change
	}](got)
	if err != nil {
		return err
	}
	if len(diff.Changes) == 0 {
		_, err := fmt.Fprintf(c.out, "no difference between %d and %d\n", diff.From, diff.To)
		return err
	}
	c.printChanges(c.out, "", diff.Changes)
	return nil
}
