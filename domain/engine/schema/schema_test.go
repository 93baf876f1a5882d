package schema_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/metadata"
)

const shape = `
table author: id int4 pk default, name text null unique, bad-name text null, odd my-type null, tags text[] null, ratio float8 null
table article: id int4 pk, part int8 pk, author_id int4 references author(id), mood text null references moods(value)
enum moods: calm, merry
table auth.users: id uuid pk
table 2many: id int4 pk
view names: name text
function search(text) setof author stable
function rename(text) setof author volatile
function size(row:author) int4 stable
`

const calls = `
{"type":"track_table","args":"author"}
{"type":"track_table","args":{"table":"moods","is_enum":true}}
{"type":"track_table","version":2,"args":{"table":"article","configuration":{"custom_name":"Post","custom_root_fields":{"select":"posts","insert_one":"write"},"custom_column_names":{"author_id":"authorId"}}}}
{"type":"track_table","args":{"schema":"auth","name":"users"}}
{"type":"track_table","args":"2many"}
{"type":"track_table","args":"names"}
{"type":"track_function","args":"search"}
{"type":"track_function","version":2,"args":{"function":"rename","configuration":{"exposed_as":"mutation"}}}
{"type":"add_computed_field","args":{"table":"author","name":"size","definition":{"function":"size"}}}
{"type":"create_array_relationship","args":{"table":"author","name":"articles","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}}
{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["name"],"filter":{}}}}
{"type":"create_update_permission","args":{"table":"author","role":"user","permission":{"columns":["name","ratio"],"filter":{},"set":{"ratio":1}}}}
{"type":"create_insert_permission","args":{"table":"author","role":"user","permission":{"check":{},"backend_only":true}}}
{"type":"create_delete_permission","args":{"table":"article","role":"cleaner","permission":{"filter":{}}}}
`

func named(name string) domain.QualifiedName {
	return domain.QualifiedName{Schema: domain.PublicSchema, Name: name}
}

func names(fields func(func(schema.Root) bool)) []string {
	list := []string{}
	for f := range fields {
		list = append(list, f.Name)
	}
	return list
}

func sameNames(t *testing.T, want string, got []string) {
	t.Helper()
	if diff := cmp.Diff(strings.Fields(want), append([]string{}, got...)); diff != "" {
		t.Errorf("names, wanted (-) and got (+):\n%s", diff)
	}
}

func TestARoleHasTheRootFieldsOfItsPermissions(t *testing.T) {
	w, s := schematest.World(t, shape, calls), schema.New()
	for _, c := range []struct {
		role               string
		backendOnly        bool
		queries, mutations string
	}{
		{domain.AdminRole, false,
			"Post_aggregate Post_by_pk auth_users auth_users_aggregate auth_users_by_pk author author_aggregate author_by_pk " +
				"moods moods_aggregate moods_by_pk names names_aggregate posts search search_aggregate",
			"delete_Post delete_Post_by_pk delete_auth_users delete_auth_users_by_pk delete_author delete_author_by_pk " +
				"delete_moods delete_moods_by_pk insert_Post insert_auth_users insert_auth_users_one insert_author insert_author_one " +
				"insert_moods insert_moods_one rename update_Post update_Post_by_pk update_auth_users " +
				"update_auth_users_by_pk update_author update_author_by_pk update_moods update_moods_by_pk write"},
		{"user", false, "author search", "rename update_author"},
		{"user", true, "author search", "insert_author insert_author_one rename update_author"},
		{"cleaner", false, "", "delete_Post"},
		{"stranger", false, "", ""},
	} {
		r := s.Role(w, c.role, c.backendOnly)
		sameNames(t, c.queries, names(r.Queries()))
		sameNames(t, c.mutations, names(r.Mutations()))
		if has := r.HasMutations(); has != (c.mutations != "") {
			t.Errorf("%s has mutations: %v", c.role, has)
		}
		for f := range r.Queries() {
			if found, ok := r.Query(f.Name); !ok || found.Kind != f.Kind {
				t.Errorf("%s is not found by its name", f.Name)
			}
		}
	}
}

