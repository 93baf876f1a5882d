package execution_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
	"annals/handlers/execution"
)

// summary is count, sum and avg of ms, and the nodes.
func (f *fixture) summary(r *plan.Rows) *plan.Aggregate {
	ms := []plan.AggregateColumn{{Alias: "ms", Column: f.column("track", "ms")}}
	return &plan.Aggregate{Rows: *r, Fields: []plan.AggregateField{
		{Alias: "aggregate", Values: []plan.AggregateValue{
			{Alias: "n", Function: "count"}, {Alias: "sum", Function: "sum", Of: ms},
			{Alias: "least", Function: "min", Of: append(ms, plan.AggregateColumn{Alias: "name", Column: f.column("track", "name")})},
		}},
		{Alias: "nodes", IsNodes: true, Nodes: f.of("track", "id")},
	}}
}

func TestAggregatesAtTheRoot(t *testing.T) {
	t.Parallel()
	f := musical(t)
	all := f.rows("track")
	require.Equal(t, `{"t":{"aggregate":{"n":5,"sum":{"ms":22},"least":{"ms":1,"name":"t1"}},"nodes":[{"id":100},{"id":101},{"id":102},{"id":103},{"id":104}]}}`,
		f.query(root("t", f.summary(all))))
	all.Where = plan.Never{}
	require.Equal(t, `{"t":{"aggregate":{"n":0,"sum":{"ms":null},"least":{"ms":null,"name":null}},"nodes":[]}}`, f.query(root("t", f.summary(all))))
}

func TestTheRequestsLimitIsForAggregatesAndTheRolesForNodesOnly(t *testing.T) {
	t.Parallel()
	f := musical(t)
	some := f.rows("track")
	some.Order, some.Limit, some.MaxRows = by("ms"), pointer(literal(3)), pointer(2)
	require.Equal(t, `{"t":{"aggregate":{"n":3,"sum":{"ms":8},"least":{"ms":1,"name":"t2"}},"nodes":[{"id":103},{"id":101}]}}`, f.query(root("t", f.summary(some))))
}

func TestAggregatesOfRelatedRows(t *testing.T) {
	t.Parallel()
	f := musical(t)
	for _, limit := range []any{nil, 2} {
		tracks := f.rows("track")
		if limit != nil {
			tracks.Limit, tracks.Order = pointer(literal(limit)), by("id")
		}
		albums := f.rows("album", append(f.of("album", "id"),
			plan.Field{Alias: "tracks", Groups: &plan.RelatedAggregate{On: pairs([]string{"id", "album_id"}), Aggregate: f.summary(tracks)}})...)
		first := `{"aggregate":{"n":3,"sum":{"ms":12},"least":{"ms":3,"name":"t1"}},"nodes":[{"id":100},{"id":101},{"id":104}]}`
		if limit != nil {
			first = `{"aggregate":{"n":2,"sum":{"ms":8},"least":{"ms":3,"name":"t1"}},"nodes":[{"id":100},{"id":101}]}`
		}
		require.Equal(t, `{"album":[{"id":10,"tracks":`+first+`},`+
			`{"id":11,"tracks":{"aggregate":{"n":1,"sum":{"ms":1},"least":{"ms":1,"name":"t4"}},"nodes":[{"id":103}]}},`+
			`{"id":12,"tracks":{"aggregate":{"n":1,"sum":{"ms":9},"least":{"ms":9,"name":"t3"}},"nodes":[{"id":102}]}},`+
			`{"id":13,"tracks":{"aggregate":{"n":0,"sum":{"ms":null},"least":{"ms":null,"name":null}},"nodes":[]}}]}`,
			f.query(root("album", albums)))
	}
}

