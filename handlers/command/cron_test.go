package command_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain/schedule"
)

func cronBody(name, members string) string {
	return `{"type":"create_cron_trigger","args":{"name":"` + name + `","webhook":"http://127.0.0.1:1/","include_in_metadata":true,` + members + `}}`
}

// fires are the planned moments of a cron trigger, in order.
func (s *service) fires(trigger string) []time.Time {
	s.t.Helper()
	return column[time.Time](s, `select due_at from annals.deliveries d join annals.delivery_queue q on q.delivery_id = d.id
		where kind = 'cron' and trigger = $1 and lane = 'cron:' || trigger and first_due_at = due_at order by due_at`, trigger)
}

func column[T any](s *service, sql string, args ...any) []T {
	s.t.Helper()
	rows, err := s.db.Pool.Query(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(s.t, err)
	return list
}

func (s *service) now() time.Time { return column[time.Time](s, "select clock_timestamp()")[0] }

func requireUpcoming(t *testing.T, expr string, after time.Time, got []time.Time) {
	t.Helper()
	plan, err := schedule.Parse(expr)
	require.NoError(t, err)
	want := plan.Upcoming(after, 100)
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, want[i].Equal(got[i]), "%d: %s, not %s", i, want[i], got[i])
	}
}

// yearly is a schedule whose next moment is never near.
func (s *service) yearly() string {
	far := s.now().UTC().Add(-48 * time.Hour)
	return fmt.Sprintf("0 0 %d %d *", min(far.Day(), 28), far.Month())
}

func TestTheNextFiresOfACronTriggerArePlannedWithIt(t *testing.T) {
	s := newService(t)
	now := s.now()
	s.do(cronBody("hourly", `"schedule":"7 * * * *","payload":{"a":1}`))
	requireUpcoming(t, "7 * * * *", now, s.fires("hourly"))
	require.Equal(t, []string{`{"a":1}`}, column[string](s, "select distinct payload::text from annals.deliveries"))
	require.Equal(t, []int64{1}, column[int64](s, "select distinct position from annals.deliveries"), "the definition they were planned by")
}

func TestAPlanOrRefusalPlansNoFires(t *testing.T) {
	s := newService(t)
	s.do(`{"plan":true,` + cronBody("c", `"schedule":"7 * * * *"`)[1:])
	s.refused(`{"type":"bulk","args":[` + cronBody("c", `"schedule":"7 * * * *"`) + `,{"type":"delete_cron_trigger","args":{"name":"none"}}]}`)
	require.Empty(t, s.fires("c"))
}

func TestReplacingACronTriggerPlansAnewOnlyWhatIsUntouchedAndStillToCome(t *testing.T) {
	s := newService(t)
	s.do(cronBody("c", `"schedule":"`+s.yearly()+`"`))
	before := s.fires("c")
	// One fire is late, one was tried and waits, one is being sent.
	s.exec(`insert into annals.deliveries (id, kind, trigger, due_at) values ('00000000-0000-0000-0000-000000000001', 'cron', 'c', '2020-01-01Z')`)
	s.exec(`insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at) values ('00000000-0000-0000-0000-000000000001', '2020-01-01Z', 'cron:c', '2020-01-01Z')`)
	s.exec(`update annals.delivery_queue set tries = 1, lease = 1 where first_due_at = '` + before[0].Format(time.RFC3339) + `'`)
	s.exec(`update annals.delivery_queue set lease = 1 where first_due_at = '` + before[1].Format(time.RFC3339) + `'`)

	s.do(cronBody("c", `"replace":true,"schedule":"1 1 * * *"`))
	after := s.fires("c")
	require.Len(t, after, 103)
	require.Contains(t, after, before[0])
	require.Contains(t, after, before[1])
	require.NotContains(t, after, before[2])
	require.Empty(t, column[string](s, "select entry from annals.delivery_log"), "what is planned anew was never there")
}

func TestAnImportThatDoesNotChangeACronTriggerLeavesItsFiresAlone(t *testing.T) {
	s := newService(t)
	s.do(cronBody("same", `"schedule":"1 1 1 * *"`))
	s.do(cronBody("other", `"schedule":"1 1 1 * *"`))
	document := s.export()
	const versions = "select xmin::text from annals.deliveries where trigger = 'same' order by due_at"
	before := column[string](s, versions)
	s.do(cronBody("other", `"schedule":"2 2 2 * *","replace":true`))

	s.do(`{"type":"replace_metadata","args":` + document + `}`)
	require.Equal(t, before, column[string](s, versions))
	requireUpcoming(t, "1 1 1 * *", s.now(), s.fires("other"))

	s.do(`{"type":"clear_metadata","args":{}}`)
	require.Empty(t, s.fires("same"))
	s.do(`{"type":"replace_metadata","args":` + document + `}`)
	requireUpcoming(t, "1 1 1 * *", s.now(), s.fires("same"))
}

func TestDeletingACronTriggerDeletesItsFires(t *testing.T) {
	s := newService(t)
	s.do(cronBody("c", `"schedule":"0 0 * * *"`))
	s.do(cronBody("kept", `"schedule":"0 0 * * *"`))
	s.exec(`update annals.delivery_queue set tries = 1 where delivery_id in (select delivery_id from annals.delivery_queue where lane = 'cron:c' order by available_at limit 1)`)
	s.do(`{"type":"delete_cron_trigger","args":{"name":"c"}}`)
	require.Empty(t, s.fires("c"))
	require.Len(t, s.fires("kept"), 100)
	require.Equal(t, []string{"cancelled: the cron trigger was deleted at 3"},
		column[string](s, "select entry || ': ' || reason || ' at ' || position from annals.delivery_log"), "what was tried has a history")
	require.Equal(t, []int64{1}, column[int64](s, "select count(*) from annals.deliveries where trigger = 'c'"))

	s.do(cronBody("c", `"schedule":"0 0 * * *"`))
	require.GreaterOrEqual(t, len(s.fires("c")), 99, "a trigger of the same name starts again")
}

func TestARollbackPlansTheFiresOfWhatItRestores(t *testing.T) {
	s := newService(t)
	s.do(cronBody("c", `"schedule":"0 0 * * *"`))
	s.do(`{"type":"delete_cron_trigger","args":{"name":"c"}}`)
	s.do(`{"type":"rollback_metadata","args":{"to":1}}`)
	requireUpcoming(t, "0 0 * * *", s.now(), s.fires("c"))
}
