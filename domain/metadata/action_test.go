package metadata

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

// action answers with a User.
func action(name string) Action {
	return Action{Name: name, Definition: ActionDefinition{
		Handler: "http://handler", OutputType: "User", Type: MutationAction, Kind: SynchronousAction, Timeout: defaultActionTimeout,
	}}
}

// createAction is the body of a create_action with these members more in its
// definition.
func createAction(members string) string {
	return `{"type":"create_action","args":{"name":"act","definition":{"handler":"http://handler","output_type":"User"` + members + `}}}`
}

func TestAnActionIsKeptWithItsDefaultsFilledIn(t *testing.T) {
	given(t, shapeOf(), userTypes()).when(createAction("")).
		changes("action_created act").
		holds(actionKey("act"), `{"name":"act","definition":{"handler":"http://handler","output_type":"User","arguments":[],"headers":[],
			"forward_client_headers":false,"type":"mutation","kind":"synchronous","timeout":30}}`)
	given(t, shapeOf(), userTypes()).when(createAction(`,"type":"query","kind":"asynchronous"`)).
		holds(actionKey("act"), `{"name":"act","definition":{"handler":"http://handler","output_type":"User","arguments":[],"headers":[],
			"forward_client_headers":false,"type":"query","timeout":30}}`)
}

func TestAnActionIsKeptWhole(t *testing.T) {
	givenEnvironment(t, Environment{"BASE": "http://base"}, shapeOf(), userTypes()).
		when(`{"type":"create_action","args":{"name":"create_user","comment":"c","definition":{"kind":"asynchronous","type":"mutation",
			"arguments":[{"name":"users","type":"[UserInput !]"},{"name":"mail","type":"Email","description":"d"},{"name":"at","type":"timestamptz"},{"name":"c","type":"Color"}],
			"output_type":"[User]!","handler":"{{BASE}}/create-user","forward_client_headers":true,"timeout":60,"headers":[{"name":"a","value_from_env":"UNSET"}]}}}`).
		changes("action_created create_user").
		holds(actionKey("create_user"), `{"name":"create_user","comment":"c","definition":{"kind":"asynchronous","type":"mutation",
			"arguments":[{"name":"users","type":"[UserInput!]"},{"name":"mail","type":"Email","description":"d"},{"name":"at","type":"timestamptz"},{"name":"c","type":"Color"}],
			"output_type":"[User]!","handler":"{{BASE}}/create-user","forward_client_headers":true,"timeout":60,"headers":[{"name":"a","value_from_env":"UNSET"}]}}`)
}

func TestAnActionThatCannotBeReadIsRefused(t *testing.T) {
	cases := []struct{ body, path, message string }{
		{`{"type":"create_action","args":{"definition":{}}}`, "$", `key "name" not found`},
		{`{"type":"create_action","args":{"name":"","definition":{}}}`, "$.name", "empty string not allowed"},
		{`{"type":"create_action","args":{"name":"a-b","definition":{}}}`, "$.name", `"a-b" is not a valid GraphQL name`},
		{`{"type":"create_action","args":{"name":"a"}}`, "$", `key "definition" not found`},
		{`{"type":"create_action","args":{"name":"a","definition":{"output_type":"User"}}}`, "$.definition", `key "handler" not found`},
		{`{"type":"create_action","args":{"name":"a","definition":{"handler":"http://h"}}}`, "$.definition", `key "output_type" not found`},
		{createAction(`,"type":"subscription"`), "$.definition", "expected mutation or query, but found subscription"},
		{createAction(`,"kind":"later"`), "$.definition.kind", "expected synchronous or asynchronous, but found later"},
		{createAction(`,"timeout":-1`), "$.definition.timeout", "timeout value cannot be negative"},
		{createAction(`,"timeout":"1"`), "$.definition.timeout", "parsing Int failed, expected Number, but encountered String"},
		{createAction(`,"arguments":[{"name":"a","type":"Int"},{"name":"a","type":"Int"}]`), "$.definition.arguments", `the argument "a" is given twice`},
		{createAction(`,"arguments":[{"name":"a","type":"[Int"}]`), "$.definition.arguments[0].type", "not a valid GraphQL type: [Int"},
		{createAction(`,"headers":[{"name":"x-client-id","value_from_env":"HASURA_GRAPHQL_CLIENT_NAME"}]`), "$.definition.headers[0]",
			`env variables starting with "HASURA_GRAPHQL_" are not allowed in value_from_env: HASURA_GRAPHQL_CLIENT_NAME`},
	}
	for _, c := range cases {
		given(t, shapeOf(), userTypes()).when(c.body).refuses(domain.ParseFailed, c.path, c.message)
	}
}

