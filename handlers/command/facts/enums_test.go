package facts_test

import (
	"errors"
	"fmt"
	"testing"

	"annals/domain"
	"annals/domain/database"
	"annals/handlers/command/facts"

	"github.com/stretchr/testify/require"
)

func TestTheRowsOfAnEnumTableAreItsValues(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table colour (comment text, value text primary key);
		insert into colour values ('like the sky', 'blue'), (null, 'Azure'), ('', 'red'), ('é', 'écru');
		create table bare (value text primary key);
		insert into bare values ('b'), ('a');
		create table numbered (id int primary key, name text);
		insert into numbered values (1, 'one');
		create table emptied (value text primary key)`)
	found := read(t, tx, facts.Wanted{Tables: public("colour"), Enums: public("colour", "bare", "numbered", "emptied")})

	for name, want := range map[string][]database.EnumValue{
		"colour":   {{Value: "Azure"}, {Value: "blue", Comment: "like the sky"}, {Value: "red"}, {Value: "écru", Comment: "é"}},
		"bare":     {{Value: "a"}, {Value: "b"}},
		"numbered": {{Value: "1", Comment: "one"}},
		"emptied":  {},
	} {
		got := found.Tables[named("public", name)]
		require.NotNil(t, got, name)
		require.True(t, got.EnumRead, name)
		require.Equal(t, want, got.Enum, name)
	}
}

func TestATableWithoutTheFormOfAnEnumHasNoValues(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table keyless (value text);
		create table wide (value text primary key, comment text, more text);
		create table composite (a text, b text, primary key (a, b));
		create view viewed as select 'v' as value`)
	names := public("keyless", "wide", "composite", "viewed")
	found := read(t, tx, facts.Wanted{Enums: names})
	for _, name := range names {
		require.True(t, found.Tables[name].EnumRead, name)
		require.Nil(t, found.Tables[name].Enum, name)
	}
}

func TestRowsAreReadOnlyOfTablesAskedForAsEnums(t *testing.T) {
	t.Parallel()
	tx := begin(t, `create table colour (value text primary key); insert into colour values ('red')`)
	got := table(t, tx, "colour")
	require.False(t, got.EnumRead)
	require.Nil(t, got.Enum)
}

func TestAnEnumTableHasALimitOfRows(t *testing.T) {
	t.Parallel()
	tx := begin(t, `create table many (value text primary key)`)
	exec(t, tx, fmt.Sprintf(`insert into many select generate_series(1, %d)::text`, facts.MaxEnumValues))
	wanted := facts.Wanted{Enums: public("many")}
	require.Len(t, read(t, tx, wanted).Tables[named("public", "many")].Enum, facts.MaxEnumValues)

	exec(t, tx, `insert into many values ('one too many')`)
	_, err := facts.Read(t.Context(), tx, wanted)
	var tooLarge *facts.EnumTooLarge
	require.ErrorAs(t, err, &tooLarge)
	require.Equal(t, named("public", "many"), tooLarge.Table)
	var refusal *domain.Error
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, domain.ConstraintViolation, refusal.Code)

	require.NotNil(t, table(t, tx, "many"), "the transaction can still be used")
}
