package schema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/graphql"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
)

const libraryShape = `
enum moods: calm, merry
table author: id int4 pk default, name text null unique, born timestamptz null, mood text null references moods(value)
table article: id int4 pk default, title text null, tags text[] null, data jsonb null, author_id int4 references author(id)
table place: id int4 pk, at geometry null, around geography null, seen raster null, spot point null
table stock: id int8 pk, left int2, price numeric null, weight float4, is_new bool, code varchar null, sums int8[] null
function search(text, top int4 default) setof article stable
function initials(author_row row:author, dots bool default) text stable
`

const libraryCalls = `
{"type":"track_table","args":{"table":"moods","is_enum":true}}
{"type":"track_table","args":"author"}
{"type":"track_table","args":"article"}
{"type":"track_function","args":"search"}
{"type":"add_computed_field","args":{"table":"author","name":"initials","definition":{"function":"initials"}}}
{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}
{"type":"create_array_relationship","args":{"table":"author","name":"articles","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}}
{"type":"set_custom_types","args":{"objects":[{"name":"Advice","fields":[{"name":"author_id","type":"Int!"},{"name":"note","type":"Email"}],"relationships":[{"name":"author","type":"object","remote_table":"author","field_mapping":{"author_id":"id"}}]}],"input_objects":[{"name":"Question","fields":[{"name":"text","type":"String!"},{"name":"tone","type":"Tone"}]}],"scalars":[{"name":"Email"}],"enums":[{"name":"Tone","values":[{"value":"LOUD"},{"value":"LOW"}]}]}}
{"type":"create_action","args":{"name":"advise","definition":{"handler":"http://h","output_type":"Advice","arguments":[{"name":"question","type":"Question!"}],"kind":"asynchronous"}}}
{"type":"create_action","args":{"name":"ask","definition":{"handler":"http://h","output_type":"Advice","arguments":[{"name":"question","type":"Question"}],"type":"query"}}}
`

// allowed is a command's decision in a world, if the types of GraphQL allow it.
func allowed(w metadata.World, c metadata.Decider) (metadata.World, error) {
	d, err := metadata.Decide(w, 99, c)
	if err == nil {
		err = schema.RefuseClashes(w, d)
	}
	return d.World, err
}

func parsed[C metadata.Command](t *testing.T, call string) C {
	t.Helper()
	req, err := metadata.Parse([]byte(call))
	require.NoError(t, err)
	return req.Command.(C)
}

func called(t *testing.T, w metadata.World, call string) (metadata.World, error) {
	t.Helper()
	return allowed(w, parsed[metadata.Decider](t, call))
}

// joined adds a remote schema with types to a world.
func joined(t *testing.T, w metadata.World, name, types string) (metadata.World, error) {
	t.Helper()
	return introspected(t, w, name, graphqltest.New(types, nil, nil).Introspection())
}

func introspected(t *testing.T, w metadata.World, name string, answer []byte) (metadata.World, error) {
	t.Helper()
	c := parsed[metadata.AddRemoteSchema](t, fmt.Sprintf(`{"type":"add_remote_schema","args":{"name":%q,"definition":{"url":"http://r"}}}`, name))
	return allowed(w, c.WithIntrospection(answer))
}

// twin is a server with all types of a world, and a root of its own.
func twin(w metadata.World) *ast.Schema {
	s := schema.For(w, domain.AdminRole, false).Introspect()
	for name := range s.Types {
		if metadata.IsRootType(name) || strings.HasPrefix(name, "__") {
			delete(s.Types, name)
		}
	}
	s.Query = &ast.Definition{Kind: ast.Object, Name: "Query", Fields: ast.FieldList{{Name: "other", Type: ast.NamedType("Int", nil)}}}
	s.Types["Query"], s.Mutation, s.Subscription = s.Query, nil, nil
	return s
}

func refusesTypes(t *testing.T, err error, names string) {
	t.Helper()
	var refusal *domain.Error
	require.True(t, errors.As(err, &refusal), "%s is not refused", names)
	require.Equal(t, domain.RemoteConflicts, refusal.Code, refusal.Message+string(refusal.Internal))
	require.Equal(t, "types: [ "+names+" ] have mismatch with current graphql schema. HINT: Types must be same.", refusal.Message)
	require.False(t, refusal.Fault)
}

