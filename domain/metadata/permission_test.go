package metadata

import (
	"encoding/json"
	"testing"

	"annals/domain"
	"annals/domain/database"
)

// createSelect is the body of a create_select_permission on the author table.
func createSelect(filter string) string {
	return `{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["id"],"filter":` + filter + `}}}`
}

func TestCreatePermissionKeepsWhatWasGiven(t *testing.T) {
	for action, c := range map[string]struct{ permission, exported string }{
		"insert": {`{"check":{"name":"x"},"set":{"name":"x-service-user-id"},"columns":["id","name"],"backend_only":false}`,
			`{"role":"user","permission":{"check":{"name":"x"},"set":{"name":"x-service-user-id"},"columns":["id","name"],"backend_only":false}}`},
		"select": {`{"columns":"*","filter":{"id":{"_eq":"X-Hasura-User-Id"}},"limit":10,"allow_aggregations":true,"computed_fields":[]}`,
			`{"role":"user","permission":{"columns":"*","filter":{"id":{"_eq":"X-Hasura-User-Id"}},"limit":10,"allow_aggregations":true}}`},
		"update": {`{"columns":["name"],"filter":{},"set":{}}`,
			`{"role":"user","permission":{"columns":["name"],"filter":{},"check":null}}`},
		"delete": {`{"filter":{}}`, `{"role":"user","permission":{"filter":{}}}`},
	} {
		t.Run(action, func(t *testing.T) {
			for _, prefix := range []string{"", "pg_"} {
				o := given(t, shapeOf(authors()...), tracked("author")...).
					when(`{"type":"` + prefix + `create_` + action + `_permission","args":{"table":"author","role":"user","permission":` + c.permission + `}}`).
					changes("permission_created public.author.user." + action)
				p, _ := lookup[Permission](o.decision.World.Catalog, permissionKey(named("author"), "user", action))
				sameJSON(t, c.exported, encode(p.exported()))
			}
		})
	}
}

func TestAnAbsentMemberStaysAbsent(t *testing.T) {
	o := given(t, shapeOf(authors()...), tracked("author")...).
		when(`{"type":"create_insert_permission","args":{"table":"author","role":"user","permission":{"check":{}}}}`)
	p, _ := lookup[Permission](o.accepted().decision.World.Catalog, permissionKey(named("author"), "user", MayInsert))
	sameJSON(t, `{"role":"user","permission":{"check":{}}}`, encode(p.exported()))
}

