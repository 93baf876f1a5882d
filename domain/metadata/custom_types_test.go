package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

const setTypes = `{"type":"set_custom_types","args":`

// userTypes are the types most tests of actions begin with.
func userTypes() CustomTypes {
	return CustomTypes{
		InputObjects: []CustomInputObject{{Name: "UserInput", Fields: []CustomInputField{{Name: "name", Type: "String!"}}}},
		Objects:      []CustomObject{{Name: "User", Fields: []CustomField{{Name: "id", Type: "ID!"}}}},
		Scalars:      []CustomScalar{{Name: "Email"}},
		Enums:        []CustomEnum{{Name: "Color", Values: []CustomEnumValue{{Value: "RED"}}}},
	}
}

func TestCustomTypesAreKeptAsGraphQLPrintsThem(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("author")...).
		when(setTypes+`{
			"input_objects":[{"name":"UserInput","description":"d","fields":[{"name":"names","type":" [ String! ] !"},{"name":"id","type":"uuid!"},{"name":"again","type":"UserInput"}]}],
			"objects":[{"name":"User","fields":[{"name":"user_id","type":"uuid!"},{"name":"color","type":"[Color]"}],
				"relationships":[{"name":"user","type":"object","remote_table":"author","field_mapping":{"user_id":"id"}}]}],
			"scalars":[{"name":"Email"}],"enums":[{"name":"Color","values":[{"value":"RED","description":"r","is_deprecated":false},{"value":"BLUE"}]}]}}`).
		changes("custom_types_set custom_types").
		holds(customTypesKey, `{
			"input_objects":[{"name":"UserInput","description":"d","fields":[{"name":"names","type":"[String!]!"},{"name":"id","type":"uuid!"},{"name":"again","type":"UserInput"}]}],
			"objects":[{"name":"User","fields":[{"name":"user_id","type":"uuid!"},{"name":"color","type":"[Color]"}],
				"relationships":[{"name":"user","type":"object","remote_table":{"schema":"public","name":"author"},"field_mapping":{"user_id":"id"}}]}],
			"scalars":[{"name":"Email"}],"enums":[{"name":"Color","values":[{"value":"RED","description":"r","is_deprecated":false},
				{"value":"BLUE","description":null,"is_deprecated":null}]}]}`)
}

func TestCustomTypesAreReplacedAsASet(t *testing.T) {
	world := given(t, shapeOf(), userTypes())
	world.when(setTypes+`{"scalars":[{"name":"Phone"}]}}`).
		changes("custom_types_changed custom_types").
		holds(customTypesKey, `{"scalars":[{"name":"Phone"}]}`)
	cleared := world.when(setTypes + `{}}`).changes("custom_types_cleared custom_types")
	cleared.then().when(setTypes + `{"objects":null}}`).changes()
	world.when(setTypes+`{"objects":[]}}`).changes("custom_types_changed custom_types").holds(customTypesKey, `{}`)
}

func TestCustomTypesThatCannotBeReadAreRefused(t *testing.T) {
	cases := []struct{ args, path, message string }{
		{`{"scalars":[{"name":"a b"}]}`, "$.scalars[0].name", `"a b" is not a valid GraphQL name`},
		{`{"scalars":[{"name":""}]}`, "$.scalars[0].name", `empty string not allowed`},
		{`{"scalars":{}}`, "$.scalars", `parsing [] failed, expected Array, but encountered Object`},
		{`{"enums":[{"name":"E"}]}`, "$.enums[0]", `key "values" not found`},
		{`{"enums":[{"name":"E","values":[]}]}`, "$.enums[0].values", "parsing NonEmpty failed, unexpected empty list"},
		{`{"enums":[{"name":"E","values":[{"value":"1"}]}]}`, "$.enums[0].values[0].value", `"1" is not a valid GraphQL name`},
		{`{"objects":[{"name":"O","fields":[]}]}`, "$.objects[0].fields", "parsing NonEmpty failed, unexpected empty list"},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"[Int"}]}]}`, "$.objects[0].fields[0].type", "not a valid GraphQL type: [Int"},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"Int"}],"relationships":[]}]}`, "$.objects[0].relationships",
			"parsing NonEmpty failed, unexpected empty list"},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"Int"}],"relationships":[{"name":"r","type":"one","remote_table":"author","field_mapping":{}}]}]}`,
			"$.objects[0].relationships[0].type", "expecting either 'object' or 'array' for rel_type"},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"Int"}],"relationships":[{"name":"r","type":"array","field_mapping":{}}]}]}`,
			"$.objects[0].relationships[0]", `key "remote_table" not found`},
		{`{"input_objects":[{"name":"I","fields":[{"name":"f"}]}]}`, "$.input_objects[0].fields[0]", `key "type" not found`},
	}
	for _, c := range cases {
		given(t, shapeOf()).when(setTypes+c.args+"}").refuses(domain.ParseFailed, c.path, c.message)
	}
}

