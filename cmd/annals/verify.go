package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"annals/projections/capture"
	"annals/projections/catalog"
)

// verifyCommand is `annals verify`.
type verifyCommand struct {
	Output `embed:""`
	Target `embed:""`
}

// Help is printed below the flags.
func (verifyCommand) Help() string {
	return `Examples:
  annals verify                               the chain, the catalog folded from zero, and the capture triggers
  annals verify --url http://localhost:8080   the chain, by the server
The exit status is 1 when something does not fit.`
}

// Run implements kong's command.
func (c *verifyCommand) Run(ctx context.Context, con console, given typed) error {
	return c.on(ctx, con, given, func(s *service) error {
		found, err := inspect(ctx, con, s)
		if err != nil {
			return err
		}
		if c.JSON {
			err = con.printJSON(found.body)
		} else {
			con.printFindings(found)
		}
		return errors.Join(err, found.verdict())
	})
}

// findings are what was found of a history.
type findings struct {
	body     []byte
	OK       bool   `json:"ok"`
	Events   int64  `json:"events"`
	Position int64  `json:"position"`
	Reason   string `json:"reason"`
	Head     struct {
		Hash string `json:"hash"`
	} `json:"head"`
	// Catalog compares the persisted catalog with the history; nil where only a
	// server was asked.
	Catalog *catalog.Report `json:"catalog"`
	// Capture is what the database triggers for row changes lack; nil where only
	// a server was asked.
	Capture []capture.Difference `json:"capture"`
}

func inspect(ctx context.Context, con console, s *service) (findings, error) {
	var found findings
	err := con.busy("verifying", func() error {
		got, err := s.get(ctx, "/v1/audit/verify", nil)
		if err != nil {
			return err
		}
		if found, err = read[findings](got); err != nil {
			return err
		}
		found.body = got.body
		if s.app == nil || !found.OK {
			return nil
		}
		return found.compare(ctx, s.app)
	})
	return found, err
}

// compare adds what the database alone can tell.
func (f *findings) compare(ctx context.Context, app *App) error {
	report, err := catalog.Compare(ctx, app.db.pool, app.store)
	if err != nil {
		return err
	}
	f.Catalog = &report
	if f.Capture, err = app.handler.CaptureDrift(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(struct {
		Catalog *catalog.Report      `json:"catalog"`
		Capture []capture.Difference `json:"capture"`
	}{f.Catalog, f.Capture})
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	f.body = append(f.body[:len(f.body)-1], ","+string(text[1:])...)
	return nil
}

// verdict is an error for a history or catalog that is not as it should be.
func (f findings) verdict() error {
	switch {
	case !f.OK:
		return fmt.Errorf("the history does not verify at position %d: %s", f.Position, f.Reason)
	case f.Catalog != nil && len(f.Catalog.Differing) > 0:
		return fmt.Errorf("the persisted catalog is not what the history says: %d objects differ; `annals rebuild` mends it", len(f.Catalog.Differing))
	case len(f.Capture) > 0:
		return fmt.Errorf("row changes are not captured as the metadata wants it: %d database triggers differ; a server mends them, and so does reload_metadata", len(f.Capture))
	}
	return nil
}

func (c console) printFindings(f findings) {
	if !f.OK {
		return
	}
	fmt.Fprintf(c.out, "%s  %d events, head %s\n", c.paint(green, "history ok"), f.Events, f.Head.Hash)
	if f.Catalog == nil {
		return
	}
	if len(f.Catalog.Differing) == 0 {
		fmt.Fprintf(c.out, "%s  %d objects, as folded from the history\n", c.paint(green, "catalog ok"), f.Catalog.Objects)
	}
	for _, key := range f.Catalog.Differing {
		fmt.Fprintln(c.out, c.paint(red, "differs     "+oneLine(nameOf(key))))
	}
	if len(f.Capture) == 0 {
		fmt.Fprintf(c.out, "%s  row changes are captured as the metadata wants it\n", c.paint(green, "capture ok"))
	}
	for _, d := range f.Capture {
		fmt.Fprintln(c.out, c.paint(red, fmt.Sprintf("%-10s  %s", d.Problem, oneLine(d.Function))))
	}
}
