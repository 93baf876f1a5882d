package sql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/sql"
)

func TestASelectPrintsItsPartsInOrder(t *testing.T) {
	text := sql.Print(sql.Select{
		DistinctOn: []sql.Node{sql.Column("t", "a")},
		Columns:    []sql.Node{sql.As(sql.Column("t", "a"), "x"), sql.Call("count", sql.Raw("*"))},
		From:       sql.As(sql.Qualified("public", "tab"), "t"),
		Where:      []sql.Node{sql.Binary(sql.Column("t", "a"), "=", sql.Value{Of: 1, Type: sql.BuiltIn("int4")}), sql.Not(sql.Or())},
		GroupBy:    []sql.Node{sql.Column("t", "a")},
		OrderBy:    []sql.Node{sql.Column("t", "a")},
		Limit:      sql.Value{Of: "two"},
		Offset:     sql.Raw("0"),
	})
	require.Equal(t, `SELECT DISTINCT ON ("t"."a") "t"."a" AS "x", count(*) FROM "public"."tab" AS "t" `+
		`WHERE ("t"."a" = $1::pg_catalog."int4") AND NOT (FALSE) GROUP BY "t"."a" ORDER BY "t"."a" LIMIT $2 OFFSET 0`, text.SQL)
	require.Equal(t, []any{1, "two"}, text.Parameters)
	require.Equal(t, `SELECT 1`, sql.Print(sql.Select{}).SQL)
}

func TestConditionsWithoutAnyAreWhatLogicSays(t *testing.T) {
	require.Equal(t, "TRUE", sql.Print(sql.And()).SQL)
	require.Equal(t, "FALSE", sql.Print(sql.Or()).SQL)
	require.Equal(t, "(TRUE OR FALSE)", sql.Print(sql.Or(sql.And(), sql.Or())).SQL)
}

func TestAnIdentifierMeansItselfWhateverItHolds(t *testing.T) {
	for name, want := range map[string]string{
		`plain`: `"plain"`, `a"b`: `"a""b"`, `"; drop table x; --`: `"""; drop table x; --"`, `$1`: `"$1"`, `ü 🦉`: `"ü 🦉"`, "nul\x00": `"nul"`, ``: `""`,
	} {
		require.Equal(t, want, sql.Quote(name))
	}
}

func TestOnlyATypeIsPrintedAsAType(t *testing.T) {
	for _, text := range []string{
		"integer", "character varying(40)[]", "double precision", "timestamp(3) without time zone", "numeric(12,3)", "numeric(3,-2)", `public."Mood"`,
		`"odd ""schema"."a type"[]`, "interval second(3)", "public.geometry(Point,4326)", `"char"`, `pg_catalog."int4"[]`, "ünï.typ",
	} {
		require.Equal(t, text, sql.Print(sql.Type(text)).SQL)
	}
	for _, text := range []string{"int4); drop table x; --", "int4 = 1", "a.b.c", `"open`, "1", "int4 or true--", "int4[]'", "x\ny", "f(g(1))"} {
		require.Equal(t, sql.Quote(text), sql.Print(sql.Type(text)).SQL)
	}
}

func TestABareTypeHasNoModifier(t *testing.T) {
	for from, want := range map[sql.Type]sql.Type{
		"character varying(40)[]": "character varying[]", "timestamp(3) without time zone": "timestamp without time zone",
		"public.geometry(Point,4326)": "public.geometry", "integer": "integer", `public."odd(1)"`: `public."odd(1)"`,
	} {
		require.Equal(t, want, from.Bare())
	}
}

func FuzzQuote(f *testing.F) {
	f.Add(`a"b`)
	f.Fuzz(func(t *testing.T, name string) {
		quoted := sql.Quote(name)
		require.GreaterOrEqual(t, len(quoted), 2)
		inner := quoted[1 : len(quoted)-1]
		for i := 0; i < len(inner); i++ {
			if inner[i] == '"' {
				require.Less(t, i+1, len(inner), "%s ends early", quoted)
				require.Equal(t, byte('"'), inner[i+1], "%s ends early", quoted)
				i++
			}
		}
	})
}
