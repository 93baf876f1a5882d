package execution_test

import (
	"cmp"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/command"
	"annals/handlers/execution"
	"annals/handlers/nodetest"
)

// engine is a whole engine: metadata is changed by commands, operations are text.
type engine struct {
	*nodetest.Node
	t   testing.TB
	run *execution.Executor
	// conns are the connections that operations run on.
	conns *pgxpool.Pool
}

func newEngine(t testing.TB, sql string, commands ...string) *engine {
	t.Helper()
	return newEngineWith(t, execution.Config{}, sql, commands...)
}

func newEngineWith(t testing.TB, c execution.Config, sql string, commands ...string) *engine {
	t.Helper()
	return newEngineOver(t, c, nil, sql, commands...)
}

// newEngineOver is an engine whose remote schemas are read by an introspector.
func newEngineOver(t testing.TB, c execution.Config, remote command.RemoteSchemas, sql string, commands ...string) *engine {
	t.Helper()
	n := nodetest.New(t, sql, command.Parts{Remote: remote})
	conns := nodetest.Rows(t, n.URL, execution.DefaultStatementTimeout)
	e := &engine{n, t, execution.New(conns, n.World, c), conns}
	for _, c := range commands {
		e.Do(c)
	}
	return e
}

func (e *engine) ask(s domain.Session, query, variables string) (string, error) {
	given, err := wire.Parse([]byte(cmp.Or(variables, "null")))
	if err != nil {
		return "", err
	}
	answer, err := e.run.Run(e.t.Context(), execution.Request{Session: s, Query: plan.Request{Query: query, Variables: given}})
	return string(answer), err
}

func (e *engine) answers(s domain.Session, want, query, variables string) {
	e.t.Helper()
	got, err := e.ask(s, query, variables)
	require.NoError(e.t, err, query)
	require.Equal(e.t, `{"data":`+want+`}`, got, query)
}

func musicalEngine(t testing.TB) *engine { return musicalEngineWith(t, execution.Config{}) }

func musicalEngineWith(t testing.TB, c execution.Config) *engine {
	return newEngineWith(t, c, music+`create sequence ids start 500; alter table artist alter id set default nextval('ids'); alter table album alter id set default nextval('ids')`, `{"type":"bulk","args":[
		{"type":"track_table","args":"artist"},{"type":"track_table","args":"album"},{"type":"track_table","args":"track"},
		{"type":"create_object_relationship","args":{"table":"album","name":"artist","using":{"foreign_key_constraint_on":"artist_id"}}},
		{"type":"create_array_relationship","args":{"table":"artist","name":"albums","using":{"foreign_key_constraint_on":{"table":"album","column":"artist_id"}}}},
		{"type":"create_array_relationship","args":{"table":"album","name":"tracks","using":{"foreign_key_constraint_on":{"table":"track","column":"album_id"}}}},
		{"type":"create_select_permission","args":{"table":"artist","role":"user","permission":{"columns":["id","name"],"filter":{"id":"X-Service-Artist"}}}},
		{"type":"create_select_permission","args":{"table":"album","role":"user","permission":{"columns":["id","title"],"filter":{"artist":{"id":"X-Service-Artist"}},"limit":1}}},
		{"type":"create_insert_permission","args":{"table":"album","role":"user","permission":{"columns":["title"],"check":{"title":{"_ne":"bad"}},"set":{"artist_id":"X-Service-Artist"}}}}
	]}`)
}

func TestOperationsRunFromTextToAnswer(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	admin := domain.Session{Role: domain.AdminRole}
	e.answers(admin, `{"artist":[{"name":"A","albums":[{"title":"a2","tracks_aggregate":{"aggregate":{"count":1}}}]}],"b":{"id":2}}`,
		`query ($n: String!, $l: Int = 1) { artist(where: {name: {_eq: $n}}) { name albums(order_by: {id: desc}, limit: $l) { title tracks_aggregate { aggregate { count } } } } b: artist_by_pk(id: 2) { id } }`, `{"n":"A"}`)
	e.answers(admin, `{"insert_artist":{"affected_rows":2,"returning":[{"id":500,"albums":[{"title":"t","artist":{"name":"new"}}]}]},"delete_track":{"affected_rows":1}}`,
		`mutation { insert_artist(objects: {name: "new", albums: {data: {title: "t"}}}) { affected_rows returning { id albums { title artist { name } } } } delete_track(where: {id: {_eq: 100}}) { affected_rows } }`, "")
	e.answers(admin, `{"update_album":{"returning":[{"title":"x"}]}}`, `mutation ($t: album_set_input) { update_album(where: {id: {_eq: 10}}, _set: $t) { returning { title } } }`, `{"t":{"title":"x"}}`)
}