func TestCustomTypesMustFitTogether(t *testing.T) {
	object := func(fields, relationships string) string {
		return `{"objects":[{"name":"O","fields":[` + fields + `],"relationships":[` + relationships + `]}]}`
	}
	const id, ids = `{"name":"id","type":"Int!"}`, `{"name":"ids","type":"[Int]"}`
	rel := func(name, table, mapping string) string {
		return `{"name":"` + name + `","type":"array","remote_table":"` + table + `","field_mapping":{` + mapping + `}}`
	}
	cases := []struct{ args, reason string }{
		{`{"scalars":[{"name":"B"},{"name":"A"}],"enums":[{"name":"A","values":[{"value":"X"}]}],"objects":[{"name":"B","fields":[` + id + `]}]}`,
			`duplicate type names: "A", "B"`},
		{`{"enums":[{"name":"E","values":[{"value":"X"},{"value":"Y"},{"value":"X"}]}]}`, `the enum type "E" has duplicate values: "X"`},
		{`{"input_objects":[{"name":"I","fields":[{"name":"f","type":"[Nothing!]"}]}]}`,
			`the type "Nothing" for field "f" in  input object type "I" does not exist`},
		{`{"input_objects":[{"name":"I","fields":[{"name":"f","type":"O"}]}],"objects":[{"name":"O","fields":[` + id + `]}]}`,
			`the type "O" for field "f" in  input object type "I" does not exist`},
		{`{"input_objects":[{"name":"I","fields":[{"name":"f","type":"Int"},{"name":"f","type":"Int"}]}]}`,
			`the input object "I" has duplicate fields: "f"`},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"unknown_type"}]}]}`,
			`the type "unknown_type" for field "f" in  object type "O" does not exist`},
		{`{"objects":[{"name":"O","fields":[` + id + `,` + id + `]}]}`, `the object "O" has duplicate fields: "id"`},
		{object(id, rel("id", "author", `"id":"id"`)), `the object "O" has duplicate fields: "id"`},
		{`{"objects":[{"name":"O","fields":[{"name":"id","type":"Int!","arguments":{"a":1}}]}]}`, `the object "O" can't have arguments`},
		{`{"objects":[{"name":"O","fields":[{"name":"f","type":"[P]"}]},{"name":"P","fields":[` + id + `]}]}`,
			`the type "P" of the field "f" in the object type "O" is object type which isn't allowed`},
		{object(id, rel("r", "users", `"id":"id"`)), `the remote table "users" for relationship "r" of object type "O" does not exist`},
		{object(id, rel("r", "author", `"none":"id"`)), `the field "none" for relationship "r" in object type "O" does not exist`},
		{object(ids, rel("r", "author", `"ids":"id"`)), `the type of the field "ids" for relationship "r" in object type "O" is a list type`},
		{object(id, rel("r", "author", `"id":"none"`)), `the column "none" of remote table "author" for relationship "r" of object type "O" does not exist`},
	}
	for _, c := range cases {
		given(t, shapeOf(authors()...), tracked("author")...).when(setTypes+c.args+"}").
			refuses(domain.ConstraintViolation, "$.args", "validation for the given custom types failed because "+c.reason)
	}
}

func TestSeveralFaultsOfCustomTypesAreListed(t *testing.T) {
	given(t, shapeOf()).
		when(setTypes+`{"objects":[{"name":"O","fields":[{"name":"a","type":"X"},{"name":"b","type":"Y"}]}]}}`).
		refuses(domain.ConstraintViolation, "$.args", "validation for the given custom types failed for the following reasons:\n"+
			"  • the type \"X\" for field \"a\" in  object type \"O\" does not exist\n"+
			"  • the type \"Y\" for field \"b\" in  object type \"O\" does not exist\n")
}

