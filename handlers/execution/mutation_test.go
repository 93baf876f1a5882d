package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/handlers/execution"
)

func (f *fixture) set(table, column string, v any) plan.Assignment {
	return plan.Assignment{Column: f.column(table, column), Value: literal(v)}
}

func (f *fixture) insertInto(table string, answer plan.MutationAnswer, objects ...plan.Object) *plan.Insert {
	return &plan.Insert{Table: f.tables[table], Objects: objects, Answer: answer}
}

func values(columns ...plan.Assignment) plan.Object { return plan.Object{Columns: columns} }

// response is affected_rows, and returning with some fields.
func response(fields ...plan.Field) plan.MutationAnswer {
	return plan.MutationAnswer{Fields: []plan.MutationField{
		{Alias: "affected_rows", AffectedRows: true}, {Alias: "returning", IsReturning: true, Returning: fields},
	}}
}

func (f *fixture) rowsIn(sql string) (n int) {
	f.t.Helper()
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `select count(*) from `+sql).Scan(&n))
	return n
}

func TestInsertFillsInDefaults(t *testing.T) {
	t.Parallel()
	f := given(t, `create table item (id int generated always as identity primary key, name text default 'none', n int default 7, twice int generated always as (n * 2) stored)`, "item")
	got := f.mutation(root("insert_item", f.insertInto("item", response(f.of("item", "id", "name", "n", "twice")...),
		values(f.set("item", "name", "a")), values(f.set("item", "n", 1), f.set("item", "name", nil)), values())),
		root("more", f.insertInto("item", response(f.of("item", "id")...), values(), values())))
	require.Equal(t, `{"insert_item":{"affected_rows":3,"returning":[{"id":1,"name":"a","n":7,"twice":14},{"id":2,"name":null,"n":1,"twice":2},{"id":3,"name":"none","n":7,"twice":14}]},`+
		`"more":{"affected_rows":2,"returning":[{"id":4},{"id":5}]}}`, got)
	require.Equal(t, `{"none":{"affected_rows":0,"returning":[]}}`, f.mutation(root("none", f.insertInto("item", response(f.of("item", "id")...)))))
	one := f.insertInto("item", plan.MutationAnswer{Row: f.of("item", "id")}, values())
	one.One = true
	require.Equal(t, `{"one":{"id":6}}`, f.mutation(root("one", one)))
}

