package metadata

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
)

func ptr[T any](v T) *T { return &v }

// trigger is an event trigger of the author table.
func trigger(name string, columns ...string) EventTrigger {
	return EventTrigger{
		Table: named("author"), Name: name, Webhook: ptr("http://hook"),
		Definition: EventTriggerSpec{EnableManual: true, Update: &OperationSpec{Columns: EventColumns{Names: columns}}},
		RetryConf:  EventRetryConf{NumRetries: 0, IntervalSec: 10, TimeoutSec: ptr(60)},
	}
}

// createTrigger is the body of a create_event_trigger with these members more.
func createTrigger(members string) string {
	return `{"type":"create_event_trigger","args":{"name":"t","table":"author","webhook":"http://hook",` + members + `}}`
}

func TestAnEventTriggerIsKeptWithItsDefaultsFilledIn(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("author")...).
		when(createTrigger(`"insert":{"columns":"*"}`)).
		changes("event_trigger_created t").
		holds(eventTriggerKey("t"), `{"name":"t","table":{"schema":"public","name":"author"},"webhook":"http://hook",
			"definition":{"enable_manual":false,"insert":{"columns":"*"}},
			"retry_conf":{"num_retries":0,"interval_sec":10,"timeout_sec":60}}`)
}

func TestAnEventTriggerIsKeptWhole(t *testing.T) {
	env := Environment{"HDR": "v", "HOOK": "http://hook"}
	givenEnvironment(t, env, shapeOf(authors()...), tracked("author")...).
		when(`{"type":"create_event_trigger","args":{"name":"user_trigger-1","table":{"name":"author"},"webhook_from_env":"HOOK",
			"insert":{"columns":"*","payload":["name"]},"update":{"columns":["name","age"],"payload":"*"},"delete":{"columns":"*"},
			"enable_manual":true,"headers":[{"name":"X-A","value":"v"},{"name":"X-B","value_from_env":"HDR"}],
			"retry_conf":{"num_retries":3,"interval_sec":15,"timeout_sec":20}}}`).
		changes("event_trigger_created user_trigger-1").
		holds(eventTriggerKey("user_trigger-1"), `{"name":"user_trigger-1","table":{"schema":"public","name":"author"},"webhook_from_env":"HOOK",
			"definition":{"enable_manual":true,"insert":{"columns":"*","payload":["name"]},"update":{"columns":["name","age"],"payload":"*"},
				"delete":{"columns":"*"}},
			"headers":[{"name":"X-A","value":"v"},{"name":"X-B","value_from_env":"HDR"}],
			"retry_conf":{"num_retries":3,"interval_sec":15,"timeout_sec":20}}`)
}

func TestRetryConfOfAnEventTriggerIsLenient(t *testing.T) {
	for conf, kept := range map[string]string{
		`null`:                 `{"num_retries":0,"interval_sec":10,"timeout_sec":60}`,
		`{}`:                   `{"num_retries":0,"interval_sec":10}`,
		`{"num_retries":2}`:    `{"num_retries":2,"interval_sec":10}`,
		`{"timeout_sec":1}`:    `{"num_retries":0,"interval_sec":10,"timeout_sec":1}`,
		`{"timeout_sec":null}`: `{"num_retries":0,"interval_sec":10}`,
	} {
		outcome := given(t, shapeOf(authors()...), tracked("author")...).
			when(createTrigger(`"delete":{"columns":"*"},"retry_conf":` + conf)).accepted()
		stored, _ := lookup[EventTrigger](outcome.decision.World.Catalog, eventTriggerKey("t"))
		sameJSON(t, kept, encode(stored.RetryConf))
	}
	require.Equal(t, 60, EventRetryConf{}.Timeout())
	require.Equal(t, 5, EventRetryConf{TimeoutSec: ptr(5)}.Timeout())
}

