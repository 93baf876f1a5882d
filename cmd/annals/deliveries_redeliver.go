package main

import (
	"context"
	"errors"
	"fmt"
)

// redeliverEvents is `annals deliveries redeliver`.
type redeliverEvents struct {
	EventID string   `arg:"" name:"event" optional:"" help:"Id of one event; or else a filter."`
	Trigger string   `help:"Events of one trigger." placeholder:"NAME"`
	State   []string `help:"Events in a state: failed (the default), delivered, cancelled." placeholder:"STATE"`
	Status  []int    `help:"Events whose last answer had a status." placeholder:"CODE"`
	Since   string   `help:"Events from a time on, such as 2026-01-31T12:00:00Z." placeholder:"TIME"`
	Until   string   `help:"Events before a time." placeholder:"TIME"`
	Rate    float64  `help:"How many become due in a second; without it all at once." placeholder:"NUMBER"`
	Limit   int      `short:"n" help:"How many events at most, the oldest first; without it the server says." placeholder:"NUMBER"`
	DryRun  bool     `help:"Only say how many there are."`
	Message string   `short:"m" help:"Why, for the history." placeholder:"TEXT"`
	Output  `embed:""`
	Target  `embed:""`
}

// Help is printed below the flags.
func (redeliverEvents) Help() string {
	return `Examples:
  annals deliveries redeliver 85558393-c75d-4d2f-9c15-e80591b83894
  annals deliveries redeliver --trigger order_placed --dry-run
  annals deliveries redeliver --trigger order_placed --status 503 --rate 20 -m 'the receiver is back'
A redelivery is a new round: earlier attempts stay in the history. A server makes it; one
has to run on the database.`
}

// Run implements kong's command.
func (c *redeliverEvents) Run(ctx context.Context, con console, given typed) error {
	asked, err := c.call()
	if err != nil {
		return err
	}
	return c.on(ctx, con, given, func(s *service) error {
		got, err := s.execute(ctx, asked)
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		return con.printRedelivery(got)
	})
}

// call is one event, or a filter that says something.
func (c *redeliverEvents) call() (call, error) {
	filtered := c.Trigger != "" || len(c.State)+len(c.Status) > 0 || c.Since != "" || c.Until != ""
	switch {
	case c.EventID != "" && filtered:
		return call{}, errors.New("name one event or a filter, not both")
	case c.EventID != "":
		return call{Type: "redeliver_event", Args: map[string]any{"event_id": c.EventID}, Comment: c.Message}, nil
	case !filtered:
		return call{}, errors.New("name an event, or say which: --trigger, --state, --status, --since, --until")
	}
	args := map[string]any{"dry_run": c.DryRun}
	for name, text := range map[string]string{"trigger": c.Trigger, "since": c.Since, "until": c.Until} {
		if text != "" {
			args[name] = text
		}
	}
	if len(c.State) > 0 {
		args["state"] = c.State
	}
	if len(c.Status) > 0 {
		args["status"] = c.Status
	}
	if c.Limit != 0 {
		args["limit"] = c.Limit
	}
	if c.Rate != 0 {
		args["rate"] = c.Rate
	}
	return call{Type: "redeliver_events", Args: args, Comment: c.Message}, nil
}

func (c console) printRedelivery(got answer) error {
	answered, err := read[struct {
		DryRun      bool  `json:"dry_run"`
		Matching    int64 `json:"matching"`
		Redelivered int64 `json:"redelivered"`
		Position    int64 `json:"position"`
	}](got)
	switch {
	case err != nil:
		return err
	case answered.DryRun:
		_, err = fmt.Fprintf(c.out, "%d events would be redelivered\n", answered.Matching)
	case answered.Position == 0:
		_, err = fmt.Fprintln(c.out, "queued again")
	default:
		_, err = fmt.Fprintf(c.out, "%d of %d events queued again by event %d of the history\n", answered.Redelivered, answered.Matching, answered.Position)
	}
	return err
}
