package translate

import (
	"bytes"
	"slices"
	"strconv"

	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// group translates aggregates; keys gives the keys of the rows around, nil at
// the root. The values come from one statement, each list of nodes from one more.
func (t *translator) group(a *plan.Aggregate, keys func() *keyset, on ...plan.Pair) *Group {
	g := &Group{Statement: -1}
	values := &aggregation{t: t, scope: t.scope(withoutMaxRows(a), keysOrNil(keys), on...)}
	for _, f := range a.Fields {
		g.Fields = append(g.Fields, values.field(f))
	}
	if len(values.functions) > 0 {
		g.Statement = t.reserve()
		t.statements[g.Statement] = values.statement(&g.Key)
	}
	for i, f := range a.Fields {
		if f.IsNodes {
			rows := a.Rows
			rows.Selection = f.Nodes
			g.Fields[i].Level = t.level(t.scope(&rows, keysOrNil(keys), on...), f.Nodes)
		}
	}
	return g
}

// withoutMaxRows are the rows that are aggregated: the role's limit is for nodes.
func withoutMaxRows(a *plan.Aggregate) *plan.Rows {
	rows := a.Rows
	rows.MaxRows = nil
	return &rows
}

func keysOrNil(keys func() *keyset) *keyset {
	if keys == nil {
		return nil
	}
	return keys()
}

// aggregation collects the functions of one statement.
type aggregation struct {
	t         *translator
	scope     *scope
	cells     []cell
	functions []func(arguments []sql.Node) sql.Node
	arguments [][2]int // the cells of each function: from, to
	// place says in which column of the rows a function's value comes; nil: in its own.
	place func(function int) int
}

func (a *aggregation) statement(key *[]int) Statement {
	sel := a.computed()
	if a.scope.keys != nil {
		for i, n := range a.scope.keys.texts() {
			*key = append(*key, len(sel.Columns))
			sel.Columns = append(sel.Columns, n)
			sel.GroupBy = append(sel.GroupBy, a.scope.keys.column(i))
			if !a.scope.keys.exact[i] {
				sel.GroupBy = append(sel.GroupBy, n)
			}
		}
	}
	return a.t.finished(sel)
}

// computed selects the functions' values.
func (a *aggregation) computed() sql.Select {
	sel, refs := a.scope.build(a.cells, forAggregates)
	for i, f := range a.functions {
		sel.Columns = append(sel.Columns, f(refs[a.arguments[i][0]:a.arguments[i][1]]))
	}
	return sel
}

// MaxLateral is how many rows aggregates are computed for one by one, in the rows' own
// statement. For more rows, or where nobody knows how many, the aggregates of all
// are one statement more, which groups them.
const MaxLateral = 100

// aggregatesHere reports whether aggregates of related rows can be computed in
// the level's own statement.
func (sel *selection) aggregatesHere(a *plan.Aggregate) bool {
	return sel.joins && sel.scope.atMost(MaxLateral) && a.Rows.Source.Call == nil &&
		!slices.ContainsFunc(a.Fields, func(f plan.AggregateField) bool { return f.IsNodes })
}

// atMost reports whether the operation's text or the role's limit leaves no more than n rows.
func (s *scope) atMost(n int64) bool {
	if s.keys != nil {
		return false // n for each row around
	}
	if s.rows.Single || s.rows.MaxRows != nil && int64(*s.rows.MaxRows) <= n {
		return true
	}
	if s.rows.Limit == nil || s.rows.Limit.Variable != "" {
		return false
	}
	limit, err := strconv.ParseInt(string(s.rows.Limit.Literal), 10, 64)
	return err == nil && limit <= n
}

// aggregated computes aggregates of the rows that are related to a row, beside that row.
func (sel *selection) aggregated(from *relation, rel *plan.RelatedAggregate) *Object {
	values := &aggregation{t: sel.t, scope: sel.t.scope(withoutMaxRows(rel.Aggregate), nil)}
	r := &relation{alias: sel.t.alias("a"), from: from}
	values.place = func(function int) int {
		return sel.anew(cell{r, sql.Column(r.alias, valueName(function))})
	}
	r.lateral = func(see func(cell) sql.Node) sql.Node {
		s := *values.scope
		for _, pair := range rel.On {
			s.around = append(s.around, sql.Binary(s.base.column(pair.There).expr, "=", see(from.column(pair.Here))))
		}
		here := *values
		here.scope = &s
		computed := here.computed()
		for i, n := range computed.Columns {
			computed.Columns[i] = sql.As(n, sql.Name(valueName(i)))
		}
		return computed
	}
	object := &Object{Present: -1}
	for _, f := range rel.Aggregate.Fields {
		object.Fields = append(object.Fields, values.field(f))
	}
	return object
}

func valueName(function int) string { return "v" + strconv.Itoa(function+1) }

func (a *aggregation) field(f plan.AggregateField) Field {
	out := Field{Key: keyJSON(f.Alias)}
	switch {
	case f.Typename != "":
		out.Constant = constantJSON(f.Typename)
	case !f.IsNodes:
		out.Object = &Object{Present: -1}
		for _, v := range f.Values {
			out.Object.Fields = append(out.Object.Fields, a.value(v))
		}
	}
	return out
}

func (a *aggregation) value(v plan.AggregateValue) Field {
	out := Field{Key: keyJSON(v.Alias)}
	switch {
	case v.Typename != "":
		out.Constant = constantJSON(v.Typename)
	case v.Function == "count":
		out.Column, out.Encoding = a.count(v), EncodeCount
	default:
		out.Object = &Object{Present: -1}
		for _, c := range v.Of {
			out.Object.Fields = append(out.Object.Fields, a.of(v.Function, c))
		}
	}
	return out
}

// add has a function computed over columns, and returns its column.
func (a *aggregation) add(columns []string, f func([]sql.Node) sql.Node) int {
	from := len(a.cells)
	for _, name := range columns {
		a.cells = append(a.cells, a.scope.base.column(name))
	}
	a.functions = append(a.functions, f)
	a.arguments = append(a.arguments, [2]int{from, len(a.cells)})
	if i := len(a.functions) - 1; a.place == nil {
		return i
	} else {
		return a.place(i)
	}
}

func (a *aggregation) count(v plan.AggregateValue) int {
	return a.add(v.Columns, func(columns []sql.Node) sql.Node {
		if len(columns) == 0 {
			return sql.Raw("count(*)")
		}
		of := columns[0]
		if len(columns) > 1 {
			of = sql.Paren(sql.List(columns...))
		}
		all, distinct := sql.Call("count", of), sql.Seq(sql.Raw("count(DISTINCT "), of, sql.Raw(")"))
		switch {
		case v.Distinct == nil, bytes.Equal(v.Distinct.Literal, []byte("false")), isNullLiteral(*v.Distinct):
			return all
		case bytes.Equal(v.Distinct.Literal, []byte("true")):
			return distinct
		}
		return sql.Seq(sql.Raw("CASE WHEN "), parameter(*v.Distinct, FormText, booleanType),
			sql.Raw(" THEN "), distinct, sql.Raw(" ELSE "), all, sql.Raw(" END"))
	})
}

func (a *aggregation) of(function string, c plan.AggregateColumn) Field {
	out := Field{Key: keyJSON(c.Alias)}
	if c.Typename != "" {
		out.Constant = constantJSON(c.Typename)
		return out
	}
	out.Encoding = aggregateEncoding(function, c)
	out.Column = a.add([]string{c.Column.Name}, func(columns []sql.Node) sql.Node {
		n := sql.Seq(aggregateFunction(function), sql.Paren(columns[0]))
		if out.Encoding == EncodeJSON {
			return sql.Call("to_json", n)
		}
		return n
	})
	return out
}

// aggregateEncoding is how an aggregate becomes JSON: numbers stay numbers,
// also where columns of their type are answered as strings.
func aggregateEncoding(function string, c plan.AggregateColumn) Encoding {
	switch c.Column.Type {
	case "int2", "int4", "int8", "float4", "float8", "numeric":
		if !c.Column.Array {
			return EncodeNumber
		}
	case "money":
		if function != "sum" && function != "max" && function != "min" {
			return EncodeNumber
		}
	}
	return EncodeJSON
}

// aggregateFunction is the name of an aggregate function.
func aggregateFunction(name string) sql.Node {
	switch name {
	case "count":
		return sql.Raw("count")
	case "sum":
		return sql.Raw("sum")
	case "avg":
		return sql.Raw("avg")
	case "max":
		return sql.Raw("max")
	case "min":
		return sql.Raw("min")
	case "stddev":
		return sql.Raw("stddev")
	case "stddev_samp":
		return sql.Raw("stddev_samp")
	case "stddev_pop":
		return sql.Raw("stddev_pop")
	case "variance":
		return sql.Raw("variance")
	case "var_samp":
		return sql.Raw("var_samp")
	case "var_pop":
		return sql.Raw("var_pop")
	}
	panic("no SQL for the aggregate " + name) // the plan knows the functions
}
