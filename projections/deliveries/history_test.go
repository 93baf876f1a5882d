package deliveries

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain/delivery"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A long history: deliveries of ten days, nearly all delivered. The last few
// wait, and one of a hundred failed.
const longHistory = `
do $$ begin
  for day in 0..9 loop
    execute format('create table annals.deliveries_%s partition of annals.deliveries for values from (%L) to (%L)', day, '2026-01-01Z'::timestamptz + day * interval '1 day', '2026-01-02Z'::timestamptz + day * interval '1 day');
    execute format('create table annals.delivery_log_%s partition of annals.delivery_log for values from (%L) to (%L)', day, '2026-01-01Z'::timestamptz + day * interval '1 day', '2026-01-02Z'::timestamptz + day * interval '1 day');
  end loop;
end $$;
insert into annals.deliveries (id, kind, trigger, payload, definition, due_at, created_at)
  select annals.delivery_id(at), kind, case kind when 'scheduled' then '' else 't' || n % 3 end, '{"op":"I","data":{"new":{"name":"a row of some length"}}}', '{"webhook":"http://h"}', at, at
  from generate_series(1, N) n, lateral (select '2026-01-01Z'::timestamptz + n * interval '10 days' / (N + 1) as at, (array['event', 'manual', 'cron', 'scheduled'])[n % 4 + 1] as kind) as x;
insert into annals.delivery_queue (delivery_id, first_due_at, available_at, turn_at, lane)
  select id, due_at, due_at, case when substr(id::text, 35) < '80' then due_at else due_at + interval '1 minute' end, case kind when 'cron' then 'cron:' || trigger when 'scheduled' then 'scheduled' else 'event:' || trigger end
  from annals.deliveries order by due_at desc limit 2000;
insert into annals.delivery_log (id, delivery_id, entry, outcome, round, attempt, status, request, response, recorded_at)
  select annals.delivery_id(due_at), id, 'attempt', case when bad then 'failed' else 'delivered' end, 1, 1, case when bad then 500 else 200 end, '{"payload":{}}', '{"type":"webhook_response"}', due_at
  from (select *, substr(id::text, 35) < '03' as bad from annals.deliveries) d where not exists (select from annals.delivery_queue q where q.delivery_id = d.id);
analyze annals.deliveries; analyze annals.delivery_log; analyze annals.delivery_queue`

// TestAPageOfALongHistoryReadsAPage lists and counts in a history that is much
// longer than a page, and looks at how many rows are read for it. How long the
// history is may be said: ANNALS_HISTORY=1000000.
func TestAPageOfALongHistoryReadsAPage(t *testing.T) {
	deliveries := 30_000
	if text := os.Getenv("ANNALS_HISTORY"); text != "" {
		var err error
		deliveries, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	db := pgtest.New(t)
	conn, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Release)
	_, err = conn.Exec(t.Context(), "set jit = off") // as it is on the service's connections
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), strings.ReplaceAll(longHistory, "N", strconv.Itoa(deliveries)))
	require.NoError(t, err)
	const page, waiting = 50, 2000
	events, all := []string{kindEvent, kindManual}, []string(nil)
	for _, one := range []struct {
		about string
		sql   string
		args  []any
		most  float64 // rows that one step reads
	}{
		{"the latest", findSQL, []any{"", "", nil, nil, nil, nil, page}, 20 * page},
		{"the latest of a trigger", findSQL, []any{"", "t1", nil, nil, nil, nil, page}, 20 * page},
		{"an early page", findSQL, []any{"", "", nil, nil, "2026-01-02Z", "00000000-0000-0000-0000-000000000000", page}, 20 * page},
		{"delivered", findInStateSQL, []any{"event", "", nil, nil, nil, nil, page, []string{"delivered"}}, 20*page + waiting},
		{"failed", findInStateSQL, []any{"", "", nil, nil, nil, nil, page, []string{"failed"}}, float64(deliveries)},
		{"waiting", findInStateSQL, []any{"", "t1", nil, nil, nil, nil, page, []string{"pending", "retrying"}}, float64(deliveries)},
		{"events", eventLogsSQL, []any{"t1", "all", page, 0}, 4 * page},
		{"events that wait", eventLogsSQL, []any{"t1", "pending", page, 0}, 2 * waiting},
		{"events that are over", eventLogsSQL, []any{"t1", "processed", page, 0}, 10 * waiting},
		{"attempts at events", invocationsSQL, []any{events, "t1", nil, page, 0}, 20 * page},
		{"attempts at one-off events", invocationsSQL, []any{[]string{kindScheduled}, "", nil, page, 100}, 20 * page},
		{"one-off events", scheduledEventsSQL, []any{kindScheduled, "", all, scheduledLane, page, 0}, 4 * page},
		{"one-off events that wait", scheduledEventsSQL, []any{kindScheduled, "", []string{"pending", "retrying"}, scheduledLane, page, 0}, 2 * waiting},
		{"one-off events that failed", scheduledEventsSQL, []any{kindScheduled, "", []string{"failed"}, scheduledLane, page, 0}, float64(deliveries)},
		{"how many of these wait", countScheduledSQL, []any{kindScheduled, "", []string{"pending", "retrying"}, scheduledLane}, 2 * waiting},
		{"how many events may be redelivered", countOverSQL, []any{[]string{"t1"}, []string{"failed"}, nil, nil, nil, 1000}, float64(deliveries)},
	} {
		t.Run(one.about, func(t *testing.T) {
			node, took := measure(t, conn, one.sql, one.args...)
			read := node.most()
			t.Logf("%s for at most %.0f rows in one step", took, read)
			if read > one.most {
				t.Errorf("more than %.0f rows:\n%s", one.most, strings.Join(explain(t, conn, one.sql, one.args...), "\n"))
			}
		})
	}
}

// planNode is a step of a plan that was carried out.
type planNode struct {
	Type  string  `json:"Node Type"`
	Rows  float64 `json:"Actual Rows"`
	Loops float64 `json:"Actual Loops"`
	Away  float64 `json:"Rows Removed by Filter"`
	Joins float64 `json:"Rows Removed by Join Filter"`
	Plans []planNode
}

// most is how many rows the busiest step had in hand.
func (n planNode) most() float64 {
	most := (n.Rows + n.Away + n.Joins) * n.Loops
	for _, p := range n.Plans {
		most = max(most, p.most())
	}
	return most
}

func explain(t *testing.T, q Querier, sql string, args ...any) []string {
	t.Helper()
	rows, err := q.Query(t.Context(), "explain (analyze, costs off) "+sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return lines
}

func measure(t *testing.T, q Querier, sql string, args ...any) (planNode, time.Duration) {
	t.Helper()
	var text []byte
	err := q.QueryRow(t.Context(), "explain (analyze, format json) "+sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...).Scan(&text)
	require.NoError(t, err)
	var plans []struct {
		Plan planNode
		Took float64 `json:"Execution Time"`
	}
	require.NoError(t, json.Unmarshal(text, &plans), string(text))
	return plans[0].Plan, time.Duration(plans[0].Took * float64(time.Millisecond)).Round(10 * time.Microsecond)
}

func TestTheDatabaseKnowsTheLanes(t *testing.T) {
	db := pgtest.New(t)
	for kind, lane := range map[string]string{
		kindEvent: eventLane("a:b"), kindManual: eventLane("a:b"), kindTest: eventLane("a:b"), kindCron: CronLane("a:b"),
		kindScheduled: scheduledLane, string(delivery.Action): "action:a:b",
	} {
		var known string
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select annals.lane_of($1, 'a:b')", kind).Scan(&known))
		require.Equal(t, lane, known)
	}
}
