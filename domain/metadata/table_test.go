package metadata

import (
	"testing"

	"annals/domain"
)

func TestTrackTableTakesEveryFormOfItsArguments(t *testing.T) {
	for name, c := range map[string]struct{ body, holds string }{
		"a name":                  {`{"type":"track_table","args":"author"}`, `{"table":{"schema":"public","name":"author"}}`},
		"schema and name":         {`{"type":"track_table","args":{"schema":"public","name":"author"}}`, `{"table":{"schema":"public","name":"author"}}`},
		"a table and no enum":     {`{"type":"track_table","args":{"table":"author","is_enum":false}}`, `{"table":{"schema":"public","name":"author"}}`},
		"its older name":          {`{"type":"add_existing_table_or_view","args":{"name":"author"}}`, `{"table":{"schema":"public","name":"author"}}`},
		"version 2, nothing said": {`{"type":"track_table","version":2,"args":{"table":"author"}}`, `{"table":{"schema":"public","name":"author"}}`},
		"version 2, nothing in it": {`{"type":"track_table","version":2,"args":{"table":{"table":"author","is_enum":false},"configuration":{"custom_root_fields":{},"custom_column_names":{}}}}`,
			`{"table":{"schema":"public","name":"author"}}`},
		"version 2": {`{"type":"track_table","version":2,"args":{"table":"author","configuration":{
			"custom_root_fields":{"select":"Authors","delete_by_pk":"DeleteAuthor"},"custom_column_names":{"id":"authorId"},"custom_name":"writer"}}}`,
			`{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{"select":"Authors","delete_by_pk":"DeleteAuthor"},
			"custom_column_names":{"id":"authorId"},"custom_name":"writer"}}`},
		"the next generation": {`{"type":"pg_track_table","args":{"source":"default","table":{"name":"author"},"configuration":{"custom_name":"writer"}}}`,
			`{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{},"custom_column_names":{},"custom_name":"writer"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shapeOf(authors()...)).when(c.body).
				changes("table_tracked public.author").
				holds(tableKey(named("author")), c.holds)
		})
	}
}

func TestTrackTableRefuses(t *testing.T) {
	shape := shapeOf(append(authors(), stableFunction("search", "author"))...)
	known := append(tracked("author"), Function{Name: named("search")}, Table{Name: named("lost")})
	for name, c := range map[string]struct {
		body          string
		code          domain.Code
		path, message string
	}{
		"a table that is tracked": {`{"type":"track_table","args":"author"}`,
			domain.AlreadyTracked, "$.args", `view/table already tracked : "author"`},
		"a table that is tracked and inconsistent": {`{"type":"track_table","args":"lost"}`,
			domain.AlreadyTracked, "$.args", `view/table already tracked : "lost"`},
		"the name of a tracked function": {`{"type":"track_table","args":"search"}`,
			domain.NotSupported, "$.args", `function with name "search" already exists`},
		"what is not there": {`{"type":"track_table","args":"foo"}`,
			domain.ConstraintViolation, "$.args", `no such table/view exists in postgres: "foo"`},
		"PostgreSQL's own tables": {`{"type":"track_table","args":{"schema":"pg_catalog","name":"pg_class"}}`,
			domain.NotSupported, "$.args", `"pg_catalog.pg_class" cannot be tracked: the schema "pg_catalog" is PostgreSQL's own`},
		"the log itself": {`{"type":"track_table","args":{"schema":"annals","name":"events"}}`,
			domain.NotSupported, "$.args", `"annals.events" cannot be tracked: the schema "annals" is this service's own`},
		"a custom name for no column": {`{"type":"track_table","version":2,"args":{"table":"article","configuration":{"custom_column_names":{"y":"x"}}}}`,
			domain.ConstraintViolation, "$.args", `the custom field name "x" was given for the column "y", but no such column exists`},
		"two columns with one field": {`{"type":"track_table","version":2,"args":{"table":"article","configuration":{"custom_column_names":{"id":"title"}}}}`,
			domain.ConstraintViolation, "$.args", `the definitions of columns "id" and "title" are in conflict: they are mapped to the same field name, "title"`},
		"two root fields with one name": {`{"type":"track_table","version":2,"args":{"table":"article","configuration":{"custom_root_fields":{"select":"a","insert":"b","update":"a","delete":"b"}}}}`,
			domain.ParseFailed, "$.configuration.custom_root_fields", `the following custom root field names are duplicated: a and b`},
		"a root field that GraphQL cannot have": {`{"type":"track_table","version":2,"args":{"table":"article","configuration":{"custom_root_fields":{"select":"a b"}}}}`,
			domain.ParseFailed, "$.configuration.custom_root_fields.select", `"a b" is not a valid GraphQL name`},
		"no name": {`{"type":"track_table","args":{}}`,
			domain.ParseFailed, "$", `key "name" not found`},
		"a number": {`{"type":"track_table","args":7}`,
			domain.ParseFailed, "$", `parsing Object failed, expected Object, but encountered Number`},
		"another source": {`{"type":"pg_track_table","args":{"source":"other","table":"article"}}`,
			domain.ParseFailed, "$.source", `the only source is "default"`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shape, known...).when(c.body).refuses(c.code, c.path, c.message)
		})
	}
}

