package schema_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden files")

// printed is a schema's text, without what all schemas have in common.
func printed(s *ast.Schema) string {
	for name := range schema.MetaSchema().Types {
		delete(s.Types, name)
	}
	clear(s.Directives)
	var b strings.Builder
	formatter.NewFormatter(&b, formatter.WithIndent("  ")).FormatSchema(s)
	return b.String()
}

func TestIntrospectionTellsWhatARoleSees(t *testing.T) {
	const file = "testdata/introspect.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	world := schematest.World(t, string(archive.Files[0].Data), string(archive.Files[1].Data))
	for i, role := range archive.Files[2:] {
		got := printed(schema.For(world, role.Name, false).Introspect())
		if *update {
			archive.Files[i+2].Data = []byte(got)
			continue
		}
		if diff := cmp.Diff(string(role.Data), got); diff != "" {
			t.Errorf("the schema of %s, wanted (-) and got (+):\n%s", role.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARelationshipIsNeverNullOnlyWhereTheKeyAndThePermissionSaySo(t *testing.T) {
	const shape = `
table author: id int4 pk
table article: id int4 pk, author_id int4 references author(id), editor_id int4 null references author(id)
`
	const calls = `
{"type":"track_table","args":"author"}
{"type":"track_table","args":"article"}
{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}
{"type":"create_object_relationship","args":{"table":"article","name":"editor","using":{"foreign_key_constraint_on":"editor_id"}}}
{"type":"create_object_relationship","args":{"table":"article","name":"by_hand","using":{"manual_configuration":{"remote_table":"author","column_mapping":{"author_id":"id"}}}}}
{"type":"create_select_permission","args":{"table":"article","role":"some","permission":{"columns":["id"],"filter":{}}}}
{"type":"create_select_permission","args":{"table":"author","role":"some","permission":{"columns":["id"],"filter":{"id":1}}}}
{"type":"create_select_permission","args":{"table":"article","role":"all","permission":{"columns":["id"],"filter":{}}}}
{"type":"create_select_permission","args":{"table":"author","role":"all","permission":{"columns":["id"],"filter":{}}}}
`
	world := schematest.World(t, shape, calls)
	for _, c := range []struct{ role, field, want string }{
		{"admin", "author", "author!"},
		{"admin", "editor", "author"},
		{"admin", "by_hand", "author"},
		{"all", "author", "author!"},
		{"some", "author", "author"},
	} {
		article := schema.For(world, c.role, false).Introspect().Types["article"]
		if got := article.Fields.ForName(c.field).Type.String(); got != c.want {
			t.Errorf("to %s, %s is %s, not %s", c.role, c.field, got, c.want)
		}
	}
}

func TestACustomTypeThatNoActionUsesIsNotSeen(t *testing.T) {
	world := schematest.World(t, "", `{"type":"set_custom_types","args":{"scalars":[{"name":"Unused"}],"objects":[{"name":"Answer","fields":[{"name":"ok","type":"Boolean!"}]}]}}
{"type":"create_action","args":{"name":"ask","definition":{"handler":"http://127.0.0.1","output_type":"Answer"}}}`)
	types := schema.For(world, "admin", false).Introspect().Types
	if types["Answer"] == nil || types["Unused"] != nil {
		t.Errorf("the type of an action is there: %v, and one that none uses: %v", types["Answer"] != nil, types["Unused"] != nil)
	}
}
