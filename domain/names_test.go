package domain

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDifferentPartsNeverJoinToOneKey(t *testing.T) {
	part := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a.". ]{0,4}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(part, 2, 3).Draw(t, "a"), rapid.SliceOfN(part, 2, 3).Draw(t, "b")
		if JoinKey(a...) == JoinKey(b...) {
			require.Equal(t, a, b)
		}
	})
}

func TestNamesPrintWithTheirSchemaUnlessItIsPublic(t *testing.T) {
	require.Equal(t, "author", QualifiedName{"public", "author"}.String())
	require.Equal(t, "odd.author", QualifiedName{"odd", "author"}.String())
	require.Equal(t, `public."a.b"`, QualifiedName{"public", "a.b"}.Key())
	require.Equal(t, `public.Autor_1`, QualifiedName{"public", "Autor_1"}.Key())
}

func TestBothSpellingsOfASessionVariableAreOne(t *testing.T) {
	require.Equal(t, "x-service-user-id", SessionVariable("X-Hasura-User-Id"))
	require.Equal(t, "x-service-user-id", SessionVariable("X-Service-User-ID"))
	require.True(t, IsSessionVariable("x-HASURA-a"))
	require.False(t, IsSessionVariable("x-other-a"))
}

func TestGraphQLNames(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "_A1": true, "1a": false, "": false, "a-b": false, "é": false} {
		require.Equal(t, want, IsGraphQLName(name), name)
	}
}
