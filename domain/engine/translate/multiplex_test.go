package translate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

func TestAMultiplexedStatementIsRunForEachOfManyRequests(t *testing.T) {
	au, ar := author(), article()
	authors := &plan.Rows{
		Source:    plan.Source{Table: au},
		Where:     plan.Compare{Column: au.Column("id"), Operator: "eq", Value: plan.Value{Session: "x-service-id"}},
		Selection: append(fields(au, "name"), plan.Field{Alias: "articles", Rows: &plan.Related{On: []plan.Pair{{Here: "id", There: "author_id"}}, Rows: &plan.Rows{Source: plan.Source{Table: ar}, Selection: fields(ar, "title")}}}),
	}
	step := translate.Rows(authors, translate.Options{Multiplexed: true})
	require.Len(t, step.Statements, 2)
	first := step.Statements[0]
	require.True(t, first.Many)
	require.Equal(t, `SELECT "of_request".*, "requests"."n" `+
		`FROM unnest($1::pg_catalog."int4"[], $2::pg_catalog."text"[]) AS "requests"("n", "v1") `+
		`CROSS JOIN LATERAL (SELECT "t1"."name", "t1"."id" FROM "public"."author" AS "t1" `+
		`WHERE ("t1"."id" = ("requests"."v1")::pg_catalog."int4")) AS "of_request"`, first.SQL)
	values := first.BindMany([][][]byte{{[]byte("1")}, {nil}, {[]byte(`a"b`)}})
	require.Equal(t, `{0,1,2}`, string(values[0]))
	require.Equal(t, `{"1",NULL,"a\"b"}`, string(values[1]))
}

func TestAStatementWithoutValuesIsTheSameForAllRequests(t *testing.T) {
	au := author()
	rows := &plan.Rows{Source: plan.Source{Table: au}, Selection: fields(au, "name")}
	step := translate.Rows(rows, translate.Options{Multiplexed: true})
	require.False(t, step.Statements[0].Many)
	require.Equal(t, translate.Rows(rows, translate.Options{}).Statements[0].SQL, step.Statements[0].SQL)
}