func TestAnEventTriggerThatCannotBeIsRefusedAtOnce(t *testing.T) {
	args := func(text string) string { return `{"type":"create_event_trigger","args":` + text + `}` }
	const most = `"table":"author","webhook":"http://hook"`
	cases := []struct{ name, body, path, message string }{
		{"no name", args(`{` + most + `,"insert":{"columns":"*"}}`), "$", `key "name" not found`},
		{"empty name", args(`{"name":"",` + most + `}`), "$.name", "empty string not allowed"},
		{"name of other characters", args(`{"name":"a b",` + most + `}`), "$", "only alphanumeric and underscore and hyphens allowed for name"},
		{"name begins with a digit", args(`{"name":"1a",` + most + `}`), "$", "only alphanumeric and underscore and hyphens allowed for name"},
		{"name with a line break", args(`{"name":"a\n",` + most + `}`), "$", "only alphanumeric and underscore and hyphens allowed for name"},
		{"long name", args(`{"name":"` + strings.Repeat("a", 43) + `",` + most + `}`), "$", "event trigger name can be at most 42 characters"},
		{"no table", args(`{"name":"t","webhook":"http://hook","insert":{"columns":"*"}}`), "$", `key "table" not found`},
		{"nothing observed", createTrigger(`"enable_manual":false`), "$", "atleast one amongst insert/update/delete/enable_manual spec must be provided"},
		{"two webhooks", createTrigger(`"enable_manual":true,"webhook_from_env":"X"`), "$", "only one of webhook or webhook_from_env should be given"},
		{"no webhook", args(`{"name":"t","table":"author","enable_manual":true}`), "$", "must provide webhook or webhook_from_env"},
		{"no columns", createTrigger(`"insert":{"columns":[]}`), "$", "found empty column specification"},
		{"no columns sent", createTrigger(`"insert":{"columns":"*","payload":[]}`), "$", "found empty payload specification"},
		{"columns missing", createTrigger(`"insert":{}`), "$.insert", `key "columns" not found`},
		{"columns as a word", createTrigger(`"insert":{"columns":"all"}`), "$.insert.columns", "only * or [] allowed"},
		{"columns as a number", createTrigger(`"update":{"columns":1}`), "$.update.columns", "unexpected columns"},
		{"columns as null", createTrigger(`"update":{"columns":null}`), "$.update.columns", "unexpected columns"},
		{"payload as a word", createTrigger(`"delete":{"columns":"*","payload":"all"}`), "$.delete.payload", "only * or [] allowed"},
		{"column that is no text", createTrigger(`"delete":{"columns":[1]}`), "$.delete.columns[0]", "parsing Text failed, expected String, but encountered Number"},
		{"negative retries", createTrigger(`"enable_manual":true,"retry_conf":{"num_retries":-1}`), "$.retry_conf.num_retries", "negative value not allowed"},
		{"negative interval", createTrigger(`"enable_manual":true,"retry_conf":{"interval_sec":-1}`), "$.retry_conf.interval_sec", "negative value not allowed"},
		{"negative timeout", createTrigger(`"enable_manual":true,"retry_conf":{"timeout_sec":-1}`), "$.retry_conf.timeout_sec", "negative value not allowed"},
		{"a very long interval", createTrigger(`"enable_manual":true,"retry_conf":{"interval_sec":2147483648}`), "$.retry_conf.interval_sec", "the value can be at most 2147483647"},
		{"own variable as webhook", args(`{"name":"t","table":"author","enable_manual":true,"webhook_from_env":"SERVICE_GRAPHQL_ADMIN_SECRET"}`),
			"$.webhook_from_env", `env variables starting with "SERVICE_GRAPHQL_" are not allowed in webhook_from_env: SERVICE_GRAPHQL_ADMIN_SECRET`},
		{"replace that is no boolean", createTrigger(`"enable_manual":true,"replace":"yes"`), "$.replace", "parsing Bool failed, expected Boolean, but encountered String"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			given(t, shapeOf(authors()...), tracked("author")...).when(c.body).refuses(domain.ParseFailed, c.path, c.message)
		})
	}
}

