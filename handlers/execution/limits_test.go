package execution_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/handlers/execution"
	"annals/handlers/nodetest"
	"annals/migrations/pgtest"
)

// slow is a table whose rows take for ever to be read.
const slow = `create table t (id int); insert into t values (1); create view slow as select id from t where pg_sleep(600)::text = ''`

func TestAStatementEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	pool := nodetest.Rows(t, pgtest.New(t).URL, 50*time.Millisecond)
	f := &fixture{t: t, pool: pool, run: execution.New(pool, nil, execution.Config{})}
	f.exec(slow)
	f.look("slow")
	_, err := f.answer(plan.Query, request{}, root("slow", f.rows("slow", f.of("slow", "id")...)))
	require.Equal(t, domain.Timeout, refusal(t, err).Code)
	require.Equal(t, "$", refusal(t, err).Path)
	require.Contains(t, refusal(t, err).Message, "--statement-timeout")
	require.Contains(t, string(refusal(t, err).Internal), `"57014"`)
}

func TestADatabaseThatIsAwayIsTold(t *testing.T) {
	t.Parallel()
	f := given(t, `create table t (id int)`, "t")
	away, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, err)
	t.Cleanup(away.Close)
	f.run = execution.New(away, nil, execution.Config{})
	for _, kind := range []plan.Kind{plan.Query, plan.Mutation} {
		_, err = f.answer(kind, request{}, root("t", f.rows("t", f.of("t", "id")...)))
		require.Equal(t, &domain.Error{Code: domain.PostgresError, Message: "connection error", Path: "$", Fault: true}, refusal(t, err))
	}
}

func TestAStatementEndsWhenItsClientHasGone(t *testing.T) {
	t.Parallel()
	f := given(t, slow, "slow")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		op := &plan.Operation{Kind: plan.Mutation, Fields: []plan.Root{root("slow", f.rows("slow", f.of("slow", "id")...))}}
		_, err := f.run.RunPlan(ctx, execution.Operation{Plan: op})
		done <- err
	}()
	running := func(want int) func() bool {
		return func() bool {
			return f.rowsIn(`pg_stat_activity where datname = current_database() and state = 'active' and wait_event = 'PgSleep'`) == want
		}
	}
	require.Eventually(t, running(1), time.Minute, 5*time.Millisecond)
	cancel()
	require.Error(t, <-done)
	require.Eventually(t, running(0), time.Minute, 5*time.Millisecond)
}

func TestAnOperationReadsNoMoreRowsThanItMay(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{MaxRows: 5}, `create table a (id int primary key); create table b (id int primary key, a_id int references a);
		insert into a values (1), (2); insert into b values (1, 1), (2, 1), (3, 2)`, `{"type":"bulk","args":[{"type":"track_table","args":"a"},{"type":"track_table","args":"b"},
		{"type":"create_array_relationship","args":{"table":"a","name":"bs","using":{"foreign_key_constraint_on":{"table":"b","column":"a_id"}}}}]}`)
	refuses := func(operation string) {
		_, err := e.ask(asAdmin, operation, "")
		require.Equal(t, domain.NotSupported, refusal(t, err).Code, operation)
		require.Contains(t, refusal(t, err).Message, "--max-rows", "it says what to do")
	}
	e.answers(asAdmin, `{"a":[{"id":1,"bs":[{"id":1},{"id":2}]},{"id":2,"bs":[{"id":3}]}]}`, `{ a(order_by: {id: asc}) { id bs(order_by: {id: asc}) { id } } }`, "")
	refuses(`{ a { id bs { id } } b { id } }`)
	refuses(`{ x: b { id } y: b { id } }`)
	refuses(`mutation { delete_b(where: {}) { affected_rows } insert_a(objects: [{id: 3}, {id: 4}, {id: 5}]) { affected_rows } }`)
	e.answers(asAdmin, `{"b_aggregate":{"aggregate":{"count":3}},"a":[{"id":1},{"id":2}]}`, `{ b_aggregate { aggregate { count } } a(order_by: {id: asc}) { id } }`, "")
}

func TestTheRowsOfAnOperationHaveNoMoreBytesThanTheyMay(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{MaxBytes: 2500}, `create table doc (id int primary key, body text); insert into doc select n, repeat('x', 1000) from generate_series(1, 3) n`,
		`{"type":"track_table","args":"doc"}`)
	for _, operation := range []string{
		`{ doc { body } }`, `{ a: doc_by_pk(id: 1) { body } b: doc_by_pk(id: 2) { body } c: doc_by_pk(id: 3) { body } }`,
		`mutation { delete_doc(where: {}) { returning { body } } }`,
	} {
		_, err := e.ask(asAdmin, operation, "")
		require.Equal(t, domain.NotSupported, refusal(t, err).Code, operation)
		require.Contains(t, refusal(t, err).Message, "--max-result-size", "it says what to do")
	}
	e.answers(asAdmin, `{"doc":[{"id":1},{"id":2},{"id":3}]}`, `{ doc(order_by: {id: asc}) { id } }`, "")
}
