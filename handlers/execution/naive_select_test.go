package execution_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// answering gives the value of a field, for a row.
type answering func(row) any

// selected is a field of a selection: its text, and its key and value in the answer.
type selected struct {
	text, key string
	value     answering
}

// queries makes random queries that somebody may ask.
type queries struct {
	*world
	*writing
	asks who
}

// operation is a query of some root fields, with the answer that is right.
func (q *queries) operation() (text string, want entries) {
	var fields []selected
	for i := range 1 + q.oneIn2() {
		if f, ok := q.root(fmt.Sprintf("k%d", i)); ok {
			fields = append(fields, f)
		}
	}
	if len(fields) == 0 {
		fields = append(fields, selected{"__typename", "__typename", func(row) any { return "query_root" }})
	}
	selection := q.write(fields, "query_root")
	return q.writing.operation("query", selection), evaluated(fields, nil)
}

func (q *queries) oneIn2() int { return q.world.IntN(2) }

func evaluated(fields []selected, r row) entries {
	out := entries{}
	for _, f := range fields {
		if f.value != nil && !slices.ContainsFunc(out, func(p pair) bool { return p.key == f.key }) {
			out = append(out, pair{f.key, f.value(r)})
		}
	}
	return out
}

func (q *queries) root(key string) (selected, bool) {
	t := oneOf(q.world.Rand, q.tables)
	if !t.selectable(q.asks) {
		return selected{}, false
	}
	switch n := q.world.IntN(8); {
	case n == 0 && t.keyed(q.asks):
		return q.byKey(t, key), true
	case n < 3 && t.aggregable(q.asks):
		return q.aggregate(t, key, t.field+"_aggregate", "", t.visibleTo(q.asks), 2), true
	case n == 3:
		return q.called(t, key)
	}
	return q.rows(t, key, t.field, "", t.visibleTo(q.asks), 2)
}

// visibleTo are the rows of a table to be selected from.
func (t *table) visibleTo(asks who) func(row) []row {
	return func(row) []row { return t.visible(asks) }
}

func (q *queries) byKey(t *table, key string) selected {
	var arguments []string
	keep := func(row) bool { return true }
	for _, c := range t.key {
		v := q.keyValue(t, c)
		before := keep
		keep = func(r row) bool { return before(r) && same(r[c], v) }
		value := c.val(v)
		value.typ += "!"
		arguments = append(arguments, c.field+": "+q.value(value))
	}
	fields := q.fields(t, 2)
	return selected{
		text: key + ": " + t.field + "_by_pk(" + strings.Join(arguments, ", ") + ") {" + q.write(fields, t.field) + "}",
		key:  key,
		value: func(row) any {
			if found := filtered(t.visible(q.asks), keep); len(found) > 0 {
				return evaluated(fields, found[0])
			}
			return nil
		},
	}
}

func (q *queries) keyValue(t *table, c *column) any {
	if len(t.rows) > 0 && !q.oneIn(5) {
		return oneOf(q.world.Rand, t.rows)[c]
	}
	return oneOf(q.world.Rand, c.pool)
}

func (q *queries) called(t *table, key string) (selected, bool) {
	for _, c := range q.calls {
		if c.of != t {
			continue
		}
		low, high := q.world.IntN(4)-1, 2
		arguments := fmt.Sprintf("args: {low: %d}", low)
		if q.oneIn(2) {
			high = q.world.IntN(4)
			arguments = fmt.Sprintf("args: {high: %d, low: %d}", high, low)
		}
		from := func(row) []row {
			return filtered(t.visible(q.asks), func(r row) bool {
				return r[c.by] != nil && order(r[c.by], number(strconv.Itoa(low))) >= 0 && order(r[c.by], number(strconv.Itoa(high))) <= 0
			})
		}
		if t.aggregable(q.asks) && q.oneIn(3) {
			return q.aggregate(t, key, c.name+"_aggregate", arguments, from, 1), true
		}
		return q.rows(t, key, c.name, arguments, from, 2)
	}
	return selected{}, false
}

