package execution_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/handlers/execution"

	"annals/domain/engine/translate"
)

const music = `
	create table artist (id int primary key, name text not null);
	create table album (id int primary key, title text, artist_id int references artist);
	create table track (id int primary key, name text, album_id int references album, ms int);
	insert into artist values (1, 'A'), (2, 'B'), (3, 'C');
	insert into album values (10, 'a1', 1), (11, 'a2', 1), (12, 'b1', 2), (13, null, null);
	insert into track values (100, 't1', 10, 5), (101, 't2', 10, 3), (102, 't3', 12, 9), (103, 't4', 11, 1), (104, 't5', 10, 4);`

func musical(t *testing.T) *fixture { return given(t, music, "artist", "album", "track") }

func TestThreeLevelsNest(t *testing.T) {
	t.Parallel()
	f := musical(t)
	tracks := f.rows("track", f.of("track", "id", "name")...)
	albums := f.rows("album", append(f.of("album", "title"), list("tracks", tracks, "id", "album_id"))...)
	artists := f.rows("artist", append(f.of("artist", "name"), list("albums", albums, "id", "artist_id"))...)
	require.Equal(t, `{"artist":[`+
		`{"name":"A","albums":[{"title":"a1","tracks":[{"id":100,"name":"t1"},{"id":101,"name":"t2"},{"id":104,"name":"t5"}]},{"title":"a2","tracks":[{"id":103,"name":"t4"}]}]},`+
		`{"name":"B","albums":[{"title":"b1","tracks":[{"id":102,"name":"t3"}]}]},{"name":"C","albums":[]}]}`,
		f.query(root("artist", artists)))
}

func TestObjectsAreJoinedOrNull(t *testing.T) {
	t.Parallel()
	f := musical(t)
	for _, order := range [][]plan.Order{nil, by("id")} {
		artist := f.rows("artist", f.of("artist", "name", "id")...)
		album := f.rows("album", append(f.of("album", "id"), object("artist", artist, "artist_id", "id"))...)
		tracks := f.rows("track", append(f.of("track", "id"), object("album", album, "album_id", "id"))...)
		tracks.Order = order
		tracks.Limit = pointer(literal(2))
		require.Equal(t, `{"track":[{"id":100,"album":{"id":10,"artist":{"name":"A","id":1}}},{"id":101,"album":{"id":10,"artist":{"name":"A","id":1}}}]}`,
			f.query(root("track", tracks)))
	}
	artist := f.rows("artist", f.of("artist", "name")...)
	artist.Where = f.compare("artist", "name", "neq", "A")
	albums := f.rows("album", append(f.of("album", "id"), object("artist", artist, "artist_id", "id"))...)
	require.Equal(t, `{"album":[{"id":10,"artist":null},{"id":11,"artist":null},{"id":12,"artist":{"name":"B"}},{"id":13,"artist":null}]}`,
		f.query(root("album", albums)), "an object that the role may not see is null")
}

func TestAListUnderAnObjectIsThatObjectsOwn(t *testing.T) {
	t.Parallel()
	f := musical(t)
	albums := f.rows("album", f.of("album", "id")...)
	artist := f.rows("artist", append(f.of("artist", "name"), list("albums", albums, "id", "artist_id"))...)
	all := f.rows("album", append(f.of("album", "id"), object("artist", artist, "artist_id", "id"))...)
	all.Order = []plan.Order{{Column: "id", Descending: true, NullsFirst: true}}
	all.Limit = pointer(literal(3))
	require.Equal(t, `{"album":[{"id":13,"artist":null},{"id":12,"artist":{"name":"B","albums":[{"id":12}]}},{"id":11,"artist":{"name":"A","albums":[{"id":10},{"id":11}]}}]}`,
		f.query(root("album", all)))
}

func TestALimitInAListIsForEachRowAround(t *testing.T) {
	t.Parallel()
	f := musical(t)
	tracks := f.rows("track", f.of("track", "id")...)
	tracks.Order, tracks.Limit, tracks.Offset = []plan.Order{{Column: "ms"}}, pointer(literal(2)), pointer(literal(1))
	albums := f.rows("album", append(f.of("album", "id"), list("tracks", tracks, "id", "album_id"))...)
	albums.Order, albums.Limit = by("id"), pointer(literal(1))
	artists := f.rows("artist", append(f.of("artist", "id"), list("albums", albums, "id", "artist_id"))...)
	require.Equal(t, `{"artist":[{"id":1,"albums":[{"id":10,"tracks":[{"id":104},{"id":100}]}]},{"id":2,"albums":[{"id":12,"tracks":[]}]},{"id":3,"albums":[]}]}`,
		f.query(root("artist", artists)))
}