func TestCreatePermissionRefuses(t *testing.T) {
	view := tableOf("view", "id int4")
	view.Kind, view.Insertable, view.Updatable, view.Deletable = database.View, false, false, false
	shape := shapeOf(append(authors(), view, rowFunction("shout", "author"), rowsFunction("fetch_articles", "author", "article"))...)
	known := append(tracked("author", "article", "view", "lost"), readAll("author", "known"),
		computed("author", "loud", "shout"), computed("author", "get_articles", "fetch_articles"))
	body := func(action, table, role, permission string) string {
		return `{"type":"create_` + action + `_permission","args":{"table":"` + table + `","role":"` + role + `","permission":` + permission + `}}`
	}
	const within = `in table "author": in permission for role "user": `
	for name, c := range map[string]struct {
		body          string
		code          domain.Code
		path, message string
	}{
		"an empty role":                {body("select", "author", "", `{"columns":"*","filter":{}}`), domain.ParseFailed, "$.role", `empty string not allowed`},
		"no filter":                    {body("select", "author", "user", `{"columns":"*"}`), domain.ParseFailed, "$.permission", `key "filter" not found`},
		"no columns":                   {body("update", "author", "user", `{"filter":{}}`), domain.ParseFailed, "$.permission", `key "columns" not found`},
		"no check":                     {body("insert", "author", "user", `{}`), domain.ParseFailed, "$.permission", `key "check" not found`},
		"a filter that is no object":   {body("delete", "author", "user", `{"filter":[]}`), domain.ParseFailed, "$.permission.filter", `parsing Object failed, expected Object, but encountered Array`},
		"columns that are no list":     {body("select", "author", "user", `{"columns":"id","filter":{}}`), domain.ParseFailed, "$.permission.columns", `parsing [] failed, expected Array, but encountered String`},
		"a table that is not tracked":  {body("select", "x", "user", `{"columns":"*","filter":{}}`), domain.NotExists, "$.args", `table "x" does not exist`},
		"a table that is inconsistent": {body("select", "lost", "user", `{"columns":"*","filter":{}}`), domain.ConstraintViolation, "$.args", `table "lost" does not exist`},
		"a permission that is there": {body("select", "author", "known", `{"columns":"*","filter":{}}`), domain.AlreadyExists, "$.args",
			`select permission already defined on table "author" with role "known"`},
		"the admin": {body("select", "author", "admin", `{"columns":"*","filter":{}}`), domain.ConstraintViolation, "$.args",
			`in table "author": in permission for role "admin": cannot define permission for admin role`},
		"an unknown column":        {body("select", "author", "user", `{"columns":["id","c"],"filter":{}}`), domain.ConstraintViolation, "$.args", within + `column "c" does not exist`},
		"an unknown preset":        {body("insert", "author", "user", `{"check":{},"set":{"c":1}}`), domain.ConstraintViolation, "$.args", within + `column "c" does not exist`},
		"a preset of another type": {body("insert", "author", "user", `{"check":{},"set":{"name":1}}`), domain.ConstraintViolation, "$.args", within + `parsing Text failed, expected String, but encountered Number`},
		"a negative limit":         {body("select", "author", "user", `{"columns":"*","filter":{},"limit":-1}`), domain.ConstraintViolation, "$.args", within + `unexpected negative value`},
		"a view without inserts": {body("insert", "view", "user", `{"check":{}}`), domain.ConstraintViolation, "$.args",
			`in table "view": in permission for role "user": view "view" is not insertable`},
		"a view without deletes": {body("delete", "view", "user", `{"filter":{}}`), domain.ConstraintViolation, "$.args",
			`in table "view": in permission for role "user": view "view" is not deletable`},
		"an unknown computed field": {body("select", "author", "user", `{"columns":"*","filter":{},"computed_fields":["loud","random"]}`),
			domain.ConstraintViolation, "$.args", within + `computed field "random" does not exist`},
		"a computed field that returns rows": {body("select", "author", "user", `{"columns":"*","filter":{},"computed_fields":["loud","get_articles"]}`),
			domain.ConstraintViolation, "$.args", within + `select permissions on computed field "get_articles" are auto-derived from the permissions on its returning table "article" and cannot be specified manually`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shape, known...).when(c.body).refuses(c.code, c.path, c.message)
		})
	}
}

func TestARefusedSelectPermissionIsShownWithItsDefaults(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("author")...).
		when(`{"type":"create_select_permission","args":{"table":"author","role":"admin","permission":{"columns":"*","filter":{"id":"X-Hasura-User-Id"}}}}`).
		refuses(domain.ConstraintViolation, "$.args", `in table "author": in permission for role "admin": cannot define permission for admin role`).
		internal(`[{"type":"select_permission","reason":"in table \"author\": in permission for role \"admin\": cannot define permission for admin role",
			"definition":{"role":"admin","comment":null,"table":{"schema":"public","name":"author"},
			"permission":{"columns":"*","filter":{"id":"X-Hasura-User-Id"},"allow_aggregations":false,"computed_fields":[]}}}]`)
}

func TestDropPermission(t *testing.T) {
	s := given(t, shapeOf(authors()...), append(tracked("author"), readAll("author", "user"))...)
	s.when(`{"type":"drop_select_permission","args":{"table":"author","role":"user"}}`).
		changes("permission_dropped public.author.user.select")
	s.when(`{"type":"pg_drop_update_permission","args":{"table":"author","role":"user"}}`).
		refuses(domain.PermissionDenied, "$.args", `update permission on "author" for role "user" does not exist`)
	s.when(`{"type":"drop_select_permission","args":{"table":"x","role":"user"}}`).
		refuses(domain.NotExists, "$.args", `table "x" does not exist`)
}

func TestSetPermissionComment(t *testing.T) {
	s := given(t, shapeOf(authors()...), append(tracked("author"), readAll("author", "user"))...)
	set := func(permission string) string {
		return `{"type":"set_permission_comment","args":{"table":"author","role":"user","permission":"` + permission + `","comment":"why"}}`
	}
	s.when(set("select")).changes("permission_changed public.author.user.select")
	s.when(set("delete")).refuses(domain.PermissionDenied, "$.args", `'delete' permission on "author" for role "user" does not exist`)
	s.when(set("read")).refuses(domain.ParseFailed, "$.permission", `expected one of insert, select, update, delete, but found "read"`)
}

