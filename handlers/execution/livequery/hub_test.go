package livequery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/command"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
	"annals/handlers/nodetest"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// node is an engine whose subscriptions are kept by a hub.
type node struct {
	*nodetest.Node
	t       *testing.T
	hub     *livequery.Hub
	counted *counted
}

// counted counts the round trips of a source.
type counted struct {
	*execution.Executor
	mu      sync.Mutex
	batches []int
}

func (c *counted) AnswerLive(ctx context.Context, all []*execution.Live) ([][]byte, error) {
	c.mu.Lock()
	c.batches = append(c.batches, len(all))
	c.mu.Unlock()
	return c.Executor.AnswerLive(ctx, all)
}

// largest is the most that one round trip asked for.
func (c *counted) largest() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, size := range c.batches {
		n = max(n, size)
	}
	return n
}

// shop has notes that belong to owners: owners see their own, members those of their
// team, and readers the public ones.
const shop = `
	create table note (id serial primary key, owner int not null, team int not null, public bool not null, body text);
	insert into note (owner, team, public, body)
		select o, o % 3, o % 2 = 0, 'note ' || o || '-' || k from generate_series(1, 40) o, generate_series(1, 3) k order by o, k`

const tracked = `{"type":"bulk","args":[
	{"type":"track_table","args":"note"},
	{"type":"create_select_permission","args":{"table":"note","role":"owner","permission":{"columns":["id","owner","team","body"],"filter":{"owner":"X-Service-Owner"}}}},
	{"type":"create_select_permission","args":{"table":"note","role":"member","permission":{"columns":["id","owner","team","body"],"filter":{"team":"X-Service-Team"}}}},
	{"type":"create_select_permission","args":{"table":"note","role":"reader","permission":{"columns":["id","owner","team","body"],"filter":{"public":true}}}}
]}`

func newNode(t *testing.T, c livequery.Config) *node {
	t.Helper()
	n := &node{Node: nodetest.New(t, shop, command.Parts{}), t: t}
	n.counted = &counted{Executor: n.Executor(execution.Config{})}
	n.hub = livequery.New(n.counted, c)
	t.Cleanup(n.hub.Close)
	n.Do(tracked)
	return n
}

// subscriber is somebody who waits for news.
type subscriber struct {
	*livequery.Subscription
	t    *testing.T
	news chan struct{}
}

func session(role, name string, value int) domain.Session {
	return domain.Session{Role: role, Variables: map[string]string{"x-service-" + name: fmt.Sprint(value), "x-service-role": role}}
}

func (n *node) subscribe(s domain.Session, query, variables string) *subscriber {
	n.t.Helper()
	out := &subscriber{t: n.t, news: make(chan struct{}, 1)}
	var err error
	out.Subscription, err = n.hub.Subscribe(n.t.Context(), request(s, query, variables), func() {
		select {
		case out.news <- struct{}{}:
		default:
		}
	})
	require.NoError(n.t, err)
	return out
}

func request(s domain.Session, query, variables string) execution.Request {
	return execution.Request{Session: s, Query: plan.Request{Query: query, Variables: wire.MustParse(variables)}}
}

// patience is how long a test waits for what has to come.
const patience = time.Minute

// next waits for the next update.
func (s *subscriber) next() livequery.Update {
	s.t.Helper()
	for late := time.After(patience); ; {
		if u, ok := s.Take(); ok {
			return u
		}
		select {
		case <-s.news:
		case <-late:
			s.t.Fatal("no news came")
		}
	}
}

type note struct {
	ID, Owner, Team int
	Body            string
}

// notes reads an answer to a subscription to notes.
func (s *subscriber) notes(u livequery.Update) []note {
	s.t.Helper()
	require.NoError(s.t, u.Err)
	var body struct{ Data struct{ Note []note } }
	require.NoError(s.t, json.Unmarshal(u.Answer, &body), string(u.Answer))
	return body.Data.Note
}

const allNotes = `subscription { note(order_by: {id: asc}) { id owner team body } }`

// quick is a config whose looks follow each other closely.
func quick() livequery.Config {
	return livequery.Config{Interval: 20 * time.Millisecond, BatchSize: 16}
}

func TestSubscribersOfAllRolesGetTheirOwnRowsAndNobodyElses(t *testing.T) {
	t.Parallel()
	n := newNode(t, quick())
	mine := map[*subscriber]func(note) bool{}
	for i := 1; i <= 40; i++ {
		mine[n.subscribe(session("owner", "owner", i), allNotes, "")] = func(x note) bool { return x.Owner == i }
	}
	for i := range 3 {
		mine[n.subscribe(session("member", "team", i), allNotes, "")] = func(x note) bool { return x.Team == i }
	}
	mine[n.subscribe(session("reader", "owner", 1), allNotes, "")] = func(x note) bool { return x.Owner%2 == 0 }
	for s, own := range mine {
		notes := s.notes(s.next())
		require.NotEmpty(t, notes)
		for _, x := range notes {
			require.True(t, own(x), "%+v", x)
		}
	}
	n.Exec(`update note set body = 'changed' || id`)
	for s, own := range mine {
		for changed := false; !changed; {
			notes := s.notes(s.next())
			for _, x := range notes {
				require.True(t, own(x), "%+v", x)
			}
			changed = notes[0].Body == fmt.Sprint("changed", notes[0].ID)
		}
	}
	require.Equal(t, livequery.Stats{Subscribers: 44, Cohorts: 44, Shapes: 3}, n.hub.Stats())
	require.LessOrEqual(t, n.counted.largest(), 16)
	require.Greater(t, n.counted.largest(), 1)
}

