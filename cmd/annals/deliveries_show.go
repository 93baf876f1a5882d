package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// showDelivery is `annals deliveries show`.
type showDelivery struct {
	EventID string   `arg:"" name:"event" help:"Id of the event."`
	Wait    duration `help:"Wait so long for it to be over, such as 30s." default:"0" placeholder:"TIME"`
	Output  `embed:""`
	Target  `embed:""`
}

// Help is printed below the flags.
func (showDelivery) Help() string {
	return `Examples:
  annals deliveries show 85558393-c75d-4d2f-9c15-e80591b83894
  annals deliveries show --wait 30s $(annals deliveries list -q -n 1)
Tells what captured, planned or asked for the delivery and under which version of
the catalog, each attempt, and what comes next; with --json also each request and
response.`
}

// Run implements kong's command.
func (c *showDelivery) Run(ctx context.Context, con console, given typed) error {
	return c.on(ctx, con, given, func(s *service) error {
		got, err := c.await(ctx, s)
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		return con.printDelivery(got)
	})
}

// lookAgain is the time between two looks at a delivery that is waited for.
const lookAgain = 100 * time.Millisecond

// await returns the delivery once it is over, or as it is when that takes too
// long.
func (c *showDelivery) await(ctx context.Context, s *service) (answer, error) {
	until := time.Now().Add(time.Duration(c.Wait))
	for {
		got, err := s.get(ctx, "/v1/audit/deliveries/"+url.PathEscape(c.EventID), nil)
		if err != nil {
			return got, err
		}
		d, err := read[story](got)
		if err != nil || d.Next.Action == "nothing" || time.Now().After(until) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (c console) printDelivery(got answer) error {
	d, err := read[story](got)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.out, c.paint(bold, "event "+d.EventID)+"  "+c.paintState(d.State))
	fmt.Fprint(c.out, d.facts())
	fmt.Fprintf(c.out, "\npayload\n    %s\n", pretty(d.Payload, "    "))
	if len(d.History) > 0 {
		fmt.Fprintln(c.out, "\nhistory")
		fmt.Fprint(c.out, c.historyOf(d))
	}
	_, err = fmt.Fprintln(c.out, "\nnext\n    "+d.next())
	return err
}

func (d story) facts() table {
	facts := table{{"kind", d.Kind}}
	for _, fact := range [][]string{
		{"trigger", oneLine(d.Trigger)}, {"table", d.tableName()}, {"due", d.DueAt.Local().Format(time.RFC3339Nano)},
		{"catalog", "version " + strconv.FormatInt(d.Catalog, 10)}, {"defined by", d.Defined.String()}, {"asked by", d.Asked.String()},
		{"reason", oneLine(d.Reason)},
	} {
		if fact[1] != "" {
			facts = append(facts, fact)
		}
	}
	return facts
}

func (d story) tableName() string {
	if d.Table == nil {
		return ""
	}
	return oneLine(d.Table.String())
}

func (c console) historyOf(d story) table {
	var lines table
	for _, e := range d.History {
		lines = append(lines, []string{
			"   ", e.RecordedAt.Local().Format(timeLayout), fmt.Sprintf("%d.%d", e.Round, e.Attempt), e.what(c), statusText(e.Status), e.took(), e.Node, e.why(),
		})
	}
	return lines
}

func (e storyEntry) what(c console) string {
	if e.Outcome == "" {
		return c.paintState(e.Entry)
	}
	return c.paintState(e.Outcome)
}

func (e storyEntry) took() string {
	if e.Duration == nil {
		return ""
	}
	return time.Duration(*e.Duration * float64(time.Millisecond)).String()
}

func (e storyEntry) why() string {
	if e.Asked != nil {
		return e.Asked.String()
	}
	return oneLine(e.Reason)
}

// next says what will happen.
func (d story) next() string {
	if d.Next.At == nil {
		return d.Next.Action
	}
	at := d.Next.At.Local().Format(timeLayout)
	switch {
	case d.Next.Paused != nil:
		return "an attempt, once the trigger is resumed; it rests: " + oneLine(*d.Next.Paused)
	case d.Next.Action == "outcome":
		return "the outcome of the attempt that is being made; given up at " + at
	}
	return "an attempt at " + at
}
