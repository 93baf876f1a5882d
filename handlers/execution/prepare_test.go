package execution_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema/schematest"
	"annals/domain/metadata"
	"annals/handlers/execution"
)

// preparing is an executor without a database, over a world that changes.
type preparing struct {
	t        testing.TB
	run      *execution.Executor
	world    atomic.Pointer[metadata.World]
	position int64
}

func prepare(t testing.TB, shape, calls string) *preparing {
	p := &preparing{t: t, position: 1 << 20}
	w := schematest.World(t, shape, calls)
	p.world.Store(&w)
	p.run = execution.New(nil, func() metadata.World { return *p.world.Load() }, execution.Config{})
	return p
}

// change carries out a call of the metadata API.
func (p *preparing) change(call string) {
	p.t.Helper()
	req, err := metadata.Parse([]byte(call))
	require.NoError(p.t, err)
	p.position++
	d, err := metadata.Decide(*p.world.Load(), p.position, req.Command.(metadata.Decider))
	require.NoError(p.t, err)
	p.world.Store(&d.World)
}

func (p *preparing) plan(role, query string) (*plan.Operation, error) {
	op, err := p.run.Prepare(execution.Request{Session: domain.Session{Role: role}, Query: plan.Request{Query: query}})
	return op.Plan, err
}

func (p *preparing) kept(role, query string) *plan.Operation {
	p.t.Helper()
	op, err := p.plan(role, query)
	require.NoError(p.t, err)
	return op
}

const (
	bookShape = `
table author: id int4 pk, name text null
table book: id int4 pk, author_id int4 references author(id), mood text null references moods(value)
table other: id int4 pk
enum moods: calm, merry
function search(text) setof author stable
function size(author_row row:author) int4 stable
`
	bookCalls = `
{"type":"track_table","args":"author"}
{"type":"track_table","args":{"table":"moods","is_enum":true}}
{"type":"track_table","args":"book"}
{"type":"create_object_relationship","args":{"table":"book","name":"author","using":{"foreign_key_constraint_on":"author_id"}}}
{"type":"create_select_permission","args":{"table":"author","role":"user","permission":{"columns":["id","name"],"filter":{}}}}
{"type":"create_select_permission","args":{"table":"book","role":"user","permission":{"columns":["id"],"filter":{"author":{"name":{"_eq":"a"}}}}}}
`
)