func TestNestedInsertsGoFromTheInsideOut(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create sequence ids start 500; alter table artist alter id set default nextval('ids'); alter table album alter id set default nextval('ids'); alter table track alter id set default nextval('ids')`)
	artist := f.insertInto("artist", plan.MutationAnswer{}, values(f.set("artist", "name", "new")))
	artist.One = true
	tracks := f.insertInto("track", plan.MutationAnswer{}, values(f.set("track", "name", "x")), values(f.set("track", "name", "y")))
	album := values(f.set("album", "title", "t"))
	album.Before = []plan.NestedInsert{{Relationship: "artist", On: pairs([]string{"artist_id", "id"}), Insert: artist}}
	album.After = []plan.NestedInsert{{Relationship: "tracks", On: pairs([]string{"id", "album_id"}), Insert: tracks}}
	plain := values(f.set("album", "title", "alone"))
	returned := append(f.of("album", "title"), object("artist", f.rows("artist", f.of("artist", "name")...), "artist_id", "id"),
		list("tracks", f.rows("track", f.of("track", "name")...), "id", "album_id"))
	require.Equal(t, `{"insert_album":{"affected_rows":5,"returning":[{"title":"t","artist":{"name":"new"},"tracks":[{"name":"x"},{"name":"y"}]},{"title":"alone","artist":null,"tracks":[]}]}}`,
		f.mutation(root("insert_album", f.insertInto("album", response(returned...), album, plain))))
}

func TestAFailureUndoesTheWholeMutation(t *testing.T) {
	t.Parallel()
	f := musical(t)
	fine := f.insertInto("artist", response(), values(f.set("artist", "id", 9), f.set("artist", "name", "x")))
	bad := f.insertInto("artist", response(), values(f.set("artist", "id", 1), f.set("artist", "name", "x")))
	_, err := f.answer(plan.Mutation, request{}, root("insert_artist", fine), plan.Root{Alias: "again", Field: "insert_artist", Step: bad})
	require.Equal(t, domain.ConstraintViolation, refusal(t, err).Code)
	require.Equal(t, `Uniqueness violation. duplicate key value violates unique constraint "artist_pkey"`, refusal(t, err).Message)
	require.Equal(t, `$.selectionSet.insert_artist.args.objects`, refusal(t, err).Path)
	require.Equal(t, 3, f.rowsIn("artist"))
	require.Equal(t, `{"insert_artist":{"affected_rows":1,"returning":[{}]}}`, f.mutation(root("insert_artist", fine)), "the connection is fit for use")
}

func TestEveryNewRowIsChecked(t *testing.T) {
	t.Parallel()
	f := musical(t)
	in := f.insertInto("track", response(), values(f.set("track", "id", 1), f.set("track", "ms", 5)), values(f.set("track", "id", 2)))
	in.Check = f.compare("track", "ms", "gt", 4)
	_, err := f.answer(plan.Mutation, request{}, root("insert_track", in))
	require.Equal(t, &domain.Error{Code: domain.PermissionError, Path: "$.selectionSet.insert_track.args.objects", Message: "check constraint of an insert/update permission has failed"}, refusal(t, err),
		"a condition that is unknown is not met")
	require.Equal(t, 5, f.rowsIn("track"))

	up := &plan.Update{Table: f.tables["track"], Set: []plan.UpdateColumn{{Column: f.column("track", "ms"), Operator: "set", Value: literal(1)}}, Answer: response()}
	up.Check = f.compare("track", "ms", "gt", 4)
	_, err = f.answer(plan.Mutation, request{}, root("update_track", up))
	require.Equal(t, "$", refusal(t, err).Path)
	require.Equal(t, domain.PermissionError, refusal(t, err).Code)
	require.Equal(t, 1, f.rowsIn("track where ms = 1"))
}

func TestConflictsUpdateOrSkip(t *testing.T) {
	t.Parallel()
	f := musical(t)
	objects := []plan.Object{values(f.set("artist", "id", 1), f.set("artist", "name", "new")), values(f.set("artist", "id", 4), f.set("artist", "name", "D"))}
	upsert := f.insertInto("artist", response(f.of("artist", "id", "name")...), objects...)
	upsert.Conflict = &plan.Conflict{Constraint: "artist_pkey"}
	require.Equal(t, `{"i":{"affected_rows":1,"returning":[{"id":4,"name":"D"}]}}`, f.mutation(root("i", upsert)))

	upsert.Conflict = &plan.Conflict{Constraint: "artist_pkey", Update: []string{"name"}, Where: f.compare("artist", "name", "neq", "D")}
	require.Equal(t, `{"i":{"affected_rows":1,"returning":[{"id":1,"name":"new"}]}}`, f.mutation(root("i", upsert)))

	upsert.Conflict = &plan.Conflict{Constraint: "artist_pkey", Update: []string{"name"}, Set: []plan.Assignment{f.set("artist", "name", "preset")}}
	require.Equal(t, `{"i":{"affected_rows":2,"returning":[{"id":1,"name":"preset"},{"id":4,"name":"preset"}]}}`, f.mutation(root("i", upsert)))

	upsert.Check, upsert.Conflict.Check = f.compare("artist", "id", "gt", 1), f.compare("artist", "name", "eq", "preset")
	require.Equal(t, `{"i":{"affected_rows":2,"returning":[{"id":1,"name":"preset"},{"id":4,"name":"preset"}]}}`, f.mutation(root("i", upsert)),
		"an updated row meets the update's condition, not the insert's")

	upsert.Conflict = &plan.Conflict{Constraint: "no_such"}
	_, err := f.answer(plan.Mutation, request{}, root("i", upsert))
	require.Equal(t, domain.Code("constraint-error"), refusal(t, err).Code)

	skipped := f.insertInto("artist", plan.MutationAnswer{Row: f.of("artist", "id")}, objects[0])
	skipped.One, skipped.Conflict = true, &plan.Conflict{Constraint: "artist_pkey"}
	require.Equal(t, `{"i":null}`, f.mutation(root("i", skipped)))
}

func TestNothingBelongsToARowThatWasLeftOut(t *testing.T) {
	t.Parallel()
	f := musical(t)
	o := values(f.set("artist", "id", 1), f.set("artist", "name", "x"))
	o.After = []plan.NestedInsert{{Relationship: "albums", On: pairs([]string{"id", "artist_id"}), Insert: f.insertInto("album", plan.MutationAnswer{}, values(f.set("album", "id", 50)))}}
	in := f.insertInto("artist", response(), o)
	in.Conflict = &plan.Conflict{Constraint: "artist_pkey"}
	_, err := f.answer(plan.Mutation, request{}, root("insert_artist", in))
	require.Equal(t, `cannot proceed to insert array relations since insert to table "artist" affects zero rows`, refusal(t, err).Message)
	require.Equal(t, domain.NotSupported, refusal(t, err).Code)
}

func TestManyRowsAreInsertedInSeveralStatements(t *testing.T) {
	t.Parallel()
	f := musical(t)
	objects := make([]plan.Object, 40000)
	for i := range objects {
		objects[i] = values(f.set("artist", "id", i+10), f.set("artist", "name", "x"))
	}
	in := f.insertInto("artist", plan.MutationAnswer{Fields: []plan.MutationField{{Alias: "n", AffectedRows: true}}}, objects...)
	require.Equal(t, `{"i":{"n":40000}}`, f.mutation(root("i", in)))
}

func TestUpdateHasAnOperatorForEachKindOfChange(t *testing.T) {
	t.Parallel()
	f := given(t, `create table p (id int primary key, n int, big numeric, j jsonb, name varchar(3));
		insert into p values (1, 1, 1.5, '{"a": [1, 2, 3], "b": 1}', 'x'), (2, 2, 2, '[1, 2]', 'y')`, "p")
	update := func(id int, column, operator string, v any) string {
		up := &plan.Update{Table: f.tables["p"], Where: f.compare("p", "id", "eq", id), Answer: response(f.of("p", column)...)}
		up.Set = []plan.UpdateColumn{{Column: f.column("p", column), Operator: operator, Value: literal(v)}}
		return f.mutation(root("u", up))
	}
	answer := func(row string) string { return `{"u":{"affected_rows":1,"returning":[` + row + `]}}` }
	require.Equal(t, answer(`{"n":5}`), update(1, "n", "inc", 4))
	require.Equal(t, answer(`{"big":1.25}`), update(1, "big", "inc", -0.25))
	require.Equal(t, answer(`{"j":[0, 1, 2]}`), update(2, "j", "prepend", []int{0}))
	require.Equal(t, answer(`{"j":[0, 1, 2, "z"]}`), update(2, "j", "append", "z"))
	require.Equal(t, answer(`{"j":[0, 1, 2]}`), update(2, "j", "delete_elem", -1))
	require.Equal(t, answer(`{"j":{"a": [1, 2, 3]}}`), update(1, "j", "delete_key", "b"))
	require.Equal(t, answer(`{"j":{"a": [1, 3]}}`), update(1, "j", "delete_at_path", []string{"a", "1"}))
	require.Equal(t, answer(`{"j":"text"}`), update(1, "j", "set", "text"))
	require.Equal(t, answer(`{"name":null}`), update(1, "name", "set", nil))

	long := &plan.Update{Table: f.tables["p"], Answer: response(), Set: []plan.UpdateColumn{{Column: f.column("p", "name"), Operator: "set", Value: literal("long")}}}
	_, err := f.answer(plan.Mutation, request{}, root("u", long))
	require.Equal(t, `value too long for type character varying(3)`, refusal(t, err).Message, "a value is never cut")
}

func TestUpdatesAnswerTheRowsAsTheyAreNow(t *testing.T) {
	t.Parallel()
	f := musical(t)
	artist := f.rows("artist", append(f.of("artist", "name"), list("albums", f.rows("album", f.of("album", "id")...), "id", "artist_id"))...)
	up := &plan.Update{Table: f.tables["album"], Where: f.compare("album", "id", "eq", 12), ByKey: true}
	up.Set = []plan.UpdateColumn{{Column: f.column("album", "artist_id"), Operator: "set", Value: literal(3)}}
	up.Answer.Row = append(f.of("album", "title"), object("artist", artist, "artist_id", "id"))
	require.Equal(t, `{"u":{"title":"b1","artist":{"name":"C","albums":[{"id":12}]}}}`, f.mutation(root("u", up)))
	up.Where = f.compare("album", "id", "eq", 99)
	require.Equal(t, `{"u":null}`, f.mutation(root("u", up)))
	up.Where, up.Set = nil, nil
	require.Equal(t, `{"u":null}`, f.mutation(root("u", up)), "nothing to set")
}

func TestDeletesAnswerWhatTheRowsHad(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`alter table track drop constraint track_album_id_fkey; alter table track add foreign key (album_id) references album on delete cascade`)
	d := &plan.Delete{Table: f.tables["album"], Where: f.compare("album", "id", "gte", 11)}
	d.Answer = response(append(f.of("album", "id"), list("tracks", f.rows("track", f.of("track", "id")...), "id", "album_id"))...)
	require.Equal(t, `{"d":{"affected_rows":3,"returning":[{"id":11,"tracks":[{"id":103}]},{"id":12,"tracks":[{"id":102}]},{"id":13,"tracks":[]}]}}`,
		f.mutation(root("d", d)), "also what went with them")
	require.Equal(t, 3, f.rowsIn("track"))

	byKey := &plan.Delete{Table: f.tables["artist"], Where: f.compare("artist", "id", "eq", 1), ByKey: true, Answer: plan.MutationAnswer{Row: f.of("artist", "id")}}
	_, err := f.answer(plan.Mutation, request{}, root("d", byKey))
	require.Equal(t, `Foreign key violation. update or delete on table "artist" violates foreign key constraint "album_artist_id_fkey" on table "album"`, refusal(t, err).Message)
	require.Equal(t, "$", refusal(t, err).Path)
}

func TestComputedFieldsOfChangedRows(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function others(a album) returns setof album stable language sql as $$ select * from album where artist_id = a.artist_id and id <> a.id $$`)
	others := f.rows("album", f.of("album", "id")...)
	others.Source.Call = pointer(named("others", plan.Argument{Row: true}))
	up := &plan.Update{Table: f.tables["album"], Where: f.compare("album", "id", "eq", 12), Answer: response(append(f.of("album", "id"), plan.Field{Alias: "others", Computed: others})...)}
	up.Set = []plan.UpdateColumn{{Column: f.column("album", "artist_id"), Operator: "set", Value: literal(1)}}
	require.Equal(t, `{"u":{"affected_rows":1,"returning":[{"id":12,"others":[{"id":10},{"id":11}]}]}}`, f.mutation(root("u", up)))
}

