package execution_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/execution"
)

const (
	liveOperations = 500
	liveSessions   = 4
)

func sessionName(number string) string { return "x-service-v" + number }

// resolved is a comparison with the value that the session gives it.
func (n *naive) resolved(c plan.Compare) plan.Compare {
	if c.Value.Session != "" {
		number, _ := strconv.Atoi(c.Value.Session[len(sessionName("")):])
		c.Value = literal((number + n.shift) % 8)
	}
	return c
}

// session is the session whose variables are shifted by a number.
func (n *naive) session() domain.Session {
	s := domain.Session{Role: "user", Variables: map[string]string{}}
	for i := range 8 {
		s.Variables[sessionName(strconv.Itoa(i))] = strconv.Itoa((i + n.shift) % 8)
	}
	return s
}

func TestSubscribersOfAShapeGetWhatEachOfThemMaySeeAndNothingElse(t *testing.T) {
	t.Parallel()
	seed := uint64(20261122)
	n := &naive{tables: map[string][]record{}, chance: rand.New(rand.NewPCG(seed, 1)), bySession: true}
	n.f = given(t, n.fill(), "a", "b", "c")
	for i := range liveOperations {
		table := []string{"a", "b", "c"}[n.chance.IntN(3)]
		step, evaluate := n.step(table)
		op := &plan.Operation{Kind: plan.Subscription, Fields: []plan.Root{root("r", step)}}
		var lives []*execution.Live
		var wanted []string
		for n.shift = range liveSessions {
			wanted = append(wanted, `{"data":{"r":`+evaluate()+`}}`)
			live, err := n.f.run.LiveOf(execution.Operation{Plan: op, Session: n.session()})
			require.NoError(t, err)
			lives = append(lives, live)
		}
		answers, err := n.f.run.AnswerLive(t.Context(), lives)
		require.NoError(t, err)
		for k, answer := range answers {
			require.Equal(t, wanted[k], string(answer), "seed %d, operation %d, session %d", seed, i, k)
		}
	}
}

func (n *naive) step(table string) (step plan.Step, evaluate func() string) {
	if n.chance.IntN(5) == 0 {
		a := n.aggregate(table, 2)
		ordered(&a.Rows, table)
		return a, func() string { return n.summary(a, n.tables[table]) }
	}
	rows := n.rows(table, 3)
	ordered(rows, table)
	return rows, func() string { return n.list(rows, n.tables[table]) }
}

func (e *engine) live(s domain.Session, query, variables string) *execution.Live {
	e.t.Helper()
	live, err := e.run.PrepareLive(e.t.Context(), execution.Request{Session: s, Query: plan.Request{Query: query, Variables: wire.MustParse(variables)}})
	require.NoError(e.t, err)
	return live
}

func TestSubscriptionsThatDifferInValuesOnlyHaveOneShape(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	const query = `subscription ($w: artist_bool_exp) { artist(where: $w) { id } }`
	one := e.live(asAdmin, query, `{"w":{"id":{"_eq":1}}}`)
	two := e.live(asAdmin, query, `{"w":{"id":{"_eq":2}}}`)
	require.Equal(t, one.Shape.ID, two.Shape.ID)
	require.NotEqual(t, one.Values, two.Values)
	require.NotEqual(t, one.Shape.ID, e.live(asAdmin, query, `{"w":{"id":{"_gt":1}}}`).Shape.ID)
	require.NotEqual(t, one.Shape.ID, e.live(asAdmin, `subscription { artist(where: {id: {_eq: 1}}) { other: id } }`, "").Shape.ID, "the answer is written otherwise")

	answers, err := e.run.AnswerLive(t.Context(), []*execution.Live{two, one, two})
	require.NoError(t, err)
	require.Equal(t, `[{"data":{"artist":[{"id":2}]}} {"data":{"artist":[{"id":1}]}} {"data":{"artist":[{"id":2}]}}]`, fmt.Sprintf("%s", answers))
}

