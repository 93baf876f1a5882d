package execution

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

const setTwo = "SELECT set_config($1, $2, true), set_config($3, $4, true)"

// transaction is one mutation as it runs.
type transaction struct {
	*Executor
	ctx     context.Context
	pg      *pgconn.PgConn
	binding translate.Binding
	// before is told each statement before it is run; nil: nobody is told.
	before func(bound) error
	// found is what was asked of others, by root field.
	found outside
	// client is who asked, trace what it is a part of.
	client Client
	trace  domain.Trace
	// allowed is what may still be read.
	allowed *allowance
}

// mutate runs the root fields in order, after the handlers of actions were
// called: those of the database that follow each other in one transaction, which
// ends before a remote server is asked. What a remote server did stays done,
// whatever fails later; and so does the mutation itself when what is joined to
// its rows fails.
func (e *Executor) mutate(ctx context.Context, op Operation, known outside) ([]byte, error) {
	w := &writer{out: []byte(`{"data":{`)}
	op.allowed = e.config.allowed()
	for _, part := range stretches(op.Plan.Fields) {
		run := e.mutateRows
		if part.remote != "" {
			run = e.mutateRemote
		}
		if err := run(ctx, op, w, part, known); err != nil {
			return nil, err
		}
	}
	w.out = append(w.out, "}}"...)
	return e.joined(ctx, op, w)
}

func (e *Executor) mutateRows(ctx context.Context, op Operation, w *writer, part stretch, known outside) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return presented(fmt.Errorf("acquire a connection: %w", err), "$")
	}
	defer conn.Release()
	tx := transaction{
		Executor: e, ctx: ctx, pg: conn.Conn().PgConn(), found: known,
		binding: translate.Binding{Variables: op.Variables, Session: op.Session}, client: op.Client, trace: domain.TraceOf(op.Client.Header.Get),
		allowed: op.allowed,
	}
	if err := tx.run(w, part); err != nil {
		return errors.Join(err, leave(ctx, tx.pg))
	}
	if e.config.Wake != nil {
		e.config.Wake()
	}
	return nil
}

func (tx transaction) run(w *writer, part stretch) error {
	if err := tx.begin(); err != nil {
		return err
	}
	for i, f := range part.fields {
		w.member(f.Alias)
		if err := tx.field(w, part.first+i, f); err != nil {
			return err
		}
	}
	sets, err := pipeline(tx.ctx, tx.pg, []bound{{sql: commit}}, nil)
	if err != nil {
		return presented(fmt.Errorf("commit a mutation: %w", err), "$")
	}
	free(sets)
	return nil
}

func (tx transaction) begin() error {
	begin := bound{sql: "BEGIN ISOLATION LEVEL " + strings.ToUpper(string(tx.config.Isolation)) + " READ WRITE"}
	sets, err := pipeline(tx.ctx, tx.pg, append([]bound{begin}, tx.settings()...), nil)
	if err != nil {
		return presented(fmt.Errorf("begin a mutation: %w", err), "$")
	}
	free(sets)
	return nil
}

// settings are what triggers may want to know of the operation.
func (tx transaction) settings() []bound {
	own, alias := tx.binding.Session.Settings()
	list := []bound{setting(domain.SessionSetting, own, domain.SessionSettingAlias, alias)}
	if tx.trace.Known() {
		text := tx.trace.Setting()
		list = append(list, setting(domain.TraceSetting, text, domain.TraceSettingAlias, text))
	}
	return list
}

func setting(name, value, alias, aliased string) bound {
	return bound{setTwo, [][]byte{[]byte(name), []byte(value), []byte(alias), []byte(aliased)}}
}

// field runs the root field at a place of the operation and writes its answer.
func (tx transaction) field(w *writer, i int, f plan.Root) error {
	switch s := f.Step.(type) {
	case *plan.Action:
		return tx.action(w, s, tx.found[i])
	case *plan.StartAction:
		return tx.start(w, s)
	}
	return tx.root(w, f)
}

// root runs one root field that needs the database alone.
func (tx transaction) root(w *writer, f plan.Root) error {
	switch s := f.Step.(type) {
	case plan.Constant:
		w.out = append(w.out, s...)
		return nil
	case *plan.Rows:
		return tx.call(w, s)
	case *plan.Aggregate:
		return tx.aggregate(w, s)
	case *plan.Update:
		return tx.update(w, s)
	case *plan.Delete:
		return tx.delete(w, s)
	case *plan.Insert:
		return tx.insert(w, f, s)
	}
	return fmt.Errorf("no way to run a step of type %T", f.Step)
}