func TestOnlyWhoseAnswerChangedIsTold(t *testing.T) {
	t.Parallel()
	n := newNode(t, quick())
	one, two := n.subscribe(session("owner", "owner", 1), allNotes, ""), n.subscribe(session("owner", "owner", 2), allNotes, "")
	one.next()
	two.next()
	n.Exec(`delete from note where owner = 2`)
	require.Empty(t, two.notes(two.next()))
	_, told := one.Take()
	require.False(t, told)
}

func TestEqualSubscriptionsShareAnAnswerAndLateOnesGetItAtOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t, livequery.Config{Interval: time.Hour})
	first := n.subscribe(session("owner", "owner", 1), allNotes, "")
	answer := first.next()
	late := n.subscribe(session("owner", "owner", 1), allNotes, "")
	u, ok := late.Take()
	require.True(t, ok)
	require.Equal(t, string(answer.Answer), string(u.Answer))
	require.Equal(t, livequery.Stats{Subscribers: 2, Cohorts: 1, Shapes: 1}, n.hub.Stats())
	first.Close()
	late.Close()
	late.Close()
	require.Equal(t, livequery.Stats{}, n.hub.Stats())
}

func TestAPermissionThatChangesCountsFromTheNextLookOn(t *testing.T) {
	t.Parallel()
	n := newNode(t, quick())
	owner := n.subscribe(session("owner", "owner", 2), allNotes, "")
	require.Len(t, owner.notes(owner.next()), 3)
	n.Do(`{"type":"bulk","args":[
		{"type":"drop_select_permission","args":{"table":"note","role":"owner"}},
		{"type":"create_select_permission","args":{"table":"note","role":"owner","permission":{"columns":["id","owner","team","body"],"filter":{"owner":"X-Service-Owner","id":{"_gt":4}},"limit":1}}}]}`)
	require.Len(t, owner.notes(owner.next()), 1)
	n.Do(`{"type":"drop_select_permission","args":{"table":"note","role":"owner"}}`)
	end := owner.next()
	var refusal *domain.Error
	require.ErrorAs(t, end.Err, &refusal)
	require.Equal(t, domain.ValidationFailed, refusal.Code)
	require.True(t, end.Last)
	require.Equal(t, livequery.Stats{}, n.hub.Stats())
}

func TestAValueThatFailsSpoilsNobodyElsesAnswer(t *testing.T) {
	t.Parallel()
	n := newNode(t, quick())
	n.Exec(`create function share(n note) returns int language sql stable as 'select 100 / (n.id - 4)'`)
	n.Do(`{"type":"add_computed_field","args":{"table":"note","name":"share","definition":{"function":"share"}}}`)
	const shares = `subscription ($o: Int) { note(where: {owner: {_eq: $o}}) { id share } }`
	var good []*subscriber
	for _, o := range []int{1, 3, 4, 5, 6} {
		good = append(good, n.subscribe(session(domain.AdminRole, "x", 1), shares, fmt.Sprintf(`{"o":%d}`, o)))
	}
	bad := n.subscribe(session(domain.AdminRole, "x", 1), shares, `{"o":2}`)
	for _, s := range good {
		require.Len(t, s.notes(s.next()), 3)
	}
	failed := bad.next()
	require.True(t, failed.Last, "a first answer that fails is the end")
	var refusal *domain.Error
	require.ErrorAs(t, failed.Err, &refusal)
	require.Equal(t, domain.DataException, refusal.Code)

	n.Exec(`update note set owner = 1 where id = 4`)
	later := good[0].next()
	require.Error(t, later.Err)
	require.False(t, later.Last, "a later one that fails is told, and asking goes on")
	n.Exec(`delete from note where id = 4`)
	require.Len(t, good[0].notes(good[0].next()), 3)
}

func TestASlowSubscriberFindsTheNewestAnswerOnly(t *testing.T) {
	t.Parallel()
	n := newNode(t, quick())
	slow, fast := n.subscribe(session("owner", "owner", 1), allNotes, ""), n.subscribe(session("reader", "owner", 1), allNotes, "")
	fast.next()
	for i := range 3 {
		n.Exec(fmt.Sprintf(`update note set body = 'turn %d' where owner in (1, 2)`, i))
		fast.next()
	}
	for notes := slow.notes(slow.next()); notes[0].Body != "turn 2"; {
		notes = slow.notes(slow.next())
	}
	_, more := slow.Take()
	require.False(t, more)
}

func TestANodeKeepsSoManySubscriptionsAndNoMore(t *testing.T) {
	t.Parallel()
	n := newNode(t, livequery.Config{MaxSubscribers: 1, Interval: time.Hour})
	first := n.subscribe(session("owner", "owner", 1), allNotes, "")
	_, err := n.hub.Subscribe(t.Context(), request(session("owner", "owner", 2), allNotes, ""), func() {})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.Busy, refusal.Code)
	first.Close()
	n.subscribe(session("owner", "owner", 2), allNotes, "").next()
	n.hub.Close()
	_, err = n.hub.Subscribe(t.Context(), request(session("owner", "owner", 2), allNotes, ""), func() {})
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.Timeout, refusal.Code)
}
