package graphql_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"annals/domain/graphql"
	"annals/domain/graphql/graphqltest"
)

func read(t *testing.T, sdl string) *ast.Schema {
	t.Helper()
	s, err := graphql.ReadSchema(graphqltest.New(sdl, nil, nil).Introspection(), graphql.SchemaLimits{})
	require.NoError(t, err)
	return s
}

func TestADifferenceNamesEachPartThatCameWentOrIsAnother(t *testing.T) {
	before := read(t, `type Query { a(x: Int = 1, gone: Int): String  b: Found  c: Size }
		union Found = Cat | Dog
		type Cat { name: String }
		type Dog { name: String  owner: Person }
		type Person { name: String }
		enum Size { S L }`)
	after := read(t, `"told" type Query { a(x: Int = 2, new: Int): String!  b: Found  c: Size  d: Bird }
		union Found = Cat | Bird
		type Cat { name: String }
		type Bird { name: String }
		type Dog { name: String }
		enum Size { S M }`)
	require.Equal(t, graphql.Difference{
		Added:   []string{"Bird", "Query.a(new:)", "Query.d", "Size.M"},
		Removed: []string{"Dog.owner", "Person", "Query.a(gone:)", "Size.L"},
		Changed: []graphql.Altered{
			{At: "Found", Before: "UNION of Cat, Dog", After: "UNION of Bird, Cat"},
			{At: "Query.a", Before: "String", After: "String!"},
			{At: "Query.a(x:)", Before: "Int = 1", After: "Int = 2"},
		},
	}, graphql.Compare(before, after))
	require.True(t, graphql.Compare(before, before).Empty())
	require.True(t, graphql.Compare(read(t, `type Query { a: Int }`), read(t, `"told" type Query { "told" a: Int }`)).Empty())
}

func TestADocumentThatAnotherSchemaCannotAnswerNamesThePart(t *testing.T) {
	before := read(t, `type Query { person(id: Int, gone: Int): Person  people: [Person] }
		type Mutation { rename(id: Int): Person }
		type Person { id: Int  name: String  friend: Person }`)
	after := read(t, `type Query { person(id: Int!): Person  people(first: Int!): [Person] }
		type Person { id: String  name: String!  friend: Person }`)
	for document, want := range map[string]string{
		`{ person(id: 1) { name friend { name __typename } } }`:                     "",
		`{ other { id } author { name } }`:                                          "",
		`{ person(id: 1) { id } }`:                                                  "Person.id",
		`{ person(id: 1) { friend { ...f } } } fragment f on Person { ... { id } }`: "Person.id",
		`{ person { name } }`:                                                       "Query.person(id:)",
		`{ person(id: 1, gone: 2) { name } }`:                                       "Query.person(gone:)",
		`{ people { name } }`:                                                       "Query.people(first:)",
		`query a { other } mutation b { rename(id: 1) { name } }`:                   "Mutation.rename",
		`subscription { person { id } }`:                                            "",
		`{ person(id: 1) { ...f } } fragment f on Person { friend { ...f } }`:       "",
	} {
		doc, err := parser.ParseQuery(&ast.Source{Input: document})
		require.NoError(t, err)
		require.Equal(t, want, graphql.Fit{Doc: doc, Before: before, After: after}.Misfit(), document)
	}
	gone := read(t, `type Query { person(id: Int): Human } type Human { name: String }`)
	doc, err := parser.ParseQuery(&ast.Source{Input: `{ person(id: 1) { name } }`})
	require.NoError(t, err)
	require.Equal(t, "Query.person", graphql.Fit{Doc: doc, Before: before, After: gone}.Misfit())
}

func TestWhatADocumentGivesFitsAnotherSchemaOrThePartIsNamed(t *testing.T) {
	before := read(t, `type Query { find(box: Box, boxes: [Box], size: Size = S, at: Moment, n: Int): Int }
		input Box { size: Size  inner: Box  list: [[Size]]  gone: Int  old: Int! = 1 } enum Size { S L } scalar Moment`)
	after := read(t, `type Query { find(box: Box, boxes: [Box], size: Size = S, at: Moment, n: Int!): Int }
		input Box { size: Size  inner: Box  list: [[Size]]  must: Int!  old: Int! = 1 } enum Size { S M } enum Moment { NOW }`)
	for document, want := range map[string]string{
		`{ find(n: 1, box: {must: 1, size: S, inner: {must: 2}}) }`:                       "",
		`{ find(n: 1, box: null, boxes: [null, {must: 1}]) }`:                             "",
		`{ find(n: 1, box: {must: 1, gone: 1}) }`:                                         "Box.gone",
		`{ find(n: 1, box: {size: S}) }`:                                                  "Box.must",
		`{ find(n: 1, boxes: {must: 1, inner: {}}) }`:                                     "Box.must",
		`{ find(n: 1, boxes: [{must: 1, list: [[S, L]]}]) }`:                              "Size.L",
		`{ find(n: 1, size: L) }`:                                                         "Size.L",
		`query ($s: Size = L) { find(n: 1, size: $s) }`:                                   "Size.L",
		`query ($s: Size) { find(n: 1, size: $s) }`:                                       "",
		`query ($b: Box) { find(n: 1, box: $b) }`:                                         "Box.must",
		`query ($b: Box) { find(n: 1, box: {must: 1, inner: $b}) }`:                       "Box.must",
		`query ($m: Moment) { find(n: 1, at: $m) }`:                                       "Moment",
		`{ find(n: 1, at: "now") }`:                                                       "Moment",
		`{ find }`:                                                                        "Query.find(n:)",
		`{ find(n: null) }`:                                                               "Query.find(n:)",
		`query ($n: Int) { find(n: $n) }`:                                                 "Query.find(n:)",
		`query ($n: Int = 1, $m: Int!) { a: find(n: $n) b: find(n: $m) }`:                 "",
		`query ($n: Int!) { find(n: $n, box: {must: $n}) }`:                               "",
		`query a { other } query b($b: Box) { find(n: 1, box: $b) }`:                      "Box.must",
		`fragment f on Query { find(n: 1, box: {}) } query ($b: Box) { find(n: 1) ...f }`: "Box.must",
	} {
		doc, err := parser.ParseQuery(&ast.Source{Input: document})
		require.NoError(t, err)
		require.Equal(t, want, graphql.Fit{Doc: doc, Before: before, After: after}.Misfit(), document)
	}
}
