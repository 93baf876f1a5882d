package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/database"
)

// A computed field that does not stand, for its table is gone, is found when its
// function moves: else the function's old scalars would stay in the types for
// as long as the node runs.
func TestScalarsFollowAFunctionThatNoStandingObjectNeeds(t *testing.T) {
	t.Parallel()
	field := ComputedField{Table: named("author"), Name: "f", Definition: ComputedFieldDefinition{Function: named("full_name")}}
	returning := func(typname string) *database.Function {
		return but(rowFunction("full_name", "author"), func(f *database.Function) { f.ReturnType = typname })
	}
	world := given(t, shapeOf(returning("citext")), Table{Name: named("author")}, field).world
	require.True(t, world.UsesScalar("citext"))

	world = world.WithShape(foundOf(returning("uuid")))
	require.False(t, world.UsesScalar("citext"))
	require.True(t, world.UsesScalar("uuid"))
}