func TestAPlanIsKeptWhileWhatItWasMadeOfStays(t *testing.T) {
	for _, c := range []struct {
		name, role, query, change string
		kept                      bool
	}{
		{"another table", "user", `{ book { id author { name } } }`, `{"type":"track_table","args":"other"}`, true},
		{"another table's relationship", "user", `{ author { id } }`, `{"type":"drop_relationship","args":{"table":"book","relationship":"author","cascade":true}}`, true},
		{"a permission of the table reached over a relationship", "user", `{ book { id author { name } } }`,
			`{"type":"drop_select_permission","args":{"table":"author","role":"user"}}`, false},
		{"the table's own name", "admin", `{ book { id } }`, `{"type":"set_table_customization","args":{"table":"book","configuration":{"custom_name":"Book"}}}`, false},
		{"a field of the table", "admin", `{ author { id } }`,
			`{"type":"add_computed_field","args":{"table":"author","name":"size","definition":{"function":"size"}}}`, false},
		{"the enum of a column", "admin", `{ book { mood } }`, `{"type":"set_table_is_enum","args":{"table":"moods","is_enum":false}}`, false},
		{"anything, when everything was listed", "admin", `{ __schema { types { name } } }`, `{"type":"track_table","args":"other"}`, false},
		{"a collection", "admin", `{ author { id } }`, `{"type":"create_query_collection","args":{"name":"c","definition":{"queries":[]}}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := prepare(t, bookShape, bookCalls)
			before := p.kept(c.role, c.query)
			require.Same(t, before, p.kept(c.role, c.query), "kept while nothing changes")
			p.change(c.change)
			after, err := p.plan(c.role, c.query)
			require.Equal(t, c.kept, err == nil && after == before)
		})
	}
}

func TestANameThatPassesToAnotherObjectIsPlannedAnew(t *testing.T) {
	p := prepare(t, bookShape, bookCalls+`{"type":"track_table","args":"other"}`)
	before := p.kept("admin", `{ author { id } }`)
	p.change(`{"type":"set_table_customization","args":{"table":"author","configuration":{"custom_name":"writer"}}}`)
	_, err := p.plan("admin", `{ author { id } }`)
	require.Error(t, err)
	p.change(`{"type":"set_table_customization","args":{"table":"other","configuration":{"custom_name":"author"}}}`)
	after := p.kept("admin", `{ author { id } }`)
	require.NotSame(t, before, after)
	require.Equal(t, "other", after.Fields[0].Step.(*plan.Rows).Source.Table.Name.Name)
}

// manyTables is a large catalog: each table has two relationships and ten
// roles that may select.
func manyTables(b testing.TB, tables, roles int) *preparing {
	var shape, calls strings.Builder
	for i := range tables {
		fmt.Fprintf(&shape, "table t%d: id int4 pk, name text, a text null, b text null, c int4 null, next int4 references t%d(id)\n", i, (i+1)%tables)
		fmt.Fprintf(&calls, "{\"type\":\"track_table\",\"args\":\"t%d\"}\n", i)
	}
	for i := range tables {
		fmt.Fprintf(&calls, `{"type":"create_object_relationship","args":{"table":"t%d","name":"following","using":{"foreign_key_constraint_on":"next"}}}`+"\n", i)
		fmt.Fprintf(&calls, `{"type":"create_array_relationship","args":{"table":"t%d","name":"leading","using":{"foreign_key_constraint_on":{"table":"t%d","column":"next"}}}}`+"\n", i, (i+tables-1)%tables)
		for r := range roles {
			fmt.Fprintf(&calls, `{"type":"create_select_permission","args":{"table":"t%d","role":"r%d","permission":{"columns":["id","name","a","next"],"filter":{"id":{"_eq":"X-Service-User-Id"}}}}}`+"\n", i, r)
		}
	}
	return prepare(b, shape.String(), calls.String())
}

// fiftyFields is an operation with 50 fields over four tables.
func fiftyFields() string {
	q := "{ t7(where: {name: {_eq: \"x\"}, following: {id: {_gt: 3}}}, order_by: {id: asc}) {"
	for i := range 10 {
		q += fmt.Sprintf(" i%d: id n%d: name", i, i)
	}
	q += " following { id name a following { id name a"
	for i := range 9 {
		q += fmt.Sprintf(" x%d: a", i)
	}
	q += " } } leading { id name a"
	for i := range 9 {
		q += fmt.Sprintf(" y%d: id", i)
	}
	return q + " } } }"
}

// The cost of preparing does not depend on how many tables there are, nor on
// how long ago the metadata changed.
func BenchmarkPrepareWithManyTables(b *testing.B) {
	p := manyTables(b, 5000, 1)
	query := fiftyFields()
	flip := func(i int) {
		p.change(fmt.Sprintf(`{"type":"set_table_customization","args":{"table":"t99","configuration":{"custom_name":"x%d"}}}`, i))
	}
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			p.kept("r0", query)
		}
	})
	b.Run("cached, after a change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			p.kept("r0", query)
			flip(i)
			b.StartTimer()
			p.kept("r0", query)
		}
	})
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			p.kept("r0", fmt.Sprintf("query q%d %s", i, query))
		}
	})
	b.Run("new, after a change", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			flip(i)
			b.StartTimer()
			p.kept("r0", fmt.Sprintf("query r%d %s", i, query))
		}
	})
}

// BenchmarkMemoryOfManyTables reports what a catalog of 5,000 tables takes with
// eleven roles that have asked for each table.
func BenchmarkMemoryOfManyTables(b *testing.B) {
	const tables, roles = 5000, 10
	p := manyTables(b, tables, roles)
	for b.Loop() {
		for i := range tables {
			for r := range roles {
				p.kept(fmt.Sprintf("r%d", r), fmt.Sprintf("{ t%d { id name following { name } } }", i))
			}
			p.kept("admin", fmt.Sprintf("{ t%d { id name following { name } } }", i))
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MB-in-use")
	runtime.KeepAlive(p)
}
