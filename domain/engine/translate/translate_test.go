package translate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

func column(name, typeName, sqlType string) database.Column {
	return database.Column{Name: name, Type: typeName, SQLType: sqlType, TypeKind: 'b'}
}

func table(name string, columns ...database.Column) *database.Table {
	return &database.Table{
		Name: domain.QualifiedName{Schema: "public", Name: name}, Kind: database.OrdinaryTable, Columns: columns,
		PrimaryKey: &database.Constraint{Name: name + "_pkey", Columns: []string{"id"}},
	}
}

func author() *database.Table {
	return table("author", column("id", "int4", "integer"), column("name", "varchar", "character varying(40)"), column("born", "date", "date"))
}

func article() *database.Table {
	return table("article", column("id", "int4", "integer"), column("author_id", "int4", "integer"), column("title", "text", "text"))
}

func fields(t *database.Table, names ...string) (out []plan.Field) {
	for _, name := range names {
		out = append(out, plan.Field{Alias: name, Column: &plan.Column{Column: t.Column(name)}})
	}
	return out
}

func literal(text string) plan.Value { return plan.Value{Literal: json.RawMessage(text)} }

func texts(s []translate.Statement) (out []string) {
	for _, statement := range s {
		out = append(out, statement.SQL)
	}
	return out
}

func TestEachLevelIsOneStatementWithTheKeysOfTheLevelAround(t *testing.T) {
	au, ar := author(), article()
	limit := literal("10")
	articles := &plan.Rows{Source: plan.Source{Table: ar}, Selection: fields(ar, "title")}
	authors := &plan.Rows{
		Source: plan.Source{Table: au}, Order: []plan.Order{{Column: "name"}}, Limit: &limit,
		Where:     plan.Compare{Column: au.Column("name"), Operator: "eq", Value: plan.Value{Session: "x-service-name"}},
		Selection: append(fields(au, "name", "born"), plan.Field{Alias: "articles", Rows: &plan.Related{On: []plan.Pair{{Here: "id", There: "author_id"}}, Rows: articles}}),
	}
	step := translate.Rows(authors, translate.Options{})
	require.Equal(t, []string{
		`SELECT "t1"."name", to_json("t1"."born"), "t1"."id" FROM "public"."author" AS "t1" ` +
			`WHERE ("t1"."name" = $1::pg_catalog."varchar") ORDER BY "t1"."name" ASC NULLS LAST LIMIT 10`,
		`SELECT "t4"."title", "k2"."k1" FROM (SELECT "r3"."c1" AS "k1" FROM (SELECT "t1"."id" AS "c1" FROM "public"."author" AS "t1" ` +
			`WHERE ("t1"."name" = $1::pg_catalog."varchar") ORDER BY "t1"."name" ASC NULLS LAST LIMIT 10) AS "r3") AS "k2" ` +
			`CROSS JOIN "public"."article" AS "t4" WHERE ("t4"."author_id" = "k2"."k1") ORDER BY "t4"."ctid"`,
	}, texts(step.Statements))
	require.Equal(t, []int{2}, step.Level.Fields[2].On)
	require.Equal(t, []int{1}, step.Level.Fields[2].Level.Key)
}

func TestWhatAUniqueKeyLeadsToIsJoined(t *testing.T) {
	au, ar := author(), article()
	one := &plan.Rows{Source: plan.Source{Table: au}, Single: true, Selection: fields(au, "name"), Where: plan.IsNull{Column: au.Column("born"), Value: literal("false")}}
	articles := &plan.Rows{Source: plan.Source{Table: ar}, Selection: append(fields(ar, "id"),
		plan.Field{Alias: "author", Rows: &plan.Related{On: []plan.Pair{{Here: "author_id", There: "id"}}, Rows: one}})}
	step := translate.Rows(articles, translate.Options{})
	require.Equal(t, []string{`SELECT "t1"."id", "t2"."id", "t2"."name" FROM "public"."article" AS "t1" ` +
		`LEFT JOIN "public"."author" AS "t2" ON (("t2"."id" = "t1"."author_id") AND "t2"."born" IS NOT NULL) ORDER BY "t1"."ctid"`}, texts(step.Statements))
	require.Equal(t, 1, step.Level.Fields[1].Object.Present)

	au.PrimaryKey = nil
	step = translate.Rows(articles, translate.Options{})
	require.Len(t, step.Statements, 2, "without a unique key there may be several rows")
}

