package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/plan/plantest"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/metadata"
	"annals/domain/wire"
)

const authorsShape = `
table author: id int4 pk default, name text null, tags text[] null
table article: id int4 pk default, title text null, author_id int4 null references author(id)
`

const authorsMetadata = `
{"type":"track_table","args":"author"}
{"type":"track_table","args":"article"}
{"type":"create_object_relationship","args":{"table":"article","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}
{"type":"create_array_relationship","args":{"table":"author","name":"articles","using":{"foreign_key_constraint_on":{"table":"article","column":"author_id"}}}}
{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["name"],"filter":{"id":"X-Hasura-User-Id"}}}}
`

func authors(t testing.TB) metadata.World {
	return schematest.World(t, authorsShape, authorsMetadata)
}

func build(t testing.TB, req plan.Request) *plan.Operation {
	t.Helper()
	op, err := plan.Build(schema.For(authors(t), domain.AdminRole, false), req)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func TestAPlanFitsTheRequestsThatWouldGetTheSame(t *testing.T) {
	for _, c := range []struct {
		name, query, before, after string
		fits                       bool
	}{
		{"another value of a scalar", `query ($i: Int!) { author(where: {id: {_eq: $i}}) { id } }`, `{"i":1}`, `{"i":2}`, true},
		{"a value of another type", `query ($i: Int!) { author(where: {id: {_eq: $i}}) { id } }`, `{"i":1}`, `{"i":"2"}`, false},
		{"a value spelled so that it has to be rewritten", `query ($i: Int!) { author(where: {id: {_eq: $i}}) { id } }`, `{"i":1}`, `{"i":2.0}`, false},
		{"null where none is taken", `query ($i: Int) { author(where: {id: {_eq: $i}}) { id } }`, `{"i":1}`, `{"i":null}`, false},
		{"another list", `query ($i: [Int!]) { author(where: {id: {_in: $i}}) { id } }`, `{"i":[1]}`, `{"i":[1,2,3]}`, true},
		{"one value in place of a list", `query ($i: [Int!]) { author(where: {id: {_in: $i}}) { id } }`, `{"i":[1]}`, `{"i":1}`, false},
		{"another limit", `query ($l: Int) { author(limit: $l) { id } }`, `{"l":1}`, `{"l":2}`, true},
		{"no limit", `query ($l: Int) { author(limit: $l) { id } }`, `{"l":1}`, `{}`, true},
		{"a negative limit", `query ($l: Int) { author(limit: $l) { id } }`, `{"l":1}`, `{"l":-1}`, false},
		{"a default in place of a value", `query ($l: Int = 3) { author(limit: $l) { id } }`, `{"l":1}`, ``, true},
		{"another filter", `query ($w: author_bool_exp) { author(where: $w) { id } }`, `{"w":{"id":{"_eq":1}}}`, `{"w":{"id":{"_eq":2}}}`, false},
		{"the same filter", `query ($w: author_bool_exp) { author(where: $w) { id } }`, `{"w":{"id":{"_eq":1}}}`, `{ "w": { "id": {"_eq":1} } }`, true},
		{"no filter", `query ($w: author_bool_exp) { author(where: $w) { id } }`, `{"w":{}}`, ``, false},
		{"another condition", `query ($c: Boolean!) { author { id name @skip(if: $c) } }`, `{"c":true}`, `{"c":false}`, false},
		{"another value of a column", `mutation ($n: String) { insert_author_one(object: {name: $n}) { id } }`, `{"n":"a"}`, `{"n":null}`, true},
		{"no value of a column", `mutation ($n: String) { insert_author_one(object: {name: $n}) { id } }`, `{"n":"a"}`, `{}`, false},
		{"a variable too many", `query ($l: Int) { author(limit: $l) { id } }`, `{"l":1}`, `{"l":1,"m":2}`, false},
		{"a variable too few", `query ($i: Int!) { author_by_pk(id: $i) { id } }`, `{"i":1}`, `{}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := build(t, plan.Request{Query: c.query, Variables: wire.MustParse(c.before)})
			if got := op.Fits(wire.MustParse(c.after)); got != c.fits {
				t.Fatalf("the plan for %s fits %s: %v", c.before, c.after, got)
			}
			if !c.fits {
				return
			}
			again := build(t, plan.Request{Query: c.query, Variables: wire.MustParse(c.after)})
			if plantest.Print(again) != plantest.Print(op) {
				t.Fatalf("the plan said to fit is\n%sand the one built anew\n%s", plantest.Print(op), plantest.Print(again))
			}
		})
	}
}

func TestAnOperationThatIsTooLargeIsRefused(t *testing.T) {
	deep := "query { author " + strings.Repeat("{ articles { author ", 40) + "{ id }" + strings.Repeat("} }", 40) + "}"
	wide := "query { author { " + strings.Repeat("id ", 300) + "} }"
	bomb := "query { author { ...f0 } }"
	for i := range 30 {
		bomb += fmt.Sprintf(" fragment f%d on author { ...f%d ...f%d }", i, i+1, i+1)
	}
	bomb += " fragment f30 on author { id }"
	over := ""
	for i := range 10 {
		over += fmt.Sprintf(" a%d: __schema { types { fields { name } } }", i)
	}
	for _, c := range []struct {
		name, query string
		limits      plan.Limits
		path, flag  string
	}{
		{"too deep", deep, plan.Limits{}, "", "--max-query-depth"},
		{"too deep for a limit given", "query { author { articles { id } } }", plan.Limits{MaxDepth: 2}, "$.selectionSet.author.selectionSet.articles", "--max-query-depth"},
		{"too wide", wide, plan.Limits{MaxNodes: 300}, "$", "--max-query-nodes"},
		{"fragments that double thirty times", bomb, plan.Limits{}, "$", "--max-query-nodes"},
		{"a text too long", wide, plan.Limits{MaxTokens: 100}, "$.query", "--max-query-tokens"},
		{"the schema over and over", "{ " + over + " }", plan.Limits{MaxIntrospection: 2}, "$.selectionSet.__schema", "--max-introspection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := plan.Build(schema.For(authors(t), domain.AdminRole, false), plan.Request{Query: c.query, Limits: c.limits})
			var refusal *domain.Error
			if !errors.As(err, &refusal) || refusal.Code != domain.ValidationFailed {
				t.Fatalf("not refused: %v", err)
			}
			if c.path != "" && refusal.Path != c.path {
				t.Fatalf("refused at %s", refusal.Path)
			}
			if !strings.Contains(refusal.Message, c.flag) {
				t.Fatalf("what would be right is not in %q", refusal.Message)
			}
		})
	}
}

func TestAnOperationWithinTheLimitsIsBuilt(t *testing.T) {
	build(t, plan.Request{Query: "query { author { articles { id } } }", Limits: plan.Limits{MaxDepth: 3, MaxNodes: 3, MaxTokens: 20}})
}

func TestPlansAreBuiltAtTheSameTime(t *testing.T) {
	world := authors(t)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			role := []string{domain.AdminRole, "user"}[i%2]
			if _, err := plan.Build(schema.For(world, role, false), plan.Request{Query: "query { author { name } }"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func FuzzAnyOperationIsBuiltOrRefused(f *testing.F) {
	for _, query := range []string{
		`query ($a: Int = 1, $b: [author_order_by!]) { author(where: {_or: [{id: {_in: [$a, 2]}}]}, order_by: $b, limit: $a) { ...x articles_aggregate { aggregate { count } } } } fragment x on author { name }`,
		`mutation ($o: [author_insert_input!]! = []) { insert_author(objects: $o) { affected_rows } update_author(where: {}, _set: {tags: ["a"]}) { returning { id } } }`,
		`subscription { author @skip(if: $x) { id } }`,
		`query ($t: String! = "author") { __type(name: $t) { ...x } __schema { types { ...x } } } fragment x on __Type { name fields { type { name } } }`,
	} {
		f.Add(query, `{"a": 3, "o": [{"name": "x", "articles": {"data": [{}]}}]}`)
	}
	world := authors(f)
	f.Fuzz(func(t *testing.T, query, variables string) {
		given, err := wire.Parse([]byte(variables))
		if err != nil {
			return
		}
		for _, role := range []string{domain.AdminRole, "user"} {
			req := plan.Request{Query: query, Variables: given}
			op, err := plan.Build(schema.For(world, role, false), req)
			var refusal *domain.Error
			switch {
			case err == nil && !op.Fits(req.Variables):
				t.Fatalf("the plan does not fit its own request")
			case err != nil && (!errors.As(err, &refusal) || refusal.Path == "" || refusal.Code == domain.Unexpected):
				t.Fatalf("neither built nor refused: %v", err)
			}
		}
	})
}

// The cost of a plan must not depend on how many tables there are.
func BenchmarkBuildWithManyTables(b *testing.B) {
	for _, tables := range []int{10, 5000} {
		b.Run(fmt.Sprint(tables), func(b *testing.B) {
			shape, calls := authorsShape, authorsMetadata
			for i := range tables {
				shape += fmt.Sprintf("table t%d: id int4 pk, name text\n", i)
				calls += fmt.Sprintf("{\"type\":\"track_table\",\"args\":\"t%d\"}\n", i)
			}
			world := schematest.World(b, shape, calls)
			query := "query ($i: Int!) { author(where: {id: {_gt: $i}, articles: {title: {_like: \"a%\"}}}, order_by: {name: asc}) {"
			for i := range 10 {
				query += fmt.Sprintf(" a%d: id b%d: articles { id title author { id name } }", i, i)
			}
			req := plan.Request{Query: query + "} }", Variables: wire.MustParse(`{"i":1}`)}
			once := func() {
				if _, err := plan.Build(schema.For(world, domain.AdminRole, false), req); err != nil {
					b.Fatal(err)
				}
			}
			start := time.Now()
			once()
			b.Logf("the first plan took %v", time.Since(start))
			for b.Loop() {
				once()
			}
		})
	}
}

func TestANullIsLeftOutOfAFilterWhereThatIsAskedFor(t *testing.T) {
	const all = "author: author\n  id\n"
	for _, where := range []string{
		`{id: {_eq: null}}`, `{id: {_eq: $i}}`, `{id: {_in: null}}`, `{id: {_is_null: null}}`, `{id: null}`, `{id: $c}`, `{_and: null}`, `{_or: null}`, `{_not: null}`,
		`{articles: null}`, `{_or: [{id: {_eq: null}}]}`, `{_and: [{id: {_gt: $i, _lt: null}}]}`,
	} {
		request := plan.Request{
			Query:     `query ($i: Int, $c: Int_comparison_exp) { author(where: ` + where + `) { id } }`,
			Variables: wire.MustParse(`{}`), DropNulls: true,
		}
		printed, _, _ := strings.Cut(plantest.Print(build(t, request)), "shaped by")
		if printed != all {
			t.Errorf("%s:\n%s", where, printed)
		}
		request.DropNulls = false
		if _, err := plan.Build(schema.For(authors(t), domain.AdminRole, false), request); err == nil {
			t.Errorf("%s is not refused", where)
		}
	}
	if printed := plantest.Print(build(t, plan.Request{Query: `{ author(where: {_not: {id: {_eq: null}}}) { id } }`, DropNulls: true})); !strings.Contains(printed, "never") {
		t.Errorf("what is not true of every row:\n%s", printed)
	}
}

func TestAPlanWithoutANullIsForNullAlone(t *testing.T) {
	const query = `query ($i: Int) { author(where: {id: {_eq: $i}}) { id } }`
	without := build(t, plan.Request{Query: query, Variables: wire.MustParse(`{"i":null}`), DropNulls: true})
	with := build(t, plan.Request{Query: query, Variables: wire.MustParse(`{"i":1}`), DropNulls: true})
	for _, c := range []struct {
		op        *plan.Operation
		variables string
		fits      bool
	}{
		{without, `{"i":null}`, true}, {without, `{"i":1}`, false}, {with, `{"i":2}`, true}, {with, `{"i":null}`, false}, {with, `{}`, false},
	} {
		if c.op.Fits(wire.MustParse(c.variables)) != c.fits {
			t.Errorf("%s: fits is not %t", c.variables, c.fits)
		}
	}
}