func TestAnActionNeedsItsTypesAndItsEnvironment(t *testing.T) {
	world := given(t, shapeOf(), userTypes())
	body := func(from, to string) string { return strings.Replace(createAction(""), from, to, 1) }
	for reason, body := range map[string]string{
		`the type: "Nobody" is not an object type defined in custom types`:                        body(`"User"`, `"[Nobody!]"`),
		`the type: "Email" is not an object type defined in custom types`:                         body(`"User"`, `"Email"`),
		`the type: "X" is not defined in custom types or it is not a scalar/enum/input_object`:    createAction(`,"arguments":[{"name":"a","type":"X!"}]`),
		`the type: "User" is not defined in custom types or it is not a scalar/enum/input_object`: createAction(`,"arguments":[{"name":"a","type":"User"}]`),
		`Value for environment variables not found: BASE`:                                         body("http://handler", "{{BASE}}/x"),
	} {
		world.when(body).refuses(domain.ConstraintViolation, "$.args", `in action "act"; `+reason)
	}
	given(t, shapeOf()).when(createAction("")).
		refuses(domain.ConstraintViolation, "$.args", `in action "act"; the type: "User" is not an object type defined in custom types`).
		internal(`[{"type":"action","reason":"in action \"act\"; the type: \"User\" is not an object type defined in custom types",
			"definition":{"name":"act","comment":null,"definition":{"handler":"http://handler","output_type":"User","arguments":[],"headers":[],
				"forward_client_headers":false,"type":"mutation","kind":"synchronous","timeout":30}}}]`)
}

func TestNoActionStandsOnTypesThatCannotStand(t *testing.T) {
	broken := CustomTypes{Objects: []CustomObject{{Name: "User", Fields: []CustomField{{Name: "id", Type: "Nothing"}}}}}
	w := given(t, shapeOf(), broken, action("act"), ActionPermission{Action: "act", Role: "user"}).world
	var reasons []string
	for _, i := range w.Inconsistencies() {
		reasons = append(reasons, i.Type+": "+i.Reason)
	}
	require.Equal(t, []string{
		`custom_types: validation for the given custom types failed because the type "Nothing" for field "id" in  object type "User" does not exist`,
		`action: custom types are inconsistent`,
	}, reasons)
}

func TestAnActionIsCreatedOnce(t *testing.T) {
	given(t, shapeOf(), userTypes(), action("act")).when(createAction("")).
		refuses(domain.AlreadyExists, "$.args", `action with name "act" already exists`)
}

func TestUpdatingAnActionKeepsItsCommentAndPermissions(t *testing.T) {
	old := action("act")
	old.Comment = ptr("why")
	body := strings.Replace(createAction(`,"timeout":5`), "create_action", "update_action", 1)
	given(t, shapeOf(), userTypes(), old, ActionPermission{Action: "act", Role: "user"}).when(body).
		changes("action_changed act").
		holds(actionKey("act"), `{"name":"act","comment":"why","definition":{"handler":"http://handler","output_type":"User","arguments":[],"headers":[],
			"forward_client_headers":false,"type":"mutation","kind":"synchronous","timeout":5}}`).
		holds(actionPermissionKey("act", "user"), `{"action":"act","role":"user"}`)
	given(t, shapeOf(), userTypes()).when(body).refuses(domain.NotExists, "$.args", `action with name "act" not exists`)
}