func TestAnEventTriggerNeedsItsTableAndColumns(t *testing.T) {
	fields := append(tracked("author", "article"),
		Relationship{Table: named("author"), Name: "articles", Type: ArrayRelationship, Using: RelationshipUsing{
			ForeignKey: &ForeignKeyOn{Table: ptr(named("article")), Column: "author_id"}}})
	world := func() scenario { return given(t, shapeOf(authors()...), append(fields, trigger("old", "name"))...) }
	const args = "$.args"

	world().when(`{"type":"create_event_trigger","args":{"name":"t","table":"users","webhook":"http://hook","enable_manual":true}}`).
		refuses(domain.NotExists, args, `table "users" does not exist`)
	world().when(createTrigger(`"enable_manual":true,"replace":true`)).
		refuses(domain.NotExists, args, `event trigger "t" does not exist`)
	world().when(`{"type":"create_event_trigger","args":{"name":"old","table":"article","webhook":"http://hook","enable_manual":true,"replace":true}}`).
		refuses(domain.NotSupported, args, "cannot replace table or schema for trigger")
	world().when(createTrigger(`"update":{"columns":["c"]}`)).
		refuses(domain.NotExists, args, `column "c" does not exist`)
	world().when(createTrigger(`"update":{"columns":["name","articles"]}`)).
		refuses(domain.UnexpectedPayload, args, `expecting a postgres column; but, "articles" is a relationship; `)
	world().when(`{"type":"create_event_trigger","args":{"name":"old","table":"article","webhook":"http://hook","enable_manual":true}}`).
		refuses(domain.AlreadyExists, args, `event trigger "old" already exists`)
	world().when(createTrigger(`"insert":{"columns":"*","payload":["name","c"]}`)).
		refuses(domain.ConstraintViolation, args, `table "author" has no field named "c"`)
}

func TestATableThatCannotStandHasNoEventTriggers(t *testing.T) {
	given(t, shapeOf(), tracked("author")...).when(createTrigger(`"enable_manual":true`)).
		refuses(domain.NotExists, "$.args", `table "author" does not exist`)
}

func TestTheEnvironmentOfAnEventTriggerMustBeSet(t *testing.T) {
	const from = `{"type":"create_event_trigger","args":{"name":"t","table":"author","enable_manual":true,`
	for body, message := range map[string]string{
		from + `"webhook_from_env":"X"}}`:                                                          `environment variable 'X' not set`,
		from + `"webhook":"http://h","headers":[{"name":"a","value_from_env":"X"}]}}`:              `environment variable 'X' not set`,
		from + `"webhook":"http://{{X}}/{{Y}}/{{X}}/{{SET}}"}}`:                                    `Value for environment variables not found: X, Y`,
		from + `"webhook_from_env":"HOOK","headers":[{"name":"a","value_from_env":"X"}]}}`:         `environment variable 'X' not set`,
		from + `"webhook_from_env":"X","headers":[{"name":"a","value_from_env":"Y"}]}}`:            `environment variable 'X' not set`,
		from + `"webhook":"http://{{X}}","insert":{"columns":"*","payload":["nothing of this"]}}}`: `Value for environment variables not found: X`,
	} {
		givenEnvironment(t, Environment{"SET": "s", "HOOK": "http://h"}, shapeOf(authors()...), tracked("author")...).when(body).
			refuses(domain.ConstraintViolation, "$.args", `in table "author": in event trigger "t": `+message)
	}
}

func TestARefusedEventTriggerShowsItsConfiguration(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("author")...).
		when(`{"type":"create_event_trigger","args":{"name":"t","table":"author","webhook_from_env":"X","insert":{"columns":"*"}}}`).
		internal(`[{"type":"event_trigger","reason":"in table \"author\": in event trigger \"t\": environment variable 'X' not set",
			"definition":{"table":{"schema":"public","name":"author"},"configuration":{"name":"t",
				"definition":{"enable_manual":false,"insert":{"columns":"*"}},"webhook_from_env":"X",
				"retry_conf":{"num_retries":0,"interval_sec":10,"timeout_sec":60}}}}]`)
}