func TestASubscriptionIsPreparedForTheMetadataOfItsMoment(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1", "x-service-unused": "7"}}
	live := e.live(user, `subscription { artist { name } }`, "")
	other := user
	other.Variables = map[string]string{"x-service-artist": "1", "x-service-unused": "8"}
	require.Equal(t, live.Values, e.live(other, `subscription { artist { name } }`, "").Values, "variables that are not used tell nobody apart")
	require.True(t, e.run.IsCurrent(live))
	e.Do(`{"type":"drop_select_permission","args":{"table":"artist","role":"user"}}`)
	require.False(t, e.run.IsCurrent(live))
}

func TestWhatIsNoSubscriptionIsNotPreparedAsOne(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	for query, code := range map[string]domain.Code{
		`{ artist { id } }`:                               domain.UnexpectedPayload,
		`subscription { artist { id } album { id } }`:     domain.ValidationFailed,
		`subscription { __schema { types { name } } }`:    domain.NotSupported,
		`subscription { artist(where: {no: {}}) { id } }`: domain.ValidationFailed,
	} {
		_, err := e.run.PrepareLive(t.Context(), execution.Request{Session: asAdmin, Query: plan.Request{Query: query}})
		require.Equal(t, code, refusal(t, err).Code, query)
	}
}

func TestARefusalSaysWhetherOnlySomeOfTheRequestsAreToBlame(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	e.Exec(`create function checked(a artist) returns int language plpgsql stable as $$ begin if a.id = 2 then raise 'not this one'; end if; return a.id; end $$`)
	e.Do(`{"type":"add_computed_field","args":{"table":"artist","name":"checked","definition":{"function":"checked"}}}`)
	const query = `subscription ($id: Int) { artist(where: {id: {_eq: $id}}) { checked } }`
	one, two := e.live(asAdmin, query, `{"id":1}`), e.live(asAdmin, query, `{"id":2}`)
	var spoiled *execution.Spoiled
	_, err := e.run.AnswerLive(t.Context(), []*execution.Live{one, two})
	require.ErrorAs(t, err, &spoiled)
	require.Nil(t, refusal(t, err).Internal, "nobody is told what the others asked for")
	_, err = e.run.AnswerLive(t.Context(), []*execution.Live{two})
	require.ErrorAs(t, err, &spoiled)
	require.Contains(t, string(refusal(t, err).Internal), "not this one")

	e.Exec(`drop function checked(artist)`)
	_, err = e.run.AnswerLive(t.Context(), []*execution.Live{one, two})
	require.Error(t, err)
	require.NotErrorAs(t, err, &spoiled, "no request could be answered")
}

func TestAggregatesFunctionsAndSingleRowsCanBeSubscribedTo(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	e.Exec(`create function named(part text) returns setof artist language sql stable as $$ select * from artist where name = part $$`)
	e.Do(`{"type":"track_function","args":"named"}`)
	for query, want := range map[string]string{
		`subscription { artist_aggregate(where: {name: {_eq: "A"}}) { aggregate { count } nodes { id } } }`: `{"artist_aggregate":{"aggregate":{"count":1},"nodes":[{"id":1}]}}`,
		`subscription { named(args: {part: "A"}) { id } }`:                                                  `{"named":[{"id":1}]}`,
		`subscription { named_aggregate(args: {part: "A"}) { aggregate { max { id } } } }`:                  `{"named_aggregate":{"aggregate":{"max":{"id":1}}}}`,
		`subscription { artist_by_pk(id: 1) { __typename id } }`:                                            `{"artist_by_pk":{"__typename":"artist","id":1}}`,
		`subscription { artist_by_pk(id: 99) { id } }`:                                                      `{"artist_by_pk":null}`,
	} {
		live := e.live(asAdmin, query, "")
		answers, err := e.run.AnswerLive(t.Context(), []*execution.Live{live, live})
		require.NoError(t, err)
		require.Equal(t, `{"data":`+want+`}`, string(answers[0]))
		require.Equal(t, string(answers[0]), string(answers[1]))
	}
}

func TestASubscriptionIsNotAnsweredOnce(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	_, err := e.ask(asAdmin, `subscription { artist { id } }`, "")
	require.Equal(t, "unexpected-payload at $: subscriptions are not supported over HTTP, use websockets instead", refusal(t, err).Error())
}