func TestAggregatesAreNumbersAlsoWhereColumnsAreStrings(t *testing.T) {
	t.Parallel()
	f := givenWith(t, execution.Config{Options: translate.Options{Stringify: true}},
		`create table n (b bigint, d numeric, f float8, m money, at timestamp); insert into n values (1, 2.50, 3.5, 4, '2020-01-01'), (2, 3.5, 4, 5, '2021-01-01')`, "n")
	of := func(names ...string) (columns []plan.AggregateColumn) {
		for _, name := range names {
			columns = append(columns, plan.AggregateColumn{Alias: name, Column: f.column("n", name)})
		}
		return columns
	}
	a := &plan.Aggregate{Rows: *f.rows("n"), Fields: []plan.AggregateField{{Alias: "a", Values: []plan.AggregateValue{
		{Alias: "sum", Function: "sum", Of: of("b", "d", "f", "m")}, {Alias: "avg", Function: "avg", Of: of("b")},
		{Alias: "max", Function: "max", Of: append(of("b", "at"), plan.AggregateColumn{Alias: "__typename", Typename: "n_max_fields"})},
		{Alias: "var_pop", Function: "var_pop", Of: of("b")},
	}}}}
	require.Equal(t, `{"n":{"a":{"sum":{"b":3,"d":6.00,"f":7.5,"m":"$9.00"},"avg":{"b":1.5000000000000000},`+
		`"max":{"b":2,"at":"2021-01-01T00:00:00","__typename":"n_max_fields"},"var_pop":{"b":0.25000000000000000000}}}}`, f.query(root("n", a)))
}

func TestCountsOfColumns(t *testing.T) {
	t.Parallel()
	f := musical(t)
	yes := literal(true)
	v := plan.Value{Variable: "d"}
	a := &plan.Aggregate{Rows: *f.rows("album"), Fields: []plan.AggregateField{{Alias: "a", Values: []plan.AggregateValue{
		{Alias: "all", Function: "count"}, {Alias: "artists", Function: "count", Columns: []string{"artist_id"}},
		{Alias: "distinct", Function: "count", Columns: []string{"artist_id"}, Distinct: &yes},
		{Alias: "both", Function: "count", Columns: []string{"artist_id", "title"}, Distinct: &yes},
		{Alias: "asked", Function: "count", Columns: []string{"artist_id"}, Distinct: &v}, {Alias: "__typename", Typename: "x"},
	}}}}
	require.Equal(t, `{"n":{"a":{"all":4,"artists":3,"distinct":2,"both":4,"asked":3,"__typename":"x"}}}`, f.query(root("n", a)))
}

func TestAggregatesOfFewRowsAreComputedInTheirStatement(t *testing.T) {
	t.Parallel()
	f := musical(t)
	ms := []plan.AggregateColumn{{Alias: "ms", Column: f.column("track", "ms")}}
	groups := func(tracks *plan.Rows) plan.Field {
		return plan.Field{Alias: "tracks", Groups: &plan.RelatedAggregate{
			On: pairs([]string{"id", "album_id"}), Aggregate: &plan.Aggregate{Rows: *tracks, Fields: []plan.AggregateField{
				{Alias: "aggregate", Values: []plan.AggregateValue{{Alias: "n", Function: "count"}, {Alias: "sum", Function: "sum", Of: ms}}},
				{Alias: "kind", Typename: "track_aggregate"},
			}},
		}}
	}
	first := f.rows("track")
	first.Order, first.Limit = by("id"), pointer(literal(1))
	albums := f.rows("album", append(f.of("album", "id"), groups(f.rows("track")), plan.Field{Alias: "first", Groups: groups(first).Groups})...)
	albums.Order, albums.Limit = by("id"), pointer(literal(4))

	require.Len(t, translate.Rows(albums, translate.Options{}).Statements, 1)
	one := `{"aggregate":{"n":1,"sum":{"ms":%s}},"kind":"track_aggregate"}`
	none := `{"aggregate":{"n":0,"sum":{"ms":null}},"kind":"track_aggregate"}`
	require.JSONEq(t, `{"album":[`+
		`{"id":10,"tracks":{"aggregate":{"n":3,"sum":{"ms":12}},"kind":"track_aggregate"},"first":`+fmt.Sprintf(one, "5")+`},`+
		`{"id":11,"tracks":`+fmt.Sprintf(one, "1")+`,"first":`+fmt.Sprintf(one, "1")+`},`+
		`{"id":12,"tracks":`+fmt.Sprintf(one, "9")+`,"first":`+fmt.Sprintf(one, "9")+`},`+
		`{"id":13,"tracks":`+none+`,"first":`+none+`}]}`, f.query(root("album", albums)))

	albums.Limit = pointer(literal(translate.MaxLateral + 1))
	require.Len(t, translate.Rows(albums, translate.Options{}).Statements, 3, "of many rows the aggregates are grouped")
}