// rows is a field that answers a list of a table's rows, out of those that from
// gives.
func (q *queries) rows(t *table, key, name, argument string, from func(row) []row, depth int) (selected, bool) {
	args := q.arguments(t, argument)
	fields := q.fields(t, depth)
	return selected{
		text: key + ": " + name + args.text + " {" + q.write(fields, t.field) + "}",
		key:  key,
		value: func(around row) any {
			list := answers{items: []any{}, loose: args.loose}
			for _, r := range args.cut(from(around), t.limit(q.asks)) {
				list.items = append(list.items, evaluated(fields, r))
			}
			return list
		},
	}, true
}

// arguments are those of a selection of rows.
type arguments struct {
	text string
	// loose is true where the rows come in any order.
	loose         bool
	where         condition
	orders        []ordering
	distinct      []*column
	limit, offset int // limit below 0: none
	asks          who
}

// ordering is one item of an order.
type ordering struct {
	by              func(who, row) any
	desc, nullFirst bool
}

func (q *queries) arguments(t *table, first string) arguments {
	a := arguments{limit: -1, where: always, asks: q.asks, loose: true}
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	if q.oneIn(2) {
		var v val
		v, a.where = (&filters{world: q.world, asks: q.asks}).of(t, 2)
		parts = append(parts, "where: "+q.value(v))
	}
	if t.keyed(q.asks) && (q.oneIn(2) || t.limit(q.asks) > 0) {
		a.loose = false
		parts = append(parts, q.order(t, &a)...)
		if q.oneIn(2) {
			a.limit = q.world.IntN(5)
			parts = append(parts, "limit: "+q.value(val{text: strconv.Itoa(a.limit), typ: "Int"}))
		}
		if q.oneIn(3) {
			a.offset = q.world.IntN(4)
			parts = append(parts, "offset: "+q.value(val{text: strconv.Itoa(a.offset), typ: "Int"}))
		}
	}
	if len(parts) > 0 {
		a.text = "(" + strings.Join(parts, ", ") + ")"
	}
	return a
}

// order orders rows fully, by what is at hand first and by the key last.
func (q *queries) order(t *table, a *arguments) []string {
	list := val{kind: listVal, typ: "[" + t.field + "_order_by!]"}
	var distinct val
	if q.oneIn(4) {
		distinct = val{kind: listVal, typ: "[" + t.field + "_select_column!]"}
		for range 1 + q.world.IntN(2) {
			c := oneOf(q.world.Rand, t.readable(q.asks))
			if !c.ordered || slices.Contains(a.distinct, c) {
				continue
			}
			a.distinct = append(a.distinct, c)
			distinct.items = append(distinct.items, val{kind: enumVal, text: c.field})
			list.items = append(list.items, q.orderColumn(c, a))
		}
	}
	for range q.world.IntN(3) {
		if item, ok := q.orderItem(t, nil, a, 2); ok {
			list.items = append(list.items, item)
		}
	}
	for _, c := range t.key {
		list.items = append(list.items, q.orderColumn(c, a))
	}
	parts := []string{"order_by: " + q.value(list)}
	if len(a.distinct) > 0 {
		parts = append(parts, "distinct_on: "+q.value(distinct))
	}
	return parts
}

func (q *queries) direction(a *arguments, by func(who, row) any) val {
	word := oneOf(q.world.Rand, []string{"asc", "asc_nulls_first", "asc_nulls_last", "desc", "desc_nulls_first", "desc_nulls_last"})
	a.orders = append(a.orders, ordering{by, strings.HasPrefix(word, "desc"), word == "desc" || strings.HasSuffix(word, "first")})
	return val{kind: enumVal, text: word, typ: "order_by"}
}

func one(key string, v val) val { return val{kind: objectVal, keys: []string{key}, items: []val{v}} }

func (q *queries) orderColumn(c *column, a *arguments) val {
	return one(c.field, q.direction(a, func(_ who, r row) any { return r[c] }))
}

