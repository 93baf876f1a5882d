package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/handlers/workers/upkeep"
	"annals/migrations/pgtest"
	"annals/projections/capture"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// house is a database with a worker, and a clock that the test sets.
type house struct {
	t      *testing.T
	db     *pgtest.DB
	worker *upkeep.Worker
	today  time.Time
}

func newHouse(t *testing.T, r upkeep.Retention) *house {
	db := pgtest.New(t)
	none := func(context.Context) ([]capture.Difference, error) { return nil, nil }
	return &house{t, db, &upkeep.Worker{Pool: db.Pool, Repair: none, Drift: none, Retention: r, Log: slog.New(slog.DiscardHandler)},
		time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)}
}

// after makes some days pass, and does what is to be done then.
func (h *house) after(days int) {
	h.t.Helper()
	h.today = h.today.AddDate(0, 0, days)
	require.NoError(h.t, h.worker.KeepDays(h.t.Context(), h.today))
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.db.Pool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

func (h *house) texts(sql string) []string {
	h.t.Helper()
	rows, err := h.db.Pool.Query(h.t.Context(), sql)
	require.NoError(h.t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(h.t, err)
	return list
}

// deliver makes a delivery that is due now, with the end of its story.
func (h *house) deliver(trigger, entry, outcome string) {
	h.t.Helper()
	h.exec(`with d as (insert into annals.deliveries (id, kind, trigger, payload, due_at) values (gen_random_uuid(), 'event', $1, '{}', $2) returning *),
		q as (insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at) select id, due_at, 'event', due_at from d where $3 = 'queued')
		insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, request, recorded_at)
		select id, $3, nullif($4, ''), 1, 1, '{}', $2 from d where $3 <> 'queued'`, trigger, h.today, entry, outcome)
}

// left are the triggers whose deliveries are there, and of which the log tells.
func (h *house) left() (delivered, logged []string) {
	return h.texts(`select distinct trigger from annals.deliveries order by 1`),
		h.texts(`select distinct d.trigger from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id order by 1`)
}

func (h *house) partitions(table string) []string {
	return h.texts(`select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'annals.` + table + `'::regclass order by 1`)
}

func TestDaysHaveTheirPartitionsBeforeTheyCome(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.after(0)
	require.Equal(t, []string{"deliveries_20310510", "deliveries_20310511", "deliveries_20310512", "deliveries_20310513", "deliveries_default"}, h.partitions("deliveries"))
	require.Len(t, h.partitions("delivery_log"), 5)
	h.after(0)
	h.after(1)
	require.Contains(t, h.partitions("deliveries"), "deliveries_20310514")
}

func TestWhatWaitsForItsDayMovesThereWhenTheDayComes(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.exec(`insert into annals.deliveries (id, kind, trigger, due_at) select gen_random_uuid(), 'scheduled', '', d::timestamptz
		from unnest(array['2031-05-01 10:00+00', '2031-05-10 23:59:59.999999+00', '2031-05-11 00:00+00', '2040-01-01 00:00+00', 'infinity']) as d`)
	h.after(0)
	require.Equal(t, []string{"annals.deliveries_20310501", "annals.deliveries_20310510", "annals.deliveries_20310511", "annals.deliveries_default", "annals.deliveries_default"},
		h.texts(`select tableoid::regclass::text from annals.deliveries order by due_at`))
	h.exec(`insert into annals.deliveries (id, kind, trigger, due_at) values (gen_random_uuid(), 'event', 't', '2031-05-12 00:00+00')`)
	require.Equal(t, []string{"annals.deliveries_20310512"}, h.texts(`select tableoid::regclass::text from annals.deliveries where kind = 'event'`))
}

func TestWhoWritesWhileADayIsMadeDoesNotFail(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	const writers, rows = 4, 200
	done := make(chan error, writers)
	first := h.today
	for range writers {
		go func() {
			for i := range rows {
				if _, err := h.db.Pool.Exec(t.Context(), `insert into annals.deliveries (id, kind, trigger, due_at)
					select gen_random_uuid(), 'cron', 't', $1::timestamptz + make_interval(days => n) from generate_series(0, 20) n`,
					first.AddDate(0, 0, i%20)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range writers {
		var err error
		for waiting := true; waiting; {
			select {
			case err = <-done:
				waiting = false
			default:
				h.today = h.today.AddDate(0, 0, 1)
				_ = h.worker.KeepDays(t.Context(), h.today) // what it cannot have now it has the next time
			}
		}
		require.NoError(t, err)
	}
	require.Equal(t, []string{"16800"}, h.texts(`select count(*)::text from annals.deliveries`))
}

func TestAPartitionHasTheIndexesOfItsTable(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.after(0)
	require.Equal(t, []string{"0"}, h.texts(`select count(*)::text from pg_index i join pg_inherits h on h.inhparent = i.indrelid
		where i.indrelid = any (array['annals.deliveries'::regclass, 'annals.delivery_log'::regclass]) and not exists (
			select from pg_inherits p join pg_index x on x.indexrelid = p.inhrelid where p.inhparent = i.indexrelid and x.indrelid = h.inhrelid)`))
}

func TestWithoutARetentionEverythingStays(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.after(0)
	h.deliver("delivered", "attempt", "delivered")
	h.after(10000)
	delivered, logged := h.left()
	require.Equal(t, []string{"delivered"}, delivered)
	require.Equal(t, []string{"delivered"}, logged)
}

func TestADayGoesWhenItsTimeIsOverButForWhatHasToStay(t *testing.T) {
	h := newHouse(t, upkeep.Retention{Delivered: 2 * 24 * time.Hour, Failed: 5 * 24 * time.Hour})
	h.after(0)
	h.deliver("delivered", "attempt", "delivered")
	h.deliver("cancelled", "cancelled", "")
	h.deliver("failed", "attempt", "failed")
	h.deliver("dropped", "dropped", "")
	h.deliver("queued", "queued", "")
	all := []string{"cancelled", "delivered", "dropped", "failed", "queued"}

	h.after(2)
	delivered, _ := h.left()
	require.Equal(t, all, delivered, "the day ended less than two days ago")
	h.after(1)
	delivered, logged := h.left()
	require.Equal(t, []string{"dropped", "failed", "queued"}, delivered)
	require.Equal(t, []string{"dropped", "failed"}, logged)
	require.Contains(t, h.partitions("deliveries"), "deliveries_20310510_kept")
	require.Equal(t, []string{"2"}, h.texts(`select count(*)::text from annals.delivery_log`))

	h.after(3)
	delivered, logged = h.left()
	require.Equal(t, []string{"queued"}, delivered, "what is queued is never dropped")
	require.Empty(t, logged)
	require.Equal(t, []string{"0"}, h.texts(`select count(*)::text from annals.delivery_log`))

	h.exec(`delete from annals.delivery_queue`)
	h.after(1)
	delivered, _ = h.left()
	require.Empty(t, delivered)
	require.NotContains(t, h.partitions("deliveries"), "deliveries_20310510_kept")
}

func TestFailuresMayBeKeptForEver(t *testing.T) {
	h := newHouse(t, upkeep.Retention{Delivered: 24 * time.Hour})
	h.after(0)
	h.deliver("delivered", "attempt", "delivered")
	h.deliver("failed", "attempt", "failed")
	h.after(3000)
	delivered, logged := h.left()
	require.Equal(t, []string{"failed"}, delivered)
	require.Equal(t, []string{"failed"}, logged)
}

func TestTheCancellationOfALaterDeliveryIsNotForgotten(t *testing.T) {
	h := newHouse(t, upkeep.Retention{Delivered: 24 * time.Hour, Failed: 24 * time.Hour})
	h.after(0)
	h.exec(`with d as (insert into annals.deliveries (id, kind, trigger, due_at) values (gen_random_uuid(), 'scheduled', 'later', $1) returning id)
		insert into annals.delivery_log (delivery_id, entry, round, attempt, recorded_at) select id, 'cancelled', 1, 0, $2 from d`, h.today.AddDate(0, 0, 20), h.today)
	h.after(10)
	_, logged := h.left()
	require.Equal(t, []string{"later"}, logged)
	h.after(20)
	delivered, _ := h.left()
	require.Empty(t, delivered)
	h.after(1)
	require.Equal(t, []string{"0"}, h.texts(`select count(*)::text from annals.delivery_log`))
}

func TestADayOfManyRowsGoesInLessThanASecond(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.after(0)
	h.exec(`insert into annals.deliveries (id, kind, trigger, payload, due_at) select gen_random_uuid(), 'event', 't', '{}', $1 from generate_series(1, 200000)`, h.today)
	h.exec(`insert into annals.delivery_log (delivery_id, entry, outcome, round, attempt, recorded_at) select id, 'attempt', 'delivered', 1, 1, $1 from annals.deliveries`, h.today)
	h.after(3)
	require.Equal(t, []string{"200000"}, h.texts(`select count(*)::text from annals.deliveries`))
	h.worker.Retention = upkeep.Retention{Delivered: 24 * time.Hour, Failed: 24 * time.Hour}
	begin := time.Now()
	h.after(0)
	require.Less(t, time.Since(begin), time.Second)
	require.Equal(t, []string{"0 0"}, h.texts(`select (select count(*) from annals.deliveries) || ' ' || (select count(*) from annals.delivery_log)`))
}

func TestAStepThatCannotHaveItsLocksIsLeftForTheNextTime(t *testing.T) {
	h := newHouse(t, upkeep.Retention{Delivered: 24 * time.Hour})
	h.after(0)
	h.deliver("delivered", "attempt", "delivered")
	tx, err := h.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `insert into annals.deliveries (id, kind, trigger, due_at) values (gen_random_uuid(), 'event', 'open', '2031-05-12')`)
	require.NoError(t, err)
	require.Error(t, h.worker.KeepDays(t.Context(), h.today.AddDate(0, 0, 3)))
	require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context())))
	h.after(3)
	delivered, _ := h.left()
	require.Empty(t, delivered)
}

func TestOfManyNodesOneWorks(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	errs := make(chan error)
	for range 4 {
		go func() { errs <- h.worker.KeepDays(context.WithoutCancel(t.Context()), h.today) }()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
	h.after(0)
	require.Len(t, h.partitions("deliveries"), 5)
}

func TestDriftThatCouldNotBeMendedIsCounted(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.worker.Drift = func(context.Context) ([]capture.Difference, error) { return make([]capture.Difference, 2), nil }
	h.worker.Repair = func(context.Context) ([]capture.Difference, error) { return nil, errors.New("locked out") }
	require.ErrorContains(t, h.worker.RunOnce(t.Context()), "locked out")
	require.Equal(t, 2, h.worker.Drifting())
	require.Zero(t, h.worker.Mended())
	require.NotEmpty(t, h.partitions("deliveries"), "the rest is done all the same")
}

func TestDriftThatWasMendedIsCountedApart(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.worker.Repair = func(context.Context) ([]capture.Difference, error) { return make([]capture.Difference, 2), nil }
	require.NoError(t, h.worker.RunOnce(t.Context()))
	require.NoError(t, h.worker.RunOnce(t.Context()))
	require.Equal(t, 4, h.worker.Mended())
	require.Zero(t, h.worker.Drifting())
}

func TestWhatANewerProgramHasMigratedIsLeftToIt(t *testing.T) {
	h := newHouse(t, upkeep.Retention{})
	h.worker.Current = func(context.Context) error { return errors.New("it is newer") }
	h.worker.Repair = func(context.Context) ([]capture.Difference, error) {
		t.Error("something was mended")
		return nil, nil
	}
	require.EqualError(t, h.worker.RunOnce(t.Context()), "this node makes no deliveries and mends nothing: it is newer")
}
