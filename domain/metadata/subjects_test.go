package metadata

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestEachCallIsKeptUnderItsNameAndLooksOnlyAtWhatItNames(t *testing.T) {
	const typed = `{"objects":[{"name":"O","fields":[{"name":"id","type":"Int"}],"relationships":[{"name":"r","type":"array","remote_table":"article","field_mapping":{}}]}]}`
	const relation = `{"name":"m","table":"author","hasura_fields":[],"remote_schema":"r","remote_field":{"f":{"arguments":{}}}}`
	const definition = `{"handler":"http://h","output_type":"User"}`
	cases := []struct{ operation, args, table string }{
		{"create_event_trigger", `{"name":"t","table":"author","webhook":"http://h","enable_manual":true}`, "author"},
		{"delete_event_trigger", `{"name":"t"}`, ""},
		{"redeliver_event", `{"event_id":"e"}`, ""},
		{"invoke_event_trigger", `{"name":"t","payload":1}`, ""},
		{"create_cron_trigger", `{"name":"c","webhook":"http://h","schedule":"* * * * *","include_in_metadata":false}`, ""},
		{"delete_cron_trigger", `{"name":"c"}`, ""},
		{"create_scheduled_event", `{"webhook":"http://h","schedule_at":"2020-01-01T00:00:00Z"}`, ""},
		{"add_remote_schema", `{"name":"r","definition":{}}`, ""},
		{"remove_remote_schema", `{"name":"r"}`, ""},
		{"reload_remote_schema", `{"name":"r"}`, ""},
		{"introspect_remote_schema", `{"name":"r"}`, ""},
		{"create_remote_relationship", relation, "author"},
		{"update_remote_relationship", relation, "author"},
		{"delete_remote_relationship", `{"table":"author","name":"m"}`, "author"},
		{"set_custom_types", typed, "article"},
		{"create_action", `{"name":"a","definition":` + definition + `}`, ""},
		{"update_action", `{"name":"a","definition":` + definition + `}`, ""},
		{"drop_action", `{"name":"a"}`, ""},
		{"create_action_permission", `{"action":"a","role":"r"}`, ""},
		{"drop_action_permission", `{"action":"a","role":"r"}`, ""},
	}
	for _, c := range cases {
		got := command[Command](t, `{"type":"`+c.operation+`","args":`+c.args+`}`)
		require.Equal(t, c.operation, got.Operation())
		var tables []domain.QualifiedName
		if c.table != "" {
			tables = []domain.QualifiedName{named(c.table)}
		}
		types := slices.Contains([]string{"set_custom_types", "create_action", "update_action"}, c.operation)
		require.Equal(t, Names{Tables: tables, Types: types}, NamesOf(World{}, got), c.operation)
	}
}

func TestObjectsHaveTheNamesThatMessagesCallThemBy(t *testing.T) {
	for text, object := range map[string]Object{
		"event-trigger app.author.t":       EventTrigger{Table: named("app.author"), Name: "t"},
		"cron trigger c":                   CronTrigger{Name: "c"},
		"remote schema r":                  RemoteSchema{Name: "r"},
		"remote relationship app.author.m": RemoteRelationship{Table: named("app.author"), Name: "m"},
		"custom types":                     CustomTypes{},
		"action a":                         Action{Name: "a"},
		"permission a.user":                ActionPermission{Action: "a", Role: "user"},
	} {
		require.Equal(t, text, object.String())
	}
}

func TestWhatNamesNoTableIsLeftAsItIsByARename(t *testing.T) {
	rename := Rename{Table: named("author"), NewTable: named("writer")}
	for _, object := range []Object{cron("c"), messages(t), action("a"), ActionPermission{Action: "a", Role: "r"}, userTypes()} {
		require.Equal(t, encode(object), encode(object.renamed(rename)))
	}
}

func TestATablesTriggersAndRemoteRelationshipsGoWithIt(t *testing.T) {
	given(t, shapeOf(authors()...), append(tracked("author"), messages(t), trigger("t", "name"),
		joined("message", `{"message":{"arguments":{"id":"$id"}}}`, "id"))...).
		when(`{"type":"untrack_table","args":{"table":"author"}}`).
		changes("event_trigger_dropped t", "remote_relationship_deleted public.author.message", "table_untracked public.author")
}