// orderItem is an order by something of a row that is reached from the row itself.
func (q *queries) orderItem(t *table, reach func(who, row) row, a *arguments, depth int) (val, bool) {
	if reach == nil {
		reach = func(_ who, r row) row { return r }
	}
	if depth > 0 && len(t.relations) > 0 && q.oneIn(2) {
		r := oneOf(q.world.Rand, t.relations)
		if !r.to.selectable(q.asks) {
			return val{}, false
		}
		if r.array {
			return q.orderAggregate(r, reach, a)
		}
		inner, ok := q.orderItem(r.to, func(asks who, from row) row {
			here := reach(asks, from)
			if here == nil {
				return nil
			}
			if found := r.joined(here, r.to.visible(asks)); len(found) > 0 {
				return found[0]
			}
			return nil
		}, a, depth-1)
		return one(r.name, inner), ok
	}
	columns := filteredColumns(t.readable(q.asks), func(c *column) bool { return c.ordered })
	if len(columns) == 0 {
		return val{}, false
	}
	c := oneOf(q.world.Rand, columns)
	return one(c.field, q.direction(a, func(asks who, r row) any {
		if found := reach(asks, r); found != nil {
			return found[c]
		}
		return nil
	})), true
}

func filteredColumns(list []*column, keep func(*column) bool) []*column {
	return slices.DeleteFunc(slices.Clone(list), func(c *column) bool { return !keep(c) })
}

func (q *queries) orderAggregate(r *relation, reach func(who, row) row, a *arguments) (val, bool) {
	if !r.to.aggregable(q.asks) {
		return val{}, false
	}
	related := func(asks who, from row) []row {
		if here := reach(asks, from); here != nil {
			return r.joined(here, r.to.visible(asks))
		}
		return nil
	}
	function := oneOf(q.world.Rand, []string{"count", "sum", "avg", "min", "max"})
	if function == "count" {
		return one(r.name+"_aggregate", one("count", q.direction(a, func(asks who, from row) any {
			if reach(asks, from) == nil {
				return nil
			}
			return number(strconv.Itoa(len(related(asks, from))))
		}))), true
	}
	columns := filteredColumns(r.to.readable(q.asks), func(c *column) bool { return c.takes(function) && c.sql != "float8" })
	if len(columns) == 0 {
		return val{}, false
	}
	c := oneOf(q.world.Rand, columns)
	return one(r.name+"_aggregate", one(function, one(c.field, q.direction(a, func(asks who, from row) any {
		return aggregated(function, c, related(asks, from), true)
	})))), true
}

// takes reports whether an aggregate function is there for a column.
func (c *column) takes(function string) bool {
	if function == "min" || function == "max" {
		return c.greatest
	}
	return c.numeric
}

// cut is the rows that are answered.
func (a arguments) cut(rows []row, atMost int) []row {
	rows = a.beforeMost(rows)
	if atMost > 0 {
		rows = rows[:min(atMost, len(rows))]
	}
	return rows
}

func (a arguments) beforeMost(rows []row) []row {
	rows = filtered(rows, func(r row) bool { return a.where(a.asks, r) == yes })
	slices.SortStableFunc(rows, func(x, y row) int {
		for _, o := range a.orders {
			if d := o.compare(o.by(a.asks, x), o.by(a.asks, y)); d != 0 {
				return d
			}
		}
		return 0
	})
	if len(a.distinct) > 0 {
		rows = slices.CompactFunc(rows, func(x, y row) bool {
			return !slices.ContainsFunc(a.distinct, func(c *column) bool { return !same(x[c], y[c]) })
		})
	}
	rows = rows[min(a.offset, len(rows)):]
	if a.limit >= 0 {
		rows = rows[:min(a.limit, len(rows))]
	}
	return rows
}

func (o ordering) compare(x, y any) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil || y == nil:
		if (x == nil) == o.nullFirst {
			return -1
		}
		return 1
	case o.desc:
		return order(y, x)
	}
	return order(x, y)
}