func TestTheSmallerLimitCounts(t *testing.T) {
	t.Parallel()
	f := musical(t)
	for limit, want := range map[any]string{1: `[{"id":1}]`, 5: `[{"id":1},{"id":2}]`, nil: `[{"id":1},{"id":2}]`} {
		artists := f.rows("artist", f.of("artist", "id")...)
		artists.Limit, artists.MaxRows = pointer(literal(limit)), pointer(2)
		require.Equal(t, `{"artist":`+want+`}`, f.query(root("artist", artists)), "limit %v", limit)
	}
}

func TestDistinctKeepsTheFirst(t *testing.T) {
	t.Parallel()
	f := musical(t)
	tracks := f.rows("track", f.of("track", "album_id", "id")...)
	tracks.Distinct, tracks.Order = []string{"album_id"}, by("album_id", "ms")
	require.Equal(t, `{"track":[{"album_id":10,"id":101},{"album_id":11,"id":103},{"album_id":12,"id":102}]}`, f.query(root("track", tracks)))
}

func TestOrdersFollowRelationships(t *testing.T) {
	t.Parallel()
	f := musical(t)
	tracks := f.rows("track", f.of("track", "id")...)
	toAlbum := plan.Hop{Table: f.tables["album"], On: pairs([]string{"album_id", "id"})}
	toArtist := plan.Hop{Table: f.tables["artist"], On: pairs([]string{"artist_id", "id"})}
	tracks.Order = []plan.Order{{Via: []plan.Hop{toAlbum, toArtist}, Column: "name", Descending: true}, {Column: "id"}}
	require.Equal(t, `{"track":[{"id":102},{"id":100},{"id":101},{"id":103},{"id":104}]}`, f.query(root("track", tracks)))

	albums := f.rows("album", f.of("album", "id")...)
	toTracks := plan.Hop{Table: f.tables["track"], On: pairs([]string{"id", "album_id"}), Where: f.compare("track", "ms", "lt", 9)}
	albums.Order = []plan.Order{{Via: []plan.Hop{toTracks}, Aggregate: &plan.OrderAggregate{Function: "count"}, Descending: true}, {Column: "id"}}
	require.Equal(t, `{"album":[{"id":10},{"id":11},{"id":12},{"id":13}]}`, f.query(root("album", albums)), "rows the role may not see do not count")
	albums.Order[0].Aggregate = &plan.OrderAggregate{Function: "max", Column: "ms"}
	require.Equal(t, `{"album":[{"id":10},{"id":11},{"id":12},{"id":13}]}`, f.query(root("album", albums)))
}

func TestEverythingInOneAnswer(t *testing.T) {
	t.Parallel()
	f := musical(t)
	one := f.rows("artist", append(f.of("artist", "name"), plan.Field{Alias: "__typename", Typename: "artist"})...)
	one.Single, one.Where = true, f.compare("artist", "id", "eq", 2)
	none := f.rows("artist", f.of("artist", "name")...)
	none.Single, none.Where = true, f.compare("artist", "id", "eq", 9)
	require.Equal(t, `{"b":{"name":"B","__typename":"artist"},"none":null,"type":"query_root","twice":[{"x":1,"y":1},{"x":2,"y":2},{"x":3,"y":3}]}`,
		f.query(root("b", one), root("none", none), root("type", plan.Constant(`"query_root"`)),
			root("twice", f.rows("artist", plan.Field{Alias: "x", Column: &plan.Column{Column: f.column("artist", "id")}},
				plan.Field{Alias: "y", Column: &plan.Column{Column: f.column("artist", "id")}}))))
	require.Equal(t, `{}`, f.query(), "a query whose fields are all skipped")
}

func TestKeysWithEqualValuesAndDifferentTexts(t *testing.T) {
	t.Parallel()
	f := given(t, `create table price (id int primary key, amount numeric);
		create table tag (name text, amount numeric);
		insert into price values (1, 1.0), (2, 1.00), (3, null), (4, 2);
		insert into tag values ('one', 1), ('uno', 1.000), ('none', null)`, "price", "tag")
	tags := f.rows("tag", f.of("tag", "name")...)
	prices := f.rows("price", append(f.of("price", "amount"), list("tags", tags, "amount", "amount"))...)
	require.Equal(t, `{"price":[{"amount":1.0,"tags":[{"name":"one"},{"name":"uno"}]},{"amount":1.00,"tags":[{"name":"one"},{"name":"uno"}]},`+
		`{"amount":null,"tags":[]},{"amount":2,"tags":[]}]}`, f.query(root("price", prices)))
}