// one runs one statement of the transaction.
func (tx transaction) one(s translate.Statement, rows [][][]byte, path string) (*rowset, error) {
	binding := tx.binding
	binding.Rows = rows
	values, err := s.Bind(binding)
	if err != nil {
		return nil, err
	}
	statement := bound{s.SQL, values}
	if tx.before != nil {
		if err := tx.before(statement); err != nil {
			return nil, presented(err, path)
		}
	}
	set, err := once(tx.ctx, tx.pg, statement, tx.allowed)
	if err != nil {
		return nil, presented(fmt.Errorf("run a statement: %w", err), path)
	}
	return set, nil
}

// belonging reads what belongs to rows.
func (tx transaction) belonging(statements []translate.Statement, rows [][][]byte) ([]*rowset, error) {
	sets := make([]*rowset, 0, len(statements))
	for _, s := range statements {
		set, err := tx.one(s, rows, "$")
		if err != nil {
			free(sets)
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (tx transaction) call(w *writer, r *plan.Rows) error {
	c, level := translate.RowsOnce(r, tx.config.Options)
	set, err := tx.one(c.Statement, nil, "$")
	if err != nil {
		return err
	}
	sets, err := tx.belonging(c.Statements, set.rows())
	if err != nil {
		return err
	}
	w.reading(append(sets, set), func() { w.level(level, nil, nil) })
	return nil
}

func (tx transaction) aggregate(w *writer, a *plan.Aggregate) error {
	step := translate.Aggregate(a, tx.config.Options)
	sets, err := tx.belonging(step.Statements, nil)
	if err != nil {
		return err
	}
	w.reading(sets, func() { w.root(step) })
	return nil
}

func (tx transaction) update(w *writer, u *plan.Update) error {
	c := translate.Update(u, tx.config.Options)
	if len(u.Set) == 0 {
		w.answer(c.Answer, nil, 0)
		return nil
	}
	set, err := tx.one(c.Statement, nil, "$")
	if err != nil {
		return err
	}
	rows := set.rows()
	if !pass(rows, c.Check) {
		return domain.RefuseAt("$", domain.PermissionError, checkFailed)
	}
	sets, err := tx.belonging(c.Statements, rows)
	if err != nil {
		return err
	}
	w.reading(append(sets, set), func() { w.answer(c.Answer, rows, len(rows)) })
	return nil
}

func (tx transaction) delete(w *writer, d *plan.Delete) error {
	c := translate.Delete(d, tx.config.Options)
	var sets []*rowset
	var found [][][]byte
	if c.Before != nil {
		before, err := tx.one(*c.Before, nil, "$")
		if err != nil {
			return err
		}
		found = before.rows() // the set is not reused: its rows are kept
		if sets, err = tx.belonging(c.Statements, found); err != nil {
			return err
		}
	}
	set, err := tx.one(c.Statement, found, "$")
	if err != nil {
		return err
	}
	w.reading(append(sets, set), func() { w.answer(c.Answer, set.rows(), set.len()) })
	return nil
}

// reading writes what is read of sets, and frees these. Nothing reads them
// after: a set that is freed twice would be the rows of two requests.
func (w *writer) reading(sets []*rowset, write func()) {
	w.sets = sets
	write()
	w.sets = nil
	free(sets)
}

// pass reports whether the role may write all of the rows.
func pass(rows [][][]byte, check int) bool {
	if check < 0 {
		return true
	}
	for _, row := range rows {
		if string(row[check]) != "t" {
			return false
		}
	}
	return true
}

// answer writes a mutation's answer.
func (w *writer) answer(a translate.Answer, rows [][][]byte, affected int) {
	if a.Single {
		if len(rows) == 0 {
			w.null()
			return
		}
		w.fields(a.Row, rows[0])
		return
	}
	w.out = append(w.out, '{')
	for i, f := range a.Fields {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, f.Key...)
		w.answerField(f, rows, affected)
	}
	w.out = append(w.out, '}')
}

func (w *writer) answerField(f translate.AnswerField, rows [][][]byte, affected int) {
	switch {
	case f.AffectedRows:
		w.out = strconv.AppendInt(w.out, int64(affected), 10)
	case f.Constant != "":
		w.out = append(w.out, f.Constant...)
	default:
		w.out = append(w.out, '[')
		for i, row := range rows {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.fields(f.Returning, row)
		}
		w.out = append(w.out, ']')
	}
}
