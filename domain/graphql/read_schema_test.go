package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/graphql/graphqltest"
)

// said is what a server says of a schema, after a change of one of its types.
func said(t *testing.T, sdl, typeName string, change func(map[string]any)) []byte {
	raw := graphqltest.New(sdl, nil, nil).Introspection()
	var answer map[string]map[string]map[string]any
	require.NoError(t, json.Unmarshal(raw, &answer))
	for _, d := range answer["data"]["__schema"]["types"].([]any) {
		if d := d.(map[string]any); d["name"] == typeName {
			change(d)
		}
	}
	raw, err := json.Marshal(answer)
	require.NoError(t, err)
	return raw
}

func refusedAs(t *testing.T, raw []byte, limits graphql.SchemaLimits) string {
	t.Helper()
	_, err := graphql.ReadSchema(raw, limits)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "$.args", refusal.Path)
	return refusal.Message
}

const characters = `type Query { hero(episode: Int = 4 "which" first: [Int!]! = [1, 2]): Character  find: Found  box(in: Box): Size @deprecated }
	interface Character { id(lang: String): ID!  "their name" name: String! }
	type Droid implements Character { id(lang: String): ID!  name: String! }
	union Found = Droid
	enum Size { SMALL LARGE }
	input Box { width: Int! = 3  size: Size = LARGE }`

func TestASchemaIsReadAsItsServerHasIt(t *testing.T) {
	types, err := graphql.ReadSchema(graphqltest.New(characters, nil, nil).Introspection(), graphql.SchemaLimits{})
	require.NoError(t, err)
	hero := types.Query.Fields.ForName("hero")
	require.Equal(t, "[Int!]!", hero.Arguments.ForName("first").Type.String())
	require.Equal(t, "[1,2]", hero.Arguments.ForName("first").DefaultValue.String())
	require.Equal(t, "which", hero.Arguments.ForName("first").Description)
	require.NotNil(t, types.Query.Fields.ForName("box").Directives.ForName("deprecated"))
	require.Equal(t, "LARGE", types.Types["Box"].Fields.ForName("size").DefaultValue.String())
	require.Equal(t, []*ast.Definition{types.Types["Droid"]}, types.PossibleTypes["Character"])
	require.Equal(t, []*ast.Definition{types.Types["Droid"]}, types.PossibleTypes["Found"])
	require.NotContains(t, types.Types, "__Type")
	require.Contains(t, types.Types, "ID")
	require.Nil(t, types.Mutation)
}

