package execution_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/domain/wire"
	"annals/handlers/execution"
)

// explanation is an item of the answer; of a subscription, all of it.
type explanation struct {
	Field     string
	SQL       *string
	Plan      []json.RawMessage
	Variables map[string]json.RawMessage
}

func (e *engine) explain(s domain.Session, query, variables string) ([]explanation, error) {
	return e.explainWith(execution.ExplainRequest{Request: execution.Request{
		Session: s, Query: plan.Request{Query: query, Variables: wire.MustParse(variables)},
	}})
}

func (e *engine) explainWith(r execution.ExplainRequest) (items []explanation, err error) {
	e.t.Helper()
	text, err := e.run.Explain(e.t.Context(), r)
	if err != nil {
		return nil, err
	}
	if text[0] == '{' {
		text = append(append([]byte("["), text...), ']')
	}
	require.NoError(e.t, json.Unmarshal(text, &items), string(text))
	return items, nil
}

func (e *engine) explains(s domain.Session, query, variables string) []explanation {
	e.t.Helper()
	items, err := e.explain(s, query, variables)
	require.NoError(e.t, err, query)
	return items
}

func (e explanation) text() string {
	var lines []string
	for _, raw := range e.Plan {
		var line string
		if json.Unmarshal(raw, &line) != nil {
			line = string(raw)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

var asAdmin = domain.Session{Role: domain.AdminRole}

func TestTheStatementsShownCanBeRunByHand(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist values (9, 'it''s \\ $1')"}}`)
	items := e.explains(asAdmin, `query ($n: String!) { a: artist(where: {name: {_eq: $n}}) { name albums(order_by: {id: desc}, limit: 1) { title } } album(limit: 2) { id } }`, `{"n":"it's \\ $1"}`)
	require.Len(t, items, 2)
	require.Equal(t, []string{"a", "album"}, []string{items[0].Field, items[1].Field}, "a field goes by its alias")
	for _, item := range items {
		for statement := range strings.SplitSeq(*item.SQL, ";\n") {
			rows, err := e.conns.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			rows.Close()
			require.NoError(t, rows.Err(), statement)
		}
		require.Contains(t, item.text(), "(cost=")
		require.NotContains(t, item.text(), "actual time")
	}
	require.Equal(t, 1, strings.Count(*items[0].SQL, ";\n"), "a statement for each level")
	var name string
	require.NoError(t, e.conns.QueryRow(t.Context(), "select name from ("+strings.Split(*items[0].SQL, ";\n")[0]+") t(name)", pgx.QueryExecModeSimpleProtocol).Scan(&name))
	require.Equal(t, `it's \ $1`, name)
}

func TestAFieldThatNeedsNoDatabaseHasNoPlan(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	answer, err := e.run.Explain(t.Context(), execution.ExplainRequest{Request: execution.Request{Session: asAdmin, Query: plan.Request{Query: `{ __typename }`}}})
	require.NoError(t, err)
	require.Equal(t, `[{"field":"__typename","sql":null,"plan":null}]`, string(answer))
}

func TestARolesPermissionsAreInWhatIsExplained(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "77"}}
	require.Contains(t, *e.explains(user, `{ artist { id } }`, "")[0].SQL, "'77'")
	_, err := e.explain(domain.Session{Role: "user"}, `{ artist { id } }`, "")
	require.Equal(t, domain.UnexpectedPayload, refusal(t, err).Code)
	require.Equal(t, `missing required session variable for role "user" : x-service-artist`, refusal(t, err).Message)
	_, err = e.explain(domain.Session{Role: "nobody"}, `{ artist { id } }`, "")
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code)
	require.Equal(t, "$.selectionSet.artist", refusal(t, err).Path)
}

func TestASubscriptionIsExplainedAsOne(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1", "x-service-other": "2"}}
	const query = `subscription ($n: String) { artist(where: {name: {_neq: $n}, id: {_gt: 5}}) { id } }`
	items := e.explains(user, query, `{"n":"A"}`)
	require.Len(t, items, 1)
	require.NotEmpty(t, *items[0].SQL)
	require.NotEmpty(t, items[0].Plan)
	require.JSONEq(t, `{"x-service-artist":"1"}`, string(items[0].Variables["session"]))
	require.JSONEq(t, `{"n":"A"}`, string(items[0].Variables["query"]))
	require.JSONEq(t, `["5"]`, string(items[0].Variables["synthetic"]))
	_, err := e.explain(user, `subscription { __typename }`, "")
	require.Equal(t, domain.NotSupported, refusal(t, err).Code)
}

