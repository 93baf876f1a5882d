package database_test

import (
	"fmt"
	"maps"
	"testing"

	"annals/domain"
	"annals/domain/database"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func named(name string) domain.QualifiedName {
	return domain.QualifiedName{Schema: "public", Name: name}
}

func tables(tables ...*database.Table) database.Found {
	found := database.Found{Tables: map[domain.QualifiedName]*database.Table{}}
	for _, t := range tables {
		found.Tables[t.Name] = t
	}
	return found
}

func TestNobodyLookedIsNotTheSameAsNothingThere(t *testing.T) {
	shape := database.Shape{}.With(database.Found{
		Tables:    map[domain.QualifiedName]*database.Table{named("gone"): nil},
		Functions: map[domain.QualifiedName][]*database.Function{named("no_function"): nil},
	})
	require.True(t, shape.KnowsTable(named("gone")))
	require.Nil(t, shape.Table(named("gone")))
	require.False(t, shape.KnowsTable(named("other")))
	require.Nil(t, shape.Table(named("other")))
	require.True(t, shape.KnowsFunction(named("no_function")))
	require.Empty(t, shape.Functions(named("no_function")))
	require.False(t, shape.KnowsFunction(named("gone")))
}

func TestALaterReadingHidesAnEarlierOne(t *testing.T) {
	before, after := &database.Table{Name: named("t"), OID: 1}, &database.Table{Name: named("t"), OID: 2}
	kept := &database.Table{Name: named("kept"), OID: 3}
	old := database.Shape{}.With(tables(before, kept))
	changed := old.With(tables(after))
	dropped := changed.With(database.Found{Tables: map[domain.QualifiedName]*database.Table{named("t"): nil}})

	require.Same(t, before, old.Table(named("t")), "a shape is never changed")
	require.Same(t, after, changed.Table(named("t")))
	require.Nil(t, dropped.Table(named("t")))
	require.True(t, dropped.KnowsTable(named("t")))
	require.Same(t, kept, dropped.Table(named("kept")))
}

func TestTypesStayKnownUntilTheyAreReadAgain(t *testing.T) {
	shape := database.Shape{}.With(database.Found{Types: map[string]struct{}{"mood": {}, "uuid": {}}})
	require.True(t, shape.With(tables()).HasType("mood"))
	shape = shape.With(database.Found{Types: map[string]struct{}{"uuid": {}}})
	require.False(t, shape.HasType("mood"))
	require.True(t, shape.HasType("uuid"))
}

func TestAColumnIsFoundByItsExactName(t *testing.T) {
	table := &database.Table{Columns: []database.Column{{Name: "id"}, {Name: "Id"}}}
	require.Same(t, &table.Columns[1], table.Column("Id"))
	require.Nil(t, table.Column("ID"))
	require.Nil(t, new(database.Table).Column("id"))
}

// However many readings are laid over each other, from whichever shape they
// start, each shape answers as a map would that was copied and written to.
func TestAShapeAnswersAsAMapWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			shape database.Shape
			model map[domain.QualifiedName]*database.Table
		}
		versions := []version{{model: map[domain.QualifiedName]*database.Table{}}}
		for i := range rapid.IntRange(1, 60).Draw(t, "readings") {
			from := versions[rapid.IntRange(max(0, len(versions)-3), len(versions)-1).Draw(t, "from")]
			next := version{model: maps.Clone(from.model)}
			reading := map[domain.QualifiedName]*database.Table{}
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 12).Draw(t, "names") {
				name := named(fmt.Sprint(n))
				reading[name] = nil
				if rapid.Bool().Draw(t, "there") {
					reading[name] = &database.Table{Name: name, OID: uint32(i)}
				}
			}
			maps.Copy(next.model, reading)
			next.shape = from.shape.With(database.Found{Tables: reading})
			versions = append(versions, next)
		}
		for _, v := range versions {
			for n := range 42 {
				name := named(fmt.Sprint(n))
				want, known := v.model[name]
				if v.shape.KnowsTable(name) != known || v.shape.Table(name) != want {
					t.Fatalf("table %d: got %v, want %v", n, v.shape.Table(name), want)
				}
			}
		}
	})
}