func TestARoleSeesAndWritesWhatItMay(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	e.answers(user, `{"artist":[{"name":"A","albums":[{"title":"a1"}]}],"album":[{"id":10}]}`, `{ artist { name albums(order_by: {id: asc}) { title } } album(order_by: {id: asc}, limit: 7) { id } }`, "")
	e.answers(user, `{"insert_album_one":{"title":"mine"}}`, `mutation { insert_album_one(object: {title: "mine"}) { title } }`, "")
	_, err := e.ask(user, `mutation { insert_album(objects: [{title: "fine"}, {title: "bad"}]) { affected_rows } }`, "")
	require.Equal(t, domain.PermissionError, refusal(t, err).Code)
	require.Equal(t, "$.selectionSet.insert_album.args.objects", refusal(t, err).Path)
	_, err = e.ask(domain.Session{Role: "user"}, `{ album { id } }`, "")
	require.Equal(t, `missing session variables: "x-service-artist"`, refusal(t, err).Message)
	_, err = e.ask(user, `subscription { album { id } }`, "")
	require.Equal(t, domain.UnexpectedPayload, refusal(t, err).Code)
}

func TestAPlanIsKeptForAsLongAsTheMetadataStays(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	user := domain.Session{Role: "user", Variables: map[string]string{"x-service-artist": "1"}}
	const query = `query ($id: Int, $more: Boolean = false, $w: artist_bool_exp = {}) { artist(where: {_and: [{id: {_eq: $id}}, $w]}) { id name @include(if: $more) } }`
	for range 2 {
		e.answers(user, `{"artist":[{"id":1}]}`, query, `{"id":1}`)
		e.answers(user, `{"artist":[]}`, query, `{"id":2}`)
		e.answers(user, `{"artist":[{"id":1,"name":"A"}]}`, query, `{"id":1,"more":true}`)
		e.answers(user, `{"artist":[]}`, query, `{"id":1,"w":{"name":{"_eq":"B"}}}`)
	}
	e.Do(`{"type":"drop_select_permission","args":{"table":"artist","role":"user"}}`)
	_, err := e.ask(user, query, `{"id":1}`)
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code)
	e.Do(`{"type":"create_select_permission","args":{"table":"artist","role":"user","permission":{"columns":["id","name"],"filter":{}}}}`)
	e.answers(user, `{"artist":[{"id":2}]}`, query, `{"id":2}`)
	e.Do(`{"type":"run_sql","args":{"sql":"alter table artist alter id type bigint"}}`)
	_, err = e.ask(user, query, `{"id":2}`)
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code, "the variable's type is another now")
}

func BenchmarkByKey(b *testing.B) { benchmark(b, `{ artist_by_pk(id: 1) { id name } }`) }

func BenchmarkNested(b *testing.B) {
	benchmark(b, `{ album(order_by: {id: asc}, limit: 50) { id title artist { id name } tracks(order_by: {id: asc}) { id name ms } } }`)
}

func benchmark(b *testing.B, query string) {
	e := musicalEngine(b)
	e.Do(`{"type":"run_sql","args":{"sql":"insert into artist select i, 'artist ' || i from generate_series(1000, 2000) i; insert into album select i, 'album', 1000 + i % 1000 from generate_series(1000, 9000) i; insert into track select i, 'track', 1000 + i % 1000, i from generate_series(1000, 11000) i; create index on track (album_id); analyze"}}`)
	admin := domain.Session{Role: domain.AdminRole}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.ask(admin, query, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	e := musicalEngine(b)
	request := execution.Request{Session: domain.Session{Role: domain.AdminRole}, Query: plan.Request{
		Query: `query ($id: Int!) { artist(where: {id: {_eq: $id}}) { id name albums { id title tracks { id name } } } }`, Variables: wire.MustParse(`{"id":1}`)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.run.Prepare(request); err != nil {
			b.Fatal(err)
		}
	}
}
