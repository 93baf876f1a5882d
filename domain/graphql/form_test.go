package graphql_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/graphql"
)

func form(t testing.TB, text string) graphql.Form {
	t.Helper()
	f, err := graphql.FormOf(text)
	require.NoError(t, err, text)
	return f
}

func TestDocumentsThatAskForTheSameHaveOneForm(t *testing.T) {
	for _, c := range []struct{ what, one, other string }{
		{"white space, commas and comments", "query Q { user(limit: 1, offset: 2) { id name } }", "query Q{\n# a comment\nuser(limit:1 offset:2){id,name}}"},
		{"fields in another order", "{ user { id name } post { id } }", "{ post { id } user { name id } }"},
		{"arguments in another order", "{ user(limit: 1, where: {a: {_eq: 1}, b: {_eq: 2}}) { id } }", "{ user(where: {b: {_eq: 2}, a: {_eq: 1}}, limit: 1) { id } }"},
		{"arguments of a directive", "{ user @d(a: 1, b: 2) { id } }", "{ user @d(b: 2, a: 1) { id } }"},
		{"variables in another order", "query ($a: Int, $b: [Int!]! = [1]) { f(a: $a, b: $b) }", "query ($b: [Int!]! = [1], $a: Int) { f(a: $a, b: $b) }"},
		{"__typename in a field, a fragment and an inline fragment",
			"{ __typename user { __typename t: __typename id ...F ... on user { __typename name } } } fragment F on user { __typename age }",
			"{ user { id ...F ... on user { name } } } fragment F on user { age }"},
		{"definitions in another order", "query A { a } query B { b } fragment F on x { y }", "fragment F on x { y } query B { b } query A { a }"},
		{"an alias that is the name", "{ a: a }", "{ a }"},
		{"a query in short", "{ a }", "query { a }"},
		{"a string in a block", `{ a(b: "c") }`, `{ a(b: """c""") }`},
		{"fields below a mutation's root", "mutation { a { x y } }", "mutation { a { y x } }"},
	} {
		require.Equal(t, form(t, c.one), form(t, c.other), c.what)
	}
}

func TestDocumentsThatAskForSomethingElseHaveAnotherForm(t *testing.T) {
	for _, c := range []struct{ what, one, other string }{
		{"another field", "{ a }", "{ b }"},
		{"a field more", "{ a }", "{ a b }"},
		{"a field of another parent", "{ a { b } c { d } }", "{ a { d } c { b } }"},
		{"a field that went a level up", "{ a { b c } }", "{ a { b } c }"},
		{"another name", "query A { a }", "query B { a }"},
		{"no name", "query A { a }", "query { a }"},
		{"another type of operation", "query A { a }", "subscription A { a }"},
		{"a definition more", "query A { a }", "query A { a } query B { b }"},
		{"an alias", "{ a }", "{ b: a }"},
		{"a directive", "{ a }", "{ a @include(if: true) }"},
		{"directives in another order", "{ a @x @y }", "{ a @y @x }"},
		{"another literal", "{ a(b: 1) }", "{ a(b: 2) }"},
		{"a text that looks like a number", "{ a(b: 1) }", `{ a(b: "1") }`},
		{"an enum value that looks like a text", "{ a(b: c) }", `{ a(b: "c") }`},
		{"a variable for an enum value", "query ($c: x) { a(b: $c) }", "query ($c: x) { a(b: c) }"},
		{"a list in another order", "{ a(b: [1, 2]) }", "{ a(b: [2, 1]) }"},
		{"a list for its only item", "{ a(b: 1) }", "{ a(b: [1]) }"},
		{"a variable's type", "query ($a: Int) { a(b: $a) }", "query ($a: Int!) { a(b: $a) }"},
		{"a list's item type", "query ($a: [Int]) { a(b: $a) }", "query ($a: [Int!]) { a(b: $a) }"},
		{"a variable's default", "query ($a: Int = 1) { a(b: $a) }", "query ($a: Int = 2) { a(b: $a) }"},
		{"a variable's name", "query ($a: Int) { a(b: $a) }", "query ($c: Int) { a(b: $c) }"},
		{"another fragment", "{ ...F } fragment F on q { a }", "{ ...F } fragment F on q { b }"},
		{"a fragment on another type", "{ ... on a { x } }", "{ ... on b { x } }"},
		{"a mutation's root fields in another order", "mutation { a b }", "mutation { b a }"},
		{"the same through a fragment", "mutation { ...F } fragment F on mutation_root { a b }", "mutation { ...F } fragment F on mutation_root { b a }"},
		{"the same through an inline fragment", "mutation { ... on mutation_root { a b } }", "mutation { ... on mutation_root { b a } }"},
	} {
		require.NotEqual(t, form(t, c.one), form(t, c.other), c.what)
	}
}

func TestTextThatIsNoDocumentHasNoForm(t *testing.T) {
	for _, text := range []string{"{", "query Q", "hello", strings.Repeat("{ a }", graphql.MaxTokens)} {
		_, err := graphql.FormOf(text)
		require.Error(t, err, text)
	}
}

func TestDeepNestingIsNoObstacle(t *testing.T) {
	const depth = 900
	deep := "{ a" + strings.Repeat("{ a", depth) + strings.Repeat("}", depth) + " }"
	require.NotEqual(t, form(t, "{ a }"), form(t, deep))
	require.NotEqual(t, form(t, "{ a(b: 1) }"), form(t, "{ a(b: "+strings.Repeat("[", depth)+strings.Repeat("]", depth)+") }"))
}

func FuzzTheFormStaysWhateverIsAddedThatMakesNoDifference(f *testing.F) {
	f.Add("query Q($a: Int = 1) { user(where: {id: {_eq: $a}}) { id ...F } } fragment F on user { name }")
	f.Add("mutation { insert(objects: [{a: \"b\"}]) { affected_rows } }")
	f.Fuzz(func(t *testing.T, text string) {
		before, err := graphql.FormOf(text)
		if err != nil {
			return
		}
		after, err := graphql.FormOf("# first\n , " + text + "\n,# last")
		require.NoError(t, err)
		require.Equal(t, before, after)
	})
}

func TestADocumentThatIsTooLongIsToldFromOneThatIsNone(t *testing.T) {
	_, err := graphql.ParseWithin("{ a b }", 3)
	require.ErrorIs(t, err, graphql.ErrTooLong)
	_, err = graphql.ParseWithin("{ a b", 30)
	require.Error(t, err)
	require.NotErrorIs(t, err, graphql.ErrTooLong)
	_, err = graphql.ParseWithin("{ a b }", 30)
	require.NoError(t, err)
}