func TestKeysOfSeveralColumns(t *testing.T) {
	t.Parallel()
	f := given(t, `create table "a b" (x text, y int, z int); create table child (x text, y int, n int);
		insert into "a b" values ('1', 12, 1), ('11', 2, 2), ('1', null, 3), ('1', 12, 4);
		insert into child values ('1', 12, 5), ('11', 2, 6), ('1', null, 7)`, "a b", "child")
	children := f.rows("child", f.of("child", "n")...)
	rows := f.rows("a b", append(f.of("a b", "z"), list("c", children, "x", "x", "y", "y"))...)
	require.Equal(t, `{"r":[{"z":1,"c":[{"n":5}]},{"z":2,"c":[{"n":6}]},{"z":3,"c":[]},{"z":4,"c":[{"n":5}]}]}`, f.query(root("r", rows)),
		"rows without a primary key, twice with the same key")
}

const typed = `
	create type mood as enum ('sad', 'ok');
	create type "Pair" as (a int, b text);
	create domain small as int check (value < 100);
	create table typed (
		c_int2 int2, c_int4 int4, c_int8 int8, c_float4 float4, c_float8 float8, c_numeric numeric(12,3), c_money money, c_bool bool,
		c_char char(5), c_varchar varchar(10), c_text text, c_uuid uuid, c_date date, c_time time, c_timetz timetz, c_timestamp timestamp,
		c_timestamptz timestamptz, c_interval interval, c_json json, c_jsonb jsonb, c_bytea bytea, c_inet inet, c_point point, c_circle circle,
		c_range int4range, c_array int[], c_texts text[], c_mood mood, c_pair "Pair", c_small small, c_bit bit(3), c_xml xml);`

