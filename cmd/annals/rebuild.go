package main

import (
	"context"
	"encoding/json"
	"fmt"

	"annals/projections/catalog"
)

// rebuildCommand is `annals rebuild`.
type rebuildCommand struct {
	Output   `embed:""`
	Database `embed:"" group:"Database"`
}

// Help is printed below the flags.
func (rebuildCommand) Help() string {
	return `Examples:
  annals rebuild                                             the catalog in annals' own PostgreSQL
  annals rebuild --database-url postgres://localhost/shop    that of another database
The chain is verified first: a catalog is not made from a history that does not
fit. Operations wait until the rebuild is done; no webhook is sent.`
}

// Run implements kong's command.
func (c *rebuildCommand) Run(ctx context.Context, con console, given typed) error {
	return Target{Database: c.Database}.on(ctx, con, given, func(s *service) error {
		found, err := inspect(ctx, con, s)
		if err != nil {
			return err
		}
		if !found.OK {
			return found.verdict()
		}
		var report catalog.Report
		err = con.busy("rebuilding", func() (err error) {
			report, err = catalog.Rebuild(ctx, s.app.db.pool, s.app.store)
			return err
		})
		if err != nil {
			return err
		}
		return c.print(con, report)
	})
}

func (c *rebuildCommand) print(con console, report catalog.Report) error {
	if c.JSON {
		text, err := json.Marshal(report)
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return con.printJSON(text)
	}
	for _, key := range report.Differing {
		fmt.Fprintln(con.out, con.paint(yellow, "mended  "+oneLine(nameOf(key))))
	}
	_, err := fmt.Fprintf(con.out, "catalog rebuilt from %d events: %d objects, %d of them mended\n", report.Position, report.Objects, len(report.Differing))
	return err
}
