package facts_test

import (
	"testing"

	"annals/domain/database"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestAFunctionOverRowsIsDescribed(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create schema shop;
		create table shop.author (id int);
		create function search(author shop.author, term text default 'x', hasura_session json default '{}')
			returns setof shop.author stable language sql as 'select * from shop.author';
		comment on function search is 'finds'`)
	author := named("shop", "author")
	got := function(t, tx, "search")
	require.NotZero(t, got.OID)
	got.OID = 0
	want := &database.Function{
		Name: named("public", "search"), Volatility: database.Stable, Comment: "finds",
		Arguments: []database.Argument{
			{Name: "author", Type: "author", SQLType: "shop.author", TypeKind: 'c', Row: &author},
			{Name: "term", Type: "text", SQLType: "text", TypeKind: 'b'},
			{Name: "hasura_session", Type: "json", SQLType: "json", TypeKind: 'b'},
		},
		Defaults: 2, ReturnsSet: true,
		ReturnType: "author", ReturnSchema: "shop", ReturnKind: 'c', ReturnsTable: &author,
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestOnlyInputArgumentsAreArguments(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create function mixed(out o int, inout b int, i int, variadic v int[]) language sql as 'select 1, 2';
		create function tabled(a int, text) returns table (x int, y text) language sql as 'select 1, $2';
		create function unnamed(int, text) returns int immutable language sql as 'select 1';
		create function bare() returns void language sql as ''`)
	names := func(f *database.Function) (names []string) {
		for _, a := range f.Arguments {
			names = append(names, a.Name+":"+a.Type)
		}
		return names
	}
	mixed := function(t, tx, "mixed")
	require.Equal(t, []string{"b:int4", "i:int4", "v:_int4"}, names(mixed))
	require.True(t, mixed.HasOutArguments)
	require.True(t, mixed.Variadic)
	require.Equal(t, "integer[]", mixed.Arguments[2].SQLType)

	tabled := function(t, tx, "tabled")
	require.Equal(t, []string{"a:int4", ":text"}, names(tabled))
	require.True(t, tabled.HasOutArguments)
	require.True(t, tabled.ReturnsSet)
	require.Equal(t, "record", tabled.ReturnType)

	unnamed := function(t, tx, "unnamed")
	require.Equal(t, []string{":int4", ":text"}, names(unnamed))
	require.False(t, unnamed.HasOutArguments)
	require.False(t, unnamed.Variadic)
	require.Equal(t, database.Immutable, unnamed.Volatility)

	bare := function(t, tx, "bare")
	require.Empty(t, bare.Arguments)
	require.Equal(t, "void", bare.ReturnType)
	require.Equal(t, byte('p'), bare.ReturnKind)
	require.Equal(t, database.Volatile, bare.Volatility)
}

func TestAllOverloadsAreFoundInTheOrderTheyWereMade(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create function f(text) returns int language sql as 'select 1';
		create function f() returns text language sql as $$select ''$$;
		create function f(int, int) returns int[] language sql as 'select array[1]';
		create schema elsewhere;
		create function elsewhere.f(bool) returns int language sql as 'select 1'`)
	var arity []int
	for _, f := range functions(t, tx, "f") {
		arity = append(arity, len(f.Arguments))
	}
	require.Equal(t, []int{1, 0, 2}, arity)
}

func TestAggregatesWindowFunctionsAndProceduresAreNoFunctions(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create aggregate total(int) (sfunc = int4pl, stype = int);
		create procedure act() language sql as '';
		create function ranked() returns bigint window language internal as 'window_row_number'`)
	for _, name := range []string{"total", "act", "ranked"} {
		require.Empty(t, functions(t, tx, name), name)
	}
}

func TestOnlyTheRowTypeOfARelationIsARow(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table t (id int);
		create view v as select id from t;
		create materialized view m as select id from t;
		create type composite as (x int);
		create domain t_domain as t;
		create function of_table() returns t language sql as 'select 1';
		create function of_view() returns v language sql as 'select 1';
		create function of_matview() returns setof m language sql as 'select 1';
		create function of_composite(composite) returns composite language sql as 'select 1';
		create function of_domain(t_domain) returns t_domain language sql as 'select row(1)::t::t_domain';
		create function of_array(t[]) returns t[] language sql as 'select $1'`)
	for name, want := range map[string]string{
		"of_table": "t", "of_view": "v", "of_matview": "m", "of_composite": "", "of_domain": "", "of_array": "",
	} {
		f := function(t, tx, name)
		if want == "" {
			require.Nil(t, f.ReturnsTable, name)
			require.Nil(t, f.Arguments[0].Row, name)
			continue
		}
		require.NotNil(t, f.ReturnsTable, name)
		require.Equal(t, named("public", want), *f.ReturnsTable)
	}
	require.Equal(t, "_t", function(t, tx, "of_array").ReturnType)
	require.Equal(t, byte('d'), function(t, tx, "of_domain").ReturnKind)
}