// fields is a random selection of what a table's rows have.
func (q *queries) fields(t *table, depth int) []selected {
	var fields []selected
	columns := t.readable(q.asks)
	for range q.world.IntN(4) {
		if len(columns) > 0 {
			fields = append(fields, q.column(oneOf(q.world.Rand, columns)))
		}
	}
	if q.oneIn(6) || len(fields) == 0 {
		fields = append(fields, selected{"__typename", "__typename", func(row) any { return t.field }})
	}
	if depth == 0 {
		return fields
	}
	for i, r := range t.relations {
		if q.oneIn(2) && r.to.selectable(q.asks) {
			fields = append(fields, q.related(r, fmt.Sprintf("r%d", i), depth-1)...)
		}
	}
	for i, c := range t.computed {
		if q.oneIn(2) {
			fields = append(fields, q.computedField(t, c, fmt.Sprintf("f%d", i), depth-1)...)
		}
	}
	return fields
}

func (q *queries) column(c *column) selected {
	if key := "a_" + c.field; q.oneIn(4) {
		return selected{key + ": " + c.field, key, func(r row) any { return r[c] }}
	}
	return selected{c.field, c.field, func(r row) any { return r[c] }}
}

func (q *queries) related(r *relation, key string, depth int) []selected {
	visible := func(here row) []row { return r.joined(here, r.to.visible(q.asks)) }
	if !r.array {
		fields := q.fields(r.to, depth)
		return []selected{{key + ": " + r.name + " {" + q.write(fields, r.to.field) + "}", key, func(here row) any {
			if found := visible(here); len(found) > 0 {
				return evaluated(fields, found[0])
			}
			return nil
		}}}
	}
	var fields []selected
	if !q.oneIn(3) {
		f, _ := q.rows(r.to, key, r.name, "", visible, depth)
		fields = append(fields, f)
	}
	if r.to.aggregable(q.asks) && q.oneIn(3) {
		fields = append(fields, q.aggregate(r.to, key+"g", r.name+"_aggregate", "", visible, depth))
	}
	return fields
}

func (q *queries) computedField(t *table, c *computed, key string, depth int) []selected {
	if c.to == nil {
		if q.asks.role != "admin" && !t.grants[q.asks.role].computed {
			return nil
		}
		return []selected{{key + ": " + c.name, key, func(r row) any { return r[c.of] }}}
	}
	if !c.to.selectable(q.asks) {
		return nil
	}
	f, ok := q.rows(c.to, key, c.name, "", func(here row) []row {
		return filtered(c.to.visible(q.asks), func(r row) bool {
			return here[c.of] != nil && r[c.by] != nil && order(r[c.by], here[c.of]) >= 0
		})
	}, depth)
	if !ok {
		return nil
	}
	return []selected{f}
}

// write writes a selection: some of it through fragments, with directives, or twice.
func (q *queries) write(fields []selected, typ string) string {
	var parts []string
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		switch q.world.IntN(14) {
		case 0:
			parts = append(parts, "... on "+typ+" {"+f.text+"}")
		case 1:
			name := fmt.Sprintf("F%d", len(q.fragments)+1)
			q.fragments = append(q.fragments, "fragment "+name+" on "+typ+" {"+f.text+"}")
			parts = append(parts, "..."+name)
		case 2:
			parts = append(parts, "... @include(if: true) {"+f.text+"}", "skipped: __typename @skip(if: true)")
		case 3:
			parts = append(parts, f.text, f.text)
		default:
			parts = append(parts, f.text)
		}
	}
	return strings.Join(parts, " ")
}

func aggregated(function string, c *column, rows []row, exact bool) any {
	var values []any
	for _, r := range rows {
		if r[c] != nil {
			values = append(values, r[c])
		}
	}
	if len(values) == 0 {
		return nil
	}
	switch function {
	case "min":
		return slices.MinFunc(values, order)
	case "max":
		return slices.MaxFunc(values, order)
	}
	sum := new(big.Rat)
	for _, v := range values {
		sum.Add(sum, v.(number).rat())
	}
	n := new(big.Rat).SetInt64(int64(len(values)))
	mean := new(big.Rat).Quo(sum, n)
	switch {
	case function == "sum" && exact:
		return sum
	case function == "sum":
		f, _ := sum.Float64()
		if c.sql == "float8" {
			return roughly(f)
		}
		return number(sum.FloatString(2))
	case function == "avg" && exact:
		return mean
	case function == "avg":
		f, _ := mean.Float64()
		return roughly(f)
	}
	return variance(function, values, mean)
}

