package execution_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/handlers/command/facts"
	"annals/handlers/execution"
	"annals/handlers/nodetest"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a database with an executor over it, and its shape.
type fixture struct {
	t      *testing.T
	pool   *pgxpool.Pool
	run    *execution.Executor
	tables map[string]*database.Table
}

// given makes a database by some SQL. The tables named, all in public, can be
// used in plans.
func given(t *testing.T, sql string, tables ...string) *fixture {
	t.Helper()
	return givenWith(t, execution.Config{}, sql, tables...)
}

func givenWith(t *testing.T, c execution.Config, sql string, tables ...string) *fixture {
	t.Helper()
	pool := nodetest.Rows(t, pgtest.New(t).URL, execution.DefaultStatementTimeout)
	f := &fixture{t: t, pool: pool, run: execution.New(pool, nil, c)}
	f.exec(sql)
	f.look(tables...)
	return f
}

// look reads the shape of tables.
func (f *fixture) look(tables ...string) {
	f.t.Helper()
	var wanted facts.Wanted
	for _, name := range tables {
		wanted.Tables = append(wanted.Tables, domain.QualifiedName{Schema: "public", Name: name})
	}
	found, err := facts.Read(f.t.Context(), f.pool, wanted)
	require.NoError(f.t, err)
	f.tables = make(map[string]*database.Table)
	for name, table := range found.Tables {
		require.NotNil(f.t, table, name.Name)
		f.tables[name.Name] = table
	}
}

// exec runs SQL beside the executor, whose connections only read by themselves.
func (f *fixture) exec(sql string) {
	f.t.Helper()
	_, err := f.pool.Exec(f.t.Context(), "set transaction read write; "+sql, pgx.QueryExecModeSimpleProtocol)
	require.NoError(f.t, err)
}

// request is what a request brings beside its operation.
type request struct {
	session   domain.Session
	variables map[string]json.RawMessage
}

func (f *fixture) answer(kind plan.Kind, r request, roots ...plan.Root) (string, error) {
	op := &plan.Operation{Kind: kind, Fields: roots}
	for name := range r.session.Variables {
		op.Session = append(op.Session, name)
	}
	answer, err := f.run.RunPlan(f.t.Context(), execution.Operation{Plan: op, Session: r.session, Variables: r.variables})
	return string(answer), err
}

// query runs a query and returns what stands under "data".
func (f *fixture) query(roots ...plan.Root) string {
	f.t.Helper()
	return f.data(plan.Query, request{}, roots...)
}

func (f *fixture) mutation(roots ...plan.Root) string {
	f.t.Helper()
	return f.data(plan.Mutation, request{}, roots...)
}

func (f *fixture) data(kind plan.Kind, r request, roots ...plan.Root) string {
	f.t.Helper()
	text, err := f.answer(kind, r, roots...)
	require.NoError(f.t, err)
	require.True(f.t, json.Valid([]byte(text)), "no JSON: %s", text)
	require.Greater(f.t, len(text), len(`{"data":}`))
	return text[len(`{"data":`) : len(text)-1]
}

func root(field string, step plan.Step) plan.Root {
	return plan.Root{Alias: field, Field: field, Step: step}
}

// of selects columns of a table, each under its own name.
func (f *fixture) of(table string, columns ...string) []plan.Field {
	var fields []plan.Field
	for _, name := range columns {
		fields = append(fields, plan.Field{Alias: name, Column: &plan.Column{Column: f.column(table, name)}})
	}
	return fields
}

func (f *fixture) column(table, name string) *database.Column {
	f.t.Helper()
	c := f.tables[table].Column(name)
	require.NotNil(f.t, c, "%s.%s", table, name)
	return c
}

func (f *fixture) rows(table string, fields ...plan.Field) *plan.Rows {
	return &plan.Rows{Source: plan.Source{Table: f.tables[table]}, Selection: fields}
}

// list and object select rows that belong to the row around.
func list(alias string, r *plan.Rows, on ...string) plan.Field {
	return plan.Field{Alias: alias, Rows: &plan.Related{On: pairs(on), Rows: r}}
}

func object(alias string, r *plan.Rows, on ...string) plan.Field {
	r.Single = true
	return list(alias, r, on...)
}

// pairs reads here, there, here, there.
func pairs(on []string) []plan.Pair {
	var out []plan.Pair
	for i := 0; i < len(on); i += 2 {
		out = append(out, plan.Pair{Here: on[i], There: on[i+1]})
	}
	return out
}

func literal(v any) plan.Value {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return plan.Value{Literal: text}
}

func pointer[T any](v T) *T { return &v }

func (f *fixture) compare(table, column, operator string, v any) plan.Compare {
	return plan.Compare{Column: f.column(table, column), Operator: operator, Value: literal(v)}
}

func by(columns ...string) []plan.Order {
	var order []plan.Order
	for _, name := range columns {
		order = append(order, plan.Order{Column: name})
	}
	return order
}

func refusal(t *testing.T, err error) *domain.Error {
	t.Helper()
	var refused *domain.Error
	require.ErrorAs(t, err, &refused)
	return refused
}