func TestTrackTableShowsWhatIsInconsistent(t *testing.T) {
	given(t, shapeOf()).when(`{"type":"track_table","args":"foo"}`).
		refuses(domain.ConstraintViolation, "$.args", `no such table/view exists in postgres: "foo"`).
		internal(`[{"type":"table","definition":{"schema":"public","name":"foo"},"reason":"no such table/view exists in postgres: \"foo\""}]`)
}

func TestSetTableIsEnumChecksTheRules(t *testing.T) {
	employees := tableOf("employees", "id int4 pk", "name text", "favorite_color text", "gets_paid_on text")
	const cannot = `the table "t" cannot be used as an enum `
	for name, c := range map[string]struct {
		table   any
		message string
	}{
		"no primary key":        {tableOf("t", "value text"), cannot + `because the table must have a primary key`},
		"two key columns":       {tableOf("t", "b text pk", "a text pk"), cannot + `because the table’s primary key must not span multiple columns (a, b)`},
		"a key that is no text": {tableOf("t", "id int4 pk"), cannot + `because the table’s primary key ("id") must have type "text", not type "integer"`},
		"a comment that is no text": {tableOf("t", "value text pk", "rank int4"),
			cannot + `because the table’s comment column ("rank") must have type "text", not type "integer"`},
		"no rows":       {enumOf("t"), cannot + `because the table must have at least one row`},
		"a bad name":    {enumOf("t", "ok", "not ok"), cannot + `because the value "not ok" is not a valid GraphQL enum value name`},
		"two bad names": {enumOf("t", "true", "1"), cannot + `because the values "1" and "true" are not valid GraphQL enum value names`},
		"bad names": {enumOf("t", "c-c", "a-a", "b-b"),
			cannot + `because the values "a-a", "b-b", and "c-c" are not valid GraphQL enum value names`},
		"several reasons": {employees, "the table \"employees\" cannot be used as an enum for the following reasons:\n" +
			"  • the table’s primary key (\"id\") must have type \"text\", not type \"integer\"\n" +
			"  • the table must have exactly one primary key and optionally one comment column, not 4 columns (favorite_color, gets_paid_on, id, name)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			table := "t"
			if c.table == employees {
				table = "employees"
			}
			given(t, shapeOf(c.table), tracked(table)...).
				when(`{"type":"set_table_is_enum","args":{"table":"`+table+`","is_enum":true}}`).
				refuses(domain.ConstraintViolation, "$.args", c.message)
		})
	}
}

func TestSetTableIsEnumMarksAndUnmarks(t *testing.T) {
	key := tableKey(named("colors"))
	given(t, shapeOf(enumOf("colors", "red", "green")), tracked("colors")...).
		when(`{"type":"pg_set_table_is_enum","args":{"table":"colors","is_enum":true}}`).
		changes("table_changed public.colors").
		holds(key, `{"table":{"schema":"public","name":"colors"},"is_enum":true}`).
		then().when(`{"type":"set_table_is_enum","args":{"table":"colors","is_enum":false}}`).
		holds(key, `{"table":{"schema":"public","name":"colors"}}`)
}

func TestSettersRefuseATableThatIsNotTracked(t *testing.T) {
	for _, body := range []string{
		`{"type":"set_table_is_enum","args":{"table":"x","is_enum":true}}`,
		`{"type":"set_table_custom_fields","version":2,"args":{"table":"x"}}`,
		`{"type":"set_table_customization","args":{"table":"x","configuration":{}}}`,
	} {
		given(t, shapeOf()).when(body).refuses(domain.NotExists, "$.args", `table "x" does not exist`)
	}
}

