package execution_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/engine/plan"
)

// naive answers plans from rows in memory, without SQL: the long way round.
type naive struct {
	tables map[string][]record
	chance *rand.Rand
	f      *fixture
	// bySession has conditions compare with variables of the session; shift tells
	// sessions apart: it is what is added to each of them.
	bySession bool
	shift     int
}

// record is a row; all columns are numbers, and may be null.
type record map[string]*int

// edges are the relationships of the test's tables.
var edges = map[string][]struct {
	to     string
	on     []string
	single bool
}{
	"a": {{"b", []string{"id", "a_id"}, false}, {"a", []string{"k", "id"}, true}, {"c", []string{"k", "k"}, false}},
	"b": {{"a", []string{"a_id", "id"}, true}, {"c", []string{"k", "k", "n", "n"}, false}, {"b", []string{"k", "k"}, false}},
	"c": {{"b", []string{"n", "id"}, true}, {"a", []string{"k", "k"}, false}},
}

var columnsOf = map[string][]string{"a": {"id", "k", "n"}, "b": {"id", "a_id", "k", "n"}, "c": {"k", "n"}}

const operations = 1500

func TestAnyQueryAnswersWhatANaiveEvaluationDoes(t *testing.T) {
	t.Parallel()
	seed := uint64(20261121)
	n := &naive{tables: map[string][]record{}, chance: rand.New(rand.NewPCG(seed, 1))}
	n.f = given(t, n.fill(), "a", "b", "c")
	for i := range operations {
		table := []string{"a", "b", "c"}[n.chance.IntN(3)]
		var step plan.Step
		var want string
		if n.chance.IntN(5) == 0 {
			a := n.aggregate(table, 2)
			ordered(&a.Rows, table)
			step, want = a, n.summary(a, n.tables[table])
		} else {
			rows := n.rows(table, 3)
			ordered(rows, table)
			step, want = rows, n.list(rows, n.tables[table])
		}
		require.Equal(t, `{"r":`+want+`}`, n.f.query(root("r", step)), "seed %d, operation %d", seed, i)
	}
}

// ordered gives a root field an order: without one PostgreSQL chooses, by the
// indexes it finds. Levels below have the order of their tables.
func ordered(r *plan.Rows, table string) {
	if len(r.Order) == 0 {
		r.Order = by(columnsOf[table]...)
	}
}

// fill makes the rows, and the SQL that inserts the same.
func (n *naive) fill() string {
	var b strings.Builder
	b.WriteString(`create table a (id int primary key, k int, n int); create table b (id int unique, a_id int, k int, n int); create table c (k int, n int);`)
	for _, table := range []string{"a", "b", "c"} {
		for _, id := range n.chance.Perm(25) {
			r := record{}
			var values []string
			for _, c := range columnsOf[table] {
				r[c] = pointer(n.chance.IntN(8))
				switch {
				case c == "id":
					r[c] = &id
				case n.chance.IntN(6) == 0:
					r[c] = nil
				}
				values = append(values, text(r[c]))
			}
			n.tables[table] = append(n.tables[table], r)
			fmt.Fprintf(&b, "insert into %s values (%s);", table, strings.Join(values, ","))
		}
	}
	return b.String() + "analyze"
}

func text(v *int) string {
	if v == nil {
		return "null"
	}
	return strconv.Itoa(*v)
}

// rows makes a random selection, at most depth levels deep.
func (n *naive) rows(table string, depth int) *plan.Rows {
	r := n.f.rows(table, n.fields(table, depth)...)
	n.restrict(r, table)
	return r
}

// restrict gives a selection a filter, an order and limits. Only what is
// ordered fully is cut off, as otherwise several answers are right.
func (n *naive) restrict(r *plan.Rows, table string) {
	if n.chance.IntN(2) == 0 {
		r.Where = n.condition(table, 2)
	}
	if n.chance.IntN(2) == 0 {
		for _, i := range n.chance.Perm(len(columnsOf[table])) {
			r.Order = append(r.Order, plan.Order{Column: columnsOf[table][i], Descending: n.chance.IntN(2) == 0, NullsFirst: n.chance.IntN(2) == 0})
		}
		if n.chance.IntN(4) == 0 {
			r.Distinct = []string{r.Order[0].Column}
		}
		if n.chance.IntN(2) == 0 {
			r.Limit = pointer(literal(n.chance.IntN(5)))
		}
		if n.chance.IntN(3) == 0 {
			r.Offset = pointer(literal(n.chance.IntN(3)))
		}
		if n.chance.IntN(4) == 0 {
			r.MaxRows = pointer(1 + n.chance.IntN(4))
		}
	}
}