func TestAnExplainedMutationLeavesNothing(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	const insert = `mutation {
		insert_artist(objects: {name: "new", albums: {data: {title: "t"}}}) { affected_rows returning { albums { title } } }
		delete_track(where: {id: {_eq: 100}}) { affected_rows }
		update_album(where: {id: {_eq: 10}}, _set: {title: "other"}) { affected_rows }
	}`
	before := e.contents()
	for _, analyze := range []bool{false, true} {
		items, err := e.explainWith(execution.ExplainRequest{Analyze: analyze, Request: execution.Request{Session: asAdmin, Query: plan.Request{Query: insert}}})
		require.NoError(t, err)
		require.Len(t, items, 3)
		require.Equal(t, 2, strings.Count(*items[0].SQL, "INSERT INTO"))
		require.Contains(t, items[0].text(), "Insert on album")
		require.Contains(t, *items[1].SQL, "DELETE FROM")
		require.Contains(t, *items[2].SQL, "'other'")
		require.Equal(t, analyze, strings.Contains(items[2].text(), "actual time"))
		require.Equal(t, before, e.contents())
	}
}

func TestAMutationThatWouldFailIsRefusedAsIfItWereRun(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	before := e.contents()
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	_, err := e.explain(user, `mutation { insert_album(objects: {title: "bad"}) { affected_rows } }`, "")
	require.Equal(t, domain.PermissionError, refusal(t, err).Code)
	_, err = e.explain(asAdmin, `mutation { insert_artist(objects: {id: 1, name: "again"}) { affected_rows } }`, "")
	require.Equal(t, domain.ConstraintViolation, refusal(t, err).Code)
	require.Equal(t, "$.selectionSet.insert_artist.args.objects", refusal(t, err).Path)
	require.Equal(t, before, e.contents())
}

func TestPlansComeAsJSONAndAnalysedWhenAskedFor(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	items, err := e.explainWith(execution.ExplainRequest{JSON: true, Analyze: true, Request: execution.Request{Session: asAdmin, Query: plan.Request{Query: `{ artist { name albums { title } } }`}}})
	require.NoError(t, err)
	require.Len(t, items[0].Plan, 2, "a plan for each statement")
	for _, raw := range items[0].Plan {
		var p struct {
			Plan map[string]any
		}
		require.NoError(t, json.Unmarshal(raw, &p))
		require.Contains(t, p.Plan, "Actual Rows")
	}
}

func TestAValueThatPostgreSQLRefusesIsRefusedByExplain(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	e.Do(`{"type":"run_sql","args":{"sql":"alter table track add at date"}}`)
	_, err := e.explain(asAdmin, `{ track(where: {at: {_eq: "never"}}) { id } }`, "")
	require.Equal(t, domain.DataException, refusal(t, err).Code)
	require.Equal(t, "$", refusal(t, err).Path)
	require.Len(t, e.explains(asAdmin, `{ track { id } }`, ""), 1, "the connection is as good as before")
}

// contents is all rows of all tables, as text.
func (e *engine) contents() (text string) {
	e.t.Helper()
	require.NoError(e.t, e.conns.QueryRow(e.t.Context(), `select concat((select string_agg(a::text, ',' order by id) from artist a),
		(select string_agg(a::text, ',' order by id) from album a), (select string_agg(a::text, ',' order by id) from track a))`).Scan(&text))
	return text
}

func TestAnOperationIsExplainedUnderEarlierMetadata(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	const query = `{ album { title } }`
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	now := e.explains(user, query, "")
	position := e.Live.Position()
	e.Do(`{"type":"drop_select_permission","args":{"table":"album","role":"user"}}`)
	_, err := e.explain(user, query, "")
	require.Error(t, err)

	then, err := e.Handler.WorldAt(t.Context(), metadata.Moment{Position: &position})
	require.NoError(t, err)
	request := execution.ExplainRequest{Request: execution.Request{Session: user, Query: plan.Request{Query: query}}, World: &then}
	before, err := e.explainWith(request)
	require.NoError(t, err)
	require.Equal(t, *now[0].SQL, *before[0].SQL)
	_, err = e.explain(user, query, "")
	require.Error(t, err, "the earlier plan is not kept")

	later := position + 100
	_, err = e.Handler.WorldAt(t.Context(), metadata.Moment{Position: &later})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.NotExists, refusal.Code)
}

func TestWhatEarlierMetadataNamesAndIsGoneCannotBeExplained(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	position := e.Live.Position()
	e.Do(`{"type":"run_sql","args":{"sql":"drop table track","cascade":true}}`)
	then, err := e.Handler.WorldAt(t.Context(), metadata.Moment{Position: &position})
	require.NoError(t, err)
	for query, stands := range map[string]bool{`{ album { title } }`: true, `{ track { id } }`: false} {
		_, err := e.explainWith(execution.ExplainRequest{
			Request: execution.Request{Session: asAdmin, Query: plan.Request{Query: query}}, World: &then,
		})
		require.Equal(t, stands, err == nil, "%s: %v", query, err)
	}
}
