package main

import (
	"context"
	"fmt"

	"annals/cmd/internal/program"
)

// prepare makes a tracked table with a row for each subscriber.
func prepare(ctx context.Context, n *program.Node, rows int) error {
	err := n.Query(ctx, fmt.Sprintf(`{"type":"bulk","args":[
		{"type":"run_sql","args":{"sql":"CREATE TABLE item (id int PRIMARY KEY, turn int NOT NULL); INSERT INTO item SELECT i, 0 FROM generate_series(0, %d) i; ANALYZE item"}},
		{"type":"track_table","args":"item"}]}`, rows-1))
	if err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	return nil
}
