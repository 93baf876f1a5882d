package translate

import (
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// order is the order of the scope's rows.
func (s *scope) order(see func(cell) sql.Node) []sql.Node {
	var items []sql.Node
	for _, o := range s.rows.Order {
		value := see(cell{s.base, s.t.orderValue(s.base, o)})
		items = append(items, sql.Seq(value, direction(o)))
	}
	if items != nil {
		return items
	}
	for _, name := range s.rows.Distinct {
		items = append(items, see(s.base.column(name)))
	}
	if items != nil {
		return items
	}
	return s.natural(see)
}

// natural is the order of rows for which none was asked: their places in the table.
func (s *scope) natural(see func(cell) sql.Node) []sql.Node {
	if s.rows.Single || !s.hasPlaces() {
		return nil
	}
	return []sql.Node{see(s.base.column("ctid"))}
}

func direction(o plan.Order) sql.Node {
	switch {
	case o.Descending && o.NullsFirst:
		return sql.Raw(" DESC NULLS FIRST")
	case o.Descending:
		return sql.Raw(" DESC NULLS LAST")
	case o.NullsFirst:
		return sql.Raw(" ASC NULLS FIRST")
	}
	return sql.Raw(" ASC NULLS LAST")
}

// orderValue is what a row of a relation is ordered by: a column, or a
// subquery that follows the relationships.
func (t *translator) orderValue(r *relation, o plan.Order) sql.Node {
	if len(o.Via) == 0 {
		return sql.Column(r.alias, o.Column)
	}
	hop := o.Via[0]
	next := &relation{alias: t.alias("o"), table: hop.Table}
	sel := sql.Select{
		From:  sql.As(sql.Qualified(hop.Table.Name.Schema, hop.Table.Name.Name), next.alias),
		Where: t.related(r, next, hop.On, hop.Where),
	}
	if len(o.Via) == 1 && o.Aggregate != nil {
		sel.Columns = []sql.Node{orderAggregate(next, *o.Aggregate)}
		return sql.Paren(sel)
	}
	rest := o
	rest.Via = o.Via[1:]
	sel.Columns = []sql.Node{t.orderValue(next, rest)}
	sel.Limit = sql.Raw("1")
	return sql.Paren(sel)
}

func orderAggregate(r *relation, a plan.OrderAggregate) sql.Node {
	if a.Column == "" {
		return sql.Raw("count(*)")
	}
	return sql.Seq(aggregateFunction(a.Function), sql.Paren(sql.Column(r.alias, a.Column)))
}

// related joins a row of one relation to rows of another.
func (t *translator) related(here, there *relation, on []plan.Pair, where plan.Condition) []sql.Node {
	var conditions []sql.Node
	for _, pair := range on {
		conditions = append(conditions, sql.Binary(sql.Column(there.alias, pair.There), "=", sql.Column(here.alias, pair.Here)))
	}
	if where != nil {
		conditions = append(conditions, t.condition(there, where))
	}
	return conditions
}
