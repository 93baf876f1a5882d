package command

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
	"annals/domain/metadata"
	"annals/projections/capture"
)

// sqlResult is the answer of run_sql: the rows of the last statement, all as
// text, the names of the columns first.
type sqlResult struct {
	Type string `json:"result_type"`
	// Result is a [][]string, or nil for a statement without rows.
	Result any `json:"result"`
}

// runSQL runs a user's SQL in the call's transaction. Where it is asked to, the
// metadata follows what the SQL did to the tables that it speaks of.
func (c *call) runSQL(ctx context.Context, cmd metadata.RunSQL) (json.RawMessage, error) {
	c.tainted, c.queues = true, true
	before, err := c.transactionID(ctx)
	if err != nil {
		return nil, err
	}
	result, err := c.execute(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if err := c.regain(ctx, before); err != nil {
		return nil, err
	}
	body := metadata.Encode(result)
	if cmd.ReadOnly {
		return body, nil
	}
	var changes []metadata.Change
	if cmd.ChecksMetadata() {
		if changes, err = c.follow(ctx, cmd); err != nil {
			return nil, err
		}
		if err := c.captureAll(ctx, changes); err != nil {
			return nil, err
		}
	}
	return body, c.record(cmd, changes)
}

// execute sends the text as one simple query: all statements, in order.
func (c *call) execute(ctx context.Context, cmd metadata.RunSQL) (sqlResult, error) {
	if err := c.setLocal(ctx, "statement_timeout", milliseconds(c.cfg.RunSQLTimeout)); err != nil {
		return sqlResult{}, err
	}
	if err := c.sendAs(ctx, c.req.Session, c.req.Trace); err != nil {
		return sqlResult{}, err
	}
	if cmd.ChecksMetadata() {
		// As in v1.3: SQL that reshapes tables sends nothing of the rows it moves.
		if err := c.setLocal(ctx, capture.SkipSetting, "off"); err != nil {
			return sqlResult{}, err
		}
	}
	// The setting can be changed by the text itself; this limit cannot.
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.RunSQLTimeout+time.Second)
	defer cancel()
	result, err := c.lastResult(c.tx.Conn().PgConn().Exec(limited, cmd.SQL))
	if err != nil {
		return sqlResult{}, c.sqlError(cmd, err, ctx.Err() == nil && time.Since(started) >= c.cfg.RunSQLTimeout)
	}
	return result, nil
}

// lastResult reads the results of all statements and keeps the last. What it does not
// read any more is left to whoever gives the connection up.
func (c *call) lastResult(results *pgconn.MultiResultReader) (last sqlResult, err error) {
	last = sqlResult{Type: "CommandOk"}
	for results.NextResult() {
		if last, err = c.readResult(results.ResultReader()); err != nil {
			return last, err
		}
	}
	return last, results.Close()
}

func (c *call) readResult(r *pgconn.ResultReader) (sqlResult, error) {
	fields := r.FieldDescriptions()
	if len(fields) == 0 {
		_, _ = r.Close() // its error is that of all results
		return sqlResult{Type: "CommandOk"}, nil
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	table, bytes := [][]string{names}, int64(0)
	for r.NextRow() {
		row := make([]string, len(names))
		for i, cell := range r.Values() {
			if row[i] = "NULL"; cell != nil {
				row[i] = string(cell)
			}
			bytes += int64(len(row[i]))
		}
		if err := c.mayAnswer(len(table), bytes); err != nil {
			return sqlResult{}, err
		}
		table = append(table, row)
	}
	return sqlResult{"TuplesOk", table}, nil
}

// mayAnswer refuses an answer that this node should not have in its memory.
func (c *call) mayAnswer(rows int, bytes int64) error {
	switch {
	case rows > c.cfg.RunSQLMaxRows:
		return domain.Refuse(domain.NotSupported,
			"the SQL answers more than %d rows; nothing was changed: ask for fewer with LIMIT, or raise --max-rows", c.cfg.RunSQLMaxRows)
	case bytes > c.cfg.RunSQLMaxBytes:
		return domain.Refuse(domain.NotSupported,
			"the rows that the SQL answers have more than %d bytes; nothing was changed: ask for fewer with LIMIT, or raise --max-result-size", c.cfg.RunSQLMaxBytes)
	}
	return nil
}

// queryCanceled is the SQLSTATE of a statement that was stopped.
const queryCanceled = "57014"

// sqlError shows a user what PostgreSQL said about their text, or that it took too long.
func (c *call) sqlError(cmd metadata.RunSQL, err error, late bool) error {
	var refusal *domain.Error
	var pg *pgconn.PgError
	fromDatabase := errors.As(err, &pg)
	switch {
	case errors.As(err, &refusal):
		return refusal
	case late && (!fromDatabase || pg.Code == queryCanceled):
		return domain.Refuse(domain.PostgresError, "the SQL ran longer than %s and was stopped; nothing was changed: do it in parts, or raise --run-sql-timeout", c.cfg.RunSQLTimeout)
	case fromDatabase:
		refusal := domain.Refuse(domain.PostgresError, "query execution failed")
		refusal.Internal = describeSQLError(cmd.SQL, pg)
		return refusal
	}
	return fmt.Errorf("run sql: %w", err)
}

func describeSQLError(sql string, pg *pgconn.PgError) json.RawMessage {
	type details struct {
		ExecStatus  string  `json:"exec_status"`
		Hint        *string `json:"hint"`
		Message     string  `json:"message"`
		StatusCode  string  `json:"status_code"`
		Description *string `json:"description"`
	}
	return metadata.Encode(struct {
		Statement string   `json:"statement"`
		Prepared  bool     `json:"prepared"`
		Error     details  `json:"error"`
		Arguments []string `json:"arguments"`
	}{sql, false, details{"FatalError", optional(pg.Hint), pg.Message, pg.Code, optional(pg.Detail)}, []string{}})
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// transactionID is the identity of the running transaction. Taking it makes
// sure that there is one, so that another one can be told from it.
func (c *call) transactionID(ctx context.Context) (id string, err error) {
	// A read-only transaction has no number to compare; its start has to do.
	const identity = `select case when pg_catalog.current_setting('transaction_read_only') = 'on'
		then pg_catalog.now()::text || pg_catalog.pg_backend_pid()::text
		else pg_catalog.pg_current_xact_id()::text end`
	if err := c.tx.QueryRow(ctx, identity).Scan(&id); err != nil {
		return "", fmt.Errorf("identify the transaction: %w", err)
	}
	return id, nil
}

//go:embed regain.sql
var regainSQL string

// regain makes sure that the transaction is still the one that the SQL was
// started in, and takes back the role and settings that the rest of the call
// relies on.
func (c *call) regain(ctx context.Context, before string) error {
	if status := c.tx.Conn().PgConn().TxStatus(); status != 'T' {
		return endedTransaction()
	}
	if _, err := c.tx.Conn().PgConn().Exec(ctx, regainSQL).ReadAll(); err != nil {
		return fmt.Errorf("take back the connection after run_sql: %w", err)
	}
	if err := c.setLocal(ctx, "lock_timeout", milliseconds(c.cfg.LockTimeout)); err != nil {
		return err
	}
	after, err := c.transactionID(ctx)
	if err != nil {
		return err
	}
	if after != before {
		return endedTransaction()
	}
	return nil
}

func endedTransaction() error {
	return domain.Refuse(domain.NotSupported,
		"the SQL ended its transaction, which must stay open until all of it has succeeded; "+
			"what it did before that is committed, and nothing is recorded: look at the database, and leave BEGIN, COMMIT and ROLLBACK out")
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
