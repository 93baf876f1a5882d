package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// replaceCommand is `annals replace`.
type replaceCommand struct {
	File   string `arg:"" help:"File of a metadata document; - reads standard input."`
	Change `embed:""`
	Output `embed:""`
	Target `embed:""`
}

// Help is printed below the flags.
func (replaceCommand) Help() string {
	return `Examples:
  annals export > metadata.json       then edit it
  annals replace metadata.json --plan
  annals replace metadata.json -m 'the new price list'
Only the difference is recorded.`
}

// Run implements kong's command.
func (c *replaceCommand) Run(ctx context.Context, con console, given typed) error {
	document, err := con.readFile(c.File)
	if err != nil {
		return err
	}
	if !json.Valid(document) {
		return fmt.Errorf("%s is not JSON", c.File)
	}
	return c.on(ctx, con, given, func(s *service) error {
		return c.carryOut(ctx, con, s, c.Output, call{Type: "replace_metadata", Args: json.RawMessage(document)})
	})
}

// readFile reads a file, or standard input for a dash.
func (c console) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(name)
}
