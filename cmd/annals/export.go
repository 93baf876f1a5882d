package main

import (
	"context"
	"fmt"
)

// exportCommand is `annals export`.
type exportCommand struct {
	AsOf   string `help:"Position or time: the metadata as it was then." placeholder:"MOMENT"`
	Output `embed:""`
	Target `embed:""`
}

// Help is printed below the flags.
func (exportCommand) Help() string {
	return `Examples:
  annals export > metadata.json
  annals export --as-of 10
  annals export --as-of 2026-01-31T12:00:00Z --url https://annals.example.org`
}

// Run implements kong's command.
func (c *exportCommand) Run(ctx context.Context, con console, given typed) error {
	args := map[string]any{}
	if c.AsOf != "" {
		args["as_of"] = momentOf(c.AsOf)
	}
	return c.on(ctx, con, given, func(s *service) error {
		var got answer
		err := con.busy("exporting", func() (err error) {
			got, err = s.execute(ctx, call{Type: "export_metadata", Args: args})
			return err
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		_, err = fmt.Fprintln(con.out, pretty(got.body, ""))
		return err
	})
}