func TestFiltersMayBeWrittenInManyWays(t *testing.T) {
	for _, filter := range []string{
		`{}`,
		`{"id":7}`,
		`{"id":"7"}`,
		`{"id":null}`,
		`{"id":"X-Service-User-Id"}`,
		`{"id":{"$eq":"x-hasura-User-Id"}}`,
		`{"id":{"_in":[1,2]},"name":{"_nin":"X-Service-Names"}}`,
		`{"name":{"_ilike":"%a%","$similar":"x"},"age":{"_is_null":false,"_gte":18}}`,
		`{"_and":[{"$or":[{"id":1},{"_not":{"id":2}}]},{}]}`,
		`{"data":{"_contains":{"a":[1]},"_has_keys_any":["a","b"],"_has_key":"a","_cast":{"text":{"_like":"a"}}}}`,
		`{"id":{"_ceq":"age","$cgt":"age"}}`,
		`{"articles":{"author":{"articles":{"title":"x"}}}}`,
		`{"_exists":{"_table":"article","_where":{"published":true}}}`,
		`{"$exists":{"$table":{"schema":"public","name":"article"},"$where":{"author":{"id":1}}}}`,
	} {
		t.Run(filter, func(t *testing.T) {
			o := given(t, shapeOf(authors()...), append(tracked("author", "article"),
				objectKey("article", "author", "author_id"), arrayKey("author", "articles", "article", "author_id"))...).
				when(createSelect(filter)).accepted()
			p, _ := lookup[Permission](o.decision.World.Catalog, permissionKey(named("author"), "user", MaySelect))
			if string(p.Definition.Filter) != filter {
				t.Fatalf("kept as %s", p.Definition.Filter)
			}
		})
	}
}

func TestFiltersThatCannotStand(t *testing.T) {
	place := tableOf("author", "id int4 pk", "name text", "age int4", "data jsonb", "raw json", "spot geometry", "tags text[]")
	shape := shapeOf(place, rowFunction("shout", "author"), tableOf("article", "id int4 pk", "title text"))
	known := append(tracked("author"), computed("author", "loud", "shout"))
	for filter, reason := range map[string]string{
		`{"c":1}`: `column "c" does not exist`,
		`{"_and":[{"id":1},{"_or":[{"_not":{"c":1}}]}]}`: `column "c" does not exist`,
		`{"_and":{"id":1}}`:                        `parsing [] failed, expected Array, but encountered Object`,
		`{"_not":[]}`:                              `parsing Object failed, expected Object, but encountered Array`,
		`{"id":{"_foo":1}}`:                        `unknown operator "_foo" for the column "id"`,
		`{"id":{"eq":1}}`:                          `unknown operator "eq" for the column "id"`,
		`{"id":{"_like":"x"}}`:                     `column "id" is of type "integer"; this operator works only on columns of type "text"/"varchar"/"bpchar"/"citext"/"name"`,
		`{"name":{"_has_key":"x"}}`:                `column "name" is of type "text"; this operator works only on columns of type "jsonb"`,
		`{"tags":{"_like":"x"}}`:                   `column "tags" is of type "text[]"; this operator works only on columns of type "text"/"varchar"/"bpchar"/"citext"/"name"`,
		`{"id":true}`:                              `parsing Number failed, expected Number, but encountered Boolean`,
		`{"id":{"_in":1}}`:                         `parsing [] failed, expected Array, but encountered Number`,
		`{"id":{"_in":[1,true]}}`:                  `parsing Number failed, expected Number, but encountered Boolean`,
		`{"name":{"_eq":1}}`:                       `parsing Text failed, expected String, but encountered Number`,
		`{"tags":[1]}`:                             `parsing Text failed, expected String, but encountered Number`,
		`{"tags":1}`:                               `parsing Text failed, expected String, but encountered Number`,
		`{"id":{"_is_null":"yes"}}`:                `parsing Bool failed, expected Boolean, but encountered String`,
		`{"raw":{"_eq":{}}}`:                       `JSON column can not be part of where clause`,
		`{"loud":"x"}`:                             `Computed columns can not be part of the where clause`,
		`{"id":{"_ceq":"c"}}`:                      `column "c" does not exist`,
		`{"id":{"_ceq":"name"}}`:                   `incompatible column types : "id", "name"`,
		`{"id":{"_cast":{"text":{"_eq":"1"}}}}`:    `cannot cast column of type "integer" to type "text"`,
		`{"spot":{"_cast":{"integer":{"_eq":1}}}}`: `cannot cast column of type "geometry" to type "integer"`,
		`{"spot":{"_cast":{"geography":{"_st_within":1}}}}`: `column "spot" is of type "geography"; this operator works only on columns of type "geometry"`,
		`{"spot":{"_st_d_within":{"distance":1}}}`:          `key "from" not found`,
		`{"_exists":{"_table":"article","_where":{}}}`:      `table "article" does not exist`,
		`{"_exists":{"_where":{}}}`:                         `key "_table" not found`,
	} {
		t.Run(filter, func(t *testing.T) {
			given(t, shape, known...).when(createSelect(filter)).
				refuses(domain.ConstraintViolation, "$.args", `in table "author": in permission for role "user": `+reason)
		})
	}
}

