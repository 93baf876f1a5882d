package main

import (
	"context"
	"fmt"
	"strconv"

	"annals/domain/metadata"
)

// Change is what the tools that change metadata have in common.
type Change struct {
	Plan    bool   `help:"Only show what would change."`
	Comment string `short:"m" help:"Why, for the history." placeholder:"TEXT"`
	Expect  *int64 `help:"Refuse if the history is not at this position any more." placeholder:"POSITION"`
}

// carryOut sends a call of the metadata API, and shows what it changed.
func (c Change) carryOut(ctx context.Context, con console, s *service, out Output, request call) error {
	request.Plan, request.Comment, request.Expected = c.Plan, c.Comment, c.Expect
	var got answer
	err := con.busy(request.Type, func() (err error) {
		got, err = s.execute(ctx, request)
		return err
	})
	switch {
	case err != nil:
		return err
	case out.JSON:
		return con.printJSON(got.body)
	case c.Plan:
		return con.printPlan(got)
	}
	return con.printRecorded(ctx, s, got.position)
}

func (c console) printPlan(got answer) error {
	plan, err := read[struct{ Changes []metadata.Change }](got)
	if err != nil {
		return err
	}
	if len(plan.Changes) == 0 {
		_, err := fmt.Fprintln(c.out, "nothing would change")
		return err
	}
	c.printChanges(c.out, "", plan.Changes)
	_, err = fmt.Fprintln(c.out, c.paint(faint, "a plan: nothing was changed"))
	return err
}

// printRecorded shows what the event at a position changed.
func (c console) printRecorded(ctx context.Context, s *service, position int64) error {
	got, err := s.get(ctx, "/v1/audit/events/"+strconv.FormatInt(position, 10), nil)
	if err != nil {
		return fmt.Errorf("recorded at position %d, but: %w", position, err)
	}
	e, err := read[event](got)
	if err != nil {
		return err
	}
	if len(e.Changes) == 0 {
		_, err = fmt.Fprintf(c.out, "nothing changed; recorded at position %d\n", position)
		return err
	}
	c.printChanges(c.out, "", e.Changes)
	_, err = fmt.Fprintf(c.out, "recorded at position %d\n", position)
	return err
}