func TestRefusedCustomTypesShowWhatIsAbsentAsNull(t *testing.T) {
	const reason = `validation for the given custom types failed because the type of the field \"names\" for relationship \"Names\" in object type \"User\" is a list type`
	given(t, shapeOf(tableOf("user", "id uuid pk", "name text")), tracked("user")...).
		when(setTypes + `{"objects":[{"name":"User","fields":[{"name":"user_id","type":"uuid!"},{"name":"names","type":"[String!]"}],
			"relationships":[{"name":"Names","type":"array","remote_table":"user","field_mapping":{"names":"name"}}]}]}}`).
		internal(`[{"type":"custom_types","reason":"` + reason + `","definition":{"input_objects":null,"scalars":null,"enums":null,
			"objects":[{"name":"User","description":null,
				"fields":[{"name":"user_id","type":"uuid!","description":null,"arguments":null},{"name":"names","type":"[String!]","description":null,"arguments":null}],
				"relationships":[{"name":"Names","type":"array","remote_table":{"schema":"public","name":"user"},"field_mapping":{"names":"name"}}]}]}}]`)
}

func TestEveryListOfCustomTypesIsDescribed(t *testing.T) {
	sameJSON(t, `{"input_objects":[{"name":"UserInput","description":null,"fields":[{"name":"name","type":"String!","description":null}]}],
		"objects":[{"name":"User","description":null,"relationships":null,"fields":[{"name":"id","type":"ID!","description":null,"arguments":null}]}],
		"scalars":[{"name":"Email","description":null}],
		"enums":[{"name":"Color","description":null,"values":[{"value":"RED","description":null,"is_deprecated":null}]}]}`,
		encode(userTypes().described().Definition))
}

func TestTypesThatAnActionNeedsCannotGo(t *testing.T) {
	given(t, shapeOf(), userTypes(), action("act")).when(setTypes+`{}}`).
		refuses(domain.Unexpected, "$.args", "cannot continue due to new inconsistent metadata")
}

func TestCustomTypesFollowRenames(t *testing.T) {
	types := userTypes()
	types.Objects[0].Relationships = []CustomRelationship{{"author", ObjectRelationship, named("author"), map[string]string{"id": "id"}}}
	before := string(encode(types))
	column := types.renamed(Rename{Table: named("author"), Column: "id", NewColumn: "key"}).(CustomTypes)
	require.Equal(t, map[string]string{"id": "key"}, column.Objects[0].Relationships[0].FieldMapping)
	table := types.renamed(Rename{Table: named("author"), NewTable: named("writer")}).(CustomTypes)
	require.Equal(t, named("writer"), table.Objects[0].Relationships[0].RemoteTable)
	require.Equal(t, before, string(encode(types)), "the object itself is left as it is")
}

func TestCustomTypesFallWithTheirTable(t *testing.T) {
	types := CustomTypes{Objects: []CustomObject{{Name: "O", Fields: []CustomField{{Name: "id", Type: "Int"}},
		Relationships: []CustomRelationship{{"author", ObjectRelationship, named("author"), map[string]string{"id": "id"}}}}}}
	w := given(t, shapeOf(authors()...), append(tracked("author"), types)...).world
	require.True(t, w.Standing.Stands(customTypesKey))
	w = w.WithShape(foundOf(tableOf("author", "name text")))
	require.False(t, w.Standing.Stands(customTypesKey))
}

func TestCustomTypesComeBackFromTheDocumentAsTheyWere(t *testing.T) {
	for _, types := range []CustomTypes{userTypes(), {}} {
		require.Equal(t, encode(types), encode(decodeEntry(t, encode(types.exported()), decodeCustomTypesEntry)))
	}
	sameJSON(t, `{}`, encode(CustomTypes{}.exported()))
}

func TestTypeReferencesArePrintedInOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"Int": "Int", "Int !": "Int!", " [Int] ": "[Int]", "[ Int ! ] !": "[Int!]!", "[[a_1]]": "[[a_1]]", "\ufeff_x,": "_x",
	} {
		got, ok := parseGraphQLType(text)
		require.True(t, ok, text)
		require.Equal(t, want, got.String())
	}
	deep := "Int"
	for range maxListDepth + 1 {
		deep = "[" + deep + "]"
	}
	for _, text := range []string{"", " ", "!", "Int!!", "[Int", "Int]", "[]", "1", "a-b", "Int Int", "[Int]]", "é", deep} {
		_, ok := parseGraphQLType(text)
		require.False(t, ok, text)
	}
}
