package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// showCommand is `annals show`.
type showCommand struct {
	Position int64 `arg:"" help:"Position of the event."`
	Output   `embed:""`
	Target   `embed:""`
}

// Help is printed below the flags.
func (showCommand) Help() string {
	return `Examples:
  annals show 12           who did it, when, why, and what each object was and is
  annals show 12 --json    with each object before and after`
}

// Run implements kong's command.
func (c *showCommand) Run(ctx context.Context, con console, given typed) error {
	return c.on(ctx, con, given, func(s *service) error {
		got, err := s.get(ctx, "/v1/audit/events/"+strconv.FormatInt(c.Position, 10), nil)
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		return con.printEvent(got)
	})
}

func (c console) printEvent(got answer) error {
	e, err := read[event](got)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, c.paint(bold, fmt.Sprintf("event %d  %s", e.Position, oneLine(e.Type))))
	fmt.Fprint(c.out, e.facts())
	fmt.Fprintf(c.out, "\nasked\n    %s\n", pretty(e.Args, "    "))
	if len(e.Changes) > 0 {
		fmt.Fprintln(c.out, "\nchanged")
		c.printChanges(c.out, "    ", e.Changes)
	}
	return nil
}

func (e event) facts() table {
	facts := table{
		{"when", e.RecordedAt.Local().Format(time.RFC3339Nano)},
		{"who", who(e.Actor)},
	}
	for _, fact := range [][]string{
		{"why", e.Comment}, {"from", e.Actor.RemoteAddress}, {"with", e.Actor.UserAgent}, {"request", e.Actor.RequestID},
		{"id", e.ID}, {"batch", e.Batch}, {"hash", e.Hash},
	} {
		if fact[1] != "" {
			facts = append(facts, []string{fact[0], oneLine(fact[1])})
		}
	}
	return facts
}
