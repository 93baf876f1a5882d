package facts_test

import (
	"fmt"
	"testing"

	"annals/domain"
	"annals/handlers/command/facts"
	"annals/migrations/pgtest"

	"github.com/stretchr/testify/require"
)

// manyTables makes tables of 8 columns with a primary key, a unique constraint
// and a foreign key to the table before.
const manyTables = `
do $$
declare
    i int;
begin
    for i in 1..%d loop
        execute format(
            'create table t%%s (
                id int primary key, name text not null unique, before int %%s, sum numeric(10,2) default 0,
                at timestamptz, body jsonb, code varchar(40), key uuid)',
            i, case when i > 1 then format('references t%%s', i - 1) end);
        execute format('comment on table t%%s is %%L', i, 'the table ' || i);
        if i %% 500 = 0 then commit; end if;
    end loop;
end $$`

func BenchmarkRead(b *testing.B) {
	const tables = 5000
	db := pgtest.New(b)
	_, err := db.Pool.Exec(b.Context(), fmt.Sprintf(manyTables, tables))
	require.NoError(b, err)
	var all []domain.QualifiedName
	for i := range tables {
		all = append(all, named("public", fmt.Sprintf("t%d", i+1)))
	}
	for _, n := range []int{1, 10, 100, tables} {
		b.Run(fmt.Sprintf("tables=%d", n), func(b *testing.B) {
			tx, err := db.Pool.Begin(b.Context())
			require.NoError(b, err)
			defer tx.Rollback(b.Context())
			for b.Loop() {
				found := read(b, tx, facts.Wanted{Tables: all[:n]})
				require.Len(b, found.Tables, n)
			}
		})
	}
	b.Run("types", func(b *testing.B) {
		for b.Loop() {
			require.NotEmpty(b, read(b, db.Pool, facts.Wanted{Types: true}).Types)
		}
	})
}