// variance is one of the six functions of how values are spread.
func variance(function string, values []any, mean *big.Rat) any {
	total := new(big.Rat)
	for _, v := range values {
		d := new(big.Rat).Sub(v.(number).rat(), mean)
		total.Add(total, d.Mul(d, d))
	}
	n := int64(len(values))
	if !strings.HasSuffix(function, "_pop") {
		if n--; n == 0 {
			return nil
		}
	}
	f, _ := total.Quo(total, new(big.Rat).SetInt64(n)).Float64()
	if strings.HasPrefix(function, "stddev") {
		f = math.Sqrt(f)
	}
	return roughly(f)
}

func (q *queries) aggregate(t *table, key, name, argument string, from func(row) []row, depth int) selected {
	a := q.arguments(t, argument)
	var parts []selected
	if !q.oneIn(4) {
		values := q.aggregates(t)
		parts = append(parts, selected{"aggregate {" + q.write(values.fields, t.field+"_aggregate_fields") + "}", "aggregate", nil})
		parts[0].value = func(around row) any { return values.of(a.beforeMost(from(around))) }
	}
	if q.oneIn(2) || len(parts) == 0 {
		nodes := q.fields(t, max(0, depth-1))
		parts = append(parts, selected{"nodes {" + q.write(nodes, t.field) + "}", "nodes", func(around row) any {
			list := answers{items: []any{}, loose: a.loose}
			for _, r := range a.cut(from(around), t.limit(q.asks)) {
				list.items = append(list.items, evaluated(nodes, r))
			}
			return list
		}})
	}
	return selected{key + ": " + name + a.text + " {" + q.write(parts, t.field+"_aggregate") + "}", key, func(around row) any { return evaluated(parts, around) }}
}

// aggregates are the fields under aggregate, and their values of a list of rows.
type aggregates struct {
	fields []selected
	values []func([]row) pair
}

func (a aggregates) of(rows []row) entries {
	out := entries{}
	for _, v := range a.values {
		out = append(out, v(rows))
	}
	return out
}

func (q *queries) aggregates(t *table) aggregates {
	var a aggregates
	add := func(text, key string, of func([]row) any) {
		a.fields = append(a.fields, selected{text, key, nil})
		a.values = append(a.values, func(rows []row) pair { return pair{key, of(rows)} })
	}
	add("count", "count", func(rows []row) any { return number(strconv.Itoa(len(rows))) })
	if columns := filteredColumns(t.readable(q.asks), func(c *column) bool { return c.ordered }); len(columns) > 0 && q.oneIn(2) {
		q.countColumns(columns, add)
	}
	for _, function := range []string{"sum", "avg", "min", "max", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"} {
		columns := filteredColumns(t.readable(q.asks), func(c *column) bool { return c.takes(function) })
		if len(columns) == 0 || !q.oneIn(4) {
			continue
		}
		c := oneOf(q.world.Rand, columns)
		add(function+" { of: "+c.field+" }", function, func(rows []row) any { return entries{{"of", aggregated(function, c, rows, false)}} })
	}
	return a
}

func (q *queries) countColumns(columns []*column, add func(string, string, func([]row) any)) {
	some := []*column{oneOf(q.world.Rand, columns)}
	if q.oneIn(3) {
		some = append(some, oneOf(q.world.Rand, columns))
	}
	names := []string{}
	for _, c := range some {
		names = append(names, c.field)
	}
	distinct := q.oneIn(2)
	text := fmt.Sprintf("n: count(columns: [%s], distinct: %t)", strings.Join(names, ", "), distinct)
	add(text, "n", func(rows []row) any {
		seen, count := map[string]bool{}, 0
		for _, r := range rows {
			id := ""
			for _, c := range some {
				id += fmt.Sprintf("%#v|", r[c])
			}
			if len(some) == 1 && r[some[0]] == nil || distinct && seen[id] {
				continue
			}
			seen[id] = true
			count++
		}
		return number(strconv.Itoa(count))
	})
}
