package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
	"annals/domain/metadata"
)

// RunIn runs a command of the metadata API about rows in a transaction of the
// caller's, under the permissions of a world, which may be one that only the
// transaction knows yet. It returns the command's whole answer.
func (e *Executor) RunIn(ctx context.Context, tx pgx.Tx, c metadata.RowCall) (json.RawMessage, error) {
	op, err := plan.OfRows(e.schema.Role(c.World, c.Session.Role, c.BackendOnly), c.Command, e.config.Limits)
	if err != nil {
		return nil, err
	}
	if err := e.checkSession(Operation{Plan: op, Session: c.Session}); err != nil {
		return nil, atArguments(err)
	}
	before, err := e.settle(ctx, tx)
	if err != nil {
		return nil, err
	}
	running := transaction{
		Executor: e, ctx: ctx, pg: tx.Conn().PgConn(), binding: translate.Binding{Session: c.Session}, trace: c.Trace, allowed: e.config.allowed(),
	}
	answer, err := running.only(op)
	if err != nil {
		return nil, atArguments(err)
	}
	if err := limit(ctx, tx, before); err != nil {
		return nil, err
	}
	return answer, nil
}

// settle makes the caller's transaction one as [Connections] makes them: how
// values are spelled, how long a statement may take. It returns the limit that
// the transaction had.
func (e *Executor) settle(ctx context.Context, tx pgx.Tx) (before string, err error) {
	for name, value := range spelling() {
		if _, err := tx.Exec(ctx, setLocal, name, value); err != nil {
			return "", fmt.Errorf("set %s: %w", name, err)
		}
	}
	if err := tx.QueryRow(ctx, "SELECT pg_catalog.current_setting($1)", statementTimeout).Scan(&before); err != nil {
		return "", fmt.Errorf("read %s: %w", statementTimeout, err)
	}
	return before, limit(ctx, tx, strconv.FormatInt(e.config.StatementTimeout.Milliseconds(), 10))
}

const (
	setLocal         = "SELECT pg_catalog.set_config($1, $2, true)"
	statementTimeout = "statement_timeout"
)

func limit(ctx context.Context, tx pgx.Tx, timeout string) error {
	if _, err := tx.Exec(ctx, setLocal, statementTimeout, timeout); err != nil {
		return fmt.Errorf("set %s: %w", statementTimeout, err)
	}
	return nil
}

// only runs the one root field of an operation, for its answer alone.
func (tx transaction) only(op *plan.Operation) (json.RawMessage, error) {
	if op.Kind == plan.Mutation {
		sets, err := pipeline(tx.ctx, tx.pg, tx.settings(), nil)
		if err != nil {
			return nil, presented(fmt.Errorf("set the session: %w", err), "$")
		}
		free(sets)
	}
	var w writer
	if err := tx.root(&w, op.Fields[0]); err != nil {
		return nil, err
	}
	if _, counts := op.Fields[0].Step.(*plan.Aggregate); !counts {
		return w.out, nil
	}
	var counted struct{ Aggregate json.RawMessage }
	if err := json.Unmarshal(w.out, &counted); err != nil {
		return nil, fmt.Errorf("read a count: %w", err)
	}
	return counted.Aggregate, nil
}

// atArguments gives a refusal the place that those of the metadata API have.
func atArguments(err error) error {
	var refusal *domain.Error
	if !errors.As(err, &refusal) || strings.HasPrefix(refusal.Path, "$.args") {
		return err
	}
	placed := *refusal
	placed.Path = "$.args"
	return &placed
}