func TestCustomizationReplacesWholly(t *testing.T) {
	name := "writer"
	before := Table{Name: named("author"), Configuration: TableConfiguration{
		RootFields: RootFields{Select: "Authors"}, ColumnNames: map[string]string{"id": "AuthorId"}, CustomName: &name,
	}}
	given(t, shapeOf(authors()...), before).
		when(`{"type":"set_table_customization","args":{"table":"author","configuration":{"custom_root_fields":{"insert":"Add"}}}}`).
		holds(before.Key(), `{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{"insert":"Add"},"custom_column_names":{}}}`)
	given(t, shapeOf(authors()...), before).
		when(`{"type":"set_table_custom_fields","version":2,"args":{"table":"author","custom_column_names":{"name":"AuthorName"}}}`).
		holds(before.Key(), `{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{},"custom_column_names":{"name":"AuthorName"},"custom_name":"writer"}}`)
}

func TestTwoColumnsMaySwapTheirNames(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("article")...).
		when(`{"type":"set_table_custom_fields","version":2,"args":{"table":"article","custom_column_names":{"title":"published","published":"title"}}}`).
		accepted()
}

func TestACustomNameMayNotTakeARelationshipsField(t *testing.T) {
	objects := append(tracked("author", "article"), arrayKey("author", "articles", "article", "author_id"))
	given(t, shapeOf(authors()...), objects...).
		when(`{"type":"set_table_custom_fields","version":2,"args":{"table":"author","custom_column_names":{"name":"articles","age":"articles_aggregate"}}}`).
		refuses(domain.Unexpected, "$.args", "cannot continue due to new inconsistent metadata").
		internal(`[{"type":"array_relation","reason":"field definition conflicts with custom field name for postgres column \"name\"",
			"definition":{"table":{"schema":"public","name":"author"},"name":"articles","comment":null,
			"using":{"foreign_key_constraint_on":{"table":{"schema":"public","name":"article"},"column":"author_id"}}}}]`)
}

func TestUntrackTableTakesItsOwnObjectsAlong(t *testing.T) {
	objects := append(tracked("author", "article"),
		arrayKey("author", "articles", "article", "author_id"),
		readAll("author", "user"), readAll("article", "user"))
	given(t, shapeOf(append(authors(), rowFunction("shout", "author"))...), append(objects, computed("author", "loud", "shout"))...).
		when(`{"type":"untrack_table","args":{"table":"author"}}`).
		changes("computed_field_dropped public.author.loud", "permission_dropped public.author.user.select",
			"relationship_dropped public.author.articles", "table_untracked public.author")
}

func TestUntrackTableRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		code    domain.Code
		message string
	}{
		"a table that is not tracked": {`{"type":"untrack_table","args":{"table":"x"}}`,
			domain.AlreadyUntracked, `view/table already untracked : "x"`},
		"the system's tables": {`{"type":"pg_untrack_table","args":{"table":{"schema":"hdb_catalog","name":"hdb_table"},"source":"default"}}`,
			domain.NotSupported, `"hdb_catalog.hdb_table" is system defined, cannot untrack`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shapeOf(authors()...), tracked("author")...).when(c.body).refuses(c.code, "$.args", c.message)
		})
	}
}

func TestUntrackTableAsksBeforeItTakesWhatOthersHaveOfIt(t *testing.T) {
	s := given(t, shapeOf(append(authors(), stableFunction("search", "author"))...), append(tracked("author", "article"),
		objectKey("article", "author", "author_id"),
		reads("article", "user", `{"author":{"id":"X-Service-User-Id"}}`, "id"),
		Function{Name: named("search")})...)
	s.when(`{"type":"untrack_table","args":{"table":"author"}}`).
		refuses(domain.DependencyError, "$.args",
			`cannot drop due to the following dependent objects : function search, permission article.user.select, relationship article.author`)
	s.when(`{"type":"untrack_table","args":{"table":"author","cascade":true}}`).
		changes("function_untracked public.search", "permission_dropped public.article.user.select",
			"relationship_dropped public.article.author", "table_untracked public.author")
}

func TestAnInconsistentTableCanBeMendedAndUntracked(t *testing.T) {
	broken := Table{Name: named("author"), Configuration: TableConfiguration{ColumnNames: map[string]string{"gone": "x"}}}
	s := given(t, shapeOf(authors()...), broken)
	s.when(`{"type":"set_table_customization","args":{"table":"author","configuration":{}}}`).changes("table_changed public.author")
	s.when(`{"type":"untrack_table","args":{"table":"author"}}`).changes("table_untracked public.author")
}