func TestALimitForEachRowAroundIsLateral(t *testing.T) {
	au, ar := author(), article()
	limit := plan.Value{Variable: "n"}
	articles := &plan.Rows{Source: plan.Source{Table: ar}, Limit: &limit, Selection: fields(ar, "title")}
	authors := &plan.Rows{Source: plan.Source{Table: au}, Selection: []plan.Field{{Alias: "articles", Rows: &plan.Related{On: []plan.Pair{{Here: "id", There: "author_id"}}, Rows: articles}}}}
	step := translate.Rows(authors, translate.Options{})
	require.Equal(t, `SELECT "r4"."c1", "k2"."k1" FROM (SELECT "t1"."id" AS "k1" FROM "public"."author" AS "t1") AS "k2" CROSS JOIN LATERAL `+
		`(SELECT "t3"."title" AS "c1", "t3"."ctid" AS "c2" FROM "public"."article" AS "t3" WHERE ("t3"."author_id" = "k2"."k1") LIMIT $1::pg_catalog."int8") AS "r4" `+
		`ORDER BY "r4"."c2"`, step.Statements[1].SQL)
	values, err := step.Statements[1].Bind(translate.Binding{Variables: map[string]json.RawMessage{"n": json.RawMessage(`2e0`)}})
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("2")}, values)
}

// bind gives a value the text that it has as a parameter for a column.
func bind(t *testing.T, c database.Column, operator, value string) (string, error) {
	t.Helper()
	tab := table("t", c)
	rows := &plan.Rows{Source: plan.Source{Table: tab}, Where: plan.Compare{Column: &tab.Columns[0], Operator: operator, Value: literal(value)}, Selection: fields(tab, c.Name)}
	values, err := translate.Rows(rows, translate.Options{}).Statements[0].Bind(translate.Binding{})
	if err != nil {
		return "", err
	}
	require.Len(t, values, 1)
	return string(values[0]), nil
}

func TestValuesBecomeTheTextThatTheirTypeReads(t *testing.T) {
	integer, text, document := column("c", "int8", "bigint"), column("c", "text", "text"), column("c", "jsonb", "jsonb")
	for _, c := range []struct {
		column                database.Column
		operator, value, want string
	}{
		{integer, "eq", `12`, `12`}, {integer, "eq", `"12"`, `12`}, {integer, "eq", `1.2e3`, `1200`}, {integer, "eq", `1.5`, `1.5`},
		{integer, "eq", `1e999999999`, `1e999999999`}, {integer, "in", `[1,"2",null]`, `{"1","2",NULL}`}, {integer, "in", `"{1,2}"`, `{1,2}`},
		{text, "eq", `"a\"\u00e9"`, `a"é`}, {text, "in", `["a\"b","c\\d",",","{}","NULL",""]`, `{"a\"b","c\\d",",","{}","NULL",""}`},
		{document, "contains", `"a"`, `"a"`}, {document, "contains", `{"a": [1]}`, `{"a": [1]}`}, {document, "has_keys_any", `["a"]`, `{"a"}`},
	} {
		got, err := bind(t, c.column, c.operator, c.value)
		require.NoError(t, err, c.value)
		require.Equal(t, c.want, got, c.value)
	}
	_, err := bind(t, text, "eq", `"a\u0000b"`)
	var refused *domain.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, domain.DataException, refused.Code)
}