func TestAnActionThatCannotStandCanBeMended(t *testing.T) {
	lost := action("act")
	lost.Definition.OutputType = "Nobody"
	given(t, shapeOf(), userTypes(), lost).when(strings.Replace(createAction(""), "create_action", "update_action", 1)).changes("action_changed act")
}

func TestDroppingAnActionDropsItsPermissions(t *testing.T) {
	const body = `{"type":"drop_action","args":{"name":"act"}}`
	other := ActionPermission{Action: "act2", Role: "user"}
	given(t, shapeOf(), userTypes(), action("act"), action("act2"), other,
		ActionPermission{Action: "act", Role: "user"}, ActionPermission{Action: "act", Role: "editor"}).when(body).
		changes("action_permission_dropped act.editor", "action_permission_dropped act.user", "action_dropped act").
		holds(other.Key(), `{"action":"act2","role":"user"}`)
	given(t, shapeOf()).when(body).refuses(domain.NotExists, "$.args", `action with name "act" does not exist`)

	require.True(t, command[DropAction](t, body).ClearData)
	require.False(t, command[DropAction](t, `{"type":"drop_action","args":{"name":"act","clear_data":false}}`).ClearData)
}

func TestDroppingAnActionDemandsThatAllElseStands(t *testing.T) {
	lost := action("lost")
	lost.Definition.OutputType = "Nobody"
	world := given(t, shapeOf(), userTypes(), action("act"), lost)
	world.when(`{"type":"drop_action","args":{"name":"act"}}`).
		refuses(domain.Unexpected, "$.args", "cannot continue due to inconsistent metadata")
	world.when(`{"type":"drop_action","args":{"name":"lost"}}`).
		refuses(domain.NotExists, "$.args", `action with name "lost" does not exist`)
}

func TestAnActionComesBackFromTheDocumentAsItWas(t *testing.T) {
	full := Action{Name: "act", Comment: ptr("c"), Definition: ActionDefinition{
		Handler: "{{BASE}}", OutputType: "[User]", ForwardClientHeaders: true, Headers: []Header{{Name: "a", Value: ptr("b")}},
		Arguments: []ActionArgument{{Name: "x", Type: "Int!"}}, Type: MutationAction, Kind: AsynchronousAction, Timeout: 5,
	}}
	query := action("act")
	query.Definition.Type, query.Definition.Kind = QueryAction, ""
	for _, a := range []Action{action("act"), full, query} {
		again, permissions := Action{}, []ActionPermission(nil)
		decodeEntry(t, encode(a.exported()), func(n node) bool { again, permissions = decodeActionEntry(n); return true })
		require.Equal(t, encode(a), encode(again))
		require.Empty(t, permissions)
	}
	sameJSON(t, `{"name":"act","definition":{"handler":"http://handler","output_type":"User","type":"mutation","kind":"synchronous"}}`, encode(action("act").exported()))
	sameJSON(t, `{"name":"act","definition":{"handler":"http://handler","output_type":"User","type":"query"}}`, encode(query.exported()))
	sameJSON(t, `{"name":"act","comment":"c","definition":{"handler":"{{BASE}}","output_type":"[User]","forward_client_headers":true,"headers":[{"name":"a","value":"b"}],
		"arguments":[{"name":"x","type":"Int!"}],"type":"mutation","kind":"asynchronous","timeout":5}}`, encode(full.exported()))
}

func TestTheDocumentHoldsAnActionsPermissions(t *testing.T) {
	decodeEntry(t, []byte(`{"name":"act","definition":{"handler":"h","output_type":"User"},"permissions":[{"role":"user","comment":"c"},{"role":"a"}]}`), func(n node) bool {
		_, permissions := decodeActionEntry(n)
		require.Equal(t, []ActionPermission{{"act", "user", ptr("c")}, {"act", "a", nil}}, permissions)
		return true
	})
}