func TestTriggersSeeTheSession(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create function stamp() returns trigger language plpgsql as $$ begin
		new.name := current_setting('` + domain.SessionSetting + `')::json->>'x-service-user' || (current_setting('hasura.user')::json->>'x-hasura-role'); return new; end $$;
		create trigger stamp before insert on artist for each row execute function stamp()`)
	in := f.insertInto("artist", response(f.of("artist", "name")...), values(f.set("artist", "id", 9)))
	session := domain.Session{Role: "editor", Variables: map[string]string{"x-service-user": "7"}}
	require.Equal(t, `{"i":{"affected_rows":1,"returning":[{"name":"7editor"}]}}`, f.data(plan.Mutation, request{session: session}, root("i", in)))
}

func TestMutationsOfAViewReturnItsRows(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create view loud as select id, name from artist where name <> 'x'`)
	f.look("loud")
	require.Equal(t, database.View, f.tables["loud"].Kind)
	in := f.insertInto("loud", response(f.of("loud", "name")...), values(f.set("loud", "id", 9), f.set("loud", "name", "N")))
	require.Equal(t, `{"i":{"affected_rows":1,"returning":[{"name":"N"}]}}`, f.mutation(root("i", in)))
}

func TestDeletesOfAViewAnswerWhatTheRowsHad(t *testing.T) {
	t.Parallel()
	f := musical(t)
	f.exec(`create view late as select id, title from album where id > 12; create view tracks as select * from track`)
	f.look("late", "tracks")
	d := &plan.Delete{Table: f.tables["late"]}
	d.Answer = response(append(f.of("late", "id"), list("tracks", f.rows("tracks", f.of("tracks", "id")...), "id", "album_id"))...)
	require.Equal(t, `{"d":{"affected_rows":1,"returning":[{"id":13,"tracks":[]}]}}`, f.mutation(root("d", d)))
}