func TestTheRowsOfAViewCannotBeObserved(t *testing.T) {
	view := tableOf("author", "id int4")
	view.Kind = database.View
	given(t, shapeOf(view), tracked("author")...).when(createTrigger(`"insert":{"columns":"*"}`)).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in event trigger "t": the rows of a view cannot be observed`)
	given(t, shapeOf(view), tracked("author")...).when(createTrigger(`"enable_manual":true`)).
		changes("event_trigger_created t")
}

func TestReplacingAnEventTriggerReplacesAllOfIt(t *testing.T) {
	world := given(t, shapeOf(authors()...), append(tracked("author"), trigger("t", "name"))...)
	replaced := world.when(createTrigger(`"delete":{"columns":"*"},"replace":true`)).
		changes("event_trigger_changed t").
		holds(eventTriggerKey("t"), `{"name":"t","table":{"schema":"public","name":"author"},"webhook":"http://hook",
			"definition":{"enable_manual":false,"delete":{"columns":"*"}},
			"retry_conf":{"num_retries":0,"interval_sec":10,"timeout_sec":60}}`)
	replaced.then().when(createTrigger(`"delete":{"columns":"*"},"replace":true`)).changes()
}

func TestDeletingAnEventTriggerIsIdempotent(t *testing.T) {
	world := given(t, shapeOf(authors()...), append(tracked("author"), trigger("t", "name"))...)
	deleted := world.when(`{"type":"delete_event_trigger","args":{"name":"t"}}`).changes("event_trigger_dropped t")
	deleted.then().when(`{"type":"delete_event_trigger","args":{"name":"t"}}`).changes()
	world.when(`{"type":"delete_event_trigger","args":{"name":""}}`).refuses(domain.ParseFailed, "$.name", "empty string not allowed")
}

func TestClientsOfTheNextGenerationNameASource(t *testing.T) {
	world := given(t, shapeOf(authors()...), tracked("author")...)
	body := strings.Replace(createTrigger(`"enable_manual":true,"source":"default"`), `"create`, `"pg_create`, 1)
	world.when(body).changes("event_trigger_created t").
		then().when(`{"type":"pg_delete_event_trigger","args":{"name":"t"}}`).changes("event_trigger_dropped t")
	world.when(strings.Replace(body, "default", "other", 1)).refuses(domain.ParseFailed, "$.source", `the only source is "default"`)
}

func TestAnEventTriggerFallsWithAColumnItNames(t *testing.T) {
	with := trigger("t", "name")
	with.Definition.Insert = &OperationSpec{Columns: EventColumns{All: true}, Payload: &EventColumns{Names: []string{"age"}}}
	w := given(t, shapeOf(authors()...), append(tracked("author"), with)...).world
	require.True(t, w.Standing.Stands(with.Key()))
	for _, column := range []string{"name", "age"} {
		var users []Key
		for key := range w.Standing.dependentsOf(needColumn(named("author"), column)) {
			users = append(users, key)
		}
		require.Equal(t, []Key{with.Key()}, users)
	}
	smaller := w.WithShape(foundOf(tableOf("author", "id int4 pk", "name text")))
	require.False(t, smaller.Standing.Stands(with.Key()))
	require.Equal(t, `table "author" has no field named "age"`, smaller.Inconsistencies()[0].Reason)
	require.Equal(t, "event-trigger author.t", with.String())
}

func TestAnEventTriggerFollowsRenames(t *testing.T) {
	with := trigger("t", "name", "age")
	with.Definition.Update.Payload = &EventColumns{Names: []string{"name"}}
	with.Definition.Insert = &OperationSpec{Columns: EventColumns{All: true}}
	column := with.renamed(Rename{Table: named("author"), Column: "name", NewColumn: "full_name"})
	sameJSON(t, `{"enable_manual":true,"insert":{"columns":"*"},"update":{"columns":["full_name","age"],"payload":["full_name"]}}`,
		encode(column.(EventTrigger).Definition))
	table := with.renamed(Rename{Table: named("author"), NewTable: named("app.writer")})
	require.Equal(t, named("app.writer"), table.(EventTrigger).Table)
	require.Equal(t, encode(with), encode(with.renamed(Rename{Table: named("article"), Column: "name", NewColumn: "x"})))
	require.Equal(t, []string{"name", "age"}, with.Definition.Update.Columns.Names, "the object itself is left as it is")
}

func TestAnEventTriggerComesBackFromTheDocumentAsItWas(t *testing.T) {
	env := Environment{"H": "v"}
	created := givenEnvironment(t, env, shapeOf(authors()...), tracked("author")...).
		when(createTrigger(`"update":{"columns":["name"],"payload":"*"},"headers":[{"name":"a","value_from_env":"H"}],"retry_conf":{"num_retries":1}`)).accepted()
	stored, _ := lookup[EventTrigger](created.decision.World.Catalog, eventTriggerKey("t"))
	entry := encode(stored.exported())
	sameJSON(t, `{"name":"t","definition":{"enable_manual":false,"update":{"columns":["name"],"payload":"*"}},
		"retry_conf":{"num_retries":1,"interval_sec":10},"webhook":"http://hook","headers":[{"name":"a","value_from_env":"H"}]}`, entry)
	require.Equal(t, encode(stored), encode(decodeEntry(t, entry, func(n node) EventTrigger { return decodeEventTriggerEntry(n, named("author")) })))
}