func TestEveryTypeIsSpelledAsClientsKnowIt(t *testing.T) {
	t.Parallel()
	for _, stringify := range []bool{false, true} {
		f := givenWith(t, execution.Config{Options: translate.Options{Stringify: stringify}}, typed+`
			set timezone to 'UTC';
			insert into typed values (1, -2, 9007199254740993, 0.00390625, 1e30, 12.340, 123.45, true, 'ab', 'v"\', E'l1\nl2\t\x01', 'b5b1a6f6-9e05-4b13-8b6e-2a3b5a6f3c11',
			'2014-09-14', '11:09:23', '15:22:23+00', '2004-10-19 10:23:54', '2015-10-17 14:42:43+00', '1:03:02', '{"a" : [1,  2]}', '{"b": null}', '\x00ff', '10.0.0.1', '(1,2)', '<(-2,-3),3>',
			'[1,5)', '{1,null,3}', '{a,"b c"}', 'ok', row(1, 'x"y'), 99, '101', '<a/>');
			insert into typed default values;
			insert into typed (c_float4, c_float8, c_numeric) values ('nan', '-infinity', 'nan')`, "typed")
		f.exec(`alter database "` + f.pool.Config().ConnConfig.Database + `" set timezone to 'UTC'`)
		f.pool.Reset()
		all := f.tables["typed"]
		var names []string
		for _, c := range all.Columns {
			names = append(names, c.Name)
		}
		text := f.query(root("typed", f.rows("typed", f.of("typed", names...)...)))
		var answer struct{ Typed []map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		q := func(number string) string {
			if stringify {
				return `"` + number + `"`
			}
			return number
		}
		want := map[string]string{
			"c_int2": `1`, "c_int4": `-2`, "c_int8": q(`9007199254740993`), "c_float4": `0.00390625`, "c_float8": q(`1e+30`), "c_numeric": q(`12.340`),
			"c_money": `"$123.45"`, "c_bool": `true`, "c_char": `"ab   "`, "c_varchar": `"v\"\\"`, "c_text": `"l1\nl2\t\u0001"`,
			"c_uuid": `"b5b1a6f6-9e05-4b13-8b6e-2a3b5a6f3c11"`, "c_date": `"2014-09-14"`, "c_time": `"11:09:23"`, "c_timetz": `"15:22:23+00"`,
			"c_timestamp": `"2004-10-19T10:23:54"`, "c_timestamptz": `"2015-10-17T14:42:43+00:00"`, "c_interval": `"01:03:02"`, "c_json": `{"a" : [1,  2]}`,
			"c_jsonb": `{"b": null}`, "c_bytea": `"\\x00ff"`, "c_inet": `"10.0.0.1"`, "c_point": `"(1,2)"`, "c_circle": `"<(-2,-3),3>"`, "c_range": `"[1,5)"`,
			"c_array": `[1,null,3]`, "c_texts": `["a","b c"]`, "c_mood": `"ok"`, "c_pair": `{"a":1,"b":"x\"y"}`, "c_small": `99`, "c_bit": `"101"`, "c_xml": `"<a/>"`,
		}
		for _, name := range names {
			require.Equal(t, want[name], string(answer.Typed[0][name]), name)
			require.Equal(t, `null`, string(answer.Typed[1][name]), name)
		}
		require.Equal(t, `"NaN"`, string(answer.Typed[2]["c_float4"]))
		require.Equal(t, `"-Infinity"`, string(answer.Typed[2]["c_float8"]))
		require.Equal(t, `"NaN"`, string(answer.Typed[2]["c_numeric"]))
	}
}

func TestHostileNamesAndValuesAreNamesAndValues(t *testing.T) {
	t.Parallel()
	f := given(t, `create table "x""; drop table y; --" ("a""b" text, "$1" int, "t1" text, "semi;colon\" text);
		insert into "x""; drop table y; --" values ('''; drop table y; --', 1, '{"}', '\')`, `x"; drop table y; --`)
	const table = `x"; drop table y; --`
	rows := f.rows(table, f.of(table, `a"b`, "$1", "t1", `semi;colon\`)...)
	rows.Selection[0].Alias = `quo"te`
	rows.Where = plan.All{
		f.compare(table, `a"b`, "eq", "'; drop table y; --"), f.compare(table, "t1", "in", []string{`{"}`, `a,b`, `\`, "null"}),
		f.compare(table, `semi;colon\`, "nin", []string{`"`, "NULL"}),
	}
	rows.Order = by(`a"b`)
	require.Equal(t, `{"r":[{"quo\"te":"'; drop table y; --","$1":1,"t1":"{\"}","semi;colon\\":"\\"}]}`, f.query(root("r", rows)))
}

func TestValuesAreReadAsTheColumnsType(t *testing.T) {
	t.Parallel()
	f := given(t, typed+`insert into typed (c_int4, c_int8, c_char, c_varchar, c_mood, c_jsonb, c_texts, c_small, c_bit, c_timestamptz, c_numeric)
		values (7, 8, 'ab', 'abc', 'sad', '{"k": [1, "two"], "l": "x"}', '{a,b}', 5, '110', '2020-01-01 00:00+00', 1.5)`, "typed")
	for name, c := range map[string]plan.Condition{
		"int4":          f.compare("typed", "c_int4", "eq", 7),
		"exponent":      plan.Compare{Column: f.column("typed", "c_int8"), Operator: "eq", Value: plan.Value{Literal: json.RawMessage(`0.8e1`)}},
		"text as int8":  f.compare("typed", "c_int8", "in", []any{"8", 9}),
		"char":          f.compare("typed", "c_char", "eq", "ab"),
		"enum":          f.compare("typed", "c_mood", "in", []string{"sad"}),
		"domain":        f.compare("typed", "c_small", "lt", 1000),
		"bit":           f.compare("typed", "c_bit", "eq", "110"),
		"timestamptz":   f.compare("typed", "c_timestamptz", "lte", "2020-01-01T00:00:00Z"),
		"array":         f.compare("typed", "c_texts", "eq", "{a,b}"),
		"contains":      f.compare("typed", "c_jsonb", "contains", map[string]any{"k": []any{"two"}}),
		"contained_in":  plan.Not{Of: f.compare("typed", "c_jsonb", "contained_in", map[string]any{"k": 1})},
		"has_key":       f.compare("typed", "c_jsonb", "has_key", "k"),
		"has_keys_any":  f.compare("typed", "c_jsonb", "has_keys_any", []string{"k", "?"}),
		"has_keys_all":  f.compare("typed", "c_jsonb", "has_keys_all", []string{"k", "l"}),
		"like":          f.compare("typed", "c_varchar", "like", "a_%"),
		"ilike":         f.compare("typed", "c_varchar", "ilike", "AB%"),
		"nsimilar":      f.compare("typed", "c_varchar", "nsimilar", "(x|y)%"),
		"long varchar":  plan.Not{Of: f.compare("typed", "c_varchar", "eq", "abcdefghijklmnop")},
		"nin of none":   f.compare("typed", "c_uuid", "nin", []string{}),
		"null":          plan.IsNull{Column: f.column("typed", "c_uuid"), Value: literal(true)},
		"not null":      plan.IsNull{Column: f.column("typed", "c_int4"), Value: literal(false)},
		"null safe":     plan.Compare{Column: f.column("typed", "c_uuid"), Operator: "eq", Value: literal(nil), NullSafe: true},
		"columns":       plan.CompareColumns{Left: f.column("typed", "c_int4"), Right: f.column("typed", "c_int8"), Operator: "lt"},
		"any":           plan.Any{plan.Never{}, plan.All{}},
		"cast":          plan.Compare{Column: f.column("typed", "c_int4"), CastTo: "text", Operator: "eq", Value: literal("7")},
		"none of never": plan.Not{Of: plan.Any{}},
	} {
		rows := f.rows("typed", f.of("typed", "c_int4")...)
		rows.Where = c
		require.Equal(t, `{"typed":[{"c_int4":7}]}`, f.query(root("typed", rows)), name)
	}
}

func TestRowsWithRelatedRowsExist(t *testing.T) {
	t.Parallel()
	f := musical(t)
	albums := f.rows("album", f.of("album", "id")...)
	albums.Where = plan.Exists{Table: f.tables["track"], On: pairs([]string{"id", "album_id"}), Where: f.compare("track", "ms", "gt", 4)}
	require.Equal(t, `{"album":[{"id":10},{"id":12}]}`, f.query(root("album", albums)))
	albums.Where = plan.Exists{Table: f.tables["track"], Where: f.compare("track", "ms", "gt", 40)}
	require.Equal(t, `{"album":[]}`, f.query(root("album", albums)))
}

func TestTheSessionAndVariablesAreBoundForEachRequest(t *testing.T) {
	t.Parallel()
	f := musical(t)
	artists := f.rows("artist", f.of("artist", "id")...)
	artists.Where = plan.All{
		plan.Compare{Column: f.column("artist", "id"), Operator: "in", Value: plan.Value{Session: "x-service-ids"}, NullSafe: true},
		plan.Compare{Column: f.column("artist", "name"), Operator: "neq", Value: plan.Value{Variable: "n", Default: json.RawMessage(`"B"`)}},
	}
	ids := domain.Session{Role: "user", Variables: map[string]string{"x-service-ids": "{1,2}"}}
	require.Equal(t, `{"a":[{"id":1}]}`, f.data(plan.Query, request{session: ids}, root("a", artists)))
	require.Equal(t, `{"a":[{"id":2}]}`, f.data(plan.Query, request{ids, map[string]json.RawMessage{"n": json.RawMessage(`"A"`)}}, root("a", artists)))

	ids.Variables["x-service-ids"] = "{1,two}"
	_, err := f.answer(plan.Query, request{session: ids}, root("a", artists))
	require.Equal(t, domain.DataException, refusal(t, err).Code)
	require.Equal(t, "$", refusal(t, err).Path)
}

func TestMissingSessionVariablesAreNamedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	f := musical(t)
	op := &plan.Operation{Kind: plan.Query, Session: []string{"x-service-a", "x-service-role", "x-service-z"}}
	_, err := f.run.RunPlan(t.Context(), execution.Operation{Plan: op, Session: domain.Session{Role: "user"}})
	require.Equal(t, domain.NotFound, refusal(t, err).Code)
	require.Equal(t, `missing session variables: "x-service-a", "x-service-z"`, refusal(t, err).Message)
}

func TestStatementsOutliveAChangeOfTheirTables(t *testing.T) {
	t.Parallel()
	f := musical(t)
	before := f.query(root("a", f.rows("artist", append(f.of("artist", "id"), list("l", f.rows("album", f.of("album", "title")...), "id", "artist_id"))...)))
	f.exec(`alter table album alter title type varchar(50); alter table artist alter id type bigint`)
	after := f.query(root("a", f.rows("artist", append(f.of("artist", "id"), list("l", f.rows("album", f.of("album", "title")...), "id", "artist_id"))...)))
	require.Equal(t, before, after)
}

func TestAFailedStatementLeavesNoTransactionBehind(t *testing.T) {
	t.Parallel()
	f := musical(t)
	bad := f.rows("artist", append(f.of("artist", "id"), list("l", f.rows("album", f.of("album", "id")...), "id", "artist_id"))...)
	bad.Where = f.compare("artist", "id", "eq", "no number")
	for range 3 {
		_, err := f.answer(plan.Query, request{}, root("a", bad))
		require.Equal(t, domain.DataException, refusal(t, err).Code)
		require.Equal(t, `invalid input syntax for type integer: "no number"`, refusal(t, err).Message)
		require.Nil(t, refusal(t, err).Internal, "the message says it all")
	}
	require.Equal(t, `{"a":[{"id":1},{"id":2},{"id":3}]}`, f.query(root("a", f.rows("artist", f.of("artist", "id")...))))
	require.LessOrEqual(t, f.pool.Stat().NewConnsCount(), int64(2), "connections are used again")
}
