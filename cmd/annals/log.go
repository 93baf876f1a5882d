package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// logCommand is `annals log`.
type logCommand struct {
	Object string `help:"Only what touched one object, such as table:public.album." placeholder:"KIND:KEY"`
	Type   string `help:"Only operations of one type, such as create_select_permission." placeholder:"NAME"`
	Actor  string `help:"Only what one role, credential or request did." placeholder:"NAME"`
	Since  string `help:"Only from a time on, such as 2026-01-31T12:00:00Z." placeholder:"TIME"`
	Until  string `help:"Only before a time." placeholder:"TIME"`
	After  string `help:"Only after a position." placeholder:"POSITION"`
	Before string `help:"Only before a position: the next page." placeholder:"POSITION"`
	Limit  int    `short:"n" help:"How many events, newest first." default:"20"`
	Output `embed:""`
	Target `embed:""`
}

// Help is printed below the flags.
func (logCommand) Help() string {
	return `Examples:
  annals log                                         the last 20 operations
  annals log --object permission:public.album.clerk.select
  annals log --actor admin --since 2026-01-31T00:00:00Z --json`
}

// Run implements kong's command.
func (c *logCommand) Run(ctx context.Context, con console, given typed) error {
	return c.on(ctx, con, given, func(s *service) error {
		var got answer
		err := con.busy("reading the history", func() (err error) {
			got, err = s.get(ctx, "/v1/audit/events", c.query())
			return err
		})
		if err != nil {
			return err
		}
		if c.JSON {
			return con.printJSON(got.body)
		}
		return con.printLog(got)
	})
}

func (c *logCommand) query() url.Values {
	return filtered(c.Limit, map[string]string{
		"object": c.Object, "type": c.Type, "actor": c.Actor, "since": c.Since, "until": c.Until, "after": c.After, "before": c.Before,
	})
}

// filtered asks the audit for so many, by the filters that have a value.
func filtered(limit int, filters map[string]string) url.Values {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, value := range filters {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// page is a page of the audit.
type page struct {
	Events []event `json:"events"`
	Next   *int64  `json:"next"`
}

func (c console) printLog(got answer) error {
	found, err := read[page](got)
	if err != nil {
		return err
	}
	if len(found.Events) == 0 {
		_, err := fmt.Fprintln(c.out, "no events")
		return err
	}
	lines := table{{"POSITION", "WHEN", "WHO", "WHAT", "CHANGES", "WHY"}}
	for _, e := range found.Events {
		lines = append(lines, []string{
			strconv.FormatInt(e.Position, 10), e.when(), who(e.Actor), oneLine(e.Type), c.summary(e.Changes), oneLine(e.Comment),
		})
	}
	if _, err := fmt.Fprint(c.out, lines); err != nil || found.Next == nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, c.paint(faint, fmt.Sprintf("older events: --before %d", *found.Next)))
	return err
}

// table is lines of cells. Printed, each column is as wide as its widest cell.
type table [][]string

func (t table) String() string {
	widths := map[int]int{}
	for _, line := range t {
		for i, cell := range line {
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	for _, line := range t {
		var text strings.Builder
		for i, cell := range line {
			text.WriteString(cell)
			text.WriteString(strings.Repeat(" ", widths[i]-width(cell)+2))
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}

// width is how many columns of a terminal a text takes: colours take none.
func width(text string) int {
	n := utf8.RuneCountInString(text)
	for {
		_, rest, found := strings.Cut(text, "\x1b[")
		code, after, ended := strings.Cut(rest, "m")
		if !found || !ended {
			return n
		}
		n -= len("\x1b[") + len(code) + len("m")
		text = after
	}
}