func (n *naive) fields(table string, depth int) []plan.Field {
	fields := n.f.of(table, columnsOf[table]...)
	n.chance.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	fields = fields[:1+n.chance.IntN(len(fields))]
	if depth == 0 {
		return fields
	}
	for i, e := range edges[table] {
		alias := fmt.Sprintf("r%d", i)
		switch {
		case n.chance.IntN(2) == 0:
		case !e.single && n.chance.IntN(3) == 0:
			fields = append(fields, plan.Field{Alias: alias, Groups: &plan.RelatedAggregate{On: pairs(e.on), Aggregate: n.aggregate(e.to, depth-1)}})
		case e.single:
			r := n.f.rows(e.to, n.fields(e.to, depth-1)...)
			if n.chance.IntN(2) == 0 {
				r.Where = n.condition(e.to, 1)
			}
			fields = append(fields, object(alias, r, e.on...))
		default:
			fields = append(fields, list(alias, n.rows(e.to, depth-1), e.on...))
		}
	}
	return fields
}

func (n *naive) aggregate(table string, depth int) *plan.Aggregate {
	r := n.f.rows(table)
	n.restrict(r, table)
	of := []plan.AggregateColumn{{Alias: "n", Column: n.f.column(table, "n")}}
	return &plan.Aggregate{Rows: *r, Fields: []plan.AggregateField{
		{Alias: "nodes", IsNodes: true, Nodes: n.fields(table, depth)},
		{Alias: "of", Values: []plan.AggregateValue{{Alias: "count", Function: "count"}, {Alias: "sum", Function: "sum", Of: of}, {Alias: "max", Function: "max", Of: of}}},
	}}
}

func (n *naive) condition(table string, depth int) plan.Condition {
	column := columnsOf[table][n.chance.IntN(len(columnsOf[table]))]
	switch n.chance.IntN(8) {
	case 0:
		return plan.IsNull{Column: n.f.column(table, column), Value: literal(n.chance.IntN(2) == 0)}
	case 1:
		return n.f.compare(table, column, "in", []int{n.chance.IntN(8), n.chance.IntN(8)})
	case 2:
		if depth > 0 {
			return plan.All{n.condition(table, depth-1), n.condition(table, depth-1)}
		}
	case 3:
		if depth > 0 {
			return plan.Any{n.condition(table, depth-1), n.condition(table, depth-1)}
		}
	case 4:
		if depth > 0 {
			return plan.Not{Of: n.condition(table, depth-1)}
		}
	case 5:
		if depth > 0 {
			e := edges[table][n.chance.IntN(len(edges[table]))]
			return plan.Exists{Table: n.f.tables[e.to], On: pairs(e.on), Where: n.condition(e.to, depth-1)}
		}
	}
	c := n.f.compare(table, column, []string{"eq", "neq", "gt", "lte"}[n.chance.IntN(4)], n.chance.IntN(8))
	if n.bySession {
		c.Value = plan.Value{Session: sessionName(string(c.Value.Literal))}
	}
	return c
}

// holds evaluates a condition with three truths: nil is unknown.
func (n *naive) holds(c plan.Condition, r record) *bool {
	switch c := c.(type) {
	case plan.All:
		return fold(n, c, r, false)
	case plan.Any:
		return fold(n, c, r, true)
	case plan.Not:
		if inner := n.holds(c.Of, r); inner != nil {
			return pointer(!*inner)
		}
		return nil
	case plan.IsNull:
		return pointer((r[c.Column.Name] == nil) == (string(c.Value.Literal) == "true"))
	case plan.Exists:
		for _, other := range n.tables[c.Table.Name.Name] {
			if ok := n.holds(c.Where, other); joins(c.On, r, other) && ok != nil && *ok {
				return pointer(true)
			}
		}
		return pointer(false)
	case plan.Compare:
		return holds(n.resolved(c), r[c.Column.Name])
	}
	return pointer(true)
}

