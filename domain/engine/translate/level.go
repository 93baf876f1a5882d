package translate

import (
	"encoding/json"

	"annals/domain/engine/plan"
)

// selection collects what a level's statement selects.
type selection struct {
	t       *translator
	scope   *scope
	cells   []cell
	columns map[string]int // what is selected already, by what it is
	// joins is true where object relationships may be joined to the rows.
	joins bool
	// keysFor gives the keys of the level's rows to the levels in it, rowsFor whole rows
	// with the keys that rowKey makes. at says in which columns the rows have them.
	keysFor func(r *relation, columns []string, at []int) *keyset
	rowsFor func(r *relation, at []int) *keyset
	rowKey  func(r *relation) []cell
	// later are the levels in this one, whose statements come after it.
	later []func()
}

// level translates the rows of a scope, and the levels in it.
func (t *translator) level(s *scope, fields []plan.Field) *Level {
	sel := t.selection(s)
	l := &Level{Statement: t.reserve(), Single: s.rows.Single}
	l.Fields = sel.fields(s.base, fields)
	t.statements[l.Statement] = sel.statement(&l.Key)
	sel.finish()
	return l
}

func (t *translator) selection(s *scope) *selection {
	return &selection{
		t: t, scope: s, columns: map[string]int{}, joins: s.ordered(),
		keysFor: s.keysFor, rowsFor: s.rowsFor, rowKey: rowKey,
	}
}

// statement is the statement that selects the cells, and then the keys of the rows around.
func (sel *selection) statement(key *[]int) Statement {
	stmt, refs := sel.scope.build(sel.cells, forRows)
	stmt.Columns = refs
	if sel.scope.keys != nil {
		for _, n := range sel.scope.keys.texts() {
			*key = append(*key, len(stmt.Columns))
			stmt.Columns = append(stmt.Columns, n)
		}
	}
	return sel.t.finished(stmt)
}

func (sel *selection) finish() {
	for _, make := range sel.later {
		make()
	}
}

// add selects a cell and returns its column. A cell that is selected already
// under the same name is not selected twice.
func (sel *selection) add(name string, c cell) int {
	name = string(c.of.alias) + "." + name
	if i, ok := sel.columns[name]; ok {
		return i
	}
	sel.cells = append(sel.cells, c)
	sel.columns[name] = len(sel.cells) - 1
	return len(sel.cells) - 1
}

// anew selects a cell that no other can stand for.
func (sel *selection) anew(c cell) int {
	sel.cells = append(sel.cells, c)
	return len(sel.cells) - 1
}

func (sel *selection) fields(r *relation, fields []plan.Field) []Field {
	out := make([]Field, len(fields))
	for i, f := range fields {
		sel.field(&out[i], r, f)
		out[i].Key = keyJSON(f.Alias)
	}
	return out
}

// keyJSON is a key of a JSON object, with its colon.
func keyJSON(alias string) string {
	text, _ := json.Marshal(alias) // a string has a JSON form
	return string(text) + ":"
}

func constantJSON(text string) string {
	quoted, _ := json.Marshal(text) // a string has a JSON form
	return string(quoted)
}

func (sel *selection) field(out *Field, r *relation, f plan.Field) {
	switch {
	case f.Column != nil:
		sel.column(out, r, f.Column)
	case f.Scalar != nil:
		c := *f.Scalar
		n, encoding := sel.t.output(part(sel.t.call(c.Call, r.row().expr), c.Path), c.Type, false, 0)
		out.Column, out.Encoding = sel.anew(cell{r, n}), encoding
	case f.Rows != nil && sel.joinable(f.Rows):
		out.Object = sel.object(r, f.Rows)
	case f.Rows != nil:
		sel.related(out, r, f.Rows)
	case f.Groups != nil && sel.aggregatesHere(f.Groups.Aggregate):
		out.Object = sel.aggregated(r, f.Groups)
	case f.Groups != nil:
		sel.groups(out, r, f.Groups)
	case f.Computed != nil:
		sel.computed(out, r, f.Computed)
	case f.Join != nil:
		out.Join = sel.join(r, f.Join)
	default:
		out.Constant = constantJSON(f.Typename)
	}
}

func (sel *selection) column(out *Field, r *relation, c *plan.Column) {
	n, encoding := sel.t.output(part(r.column(c.Name).expr, c.Path), c.Type, c.Array, c.TypeKind)
	out.Encoding = encoding
	if len(c.Path) > 0 {
		out.Column = sel.anew(cell{r, n})
		return
	}
	out.Column = sel.add("value "+c.Name, cell{r, n})
}

// joinable reports whether what a relationship leads to can be joined to the
// rows of the level: it is one row at most, and the order stays known.
func (sel *selection) joinable(rel *plan.Related) bool {
	r := rel.Rows
	if !sel.joins || !r.Single || r.Source.Call != nil || r.Limit != nil || r.Offset != nil || len(r.Distinct) > 0 {
		return false
	}
	there := make([]string, len(rel.On))
	for i, pair := range rel.On {
		there[i] = pair.There
	}
	return isUnique(r.Source.Table, there)
}

func (sel *selection) object(from *relation, rel *plan.Related) *Object {
	r := &relation{
		alias: sel.t.alias("t"), table: rel.Rows.Source.Table,
		from: from, on: rel.On, where: rel.Rows.Where,
	}
	return &Object{
		Present: sel.add("key "+rel.On[0].There, r.keyText(rel.On[0].There)),
		Fields:  sel.fields(r, rel.Rows.Selection),
	}
}

// on selects the columns that hold the key for the rows of a relationship.
func (sel *selection) on(r *relation, pairs []plan.Pair) (columns []int, here []string) {
	for _, pair := range pairs {
		columns = append(columns, sel.add("key "+pair.Here, r.keyText(pair.Here)))
		here = append(here, pair.Here)
	}
	return columns, here
}

func (sel *selection) related(out *Field, r *relation, rel *plan.Related) {
	columns, here := sel.on(r, rel.On)
	out.On = columns
	out.Level = &Level{}
	sel.later = append(sel.later, func() {
		keys := sel.keysFor(r, here, columns)
		*out.Level = *sel.t.level(sel.t.scope(rel.Rows, keys, rel.On...), rel.Rows.Selection)
	})
}

func (sel *selection) groups(out *Field, r *relation, rel *plan.RelatedAggregate) {
	columns, here := sel.on(r, rel.On)
	out.On = columns
	out.Group = &Group{}
	sel.later = append(sel.later, func() {
		keys := func() *keyset { return sel.keysFor(r, here, columns) }
		*out.Group = *sel.t.group(rel.Aggregate, keys, rel.On...)
	})
}

// computed translates a function of the row that returns rows.
func (sel *selection) computed(out *Field, r *relation, rows *plan.Rows) {
	for _, c := range sel.rowKey(r) {
		out.On = append(out.On, sel.anew(c))
	}
	out.Level = &Level{}
	sel.later = append(sel.later, func() {
		*out.Level = *sel.t.level(sel.t.scope(rows, sel.rowsFor(r, out.On)), rows.Selection)
	})
}
