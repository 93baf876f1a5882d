package metadata

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"annals/domain"
	"annals/domain/database"
)

func TestCreateRelationshipTakesEveryFormOfUsing(t *testing.T) {
	for name, c := range map[string]struct{ body, key, holds string }{
		"a foreign key of the own table": {
			`{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"},"comment":"who"}}`,
			"public.article.author",
			`{"table":{"schema":"public","name":"article"},"name":"author","type":"object","using":{"foreign_key_constraint_on":"author_id"},"comment":"who"}`},
		"a foreign key of the other table": {
			`{"type":"create_array_relationship","args":{"table":"author","name":"articles","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}}`,
			"public.author.articles",
			`{"table":{"schema":"public","name":"author"},"name":"articles","type":"array",
				"using":{"foreign_key_constraint_on":{"table":{"schema":"public","name":"article"},"column":"author_id"}}}`},
		"no foreign key": {
			`{"type":"pg_create_array_relationship","args":{"source":"default","table":"author","name":"same","using":{"manual_configuration":{"remote_table":"article","column_mapping":{"id":"id"}}}}}`,
			"public.author.same",
			`{"table":{"schema":"public","name":"author"},"name":"same","type":"array",
				"using":{"manual_configuration":{"remote_table":{"schema":"public","name":"article"},"column_mapping":{"id":"id"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shapeOf(authors()...), tracked("author", "article")...).when(c.body).
				changes("relationship_created "+c.key).
				holds(Key{KindRelationship, c.key}, c.holds)
		})
	}
}

func TestCreateRelationshipRefuses(t *testing.T) {
	two := tableOf("two", "id int4 pk", "author_id int4 references author(id)")
	again := two.ForeignKeys[0]
	again.Name = "again"
	two.ForeignKeys = append(two.ForeignKeys, again)
	shape := shapeOf(append(authors(), two, tableOf("secret", "id int4 pk"),
		tableOf("diary", "id int4 pk references secret(id)"))...)
	known := append(tracked("author", "article", "two", "diary", "lost"),
		objectKey("article", "writer", "author_id"), Table{Name: named("x.far")})
	create := func(kind, table, name, using string) string {
		return `{"type":"create_` + kind + `_relationship","args":{"table":"` + table + `","name":"` + name + `","using":` + using + `}}`
	}
	for name, c := range map[string]struct {
		body          string
		code          domain.Code
		path, message string
	}{
		"an empty name": {create("object", "article", "", `{"foreign_key_constraint_on":"author_id"}`),
			domain.ParseFailed, "$.name", `empty string not allowed`},
		"using that is no object": {create("object", "article", "r", `"author_id"`),
			domain.ParseFailed, "$.using", `using should be an object`},
		"using nothing": {create("object", "article", "r", `{}`),
			domain.ParseFailed, "$.using", `atleast one of foreign_key_constraint_on/manual_configuration should be present`},
		"using both": {create("object", "article", "r", `{"foreign_key_constraint_on":"author_id","manual_configuration":{}}`),
			domain.ParseFailed, "$.using", `only one of foreign_key_constraint_on/manual_configuration should be present`},
		"a column in another's place": {create("array", "author", "r", `{"foreign_key_constraint_on":"author_id"}`),
			domain.ParseFailed, "$.using.foreign_key_constraint_on", `parsing Object failed, expected Object, but encountered String`},
		"a table that is not tracked": {create("object", "secret", "r", `{"foreign_key_constraint_on":"id"}`),
			domain.NotExists, "$.args", `table "secret" does not exist`},
		"a table that is inconsistent": {create("object", "lost", "r", `{"foreign_key_constraint_on":"id"}`),
			domain.ConstraintViolation, "$.args", `table "lost" does not exist`},
		"a name that is taken": {create("array", "article", "writer", `{"manual_configuration":{"remote_table":"author","column_mapping":{"author_id":"id"}}}`),
			domain.AlreadyExists, "$.args", `relationship "writer" already exists in table "article"`},
		"a column without a key": {create("object", "article", "r", `{"foreign_key_constraint_on":"title"}`),
			domain.ConstraintViolation, "$.args", `in table "article": in relationship "r": no foreign constraint exists on the given column`},
		"a column with two keys": {create("object", "two", "r", `{"foreign_key_constraint_on":"author_id"}`),
			domain.ConstraintViolation, "$.args", `in table "two": in relationship "r": more than one foreign key constraint exists on the given column`},
		"a key to another table": {create("array", "article", "r", `{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}`),
			domain.ConstraintViolation, "$.args", `in table "article": in relationship "r": no foreign constraint exists on the given column`},
		"a key to a table that is not tracked": {create("object", "diary", "r", `{"foreign_key_constraint_on":"id"}`),
			domain.ConstraintViolation, "$.args", `in table "diary": in relationship "r": table "secret" is not tracked`},
		"a key of a table that is not tracked": {create("array", "author", "r", `{"foreign_key_constraint_on":{"table":"nowhere","column":"id"}}`),
			domain.ConstraintViolation, "$.args", `in table "author": in relationship "r": table "nowhere" does not exist`},
		"a remote table that is not tracked": {create("object", "author", "r", `{"manual_configuration":{"remote_table":{"schema":"x","name":"far"},"column_mapping":{"id":"id"}}}`),
			domain.ConstraintViolation, "$.args", `in table "author": in relationship "r": table "x.far" is not tracked`},
		"a mapping from no column": {create("object", "author", "r", `{"manual_configuration":{"remote_table":"article","column_mapping":{"nope":"id"}}}`),
			domain.ConstraintViolation, "$.args", `in table "author": in relationship "r": table "author" has no field named "nope"`},
		"a mapping to no column": {create("object", "author", "r", `{"manual_configuration":{"remote_table":"article","column_mapping":{"id":"nope"}}}`),
			domain.ConstraintViolation, "$.args", `in table "author": in relationship "r": table "article" has no field named "nope"`},
		"the name of a column": {create("object", "article", "title", `{"foreign_key_constraint_on":"author_id"}`),
			domain.ConstraintViolation, "$.args", `field definition conflicts with postgres column`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shape, known...).when(c.body).refuses(c.code, c.path, c.message)
		})
	}
}

func TestARelationshipMayNotTakeTheNameOfAnotherField(t *testing.T) {
	custom := Table{Name: named("author"), Configuration: TableConfiguration{ColumnNames: map[string]string{"id": "AuthorId"}}}
	shape := shapeOf(append(authors(), rowFunction("shout", "author"))...)
	s := given(t, shape, custom, Table{Name: named("article")}, computed("author", "loud", "shout"))
	body := func(name string) string {
		return `{"type":"create_array_relationship","args":{"table":"author","name":"` + name + `","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}}`
	}
	s.when(body("AuthorId")).
		refuses(domain.ConstraintViolation, "$.args", `field definition conflicts with custom field name for postgres column "id"`).
		internal(`[{"type":"array_relation","reason":"field definition conflicts with custom field name for postgres column \"id\"",
			"definition":{"table":{"schema":"public","name":"author"},"name":"AuthorId","comment":null,
			"using":{"foreign_key_constraint_on":{"table":{"schema":"public","name":"article"},"column":"author_id"}}}}]`)
	s.when(body("loud")).
		refuses(domain.ConstraintViolation, "$.args", `conflicting definitions for field "loud"`)
}

func TestJoinFindsTheColumnsInTheShape(t *testing.T) {
	w := given(t, shapeOf(authors()...), append(tracked("author", "article"),
		objectKey("article", "author", "author_id"), arrayKey("author", "articles", "article", "author_id"),
		manual("author", "namesakes", "article", "name", "title"), objectKey("article", "nobody", "title"))...).world
	for name, c := range map[string]struct {
		r       Relationship
		table   string
		columns map[string]string
	}{
		"object": {objectKey("article", "author", "author_id"), "author", map[string]string{"author_id": "id"}},
		"array":  {arrayKey("author", "articles", "article", "author_id"), "article", map[string]string{"id": "author_id"}},
		"manual": {manual("author", "namesakes", "article", "name", "title"), "article", map[string]string{"name": "title"}},
	} {
		t.Run(name, func(t *testing.T) {
			table, columns, ok := w.Join(c.r)
			if !ok || table != named(c.table) {
				t.Fatalf("leads to %v, %v", table, ok)
			}
			if diff := cmp.Diff(c.columns, columns); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	if _, _, ok := w.Join(objectKey("article", "nobody", "title")); ok {
		t.Fatal("a relationship that does not stand was joined")
	}
}

func TestDropRelationshipAsksBeforeItDropsPermissions(t *testing.T) {
	s := given(t, shapeOf(authors()...), append(tracked("author", "article"),
		objectKey("article", "author", "author_id"),
		reads("article", "user", `{"_or":[{"author":{"name":"x"}}]}`, "id"),
		reads("article", "other", `{}`, "id"))...)
	drop := func(cascade string) string {
		return `{"type":"drop_relationship","args":{"table":"article","relationship":"author"` + cascade + `}}`
	}
	s.when(drop("")).refuses(domain.DependencyError, "$.args",
		"cannot drop due to the following dependent objects : permission article.user.select")
	s.when(drop(`,"cascade":true`)).
		changes("permission_dropped public.article.user.select", "relationship_dropped public.article.author")
	s.when(`{"type":"drop_relationship","args":{"table":"article","relationship":"x"}}`).
		refuses(domain.NotExists, "$.args", `relationship "x" does not exist`)
	s.when(`{"type":"drop_relationship","args":{"table":"x","relationship":"x"}}`).
		refuses(domain.NotExists, "$.args", `table "x" does not exist`)
}

func TestSetRelationshipCommentSetsAndTakesAway(t *testing.T) {
	r := objectKey("article", "author", "author_id")
	s := given(t, shapeOf(authors()...), append(tracked("author", "article"), r)...).
		when(`{"type":"set_relationship_comment","args":{"table":"article","relationship":"author","comment":"who wrote it"}}`).
		changes("relationship_changed public.article.author").then()
	s.when(`{"type":"set_relationship_comment","args":{"table":"article","relationship":"author"}}`).
		holds(r.Key(), string(encode(r)))
	s.when(`{"type":"set_relationship_comment","args":{"table":"article","relationship":"x"}}`).
		refuses(domain.NotExists, "$.args", `relationship "x" does not exist`)
}

func TestRenameRelationshipRewritesPermissionsThatMentionIt(t *testing.T) {
	filter := `{"$and":[{"articles":{"author":{"articles":{"title":"articles"}}}},{"_exists":{"_table":"author","_where":{"articles":{}}}}]}`
	permission := reads("author", "user", filter, "id")
	given(t, shapeOf(authors()...), append(tracked("author", "article"),
		objectKey("article", "author", "author_id"), arrayKey("author", "articles", "article", "author_id"), permission)...).
		when(`{"type":"pg_rename_relationship","args":{"table":"author","name":"articles","new_name":"posts"}}`).
		changes("relationship_dropped public.author.articles", "permission_changed public.author.user.select", "relationship_created public.author.posts").
		holds(permission.Key(), `{"table":{"schema":"public","name":"author"},"role":"user","action":"select","permission":{"columns":["id"],
			"filter":{"$and":[{"posts":{"author":{"posts":{"title":"articles"}}}},{"_exists":{"_table":"author","_where":{"posts":{}}}}]}}}`)
}

func TestRenameRelationshipRefusesANameThatIsTaken(t *testing.T) {
	custom := Table{Name: named("author"), Configuration: TableConfiguration{ColumnNames: map[string]string{"age": "years"}}}
	shape := shapeOf(append(authors(), rowFunction("shout", "author"))...)
	s := given(t, shape, custom, Table{Name: named("article")}, computed("author", "loud", "shout"),
		arrayKey("author", "a", "article", "author_id"), arrayKey("author", "b", "article", "author_id"))
	for _, taken := range []string{"b", "name", "years", "loud"} {
		s.when(`{"type":"rename_relationship","args":{"table":"author","name":"a","new_name":"`+taken+`"}}`).
			refuses(domain.AlreadyExists, "$.args", `cannot rename relationship "a" to "`+taken+
				`" in table "author" as a column/relationship with the name already exists`)
	}
	s.when(`{"type":"rename_relationship","args":{"table":"author","name":"a","new_name":"a"}}`).changes()
}

func TestARelationshipFallsAndRisesWithItsTable(t *testing.T) {
	s := given(t, shapeOf(authors()...), append(tracked("author", "article"),
		objectKey("article", "author", "author_id"), arrayKey("author", "articles", "article", "author_id"))...)
	gone := s.world.WithShape(database.Found{Tables: map[domain.QualifiedName]*database.Table{named("article"): nil}})
	sameJSON(t, `[
		{"type":"table","reason":"no such table/view exists in postgres: \"article\"","definition":{"schema":"public","name":"article"}},
		{"type":"object_relation","reason":"table \"article\" does not exist",
			"definition":{"using":{"foreign_key_constraint_on":"author_id"},"name":"author","comment":null,"table":{"schema":"public","name":"article"}}},
		{"type":"array_relation","reason":"in table \"author\": in relationship \"articles\": table \"article\" does not exist",
			"definition":{"using":{"foreign_key_constraint_on":{"column":"author_id","table":{"schema":"public","name":"article"}}},"name":"articles","comment":null,"table":{"schema":"public","name":"author"}}}
	]`, encode(gone.Inconsistencies()))
	if back := gone.WithShape(foundOf(authors()...)); back.Standing.Inconsistent() != 0 {
		t.Fatalf("did not rise again: %s", encode(back.Inconsistencies()))
	}
}

func TestAnInconsistentRelationshipCanBeCuredByANewName(t *testing.T) {
	shape := shapeOf(authors()...)
	clash := objectKey("article", "title", "author_id")
	given(t, shape, append(tracked("author", "article"), clash)...).
		when(`{"type":"rename_relationship","args":{"table":"article","name":"title","new_name":"author"}}`).
		changes("relationship_dropped public.article.title", "relationship_created public.article.author")
	keyless := objectKey("article", "nobody", "title")
	given(t, shape, append(tracked("author", "article"), keyless)...).
		when(`{"type":"rename_relationship","args":{"table":"article","name":"nobody","new_name":"someone"}}`).
		refuses(domain.ConstraintViolation, "$.args", `in table "article": in relationship "someone": no foreign constraint exists on the given column`)
}