func TestAPermissionRisesWhenWhatItsFilterNamesArrives(t *testing.T) {
	p := reads("article", "user", `{"author":{"_exists":{"_table":"log","_where":{"id":1}}}}`, "id")
	s := given(t, shapeOf(append(authors(), tableOf("log", "id int4 pk"))...), append(tracked("author", "article"), p)...)
	s = s.when(`{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}`).then()
	if s.world.Standing.Stands(p.Key()) {
		t.Fatal("stands without the table log")
	}
	s = s.when(`{"type":"track_table","args":"log"}`).then()
	if !s.world.Standing.Stands(p.Key()) {
		t.Fatalf("does not stand: %s", encode(s.world.Inconsistencies()))
	}
}

func TestARewriteWithoutANewNameChangesNothing(t *testing.T) {
	w := given(t, shapeOf(authors()...), append(tracked("author", "article"), objectKey("article", "author", "author_id"))...).world
	p := reads("article", "user", `{"author":{"name":{"_in":["a","b"]}},"$or":[{"id":{"_ceq":"id"}},7,null],"data":{"_cast":{"text":{"_eq":"é\n\""}}},"_exists":{"_table":{"name":"x"},"_where":[]}}`, "id")
	p.Definition.Set = map[string]json.RawMessage{"title": json.RawMessage(`"x"`)}
	same := p.renamed(Rename{Table: named("other"), Column: "id", NewColumn: "no", world: w})
	if got := encode(same); string(got) != string(encode(p)) {
		t.Fatalf("became %s", got)
	}
}

// rowsFunction returns rows of one table for a row of another.
func rowsFunction(name, of, table string) *database.Function {
	f := stableFunction(name, table)
	f.Arguments = []database.Argument{rowArgument("", of)}
	return f
}

func FuzzExpressionsAreRefusedOrStandButNeverPanic(f *testing.F) {
	for _, seed := range []string{
		`{"id":{"_eq":1}}`, `{"_exists":{"_table":"author","_where":{"author":{"$or":[]}}}}`, `{"id":{"_cast":{"text":{"_in":[[]]}}}}`,
		`{"":{"":null}}`, `{"_and":[[{}]]}`, `{"\u0000":{"_ceq":"\u0000"}}`, `{"_st_d_within":{}}`, `{"$":{"_":{}}}`,
	} {
		f.Add(seed)
	}
	w := NewWorld(catalogWith(append(tracked("author", "article"), objectKey("article", "author", "author_id"))...), shapeOf(authors()...), nil)
	f.Fuzz(func(t *testing.T, filter string) {
		req, err := Parse([]byte(`{"type":"create_select_permission","args":{"table":"article","role":"user","permission":{"columns":["id"],"filter":` + filter + `}}}`))
		if err != nil {
			return
		}
		d, err := Decide(w, 9, req.Command.(Decider))
		if err != nil {
			return
		}
		p, _ := lookup[Permission](d.World.Catalog, permissionKey(named("article"), "user", MaySelect))
		r := Rename{Table: named("author"), NewTable: named("writer"), world: d.World}
		back := Rename{Table: named("writer"), NewTable: named("author"), world: d.World}
		if twice := p.renamed(r).renamed(back); !json.Valid(encode(twice)) {
			t.Fatalf("rewritten to %s", encode(twice))
		}
	})
}
