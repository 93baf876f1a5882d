package execution_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
)

func named(function string, arguments ...plan.Argument) plan.Call {
	return plan.Call{Function: domain.QualifiedName{Schema: "public", Name: function}, Arguments: arguments}
}

func given1(v any, typeName string) plan.Argument {
	return plan.Argument{Value: pointer(literal(v)), Type: typeName, SQLType: typeName}
}

func TestRowsOfAFunctionAreSelectedLikeATables(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function search(part text, "from" int default 0) returns setof track stable language sql
		as $$ select * from track where name like '%' || part || '%' and ms >= "from" order by ms desc $$`)
	call := named("search", given1("t", "text"), plan.Argument{Name: "from", Value: pointer(literal(4)), Type: "int4", SQLType: "integer"})
	album := f.rows("album", f.of("album", "title")...)
	rows := f.rows("track", append(f.of("track", "id"), object("album", album, "album_id", "id"))...)
	rows.Source.Call = &call
	require.Equal(t, `{"s":[{"id":102,"album":{"title":"b1"}},{"id":100,"album":{"title":"a1"}},{"id":104,"album":{"title":"a1"}}]}`,
		f.query(root("s", rows)), "the function's own order is kept")
	rows.Order, rows.Limit, rows.Where = by("id"), pointer(literal(1)), f.compare("track", "id", "neq", 100)
	require.Equal(t, `{"s":[{"id":102,"album":{"title":"b1"}}]}`, f.query(root("s", rows)))
	a := f.summary(f.rows("track"))
	a.Rows.Source.Call = &call
	require.Equal(t, `{"s":{"aggregate":{"n":3,"sum":{"ms":18},"least":{"ms":4,"name":"t1"}},"nodes":[{"id":102},{"id":100},{"id":104}]}}`, f.query(root("s", a)))
}

func TestComputedFields(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function shout(a artist, suffix text) returns text stable language sql as $$ select upper(a.name) || suffix $$;
		create function who(a artist, session json) returns json stable language sql as $$ select json_build_object('r', session->>'x-hasura-role', 'i', session->>'x-service-id') $$;
		create function top(a artist, n int) returns setof album stable language sql as $$ select * from album where artist_id = a.id order by id desc limit n $$;
		create table plain (j json, n int); insert into plain values ('{}', 1), ('{}', 2), ('{}', 1);
		create function albums(p plain) returns setof album stable language sql as $$ select * from album where artist_id = p.n $$`)
	row := plan.Argument{Row: true}
	shout := plan.Field{Alias: "shout", Scalar: &plan.Scalar{Call: named("shout", row, given1("!", "text")), Type: "text", SQLType: "text"}}
	who := plan.Field{Alias: "who", Scalar: &plan.Scalar{Call: named("who", row, plan.Argument{Session: true, Type: "json", SQLType: "json"}), Type: "json", SQLType: "json", Path: []string{"r"}}}
	artist := f.rows("artist", f.of("artist", "name")...)
	top := f.rows("album", append(f.of("album", "id"), object("artist", artist, "artist_id", "id"))...)
	top.Source.Call = pointer(named("top", row, given1(2, "int4")))
	top.Order, top.Limit = by("id"), pointer(literal(1))
	artists := f.rows("artist", append(f.of("artist", "id"), shout, who, plan.Field{Alias: "top", Computed: top})...)
	artists.Limit = pointer(literal(2))
	want := `{"a":[{"id":1,"shout":"A!","who":"user","top":[{"id":10,"artist":{"name":"A"}}]},{"id":2,"shout":"B!","who":"user","top":[{"id":12,"artist":{"name":"B"}}]}]}`
	session := domain.Session{Role: "user", Variables: map[string]string{"x-service-id": "7"}}
	require.Equal(t, want, f.data(plan.Query, request{session: session}, root("a", artists)))

	f.look("artist", "album", "track", "plain")
	computed := f.rows("album", f.of("album", "id")...)
	computed.Source.Call = pointer(named("albums", row))
	rows := f.rows("plain", append(f.of("plain", "n"), plan.Field{Alias: "albums", Computed: computed})...)
	require.Equal(t, `{"p":[{"n":1,"albums":[{"id":10},{"id":11}]},{"n":2,"albums":[{"id":12}]},{"n":1,"albums":[{"id":10},{"id":11}]}]}`,
		f.query(root("p", rows)), "a table without a key, with a type that has no equality")
}

