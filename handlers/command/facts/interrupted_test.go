package facts_test

import (
	"context"

	"annals/handlers/command/facts"

	"github.com/jackc/pgx/v5"
)

// interrupted is a database in which something happens between two statements
// of a batch. It sends the statements one by one.
type interrupted struct {
	facts.Querier
	// after is the statement, counted from 1 over all batches, after which
	// interrupt is called.
	after     int
	interrupt func()
	sent      int
}

func (q *interrupted) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	for _, query := range batch.QueuedQueries {
		err := q.Querier.SendBatch(ctx, &pgx.Batch{QueuedQueries: []*pgx.QueuedQuery{query}}).Close()
		if err != nil {
			return done{err: err}
		}
		if q.sent++; q.sent == q.after {
			q.interrupt()
		}
	}
	return done{}
}

// done is the result of a batch whose statements were all read.
type done struct {
	pgx.BatchResults
	err error
}

func (d done) Close() error { return d.err }
