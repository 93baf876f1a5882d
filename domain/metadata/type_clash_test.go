package metadata

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func objectType(name string) CustomTypes {
	return CustomTypes{Objects: []CustomObject{{Name: name, Fields: []CustomField{{Name: "id", Type: "Int"}}}}}
}

func TestATypeOfActionsHasItsNameAlone(t *testing.T) {
	for _, name := range []string{"author", "author_bool_exp", "author_aggregate_fields", "author_insert_input", "query_root"} {
		given(t, shapeOf(authors()...), tracked("author")...).
			when(setTypes+fmt.Sprintf(`{"objects":[{"name":%q,"fields":[{"name":"id","type":"Int"}]}]}}`, name)).
			refuses(domain.ConstraintViolation, "$.args", fmt.Sprintf("found conflicting definitions for %q when collecting types from the schema", name))
	}
	given(t, shapeOf(authors()...), objectType("author_max_fields")).when(`{"type":"track_table","args":"author"}`).
		refuses(domain.ConstraintViolation, "$.args", `found conflicting definitions for "author_max_fields" when collecting types from the schema`)
	given(t, shapeOf(authors()...), append(tracked("author"), objectType("author"))...).when(`{"type":"track_table","args":"article"}`).
		changes("table_tracked public.article")
	given(t, shapeOf(authors()...), tracked("author")...).when(setTypes + `{"objects":[{"name":"Author","fields":[{"name":"id","type":"Int"}]}]}}`).
		changes("custom_types_set custom_types")
}

func TestATypeOfARemoteIsTheSameWhereverItIs(t *testing.T) {
	add := func(sdl string, others ...Object) error {
		w := NewWorld(catalogWith(append(others, messages(t))...), shapeOf(authors()...), nil)
		_, err := Decide(w, 9, add(t, `{"url":"http://h"}`).WithIntrospection(introspectionOf(t, sdl)))
		return err
	}
	require.NoError(t, add(`scalar uuid type Query { other: User } "told" type User { name: String messages(where: Filter): [Message] text(text: String!): String }
		interface Node { id: Int! } type Message implements Node { id: Int! author(shout: Boolean, times: Float): User! all: [Message!]! }
		input Filter { id: IntOp name: StringOp and: [Filter!] } input IntOp { eq: Int in: [Int!] } input StringOp { eq: String }`))
	refusal(t, add(`type Query { other: User } type User { name: String } enum Job { COOK }`), domain.RemoteConflicts, "$.args",
		"types: [ Job, User ] have mismatch with current graphql schema. HINT: Types must be same.")
	live := NewWorld(catalogWith(RemoteSchema{Name: "live", Definition: RemoteSchemaDefinition{URL: ptr("http://remote")}}.WithIntrospection(
		introspectionOf(t, `schema { query: Q subscription: S } type Q { one: Int } type S { one: Int }`))), shapeOf(), nil)
	_, err := Decide(live, 9, command[AddRemoteSchema](t, `{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://h"}}}`).WithIntrospection(
		introspectionOf(t, `schema { query: Q subscription: S } type Q { two: Int } type S { two: Int }`)))
	require.NoError(t, err, "roots are each server's own")
	require.NoError(t, add(`type Query { other: user } type user { name: String }`), "another case is another name")
}