func TestATypeIsByItsNameWhatIntrospectionListsIt(t *testing.T) {
	calls := libraryCalls + `{"type":"track_table","args":"place"}
{"type":"track_table","args":"stock"}`
	w := schematest.World(t, libraryShape, calls)
	role := schema.For(w, domain.AdminRole, false)
	meta := schema.MetaSchema().Types
	for name, listed := range role.Introspect().Types {
		if meta[name] != nil && name != "String" || metadata.IsRootType(name) || name == schema.Boolean || name == schema.ID {
			continue
		}
		own := role.Type(name)
		require.NotNil(t, own, "%s is not found", name)
		require.True(t, graphql.SameType(listed, own), "%s is listed as\n%v\nand found as\n%v", name, listed, own)
	}
	for _, name := range []string{"", "nobody", "author_", "_author", "author_nobody", "query_root", "author_comparison_exp", "int4", "_comparison_exp", "st_", "geo"} {
		require.Nil(t, role.Type(name), name)
	}
}

func TestARemotesTypeIsOursInOurForm(t *testing.T) {
	w := schematest.World(t, libraryShape, libraryCalls)
	for names, types := range map[string]string{
		"author":                       `type author { id: Int! }`,
		"article_bool_exp":             `input article_bool_exp { id: Int }`,
		"article_max_fields":           `type article_max_fields { id: Int }`,
		"author_stddev_pop_order_by":   `input author_stddev_pop_order_by { id: Int }`,
		"article_append_input":         `input article_append_input { id: Int }`,
		"author_on_conflict":           `input author_on_conflict { id: Int }`,
		"author_update_column":         `enum author_update_column { id }`,
		"author_constraint":            `enum author_constraint { author_pkey }`,
		"article_arr_rel_insert_input": `input article_arr_rel_insert_input { id: Int }`,
		"moods_enum":                   `enum moods_enum { calm }`,
		"moods_enum_comparison_exp":    `input moods_enum_comparison_exp { _eq: Int }`,
		"order_by":                     `enum order_by { asc desc }`,
		"String_comparison_exp":        `input String_comparison_exp { _eq: String _regex: String }`,
		"timestamptz":                  `type timestamptz { year: Int }`,
		"_text_comparison_exp":         `input _text_comparison_exp { _eq: Int }`,
		"jsonb_comparison_exp":         `input jsonb_comparison_exp { _eq: Int }`,
		"search_args":                  `input search_args { top: Int }`,
		"initials_args":                `input initials_args { dots: String }`,
		"Advice":                       `type Advice { author_id: Int! note: String }`,
		"Question":                     `input Question { text: String }`,
		"Email":                        `type Email { text: String }`,
		"Tone":                         `enum Tone { LOUD }`,
		"advise":                       `type advise { id: ID! }`,
		"uuid":                         `input uuid { id: ID! }`,
		"mutation_root":                `type mutation_root { id: ID! }`,
		"article, author":              `type article { id: Int } type author { id: Int }`,
	} {
		_, err := joined(t, w, "r", types+` type Query { other: Int }`)
		refusesTypes(t, err, names)
	}
	for _, types := range []string{
		`scalar Email enum Tone { LOW LOUD } input Question { tone: Tone text: String! }`,
		`type point { x: Float! y: Float! } scalar geometry type stock { id: ID! }`,
		`"another case is another name" type Author { id: Int } type order { id: Int }`,
	} {
		_, err := joined(t, w, "r", types+` type Query { other: Int }`)
		require.NoError(t, err)
	}
}

func TestAServerOfTheSameTypesJoinsUnlessOneOfThemDiffers(t *testing.T) {
	w := schematest.World(t, libraryShape, libraryCalls)
	_, err := introspected(t, w, "twin", graphqltest.Introspection(twin(w)))
	require.NoError(t, err)
	for name, d := range twin(w).Types {
		other := twin(w)
		switch changed := other.Types[name]; {
		case name == "Query" || slices.Contains([]string{"Int", "Float", "String", "Boolean", "ID"}, name):
			continue
		case d.Kind == ast.Scalar:
			changed.Kind, changed.EnumValues = ast.Enum, ast.EnumValueList{{Name: "ONE"}}
		case d.Kind == ast.Enum:
			changed.EnumValues = append(changed.EnumValues, &ast.EnumValueDefinition{Name: "one_more"})
		default:
			changed.Fields[0].Type = ast.ListType(changed.Fields[0].Type, nil)
		}
		_, err := introspected(t, w, "twin", graphqltest.Introspection(other))
		refusesTypes(t, err, name)
	}
}

