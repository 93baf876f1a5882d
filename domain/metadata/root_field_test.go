package metadata

import (
	"testing"

	"annals/domain"
	"annals/domain/database"
)

func TestOneNameAmongTheRootFieldsIsForOneObject(t *testing.T) {
	const duplicate = "found duplicate fields in selection set: "
	view := tableOf("view", "id int4")
	view.Insertable, view.Updatable, view.Deletable = false, false, false
	shape := shapeOf(
		tableOf("user", "id int4 pk"), tableOf("users", "id int4 pk"), tableOf("user_aggregate", "id int4"),
		tableOf("user_order_by", "id int4"), view, tableOf("view_by_pk", "id int4"), tableOf("odd.name", "id int4"),
		but(stableFunction("insert_users", "user"), func(f *database.Function) { f.Volatility = database.Volatile }), stableFunction("update_users", "user"),
	)
	other := Action{Name: "update_users", Definition: ActionDefinition{Type: MutationAction}}
	action := Action{Name: "insert_users", Definition: ActionDefinition{Type: MutationAction}}
	query := Action{Name: "users", Definition: ActionDefinition{Type: QueryAction}}
	user := Table{Name: named("user")}
	for _, c := range []struct {
		name    string
		given   []Object
		when    string
		refused string // empty: accepted
	}{
		{"a custom root field against a table's name", []Object{user},
			`{"type":"track_table","version":2,"args":{"table":"users","configuration":{"custom_root_fields":{"select_by_pk":"user"}}}}`, duplicate + "user"},
		{"a custom name against a table's name", []Object{user},
			`{"type":"track_table","version":2,"args":{"table":"users","configuration":{"custom_name":"user"}}}`,
			duplicate + "delete_user, delete_user_by_pk, insert_user, insert_user_one, update_user, update_user_by_pk, user, user_aggregate, user_by_pk"},
		{"a table's name against another's aggregate", []Object{user}, `{"type":"track_table","args":"user_aggregate"}`, duplicate + "user_aggregate"},
		{"two fields of one table", nil,
			`{"type":"track_table","version":2,"args":{"table":"users","configuration":{"custom_root_fields":{"select_aggregate":"users"}}}}`, duplicate + "users"},
		{"a table against an action", []Object{action}, `{"type":"track_table","args":"users"}`, duplicate + "insert_users"},
		{"a table against an action of queries", []Object{query}, `{"type":"track_table","args":"users"}`, duplicate + "users"},
		{"a new name against a table", []Object{user, Table{Name: named("users")}},
			`{"type":"set_table_custom_fields","version":2,"args":{"table":"users","custom_root_fields":{"insert":"insert_user"}}}`, duplicate + "insert_user"},
		{"a table's name against the type of another's argument", []Object{user}, `{"type":"track_table","args":"user_order_by"}`,
			`found conflicting definitions for "user_order_by" when collecting types from the schema`},
		{"the type of an argument against a table's name", []Object{Table{Name: named("user_order_by")}}, `{"type":"track_table","args":"user"}`,
			`found conflicting definitions for "user_order_by" when collecting types from the schema`},
		{"a volatile function against an action", []Object{user, action}, `{"type":"track_function","args":"insert_users"}`, duplicate + "insert_users"},
		{"a function of queries against an action of mutations", []Object{user, other}, `{"type":"track_function","args":"update_users"}`, ""},
		{"a field that the database does not allow", []Object{Table{Name: named("view")}}, `{"type":"track_table","args":"view_by_pk"}`, ""},
		{"a name that is taken by nobody", []Object{user}, `{"type":"track_table","args":"users"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := given(t, shape, c.given...).when(c.when)
			if c.refused == "" {
				result.accepted()
				return
			}
			result.refuses(domain.Unexpected, "$.args", c.refused)
		})
	}
}

// A history may hold a clash from before it was looked for.
func TestAClashThatIsThereRefusesNothingElse(t *testing.T) {
	shape := shapeOf(tableOf("user", "id int4"), tableOf("users", "id int4"), tableOf("other", "id int4"))
	name := "user"
	users := Table{Name: named("users"), Configuration: TableConfiguration{CustomName: &name}}
	world := given(t, shape, Table{Name: named("user")}, users)
	world.when(`{"type":"track_table","args":"other"}`).accepted()
	world.when(`{"type":"untrack_table","args":{"table":"users"}}`).accepted()
}

func TestAKeySaysWhichTableItsObjectBelongsTo(t *testing.T) {
	for _, name := range []domain.QualifiedName{named("author"), {Schema: `a."b`, Name: `c.d"`}, {Schema: "", Name: "."}} {
		for _, key := range []Key{permissionKey(name, `r."x`, "select"), relationshipKey(name, ".")} {
			if table, ok := key.table(); !ok || table != tableKey(name) {
				t.Errorf("%s belongs to %s", key, table)
			}
		}
	}
	if _, ok := tableKey(named("author")).table(); ok {
		t.Error("a table belongs to no table")
	}
}
