package metadata

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"annals/domain"
)

// Each call of a table's subjects is recorded under its first name, with
// defaults filled in, and looks at just these tables and functions.
func TestEachCallOnTablesIsRecordedAndLooksAtWhatItNames(t *testing.T) {
	const author = `{"schema":"public","name":"author"}`
	one := func(table string) Names { return Names{Tables: []domain.QualifiedName{named(table)}} }
	w := given(t, shapeOf(authors()...), tracked("author", "article")...).world
	for body, want := range map[string]struct {
		operation, args string
		names           Names
	}{
		`{"type":"add_existing_table_or_view","args":{"table":"author","is_enum":true}}`: {"track_table", `{"table":` + author + `,"is_enum":true}`,
			Names{Tables: one("author").Tables, Enums: one("author").Tables}},
		`{"type":"pg_untrack_table","args":{"table":"author"}}`: {"untrack_table", `{"table":` + author + `,"cascade":false}`, Names{}},
		`{"type":"set_table_is_enum","args":{"table":"author","is_enum":false}}`: {"set_table_is_enum",
			`{"table":` + author + `,"is_enum":false}`, one("author")},
		`{"type":"set_table_custom_fields","version":2,"args":{"table":"author"}}`: {"set_table_custom_fields",
			`{"table":` + author + `,"custom_root_fields":{},"custom_column_names":{}}`, one("author")},
		`{"type":"pg_set_table_customization","args":{"table":"author","configuration":{}}}`: {"set_table_customization",
			`{"table":` + author + `,"configuration":{"custom_root_fields":{},"custom_column_names":{}}}`, one("author")},
		`{"type":"pg_create_object_relationship","args":{"table":"article","name":"r","using":{"foreign_key_constraint_on":"author_id"}}}`: {"create_object_relationship",
			`{"table":{"schema":"public","name":"article"},"name":"r","type":"object","using":{"foreign_key_constraint_on":"author_id"}}`,
			one("article").add(one("author"))},
		`{"type":"create_array_relationship","args":{"table":"author","name":"r","using":{"foreign_key_constraint_on":{"table":"new","column":"id"}}}}`: {"create_array_relationship",
			`{"table":` + author + `,"name":"r","type":"array","using":{"foreign_key_constraint_on":{"table":{"schema":"public","name":"new"},"column":"id"}}}`,
			one("author").add(one("new"))},
		`{"type":"drop_relationship","args":{"table":"author","relationship":"r"}}`: {"drop_relationship",
			`{"table":` + author + `,"relationship":"r","cascade":false}`, Names{}},
		`{"type":"set_relationship_comment","args":{"table":"author","relationship":"r"}}`: {"set_relationship_comment",
			`{"table":` + author + `,"relationship":"r","comment":null}`, Names{}},
		`{"type":"rename_relationship","args":{"table":"author","name":"r","new_name":"s"}}`: {"rename_relationship",
			`{"table":` + author + `,"name":"r","new_name":"s"}`, one("author")},
		`{"type":"create_delete_permission","args":{"table":"author","role":"u","permission":{"filter":{}}}}`: {"create_delete_permission",
			`{"table":` + author + `,"role":"u","action":"delete","permission":{"filter":{}}}`, one("author")},
		`{"type":"drop_insert_permission","args":{"table":"author","role":"u"}}`: {"drop_insert_permission",
			`{"table":` + author + `,"role":"u"}`, Names{}},
		`{"type":"set_permission_comment","args":{"table":"author","role":"u","permission":"update"}}`: {"set_permission_comment",
			`{"table":` + author + `,"role":"u","permission":"update","comment":null}`, Names{}},
		`{"type":"track_function","args":"f"}`: {"track_function", `{"function":{"schema":"public","name":"f"}}`,
			Names{Functions: []domain.QualifiedName{named("f")}}},
		`{"type":"untrack_function","args":"f"}`: {"untrack_function", `{"function":{"schema":"public","name":"f"}}`, Names{}},
		`{"type":"add_computed_field","args":{"table":"author","name":"c","definition":{"function":"f"}}}`: {"add_computed_field",
			`{"table":` + author + `,"name":"c","definition":{"function":{"schema":"public","name":"f"}}}`,
			Names{Tables: one("author").Tables, Functions: []domain.QualifiedName{named("f")}}},
		`{"type":"drop_computed_field","args":{"table":"author","name":"c"}}`: {"drop_computed_field",
			`{"table":` + author + `,"name":"c","cascade":false}`, Names{}},
	} {
		t.Run(want.operation, func(t *testing.T) {
			req, err := Parse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if got := req.Command.Operation(); got != want.operation {
				t.Fatalf("recorded as %s", got)
			}
			sameJSON(t, want.args, Encode(req.Command))
			if diff := cmp.Diff(want.names, NamesOf(w, req.Command)); diff != "" {
				t.Fatalf("names, wanted (-) and got (+):\n%s", diff)
			}
		})
	}
}
