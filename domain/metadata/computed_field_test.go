package metadata

import (
	"testing"

	"annals/domain"
	"annals/domain/database"
)

// library is the database of the computed fields' tests.
func library() []any {
	volatile := but(rowsFunction("fetch_articles_volatile", "author", "article"), func(f *database.Function) {
		f.Volatility = database.Volatile
		f.Arguments = []database.Argument{{Name: "search", Type: "text", TypeKind: 'b'}, rowArgument("author_row", "author")}
	})
	fetch := but(rowsFunction("fetch_articles", "author", "article"), func(f *database.Function) {
		f.Arguments = []database.Argument{{Name: "search", Type: "text", TypeKind: 'b'}, rowArgument("author_row", "author")}
	})
	session := but(rowFunction("test_session", "author"), func(f *database.Function) {
		f.Arguments = append(f.Arguments, database.Argument{Name: "key", Type: "text"}, database.Argument{Name: "session", Type: "json"})
	})
	hello := but(rowFunction("hello_world", "author"), func(f *database.Function) { f.Arguments = nil })
	record := but(rowFunction("record", "author"), func(f *database.Function) { f.ReturnType, f.ReturnKind = "record", 'p' })
	return append(authors(), fetch, volatile, session, hello, record, rowFunction("full_name", "author"),
		rowFunction("of_article", "article"), rowsFunction("diaries", "author", "diary"))
}

func addField(table, name, definition string) string {
	return `{"type":"add_computed_field","args":{"table":"` + table + `","name":"` + name + `","definition":` + definition + `}}`
}

func TestAddComputedField(t *testing.T) {
	s := given(t, shapeOf(library()...), tracked("author", "article")...)
	for definition, kept := range map[string]string{
		`{"function":"full_name"}`: `{"function":{"schema":"public","name":"full_name"}}`,
		`{"function":{"name":"fetch_articles"},"table_argument":"author_row"}`: `{"function":{"schema":"public","name":"fetch_articles"},"table_argument":"author_row"}`,
		`{"function":"test_session","session_argument":"session"}`:             `{"function":{"schema":"public","name":"test_session"},"session_argument":"session"}`,
	} {
		s.when(addField("author", "f", definition)).
			changes("computed_field_added public.author.f").
			holds(computedFieldKey(named("author"), "f"), `{"table":{"schema":"public","name":"author"},"name":"f","definition":`+kept+`}`)
	}
}

func TestAddComputedFieldRefuses(t *testing.T) {
	const within = `in table "author": in computed field "f": `
	const cannot = within + `the computed field "f" cannot be added to table "author" `
	for name, c := range map[string]struct {
		body          string
		code          domain.Code
		path, message string
	}{
		"a table that is not tracked": {addField("random", "f", `{"function":"full_name"}`), domain.NotExists, "$.args.table", `table "random" does not exist`},
		"a field that is there":       {addField("author", "known", `{"function":"full_name"}`), domain.AlreadyExists, "$.args.name", `computed field "known" already exists in table "author"`},
		"an empty name":               {addField("author", "", `{"function":"full_name"}`), domain.ParseFailed, "$.name", `empty string not allowed`},
		"the name of a column":        {addField("author", "name", `{"function":"full_name"}`), domain.ConstraintViolation, "$.args", `field definition conflicts with postgres column`},
		"the name of a relationship":  {addField("author", "articles", `{"function":"full_name"}`), domain.ConstraintViolation, "$.args", `conflicting definitions for field "articles"`},
		"no such function":            {addField("author", "f", `{"function":"random_function"}`), domain.ConstraintViolation, "$.args", within + `no such function exists in postgres : "random_function"`},
		"no such table argument": {addField("author", "f", `{"function":"full_name","table_argument":"random"}`), domain.ConstraintViolation, "$.args",
			cannot + `because "random" is not an input argument of the function "full_name"`},
		"no arguments": {addField("author", "f", `{"function":"hello_world"}`), domain.ConstraintViolation, "$.args",
			cannot + `because the function "hello_world" has no input arguments`},
		"a row of another table": {addField("author", "f", `{"function":"of_article"}`), domain.ConstraintViolation, "$.args",
			cannot + `because first argument of the function "of_article" of type "article" is not the table to which the computed field is being added`},
		"an argument that is no row": {addField("author", "f", `{"function":"fetch_articles"}`), domain.ConstraintViolation, "$.args",
			cannot + "for the following reasons:\n  • first argument of the function \"fetch_articles\" is not COMPOSITE type\n" +
				"  • first argument of the function \"fetch_articles\" of type \"text\" is not the table to which the computed field is being added\n"},
		"a volatile function": {addField("author", "f", `{"function":"fetch_articles_volatile","table_argument":"author_row"}`), domain.ConstraintViolation, "$.args",
			cannot + `because the function "fetch_articles_volatile" is of type VOLATILE; cannot be added as a computed field`},
		"no such session argument": {addField("author", "f", `{"function":"full_name","session_argument":"s"}`), domain.ConstraintViolation, "$.args",
			cannot + `because "s" is not an input argument of the function "full_name"`},
		"a session argument of text": {addField("author", "f", `{"function":"test_session","session_argument":"key"}`), domain.ConstraintViolation, "$.args",
			cannot + `because "key" argument of the function "test_session" is not of type JSON`},
		"rows of an untracked table": {addField("author", "f", `{"function":"diaries"}`), domain.ConstraintViolation, "$.args",
			cannot + `because the function "diaries" returning set of table "diary" is not tracked or not found in database`},
		"a record": {addField("author", "f", `{"function":"record"}`), domain.ConstraintViolation, "$.args",
			cannot + `because the function "record" returning type record is not a BASE type`},
		"a name GraphQL cannot have": {addField("author", "a-b", `{"function":"full_name"}`), domain.ConstraintViolation, "$.args",
			`in table "author": in computed field "a-b": the computed field "a-b" cannot be added to table "author" because "a-b" is not valid GraphQL name`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shapeOf(library()...), append(tracked("author", "article"),
				computed("author", "known", "full_name"), arrayKey("author", "articles", "article", "author_id"))...).
				when(c.body).refuses(c.code, c.path, c.message)
		})
	}
}

func TestDropComputedFieldAsksBeforeItDropsPermissions(t *testing.T) {
	p := readAll("author", "user")
	p.Definition.ComputedFields = []string{"full"}
	s := given(t, shapeOf(library()...), append(tracked("author"), computed("author", "full", "full_name"), p)...)
	s.when(`{"type":"drop_computed_field","args":{"table":"random","name":"full"}}`).
		refuses(domain.NotExists, "$.args.table", `table "random" does not exist`)
	s.when(`{"type":"drop_computed_field","args":{"table":"author","name":"random"}}`).
		refuses(domain.NotExists, "$.args.name", `computed field "random" does not exist`)
	s.when(`{"type":"drop_computed_field","args":{"table":"author","name":"full"}}`).
		refuses(domain.DependencyError, "$.args", `cannot drop due to the following dependent objects : permission author.user.select`)
	s.when(`{"type":"pg_drop_computed_field","args":{"table":"author","name":"full","cascade":true}}`).
		changes("computed_field_dropped public.author.full", "permission_dropped public.author.user.select")
}