func TestWhatWouldGiveATypeAnotherFormThanARemoteHasItIsRefused(t *testing.T) {
	start := schematest.World(t, libraryShape, libraryCalls)
	with := func(types string) metadata.World {
		w, err := joined(t, start, "r", types+` type Query { other: Int }`)
		require.NoError(t, err)
		return w
	}
	for _, c := range []struct{ types, call, names string }{
		{`type stock { id: ID! }`, `{"type":"track_table","args":"stock"}`, "stock"},
		{`type Place { id: ID! }`, `{"type":"track_table","version":2,"args":{"table":"place","configuration":{"custom_root_fields":{},"custom_column_names":{},"custom_name":"Place"}}}`, "Place"},
		{`type point { x: Int }`, `{"type":"track_table","args":"place"}`, "point"},
		{`input st_d_within_input { x: Int }`, `{"type":"track_table","args":"place"}`, "st_d_within_input"},
		{`input bigint_comparison_exp { x: Int }`, `{"type":"track_table","args":"stock"}`, "bigint_comparison_exp"},
		{`type Writer { id: ID! }`, `{"type":"set_table_customization","args":{"table":"author","configuration":{"custom_name":"Writer"}}}`, "Writer"},
		{`type Thing { id: ID! }`, `{"type":"set_custom_types","args":{"objects":[{"name":"Advice","fields":[{"name":"author_id","type":"Int!"}]},{"name":"Thing","fields":[{"name":"id","type":"ID"}]}],"input_objects":[{"name":"Question","fields":[{"name":"text","type":"String!"}]}]}}`, "Thing"},
		{`type later { id: ID! }`, `{"type":"create_action","args":{"name":"later","definition":{"handler":"http://h","output_type":"Advice","kind":"asynchronous"}}}`, "later"},
	} {
		w := with(c.types)
		_, err := called(t, w, c.call)
		refusesTypes(t, err, c.names)
		_, err = called(t, start, c.call)
		require.NoError(t, err, c.call)
	}
}

func TestATypeThatARemoteSharesKeepsItsForm(t *testing.T) {
	start := schematest.World(t, libraryShape, libraryCalls)
	w, err := introspected(t, start, "twin", graphqltest.Introspection(twin(start)))
	require.NoError(t, err)
	for call, names := range map[string]string{
		`{"type":"drop_relationship","args":{"table":"article","relationship":"author"}}`:                                                                                                                    "article, article_bool_exp, article_insert_input, article_order_by",
		`{"type":"create_object_relationship","args":{"table":"article","name":"writer","using":{"foreign_key_constraint_on":"author_id"}}}`:                                                                 "article, article_bool_exp, article_insert_input, article_order_by",
		`{"type":"drop_computed_field","args":{"table":"author","name":"initials"}}`:                                                                                                                         "author",
		`{"type":"set_table_customization","args":{"table":"moods","configuration":{"custom_name":"Moods"}}}`:                                                                                                "author, author_bool_exp, author_insert_input, author_set_input",
		`{"type":"set_table_customization","args":{"table":"author","configuration":{"custom_name":"Writer"}}}`:                                                                                              "Advice, article, article_bool_exp, article_insert_input, article_order_by",
		`{"type":"set_custom_types","args":{"objects":[{"name":"Advice","fields":[{"name":"author_id","type":"Int!"}]}],"input_objects":[{"name":"Question","fields":[{"name":"text","type":"String!"}]}]}}`: "Advice, Question",
	} {
		_, err := called(t, w, call)
		refusesTypes(t, err, names)
		_, err = called(t, start, call)
		require.NoError(t, err, call)
	}
	for _, call := range []string{
		`{"type":"create_select_permission","args":{"table":"article","role":"reader","permission":{"columns":["title"],"filter":{}}}}`,
		`{"type":"track_table","args":"stock"}`,
		`{"type":"untrack_function","args":"search"}`,
		`{"type":"drop_action","args":{"name":"advise"}}`,
		`{"type":"remove_remote_schema","args":{"name":"twin"}}`,
	} {
		_, err := called(t, w, call)
		require.NoError(t, err, call)
	}
}

func TestAClashThatWasThereIsNoReasonToRefuseWhatComesLater(t *testing.T) {
	w := schematest.World(t, libraryShape, libraryCalls)
	c := parsed[metadata.AddRemoteSchema](t, `{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://r"}}}`)
	d, err := metadata.Decide(w, 99, c.WithIntrospection(graphqltest.New(`type Query { other: author } type author { id: ID }`, nil, nil).Introspection()))
	require.NoError(t, err)
	_, err = called(t, d.World, `{"type":"create_object_relationship","args":{"table":"article","name":"writer","using":{"foreign_key_constraint_on":"author_id"}}}`)
	require.NoError(t, err)
	_, err = called(t, d.World, `{"type":"drop_computed_field","args":{"table":"author","name":"initials"}}`)
	require.NoError(t, err)
}
