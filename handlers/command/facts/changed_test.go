package facts_test

import (
	"testing"

	"annals/domain/database"
	"annals/handlers/command/facts"

	"github.com/stretchr/testify/require"
)

func TestATableIsFoundByItsIDWhateverItIsCalled(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create schema elsewhere;
		create table kept (id int primary key);
		create table renamed (id int primary key, old_name text);
		create table moved (id int references renamed);
		create table dropped (id int);
		create table replaced (id int);
		create index an_index on kept (id)`)
	names := []string{"kept", "renamed", "moved", "dropped", "replaced"}
	before := map[string]uint32{}
	var oids []uint32
	for _, name := range names {
		before[name] = table(t, tx, name).OID
		oids = append(oids, before[name])
	}
	var index uint32
	require.NoError(t, tx.QueryRow(t.Context(), `select 'an_index'::regclass::oid`).Scan(&index))

	exec(t, tx, `
		alter table renamed rename to called;
		alter table called rename column old_name to new_name;
		alter table moved set schema elsewhere;
		drop table dropped;
		drop table replaced;
		create table replaced (id int)`)
	after, err := facts.ReadByOID(t.Context(), tx, append(oids, before["kept"], index, 0, 4294967295))
	require.NoError(t, err)

	require.Equal(t, table(t, tx, "kept"), after[before["kept"]])
	called := after[before["renamed"]]
	require.Equal(t, named("public", "called"), called.Name)
	require.Equal(t, database.Column{Name: "new_name", Number: 2, Type: "text", SQLType: "text", TypeKind: 'b', Nullable: true}, called.Columns[1])
	require.Equal(t, named("elsewhere", "moved"), after[before["moved"]].Name)
	require.Equal(t, named("public", "called"), after[before["moved"]].ForeignKeys[0].To)
	for _, oid := range []uint32{before["dropped"], before["replaced"], index, 0, 4294967295} {
		require.Contains(t, after, oid)
		require.Nil(t, after[oid])
	}
}

func TestTypeNamesAreThoseOfScalars(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table a_table (id int);
		create type a_composite as (x int);
		create type an_enum as enum ('x');
		create domain a_domain as int;
		create type a_range as range (subtype = float8)`)
	shape := database.Shape{}.With(read(t, tx, facts.Wanted{Types: true}))
	for _, name := range []string{"int4", "uuid", "jsonb", "_text", "an_enum", "_an_enum", "a_domain", "a_range", "int4multirange"} {
		require.True(t, shape.HasType(name), name)
	}
	for _, name := range []string{"a_table", "_a_table", "a_composite", "_a_composite", "record", "_cstring", "missing"} {
		require.False(t, shape.HasType(name), name)
	}
}