func TestAColumnHasANameAndATypeOrIsLeftOut(t *testing.T) {
	s := schema.For(schematest.World(t, shape, calls), domain.AdminRole, false)
	types := func(table string) []string {
		var list []string
		for _, c := range s.Table(named(table)).ReadableColumns() {
			list = append(list, c.Field+":"+c.Type.Name)
		}
		return list
	}
	sameNames(t, "id:Int name:String tags:_text ratio:float8", types("author"))
	sameNames(t, "id:Int part:bigint authorId:Int mood:moods_enum", types("article"))
}

func TestPresetColumnsAreNotChosen(t *testing.T) {
	author := schema.For(schematest.World(t, shape, calls), "user", false).Table(named("author"))
	if author.Updatable("name") == nil || author.Updatable("ratio") != nil {
		t.Error("of the updatable columns only name is to be chosen")
	}
	if author.PrimaryKey() != nil {
		t.Error("the role may not read the primary key")
	}
}

func TestWhatATableLeadsToDependsOnTheRole(t *testing.T) {
	w, s := schematest.World(t, shape, calls), schema.New()
	admin, user := s.Role(w, domain.AdminRole, false).Table(named("author")), s.Role(w, "user", false).Table(named("author"))
	articles := admin.Relationship("articles")
	if articles == nil || !articles.Array || articles.Table.Name != "Post" {
		t.Fatalf("articles leads to %+v", articles)
	}
	if admin.AggregatedRelationship("articles_aggregate") == nil || admin.AggregatedRelationship("articles") != nil {
		t.Error("the aggregate of articles has a name of its own")
	}
	if user.Relationship("articles") != nil || user.AggregatedRelationship("articles_aggregate") != nil {
		t.Error("the role sees no articles")
	}
	if admin.ComputedField("size") == nil || user.ComputedField("size") != nil {
		t.Error("the computed field is for who may have it")
	}
	if len(slices.Collect(admin.Relationships())) != 1 || len(slices.Collect(admin.ComputedFields())) != 1 {
		t.Error("listed otherwise than found")
	}
	if len(slices.Collect(user.Relationships())) != 0 || len(slices.Collect(user.ComputedFields())) != 0 {
		t.Error("listed otherwise than found")
	}
}

func TestAnEvolvedSchemaIsTheOneMadeAnew(t *testing.T) {
	before := schematest.World(t, shape, calls)
	s := schema.New()
	for _, call := range []string{
		`{"type":"untrack_table","args":{"table":"article","cascade":true}}`,
		`{"type":"set_table_customization","args":{"table":"author","configuration":{"custom_name":"Writer"}}}`,
		`{"type":"untrack_function","args":"search"}`,
		`{"type":"track_table","args":"article"}`,
		`{"type":"set_table_customization","args":{"table":"author","configuration":{}}}`,
	} {
		s.Role(before, "user", false).Table(named("author")) // kept from here on
		after := decided(t, before, call)
		anew := metadata.NewWorld(after.Catalog, after.Shape, after.Env)
		for _, role := range []string{domain.AdminRole, "user"} {
			sameNames(t, strings.Join(names(schema.For(anew, role, false).Queries()), " "), names(s.Role(after, role, false).Queries()))
			sameNames(t, strings.Join(names(schema.For(anew, role, false).Mutations()), " "), names(s.Role(after, role, false).Mutations()))
		}
		before = after
	}
}

func decided(t *testing.T, w metadata.World, call string) metadata.World {
	t.Helper()
	req, err := metadata.Parse([]byte(call))
	if err != nil {
		t.Fatal(err)
	}
	d, err := metadata.Decide(w, 1000, req.Command.(metadata.Decider))
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return d.World
}

func TestASchemaServesManyAtOnce(t *testing.T) {
	w, s := schematest.World(t, shape, calls), schema.New()
	later := decided(t, w, `{"type":"untrack_function","args":"search"}`)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			r := s.Role(w, []string{domain.AdminRole, "user"}[i%2], false)
			if _, ok := r.Query("author"); !ok {
				t.Error("author is not found")
			}
			if s.Role(later, "user", false).Table(named("author")) == nil {
				t.Error("author is not there after a change")
			}
		})
	}
	group.Wait()
}
