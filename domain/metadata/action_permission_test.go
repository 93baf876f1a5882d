package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestAnActionPermissionIsCreatedOnceForARole(t *testing.T) {
	const body = `{"type":"create_action_permission","args":{"action":"act","role":"user","comment":"c","definition":{"select":{"filter":{}}}}}`
	created := given(t, shapeOf(), userTypes(), action("act")).when(body).
		changes("action_permission_created act.user").
		holds(actionPermissionKey("act", "user"), `{"action":"act","role":"user","comment":"c"}`)
	created.then().when(body).refuses(domain.AlreadyExists, "$.args", `permission for role "user" is already defined on "act"`)
	given(t, shapeOf()).when(body).refuses(domain.NotExists, "$.args", `action with name "act" does not exist`)
}

func TestAnActionPermissionNamesAnActionAndARole(t *testing.T) {
	for args, want := range map[string][2]string{
		`{"role":"user"}`:              {"$", `key "action" not found`},
		`{"action":"","role":"user"}`:  {"$.action", "empty string not allowed"},
		`{"action":"act"}`:             {"$", `key "role" not found`},
		`{"action":"act","role":""}`:   {"$.role", "empty string not allowed"},
		`{"action":"act","role":null}`: {"$.role", "parsing Text failed, expected String, but encountered Null"},
	} {
		for _, operation := range []string{"create_action_permission", "drop_action_permission"} {
			given(t, shapeOf()).when(`{"type":"`+operation+`","args":`+args+`}`).refuses(domain.ParseFailed, want[0], want[1])
		}
	}
}

func TestAnActionPermissionCanBeDroppedAndMadeAgain(t *testing.T) {
	const drop = `{"type":"drop_action_permission","args":{"action":"act","role":"user"}}`
	dropped := given(t, shapeOf(), userTypes(), action("act"), ActionPermission{Action: "act", Role: "user"}).when(drop).
		changes("action_permission_dropped act.user").then()
	dropped.when(drop).refuses(domain.NotExists, "$.args", `permission for role: "user" is not defined on "act"`)
	dropped.when(`{"type":"create_action_permission","args":{"action":"act","role":"user"}}`).changes("action_permission_created act.user")
	given(t, shapeOf()).when(drop).refuses(domain.NotExists, "$.args", `action with name "act" does not exist`)
}

func TestAnActionPermissionWithoutItsActionCannotStand(t *testing.T) {
	p := ActionPermission{Action: "act", Role: "user", Comment: ptr("c")}
	w := given(t, shapeOf(), p).world
	sameJSON(t, `[{"type":"action_permission","reason":"action with name \"act\" does not exist",
		"definition":{"action":"act","role":"user","definition":null,"comment":"c"}}]`, encode(w.Inconsistencies()))
	require.Equal(t, "permission act.user", p.String())
}
