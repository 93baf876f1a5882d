package main

import "context"

// rollbackCommand is `annals rollback`.
type rollbackCommand struct {
	To                string `arg:"" help:"Position, or time such as 2026-01-31T12:00:00Z."`
	AllowInconsistent bool   `help:"Restore also what cannot stand in the database as it is."`
	Change            `embed:""`
	Output            `embed:""`
	Target            `embed:""`
}

// Help is printed below the flags.
func (rollbackCommand) Help() string {
	return `Examples:
  annals rollback 10 --plan                       what it would change
  annals rollback 10 -m 'clerks lost their access'
Tables and rows are not touched: only metadata is restored. A rollback is an event
like any other, and can be rolled back.`
}

// Run implements kong's command.
func (c *rollbackCommand) Run(ctx context.Context, con console, given typed) error {
	args := map[string]any{"to": momentOf(c.To), "allow_inconsistent": c.AllowInconsistent}
	return c.on(ctx, con, given, func(s *service) error {
		return c.carryOut(ctx, con, s, c.Output, call{Type: "rollback_metadata", Args: args})
	})
}