func TestRowsOfAFunctionOfARowComeInTheFunctionsOrder(t *testing.T) {
	t.Parallel()
	f := given(t, `create table owner (id int primary key); create table thing (id int primary key, owner int);
		insert into owner select generate_series(1, 2000); insert into thing select i, i / 2 from generate_series(2, 7) i;
		analyze owner; analyze thing; -- so that the things are what is hashed
		create function things(o owner) returns setof thing stable language sql as $$ select * from thing where owner = o.id $$`, "owner", "thing")
	things := f.rows("thing", f.of("thing", "id")...)
	things.Source.Call = pointer(named("things", plan.Argument{Row: true}))
	owners := f.rows("owner", append(f.of("owner", "id"), plan.Field{Alias: "things", Computed: things})...)
	owners.Order, owners.Limit = by("id"), pointer(literal(3))
	require.Equal(t, `{"o":[{"id":1,"things":[{"id":2},{"id":3}]},{"id":2,"things":[{"id":4},{"id":5}]},{"id":3,"things":[{"id":6},{"id":7}]}]}`, f.query(root("o", owners)))
	owners.Limit = nil
	require.Contains(t, f.query(root("o", owners)), `[{"id":1,"things":[{"id":2},{"id":3}]},{"id":2,"things":[{"id":4},{"id":5}]},{"id":3,"things":[{"id":6},{"id":7}]},{"id":4,"things":[]}`)
}

func TestAPartOfAJSONValue(t *testing.T) {
	t.Parallel()
	f := given(t, `create table doc (id int primary key, j jsonb, k json); insert into doc values (1, '{"a": [{"b": "x"}, null], "": 2}', '[[3]]'), (2, null, null)`, "doc")
	part := func(alias, column string, path ...string) plan.Field {
		return plan.Field{Alias: alias, Column: &plan.Column{Column: f.column("doc", column), Path: path}}
	}
	rows := f.rows("doc", part("b", "j", "a", "0", "b"), part("null", "j", "a", "1"), part("none", "j", "x"), part("empty", "j", ""), part("k", "k", "0"), part("all", "j"))
	require.Equal(t, `{"d":[{"b":"x","null":null,"none":null,"empty":2,"k":[3],"all":{"": 2, "a": [{"b": "x"}, null]}},`+
		`{"b":null,"null":null,"none":null,"empty":null,"k":null,"all":null}]}`, f.query(root("d", rows)))
}

func TestAFunctionThatChangesRowsIsCalledOnce(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function add(title text) returns setof album language sql as $$ insert into album values (20 + (select count(*) from album), title, 1) returning * $$`)
	tracks := f.rows("track", f.of("track", "id")...)
	artist := f.rows("artist", append(f.of("artist", "name"), list("albums", f.rows("album", f.of("album", "id")...), "id", "artist_id"))...)
	rows := f.rows("album", append(f.of("album", "id"), list("tracks", tracks, "id", "album_id"), object("artist", artist, "artist_id", "id"))...)
	rows.Source.Call = pointer(named("add", given1("new", "text")))
	require.Equal(t, `{"add":[{"id":24,"tracks":[],"artist":{"name":"A","albums":[{"id":10},{"id":11},{"id":24}]}}]}`, f.mutation(root("add", rows)))
	var n int
	require.NoError(t, f.pool.QueryRow(t.Context(), `select count(*) from album`).Scan(&n))
	require.Equal(t, 5, n)
}

func TestArgumentsAreReadAsTheirTypes(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function pick(j jsonb, ids int[]) returns setof track stable language sql as $$ select * from track where id = any(ids) and j->>'s' = 'x' $$`)
	rows := f.rows("track", f.of("track", "id")...)
	rows.Source.Call = pointer(named("pick", given1(json.RawMessage(`{"s":"x"}`), "jsonb"),
		plan.Argument{Value: pointer(literal("{100,102}")), Type: "_int4", SQLType: "integer[]"}))
	require.Equal(t, `{"t":[{"id":100},{"id":102}]}`, f.query(root("t", rows)))
}
