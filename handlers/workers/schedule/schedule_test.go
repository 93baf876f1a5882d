package schedule_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain/metadata"
	"annals/handlers/command"
	"annals/handlers/nodetest"
	"annals/handlers/workers/schedule"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// nodes are several processes on one database, whose clock the test sets.
type nodes struct {
	*nodetest.Node
	t    *testing.T
	list []*schedule.Scheduler
	now  time.Time
}

func startNodes(t *testing.T, n int) *nodes {
	s := &nodes{Node: nodetest.New(t, "", command.Parts{}), t: t}
	for range n {
		s.list = append(s.list, &schedule.Scheduler{
			DB: s.Pool, Log: slog.New(slog.DiscardHandler), World: s.World,
			Clock: func(context.Context) (time.Time, error) { return s.now, nil },
		})
	}
	require.NoError(t, s.Pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&s.now))
	return s
}

// trigger is a cron trigger of the test, and the moments at which it fired.
type trigger struct {
	name, schedule, zone string
	fired                []time.Time
}

func (n *nodes) create(t *trigger) {
	zone := ""
	if t.zone != "" {
		zone = `,"timezone":"` + t.zone + `"`
	}
	n.Do(`{"type":"create_cron_trigger","args":{"name":"` + t.name + `","schedule":"` + t.schedule + `","webhook":"http://127.0.0.1:1/","include_in_metadata":true` + zone + `}}`)
}

// wanted are the moments between two at which a trigger should fire.
func (n *nodes) wanted(name string, after, until time.Time) []time.Time {
	var moments []time.Time
	for _, t := range n.World().CronTriggers() {
		if t.Name != name {
			continue
		}
		plan, err := t.Plan()
		require.NoError(n.t, err)
		for next := plan.Next(after); !next.After(until); next = plan.Next(next) {
			moments = append(moments, next)
		}
	}
	return moments
}

// planTogether has some nodes look at once; each may be killed on the way.
func (n *nodes) planTogether(random *rand.Rand) {
	var running sync.WaitGroup
	for _, node := range n.list {
		if random.IntN(4) == 0 { // is down
			continue
		}
		ctx, cancel := context.WithCancel(n.t.Context())
		if random.IntN(3) == 0 {
			killed := time.AfterFunc(time.Duration(random.IntN(4000))*time.Microsecond, cancel)
			defer killed.Stop()
		}
		running.Go(func() {
			defer cancel()
			_ = node.RunOnce(ctx) // a killed node tells nobody
		})
	}
	running.Wait()
}

// fire takes what is due out of the queue, as a worker does in the end.
func (n *nodes) fire(triggers map[string]*trigger) {
	rows, err := n.Pool.Query(n.t.Context(), `with due as (delete from annals.delivery_queue where available_at <= $1 returning delivery_id, first_due_at)
		select d.trigger, d.due_at from due join annals.deliveries d on d.id = due.delivery_id and d.due_at = due.first_due_at order by d.due_at`, n.now)
	require.NoError(n.t, err)
	var name string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&name, &at}, func() error {
		triggers[name].fired = append(triggers[name].fired, at.UTC())
		return nil
	})
	require.NoError(n.t, err)
}

func TestInAYearOfThreeNodesThatAreKilledNoFireIsMissedOrDoubled(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n := startNodes(t, 3)
	start := n.now
	triggers := map[string]*trigger{}
	for _, tr := range []*trigger{
		{name: "often", schedule: "*/15 * * * *"},
		{name: "daily", schedule: "30 2 * * *", zone: "Europe/Berlin"},
		{name: "rhythm", schedule: "0 */3 * * *", zone: "America/New_York"},
		{name: "rare", schedule: "0 0 1 * *"},
	} {
		triggers[tr.name] = tr
		n.create(tr)
	}
	end := start.AddDate(1, 0, 0)
	for n.now.Before(end) {
		n.now = n.now.Add(time.Duration(random.IntN(36*60)) * time.Minute)
		if random.IntN(20) == 0 { // all are down for days
			n.now = n.now.AddDate(0, 0, random.IntN(9))
		}
		n.planTogether(random)
		n.fire(triggers)
	}
	// What a killed node left undone, the next look does.
	require.NoError(t, n.list[0].RunOnce(t.Context()))
	n.fire(triggers)
	for name, tr := range triggers {
		require.Equal(t, n.wanted(name, start, n.now), sorted(tr.fired), name)
	}
	require.Greater(t, len(triggers["often"].fired), 35_000)
}

func sorted(moments []time.Time) []time.Time {
	slices.SortFunc(moments, time.Time.Compare)
	return moments
}

func TestATriggerWithoutAnyPlannedFireGetsSome(t *testing.T) {
	n := startNodes(t, 1)
	n.create(&trigger{name: "c", schedule: "0 * * * *"})
	_, err := n.Pool.Exec(t.Context(), "delete from annals.delivery_queue; delete from annals.deliveries")
	require.NoError(t, err)
	require.NoError(t, n.list[0].RunOnce(t.Context()))
	require.Equal(t, n.wanted("c", n.now, n.now.Add(100*time.Hour)), n.planned("c"))
}

func TestATriggerThatIsReplacedMeanwhileIsNotPlannedByItsOldSchedule(t *testing.T) {
	n := startNodes(t, 1)
	n.create(&trigger{name: "c", schedule: "0 * * * *"})
	old := n.World()
	n.Do(`{"type":"create_cron_trigger","args":{"name":"c","schedule":"30 * * * *","webhook":"http://127.0.0.1:1/","include_in_metadata":true,"replace":true}}`)
	n.list[0].World = func() metadata.World { return old } // has not heard of it yet
	n.now = n.now.Add(50 * time.Hour)
	require.NoError(t, n.list[0].RunOnce(t.Context()))
	for _, at := range n.planned("c") {
		require.Equal(t, 30, at.Minute())
	}
}

func (n *nodes) planned(trigger string) []time.Time {
	rows, err := n.Pool.Query(n.t.Context(), "select first_due_at from annals.delivery_queue where lane = 'cron:' || $1 order by 1", trigger)
	require.NoError(n.t, err)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (at time.Time, err error) {
		err = row.Scan(&at)
		return at.UTC(), err
	})
	require.NoError(n.t, err)
	return list
}
