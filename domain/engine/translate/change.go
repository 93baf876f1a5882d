package translate

import (
	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// Change is a statement that changes rows, or calls a function that may, and
// returns the rows. It is run once; what the answer has beside the rows
// themselves is read by Statements, which are bound with the rows.
type Change struct {
	Statement Statement
	// Before, of a delete, gives the same columns of the rows that are about to
	// go: Statements are bound with these and run first, as afterwards what
	// belonged to a row may be gone too.
	Before *Statement
	// Check is the column that says whether a row is one that the role may
	// write; below 0 there is no such condition.
	Check int
	// Extra are the columns that were asked for beside the answer.
	Extra      []int
	Statements []Statement
	Answer     Answer
}

// Answer is a mutation's answer: a mutation response of its Fields, or the
// first row.
type Answer struct {
	Single bool
	Row    []Field
	Fields []AnswerField
}

// AnswerField is one key of a mutation response: the count of rows, the rows,
// or a Constant.
type AnswerField struct {
	Key          string
	Constant     string
	AffectedRows bool
	Returning    []Field
}

// RowsOnce translates rows of a function that may change something: it is
// called once, whatever is read of its rows.
func RowsOnce(r *plan.Rows, o Options) (Change, *Level) {
	t := &translator{options: o}
	sel := t.selection(t.scope(r, nil))
	sel.keepRows()
	l := &Level{Single: r.Single}
	l.Fields = sel.fields(sel.scope.base, r.Selection)
	c := Change{Statement: sel.statement(&l.Key), Check: -1}
	sel.finish()
	c.Statements = t.statements
	l.Statement = len(c.Statements) // the rows stand after what belongs to them
	return c, l
}

// keepRows has the levels in the selection read what belongs to rows that
// came already, instead of selecting the rows again.
func (sel *selection) keepRows() {
	sel.keysFor, sel.rowsFor, sel.rowKey = sel.t.keysOfRows, sel.t.rowsOfRows, wholeRow
}

// wholeRow tells a row by all that it holds.
func wholeRow(r *relation) []cell {
	return []cell{{r, sql.Cast(r.row().expr, textType)}}
}

// keysOfRows is the keys of rows that came already, given as arrays.
func (t *translator) keysOfRows(r *relation, columns []string, at []int) *keyset {
	k := &keyset{alias: t.alias("k"), exact: make([]bool, len(columns)), distinct: true}
	arrays, names := make([]sql.Node, len(columns)), make([]sql.Node, len(columns))
	alias := t.alias("u")
	sel := sql.Select{Distinct: true}
	for i, name := range columns {
		c := r.table.Column(name)
		arrays[i] = sql.Value{Of: Parameter{Keys: at[i] + 1}, Type: textArrayType}
		names[i] = sql.Name(keyName(i))
		text := sql.Column(alias, keyName(i))
		sel.Columns = append(sel.Columns, sql.As(sql.Cast(text, typeOf(c)), sql.Name(keyName(i))))
		if k.exact[i] = isExact(c); !k.exact[i] {
			sel.Columns = append(sel.Columns, sql.As(text, sql.Name(keyTextName(i))))
			k.distinct = false
		}
	}
	sel.From = sql.Seq(sql.Call("unnest", arrays...), sql.Raw(" AS "), alias, sql.Paren(sql.List(names...)))
	k.node = sql.As(sql.Paren(sel), k.alias)
	return k
}

// rowsOfRows is rows that came already, made of their texts.
func (t *translator) rowsOfRows(r *relation, at []int) *keyset {
	k := &keyset{alias: t.alias("k"), exact: []bool{true}, row: true}
	alias := t.alias("u")
	text := sql.Column(alias, keyName(0))
	k.node = sql.As(sql.Paren(sql.Select{
		Distinct: true,
		Columns:  []sql.Node{sql.As(text, sql.Name(keyName(0)))},
		From: sql.Seq(sql.Call("unnest", sql.Value{Of: Parameter{Keys: at[0] + 1}, Type: textArrayType}),
			sql.Raw(" AS "), alias, sql.Paren(sql.Name(keyName(0)))),
	}), k.alias)
	k.made = rowType(r.table.Name)
	return k
}

// change builds a changing statement: what it returns, and the levels in that.
type change struct {
	sel    *selection
	target *relation
	out    Change
}

func newChange(table *database.Table, o Options) *change {
	t := &translator{options: o}
	target := &relation{alias: t.alias("t"), table: table}
	sel := &selection{t: t, columns: map[string]int{}}
	sel.keepRows()
	return &change{sel: sel, target: target, out: Change{Check: -1}}
}

func (c *change) answer(a plan.MutationAnswer, single bool) {
	c.out.Answer.Single = single
	if single {
		c.out.Answer.Row = c.sel.fields(c.target, a.Row)
		return
	}
	for _, f := range a.Fields {
		out := AnswerField{Key: keyJSON(f.Alias), AffectedRows: f.AffectedRows}
		switch {
		case f.IsReturning:
			out.Returning = c.sel.fields(c.target, f.Returning)
		case !f.AffectedRows:
			out.Constant = constantJSON(f.Typename)
		}
		c.out.Answer.Fields = append(c.out.Answer.Fields, out)
	}
}

// check has each row say whether the role may write it.
func (c *change) check(passes sql.Node) {
	if passes != nil {
		c.out.Check = c.sel.anew(cell{c.target, sql.Call("coalesce", passes, sql.Raw("FALSE"))})
	}
}

func (c *change) extra(columns []string) {
	for _, name := range columns {
		c.out.Extra = append(c.out.Extra, c.sel.anew(c.target.column(name)))
	}
}

// returning is the list of what the statement returns.
func (c *change) returning() []sql.Node {
	if len(c.sel.cells) == 0 {
		return []sql.Node{sql.Raw("1")}
	}
	nodes := make([]sql.Node, len(c.sel.cells))
	for i, cell := range c.sel.cells {
		nodes[i] = cell.expr
	}
	return nodes
}

func (c *change) finish(statement sql.Node) Change {
	c.out.Statement = newStatement(statement)
	c.sel.finish()
	c.out.Statements = c.sel.t.statements
	return c.out
}

func (c *change) name() sql.Node {
	n := c.target.table.Name
	return sql.As(sql.Qualified(n.Schema, n.Name), c.target.alias)
}

func (c *change) where(condition plan.Condition) sql.Node {
	if condition == nil {
		return sql.And()
	}
	return c.sel.t.condition(c.target, condition)
}