func TestTheWorkerIsWokenAfterAMutationAndNotAfterAFailedOne(t *testing.T) {
	t.Parallel()
	woken := 0
	f := givenWith(t, execution.Config{Wake: func() { woken++ }}, music, "artist")
	insert := root("i", f.insertInto("artist", response(f.of("artist", "id")...), values(f.set("artist", "id", 9), f.set("artist", "name", "N"))))
	require.Equal(t, `{"i":{"affected_rows":1,"returning":[{"id":9}]}}`, f.mutation(insert))
	_, err := f.answer(plan.Mutation, request{}, insert)
	require.Error(t, err, "the id is taken")
	require.Equal(t, 1, woken)
}

// An insert without rows once gave back the buffers of the field before it a
// second time: two statements then wrote into one.
func TestAnInsertOfNoRowsDoesNotFreeTheRowsOfTheFieldBefore(t *testing.T) {
	t.Parallel()
	e := musicalEngine(t)
	admin := domain.Session{Role: domain.AdminRole}
	for range 20 {
		e.answers(admin, `{"update_artist":{"returning":[{"albums":[{"id":12}]}]},"insert_artist":{"affected_rows":0}}`,
			`mutation { update_artist(where: {id: {_eq: 2}}, _set: {name: "B"}) { returning { albums { id } } } insert_artist(objects: []) { affected_rows } }`, "")
		e.answers(admin, `{"artist":[{"id":1,"albums":[{"id":10},{"id":11}]},{"id":2,"albums":[{"id":12}]}]}`,
			`{ artist(where: {id: {_lte: 2}}, order_by: {id: asc}) { id albums(order_by: {id: asc}) { id } } }`, "")
	}
}

func TestANullInAFilterIsForEveryRowWhereV1SaidSo(t *testing.T) {
	t.Parallel()
	const database, track = `create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)`, `{"type":"track_table","args":"t"}`
	const change = `mutation ($i: Int) { update_t(where: {id: {_eq: $i}}, _set: {n: 1}) { affected_rows } }`
	_, err := newEngine(t, database, track).ask(asAdmin, change, `{"i":null}`)
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code)
	e := newEngineWith(t, execution.Config{DropNulls: true}, database, track)
	for _, c := range []struct{ variables, rows string }{{`{"i":1}`, "1"}, {`{"i":null}`, "2"}, {`{"i":2}`, "1"}, {`{}`, "2"}} {
		e.answers(asAdmin, `{"update_t":{"affected_rows":`+c.rows+`}}`, change, c.variables)
	}
}