func TestASchemaThatBreaksTheRulesIsRefusedInTheWordsOfV13(t *testing.T) {
	field := func(t map[string]any, name string) map[string]any {
		for _, f := range t["fields"].([]any) {
			if f := f.(map[string]any); f["name"] == name {
				return f
			}
		}
		return nil
	}
	argument := func(name, kind string, nonNull bool) map[string]any {
		of := map[string]any{"kind": "SCALAR", "name": kind}
		if nonNull {
			of = map[string]any{"kind": "NON_NULL", "ofType": of}
		}
		return map[string]any{"name": name, "type": of}
	}
	for _, c := range []struct {
		of     string
		change func(map[string]any)
		want   string
	}{
		{"Droid", func(d map[string]any) { d["interfaces"] = []any{map[string]any{"name": "Gone"}} },
			`Could not find interface 'Gone' implemented by Object type 'Droid'`},
		{"Droid", func(d map[string]any) { field(d, "id")["name"] = "other" },
			`Interface field 'Character'."id" expected, but 'Droid' does not provide it`},
		{"Droid", func(d map[string]any) { field(d, "name")["type"] = map[string]any{"kind": "SCALAR", "name": "String"} },
			`The type of Object field 'Droid'."name" (String) is not the same type/sub type of Interface field 'Character'."name" (String!)`},
		{"Droid", func(d map[string]any) { field(d, "id")["args"] = []any{} },
			`Interface field argument 'Character'."id"("lang":) required, but Object field 'Droid'."id" does not provide it`},
		{"Droid", func(d map[string]any) { field(d, "id")["args"] = []any{argument("lang", "Int", false)} },
			`Interface field argument 'Character'."id"("lang":) expects type String, but 'Droid'."id"("lang":) has type Int`},
		{"Droid", func(d map[string]any) { field(d, "name")["args"] = []any{argument("extra", "Int", true)} },
			`Object field argument 'Droid'."name"("extra":) is of required type Int!, but is not provided by Interface field 'Character'."name"`},
		{"Character", func(d map[string]any) { d["fields"] = []any{} }, `List of fields cannot be empty for interface 'Character'`},
		{"Found", func(d map[string]any) { d["possibleTypes"] = []any{} }, `List of member types cannot be empty for union type 'Found'`},
		{"Found", func(d map[string]any) { d["possibleTypes"] = []any{map[string]any{"name": "Gone"}} },
			`Could not find type 'Gone', which is defined as a member type of Union 'Found'`},
		{"Found", func(d map[string]any) { d["possibleTypes"] = []any{map[string]any{"name": "Character"}} },
			`Union type 'Found' can only include object types. It cannot include 'Character'`},
		{"Found", func(d map[string]any) { d["possibleTypes"] = []any{map[string]any{"name": nil}} },
			`Error in $.types[3].possibleTypes[0].name: parsing Name failed, expected String, but encountered Null`},
		{"Query", func(d map[string]any) { field(d, "find")["type"] = map[string]any{"kind": "OBJECT", "name": "Gone"} },
			`Could not find type with name "Gone"`},
		{"Query", func(d map[string]any) { d["kind"] = "SCALAR" }, `"Query" has to be an object type`},
		{"Box", func(d map[string]any) {
			d["inputFields"].([]any)[0].(map[string]any)["defaultValue"] = "1) { x } query q($y: Int = 2"
		}, `Error in $.types[0].inputFields[0].defaultValue: "1) { x } query q($y: Int = 2" is not a GraphQL value`},
		{"Droid", func(d map[string]any) { d["name"] = "Dr}oid" }, `Error in $.types[2].name: "Dr}oid" is not a valid GraphQL name`},
	} {
		require.Equal(t, c.want, refusedAs(t, said(t, characters, c.of, c.change), graphql.SchemaLimits{}))
	}
}

func TestAnAnswerThatIsNoSchemaIsRefused(t *testing.T) {
	for raw, want := range map[string]string{
		``:                                    `Error in $: not enough input`,
		`<html>`:                              `Error in $: Failed reading: not a valid json value (at byte 0: invalid character '<' at start of value)`,
		`{"data":null}`:                       `the answer to the introspection query holds no __schema`,
		`{"errors":[{"message":"no"}]}`:       `the answer to the introspection query holds no __schema`,
		`{"data":{"__schema":{}}}`:            `Error in $: key "types" not found`,
		`{"data":{"__schema":{"types":[7]}}}`: `Error in $.types[0]: parsing Object failed, expected Object, but encountered Number`,
	} {
		require.Equal(t, want, refusedAs(t, []byte(raw), graphql.SchemaLimits{}), raw)
	}
	deep := strings.Repeat(`{"data":`, 100_000)
	require.Contains(t, refusedAs(t, []byte(deep), graphql.SchemaLimits{}), "Error in $")
}

func TestASchemaThatIsTooLargeIsRefused(t *testing.T) {
	raw := graphqltest.New(characters, nil, nil).Introspection()
	require.Contains(t, refusedAs(t, raw, graphql.SchemaLimits{MaxTypes: 3}), "types, of which there may be 3")
	require.Contains(t, refusedAs(t, raw, graphql.SchemaLimits{MaxMembers: 3}), "more than 3 fields, arguments and enum values")
	require.Contains(t, refusedAs(t, raw, graphql.SchemaLimits{MaxWrappers: 2}), "a type in more than 2 wrappers")
	_, err := graphql.ReadSchema(raw, graphql.SchemaLimits{MaxTypes: 100, MaxMembers: 1000, MaxWrappers: 3})
	require.NoError(t, err)
}