// fold is All or Any: decided by the first item that equals decisive, unknown if any is.
func fold(n *naive, items []plan.Condition, r record, decisive bool) *bool {
	result := pointer(!decisive)
	for _, c := range items {
		switch held := n.holds(c, r); {
		case held == nil:
			result = nil
		case *held == decisive:
			return held
		}
	}
	return result
}

func holds(c plan.Compare, left *int) *bool {
	if left == nil {
		return nil
	}
	if c.Operator == "in" {
		return pointer(slices.Contains(strings.Split(strings.Trim(string(c.Value.Literal), "[]"), ","), strconv.Itoa(*left)))
	}
	right, _ := strconv.Atoi(string(c.Value.Literal))
	return pointer(map[string]bool{"eq": *left == right, "neq": *left != right, "gt": *left > right, "lte": *left <= right}[c.Operator])
}

func joins(on []plan.Pair, here, there record) bool {
	return !slices.ContainsFunc(on, func(p plan.Pair) bool {
		return here[p.Here] == nil || there[p.There] == nil || *here[p.Here] != *there[p.There]
	})
}

// selected is the rows of a selection among candidates.
func (n *naive) selected(r *plan.Rows, candidates []record) []record {
	var out []record
	for _, c := range candidates {
		if held := n.holds(r.Where, c); held != nil && *held {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b record) int {
		for _, o := range r.Order {
			if d := compareBy(o, a[o.Column], b[o.Column]); d != 0 {
				return d
			}
		}
		return 0
	})
	if len(r.Distinct) > 0 {
		out = slices.CompactFunc(out, func(a, b record) bool { return text(a[r.Distinct[0]]) == text(b[r.Distinct[0]]) })
	}
	if r.Offset != nil {
		offset, _ := strconv.Atoi(string(r.Offset.Literal))
		out = out[min(offset, len(out)):]
	}
	if r.Limit != nil {
		limit, _ := strconv.Atoi(string(r.Limit.Literal))
		out = out[:min(limit, len(out))]
	}
	if r.MaxRows != nil {
		out = out[:min(*r.MaxRows, len(out))]
	}
	return out
}

func compareBy(o plan.Order, a, b *int) int {
	sign := func(less bool) int {
		if less {
			return -1
		}
		return 1
	}
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil || b == nil:
		return sign((a == nil) == o.NullsFirst)
	case o.Descending:
		return cmp.Compare(*b, *a)
	}
	return cmp.Compare(*a, *b)
}

func (n *naive) related(on []plan.Pair, r record, table string) []record {
	var out []record
	for _, other := range n.tables[table] {
		if joins(on, r, other) {
			out = append(out, other)
		}
	}
	return out
}

func (n *naive) list(r *plan.Rows, candidates []record) string {
	var items []string
	for _, row := range n.selected(r, candidates) {
		items = append(items, n.object(r.Selection, row))
	}
	if !r.Single {
		return "[" + strings.Join(items, ",") + "]"
	}
	if len(items) == 0 {
		return "null"
	}
	return items[0]
}

func (n *naive) object(fields []plan.Field, row record) string {
	var items []string
	for _, f := range fields {
		value := ""
		switch {
		case f.Column != nil:
			value = text(row[f.Column.Name])
		case f.Rows != nil:
			value = n.list(f.Rows.Rows, n.related(f.Rows.On, row, f.Rows.Rows.Source.Table.Name.Name))
		default:
			a := f.Groups.Aggregate
			value = n.summary(a, n.related(f.Groups.On, row, a.Rows.Source.Table.Name.Name))
		}
		items = append(items, strconv.Quote(f.Alias)+":"+value)
	}
	return "{" + strings.Join(items, ",") + "}"
}

func (n *naive) summary(a *plan.Aggregate, candidates []record) string {
	nodes := a.Rows
	nodes.Selection = a.Fields[0].Nodes
	all := a.Rows
	all.MaxRows = nil
	rows := n.selected(&all, candidates)
	var sum, highest *int
	for _, r := range rows {
		if v := r["n"]; v != nil && sum == nil {
			sum, highest = pointer(*v), pointer(*v)
		} else if v != nil {
			*sum, *highest = *sum+*v, max(*highest, *v)
		}
	}
	return fmt.Sprintf(`{"nodes":%s,"of":{"count":%d,"sum":{"n":%s},"max":{"n":%s}}}`, n.list(&nodes, candidates), len(rows), text(sum), text(highest))
}
