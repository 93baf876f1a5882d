package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"annals/domain"
)

// deliveriesCommand is `annals deliveries`.
type deliveriesCommand struct {
	List      listDeliveries  `cmd:"" help:"List webhook deliveries, the latest first."`
	Show      showDelivery    `cmd:"" help:"Show all that is known of one delivery."`
	Redeliver redeliverEvents `cmd:"" help:"Deliver events again: one, or all that a filter finds."`
}

// listDeliveries is `annals deliveries list`.
type listDeliveries struct {
	Type    string   `help:"Only of one kind: event, manual, test, cron, scheduled." placeholder:"KIND"`
	Trigger string   `help:"Only of one trigger." placeholder:"NAME"`
	State   []string `help:"Only in a state: pending, retrying, leased, delivered, failed, dropped, cancelled." placeholder:"STATE"`
	Since   string   `help:"Only due from a time on, such as 2026-01-31T12:00:00Z." placeholder:"TIME"`
	Until   string   `help:"Only due before a time; without it and --state, what is due in the future is left out." placeholder:"TIME"`
	Cursor  string   `help:"The next page, as the last one named it." placeholder:"TEXT"`
	Limit   int      `short:"n" help:"How many deliveries." default:"20"`
	Quiet   bool     `short:"q" help:"Print only the events' ids."`
	Output  `embed:""`
	Target  `embed:""`
}

// Help is printed below the flags.
func (listDeliveries) Help() string {
	return `Examples:
  annals deliveries list                              the last 20
  annals deliveries list --trigger order_placed --state failed
  annals deliveries list --type cron --state pending  what is planned
  annals deliveries show $(annals deliveries list -q -n 1)`
}

// Run implements kong's command.
func (c *listDeliveries) Run(ctx context.Context, con console, given typed) error {
	return c.on(ctx, con, given, func(s *service) error {
		got, err := s.get(ctx, "/v1/audit/deliveries", c.query())
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		if c.Quiet {
			return con.printEventIDs(got)
		}
		return con.printDeliveries(got)
	})
}

func (c *listDeliveries) query() url.Values {
	return filtered(c.Limit, map[string]string{
		"type": c.Type, "trigger": c.Trigger, "state": strings.Join(c.State, ","), "since": c.Since, "until": c.Until, "cursor": c.Cursor,
	})
}

// story is a delivery as the audit tells it, as far as tools show it.
type story struct {
	EventID string                `json:"event_id"`
	Kind    string                `json:"kind"`
	Trigger string                `json:"trigger"`
	Table   *domain.QualifiedName `json:"table"`
	State   string                `json:"state"`
	Round   int                   `json:"round"`
	Tries   int                   `json:"tries"`
	Status  *int                  `json:"status"`
	DueAt   time.Time             `json:"due_at"`
	Reason  string                `json:"reason"`
	Catalog int64                 `json:"catalog_version"`
	Defined *standing             `json:"defined_by"`
	Asked   *standing             `json:"asked_by"`
	Payload json.RawMessage       `json:"payload"`
	History []storyEntry          `json:"history"`
	Next    struct {
		Action string     `json:"action"`
		At     *time.Time `json:"at"`
		Paused *string    `json:"paused"`
	} `json:"next"`
}

// standing is the event of the history that stands behind something.
type standing struct {
	Position int64        `json:"position"`
	Type     string       `json:"type"`
	Actor    domain.Actor `json:"actor"`
	Comment  string       `json:"comment"`
}

func (s *standing) String() string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s at %d by %s", oneLine(s.Type), s.Position, who(s.Actor))
	if s.Comment != "" {
		text += ": " + oneLine(s.Comment)
	}
	return text
}

// storyEntry is one attempt or decision.
type storyEntry struct {
	Entry      string          `json:"entry"`
	Outcome    string          `json:"outcome"`
	Round      int             `json:"round"`
	Attempt    int             `json:"attempt"`
	Status     *int            `json:"status"`
	Response   json.RawMessage `json:"response"`
	Reason     string          `json:"reason"`
	Node       string          `json:"node"`
	RecordedAt time.Time       `json:"recorded_at"`
	Duration   *float64        `json:"duration_ms"`
	Asked      *standing       `json:"asked_by"`
}

// deliveryPage is a page of deliveries.
type deliveryPage struct {
	Deliveries []story `json:"deliveries"`
	Next       *string `json:"next"`
}

func (c console) printEventIDs(got answer) error {
	page, err := read[deliveryPage](got)
	if err != nil {
		return err
	}
	for _, d := range page.Deliveries {
		if _, err := fmt.Fprintln(c.out, d.EventID); err != nil {
			return err
		}
	}
	return nil
}

func (c console) printDeliveries(got answer) error {
	page, err := read[deliveryPage](got)
	if err != nil {
		return err
	}
	if len(page.Deliveries) == 0 {
		_, err := fmt.Fprintln(c.out, "no deliveries")
		return err
	}
	lines := table{{"EVENT", "DUE", "KIND", "TRIGGER", "STATE", "TRIES", "STATUS"}}
	for _, d := range page.Deliveries {
		lines = append(lines, []string{
			d.EventID, d.DueAt.Local().Format(timeLayout), d.Kind, oneLine(d.Trigger), c.paintState(d.State), strconv.Itoa(d.Tries), statusText(d.Status),
		})
	}
	if _, err := fmt.Fprint(c.out, lines); err != nil || page.Next == nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, c.paint(faint, "earlier ones: --cursor "+*page.Next))
	return err
}

func (c console) paintState(state string) string {
	switch state {
	case "delivered":
		return c.paint(green, state)
	case "failed", "dropped", "cancelled":
		return c.paint(red, state)
	}
	return c.paint(yellow, state)
}

// noAnswer is the status of an attempt that got no HTTP answer.
const noAnswer = 1000

func statusText(status *int) string {
	switch {
	case status == nil:
		return ""
	case *status >= noAnswer:
		return "no answer"
	}
	return strconv.Itoa(*status)
}
