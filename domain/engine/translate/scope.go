package translate

import (
	"slices"
	"strconv"

	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// scope is the rows of one level: it can be selected from as often as needed, for the
// level's own statement and, by their keys, for those of the levels in it.
type scope struct {
	t    *translator
	rows *plan.Rows
	base *relation
	// keys are those of the level around, nil at the root; on joins rows to them.
	keys *keyset
	on   []plan.Pair
	// around are further conditions, over what the scope is LATERAL to.
	around []sql.Node
}

// relation is a table in a scope: its base, or what is joined to it by an
// object relationship. What is computed for each row of another relation is one
// too.
type relation struct {
	alias sql.Name
	table *database.Table
	// from is the relation that this one is joined to; nil for the base.
	from  *relation
	on    []plan.Pair
	where plan.Condition
	// lateral is the subquery that computes it, given how from is seen where it is
	// joined; nil for a table. It always gives one row.
	lateral func(see func(cell) sql.Node) sql.Node
}

// keyset is the keys of the rows of a level, as a part of FROM. Its columns are
// k1, k2, ... in the order of the columns they are of, and t1, t2, ... the
// texts of those whose values may be equal while their texts are not.
type keyset struct {
	node  sql.Node
	alias sql.Name
	exact []bool
	// distinct is true when no two keys are equal: then no row comes twice.
	distinct bool
	// row is set where the keyset has the whole row too, for functions of it; made
	// where the row is made of its text, the key.
	row  bool
	made sql.Type
}

const rowColumn = "row"

func keyName(i int) string     { return "k" + strconv.Itoa(i+1) }
func keyTextName(i int) string { return "t" + strconv.Itoa(i+1) }

// column is the key column i as it is joined.
func (k *keyset) column(i int) sql.Node { return sql.Column(k.alias, keyName(i)) }

// texts are the key columns as rows carry them.
func (k *keyset) texts() []sql.Node {
	nodes := make([]sql.Node, len(k.exact))
	for i, exact := range k.exact {
		nodes[i] = k.column(i)
		if !exact {
			nodes[i] = sql.Column(k.alias, keyTextName(i))
		}
	}
	return nodes
}

// cell is an expression over one relation of a scope.
type cell struct {
	of   *relation
	expr sql.Node
}

func (t *translator) scope(r *plan.Rows, keys *keyset, on ...plan.Pair) *scope {
	return &scope{t: t, rows: r, base: &relation{alias: t.alias("t"), table: r.Source.Table}, keys: keys, on: on}
}

func (r *relation) column(name string) cell { return cell{r, sql.Column(r.alias, name)} }

// row is the relation's whole row, as a value.
func (r *relation) row() cell {
	return cell{r, sql.Cast(sql.Seq(r.alias, sql.Raw(".*")), rowType(r.table.Name))}
}

// keyText is a key column as the rows of the level carry it.
func (r *relation) keyText(name string) cell {
	c := r.column(name)
	if !isExact(r.table.Column(name)) {
		c.expr = sql.Cast(c.expr, textType)
	}
	return c
}

// limited reports whether rows are cut off or left out, after they were ordered.
func (s *scope) limited() bool {
	r := s.rows
	return r.Limit != nil || r.MaxRows != nil || r.Offset != nil || len(r.Distinct) > 0
}

// ordered reports whether rows joined to others still come in a known order.
func (s *scope) ordered() bool {
	r := s.rows
	return r.Single || len(r.Order) > 0 || len(r.Distinct) > 0 || s.hasPlaces()
}

// hasPlaces reports whether the rows have places in a table, by which they can
// be ordered when nothing else is asked for.
func (s *scope) hasPlaces() bool {
	return s.rows.Source.Call == nil && s.base.table.Kind == database.OrdinaryTable
}

// purpose is what a selection is for.
type purpose uint8

const (
	forRows       purpose = iota // the rows, in their order
	forKeys                      // a set of keys
	forAggregates                // rows to aggregate
)

// build selects from the scope what cells need. It returns the statement
// without its columns, and the cells' expressions as they are written in it.
func (s *scope) build(cells []cell, p purpose) (sql.Select, []sql.Node) {
	joins := joinsOf(cells)
	if s.limited() && (s.keys != nil || len(joins) > 0 || p != forRows) {
		return s.buildWrapped(cells, joins, p)
	}
	sel := sql.Select{From: s.source(), Where: s.conditions()}
	if s.keys != nil {
		if s.rows.Source.Call != nil && p == forRows && len(s.rows.Order) == 0 {
			sel.From = s.fenced()
		}
		sel.From = sql.Seq(s.keys.node, s.sourceJoin(), sel.From)
	}
	sel.From = sql.Seq(sel.From, s.joined(joins, func(c cell) sql.Node { return c.expr }))
	if p == forRows {
		s.limit(&sel)
		if sel.OrderBy == nil && (s.keys != nil || len(joins) > 0) {
			sel.OrderBy = s.natural(func(c cell) sql.Node { return c.expr })
		}
	}
	refs := make([]sql.Node, len(cells))
	for i, c := range cells {
		refs[i] = c.expr
	}
	return sel, refs
}

// sourceJoin joins the base to the keys. A function of the row is LATERAL to it.
func (s *scope) sourceJoin() sql.Node {
	if s.rows.Source.Call != nil {
		return sql.Raw(" CROSS JOIN LATERAL ")
	}
	return sql.Raw(" CROSS JOIN ")
}

// buildWrapped is build for limited rows that others are joined to: the limit
// is in a subquery, the base's expressions are its columns c1, c2, ...
func (s *scope) buildWrapped(cells []cell, joins []*relation, p purpose) (sql.Select, []sql.Node) {
	inner := sql.Select{From: s.source(), Where: s.conditions()}
	s.limit(&inner)
	alias := s.t.alias("r")
	expose := func(c cell) sql.Node {
		if c.of != s.base {
			return c.expr
		}
		name := sql.Name("c" + strconv.Itoa(len(inner.Columns)+1))
		inner.Columns = append(inner.Columns, sql.As(c.expr, name))
		return sql.Seq(alias, sql.Raw("."), name)
	}
	refs := make([]sql.Node, len(cells))
	for i, c := range cells {
		refs[i] = expose(c)
	}
	joined := s.joined(joins, expose)
	var order []sql.Node
	if p == forRows && !s.rows.Single {
		order = s.order(expose)
	}
	if len(inner.Columns) == 0 {
		inner.Columns = []sql.Node{sql.Raw("1 AS c1")}
	}
	from := sql.As(sql.Paren(inner), alias)
	if s.keys != nil {
		from = sql.Seq(s.keys.node, sql.Raw(" CROSS JOIN LATERAL "), from)
	}
	return sql.Select{From: sql.Seq(from, joined), OrderBy: order}, refs
}

// source is the base as FROM has it.
func (s *scope) source() sql.Node {
	src := s.rows.Source
	if src.Call == nil {
		return sql.As(sql.Qualified(src.Table.Name.Schema, src.Table.Name.Name), s.base.alias)
	}
	return sql.As(s.t.call(*src.Call, s.keys.rowNode()), s.base.alias)
}

// fenced is a function of a row whose rows come as it gives them: PostgreSQL may put a
// function's text in its place, and its rows into a hash table, which would mix them.
func (s *scope) fenced() sql.Node {
	alias := s.t.alias("f")
	rows := sql.Select{
		Columns: []sql.Node{sql.Seq(alias, sql.Raw(".*"))},
		From:    sql.As(s.t.call(*s.rows.Source.Call, s.keys.rowNode()), alias),
		Offset:  sql.Raw("0"),
	}
	return sql.As(sql.Paren(rows), s.base.alias)
}

// rowNode is the row that a function of it is given; nil where there is none.
func (k *keyset) rowNode() sql.Node {
	switch {
	case k == nil || !k.row:
		return nil
	case k.made != "":
		return sql.Cast(k.column(0), k.made)
	}
	return sql.Column(k.alias, rowColumn)
}

func (s *scope) conditions() []sql.Node {
	var where []sql.Node
	for i, pair := range s.on {
		where = append(where, sql.Binary(sql.Column(s.base.alias, pair.There), "=", s.keys.column(i)))
	}
	where = append(where, s.around...)
	if s.rows.Where != nil {
		where = append(where, s.t.condition(s.base, s.rows.Where))
	}
	return where
}

// limit orders a selection of the base and cuts it off.
func (s *scope) limit(sel *sql.Select) {
	plain := func(c cell) sql.Node { return c.expr }
	r := s.rows
	for _, name := range r.Distinct {
		sel.DistinctOn = append(sel.DistinctOn, s.base.column(name).expr)
	}
	if len(r.Order) > 0 || len(r.Distinct) > 0 {
		sel.OrderBy = s.order(plain)
	}
	sel.Limit = limitOf(r)
	if r.Offset != nil {
		sel.Offset = count(*r.Offset)
	}
}

func limitOf(r *plan.Rows) sql.Node {
	var limits []sql.Node
	if r.Limit != nil {
		limits = append(limits, count(*r.Limit))
	}
	if r.MaxRows != nil {
		limits = append(limits, sql.Integer(*r.MaxRows))
	}
	switch len(limits) {
	case 0:
		return nil
	case 1:
		return limits[0]
	}
	return sql.Call("least", limits...)
}

// count is a number of rows. One that the operation's text has is written as
// it is: a planner that knows it plans better, and a statement without
// parameters only once.
func count(v plan.Value) sql.Node {
	if v.Variable == "" && v.Session == "" {
		if n, err := strconv.ParseInt(string(v.Literal), 10, 64); err == nil {
			return sql.Integer(n)
		}
	}
	return parameter(v, FormInteger, bigintType)
}

// joinsOf lists the relations that cells need beside the base, each after the
// one that it is joined to.
func joinsOf(cells []cell) []*relation {
	var joins []*relation
	var visit func(r *relation)
	visit = func(r *relation) {
		if r.from == nil || slices.Contains(joins, r) {
			return
		}
		visit(r.from)
		joins = append(joins, r)
	}
	for _, c := range cells {
		visit(c.of)
	}
	return joins
}

func (s *scope) joined(joins []*relation, see func(cell) sql.Node) sql.Node {
	var nodes []sql.Node
	for _, r := range joins {
		if r.lateral != nil {
			nodes = append(nodes, sql.Raw(" CROSS JOIN LATERAL "), sql.As(sql.Paren(r.lateral(see)), r.alias))
			continue
		}
		var on []sql.Node
		for _, pair := range r.on {
			on = append(on, sql.Binary(r.column(pair.There).expr, "=", see(r.from.column(pair.Here))))
		}
		if r.where != nil {
			on = append(on, s.t.condition(r, r.where))
		}
		nodes = append(nodes, sql.Raw(" LEFT JOIN "), sql.Qualified(r.table.Name.Schema, r.table.Name.Name),
			sql.Raw(" AS "), r.alias, sql.Raw(" ON "), sql.And(on...))
	}
	return sql.Seq(nodes...)
}

// keysFor selects the keys of the scope's rows: columns of one of its relations.
func (s *scope) keysFor(r *relation, columns []string, _ []int) *keyset {
	k := &keyset{alias: s.t.alias("k"), exact: make([]bool, len(columns)), distinct: true}
	var cells []cell
	var names []string
	for i, name := range columns {
		cells, names = append(cells, r.column(name)), append(names, keyName(i))
		k.exact[i] = isExact(r.table.Column(name))
		if !k.exact[i] {
			cells, names = append(cells, r.keyText(name)), append(names, keyTextName(i))
			k.distinct = false
		}
	}
	sel, refs := s.build(cells, forKeys)
	sel.Distinct = !(r == s.base && s.comesOnce() && isUnique(r.table, columns))
	k.set(sel, refs, names)
	return k
}

// rowsFor selects whole rows of one of the scope's relations, with a key for each.
func (s *scope) rowsFor(r *relation, _ []int) *keyset {
	key := rowKey(r)
	k := &keyset{alias: s.t.alias("k"), exact: make([]bool, len(key)), row: true}
	names := make([]string, len(key))
	for i := range key {
		k.exact[i], names[i] = true, keyName(i)
	}
	sel, refs := s.build(append(slices.Clone(key), r.row()), forKeys)
	sel.DistinctOn = refs[:len(key)]
	k.set(sel, refs, append(names, rowColumn))
	return k
}

// rowKey tells one row of a relation from the others: by its primary key, or
// by all that it holds.
func rowKey(r *relation) []cell {
	var key []cell
	if pk := r.table.PrimaryKey; pk != nil {
		for _, name := range pk.Columns {
			key = append(key, cell{r, sql.Cast(r.column(name).expr, textType)})
		}
		return key
	}
	return []cell{{r, sql.Cast(r.row().expr, textType)}}
}

func (k *keyset) set(sel sql.Select, refs []sql.Node, names []string) {
	for i, ref := range refs {
		sel.Columns = append(sel.Columns, sql.As(ref, sql.Name(names[i])))
	}
	k.node = sql.As(sql.Paren(sel), k.alias)
}

// comesOnce reports whether no row of the base comes twice.
func (s *scope) comesOnce() bool {
	return s.rows.Source.Call == nil && (s.keys == nil || s.keys.distinct)
}

// isUnique reports whether a table has at most one row for values of the columns.
func isUnique(t *database.Table, columns []string) bool {
	covers := func(c database.Constraint) bool {
		return !slices.ContainsFunc(c.Columns, func(name string) bool { return !slices.Contains(columns, name) })
	}
	return t.PrimaryKey != nil && covers(*t.PrimaryKey) || slices.ContainsFunc(t.UniqueKeys, covers)
}
