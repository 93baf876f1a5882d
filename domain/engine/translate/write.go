package translate

import (
	"slices"

	"annals/domain/database"
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// Update translates an update; with nothing to set there is none.
func Update(u *plan.Update, o Options) Change {
	c := newChange(u.Table, o)
	c.answer(u.Answer, u.ByKey)
	if u.Check != nil {
		c.check(c.sel.t.condition(c.target, u.Check))
	}
	var set []sql.Node
	for _, column := range u.Set {
		set = append(set, sql.Seq(sql.Name(column.Column.Name), sql.Raw(" = "), c.updated(column)))
	}
	return c.finish(sql.Seq(sql.Raw("UPDATE "), c.name(), sql.Raw(" SET "), sql.List(set...),
		sql.Raw(" WHERE "), c.where(u.Where), sql.Raw(" RETURNING "), sql.List(c.returning()...)))
}

// updated is the new value of a column.
func (c *change) updated(u plan.UpdateColumn) sql.Node {
	old := sql.Column(c.target.alias, u.Column.Name)
	switch u.Operator {
	case "inc":
		return sql.Binary(old, "+", valueFor(u.Column, u.Value))
	case "mul":
		return sql.Binary(old, "*", valueFor(u.Column, u.Value))
	case "default":
		return sql.Raw("DEFAULT")
	case "append":
		return sql.Binary(old, "||", valueFor(u.Column, u.Value))
	case "prepend":
		return sql.Binary(valueFor(u.Column, u.Value), "||", old)
	case "delete_key":
		return sql.Binary(old, "-", parameter(u.Value, FormText, textType))
	case "delete_elem":
		return sql.Binary(old, "-", parameter(u.Value, FormInteger, integerType))
	case "delete_at_path":
		return sql.Binary(old, "#-", parameter(u.Value, FormArray, textArrayType))
	}
	return valueFor(u.Column, u.Value)
}

// Delete translates a delete. Where the answer has more than the rows
// themselves, they are looked at, and locked, before; then exactly these go, by
// their places in the table.
func Delete(d *plan.Delete, o Options) Change {
	c := newChange(d.Table, o)
	c.answer(d.Answer, d.ByKey)
	where := c.where(d.Where)
	if len(c.sel.later) > 0 {
		where = c.lookBefore(where)
	}
	return c.finish(sql.Seq(sql.Raw("DELETE FROM "), c.name(), sql.Raw(" WHERE "), where,
		sql.Raw(" RETURNING "), sql.List(c.returning()...)))
}

// lookBefore makes the statement that reads the rows to be deleted, and
// returns the condition for these rows.
func (c *change) lookBefore(where sql.Node) sql.Node {
	hasPlaces := c.target.table.Kind == database.OrdinaryTable
	place := c.target.column("ctid")
	at := 0
	if hasPlaces {
		at = c.sel.anew(place)
	}
	var look sql.Node = sql.Select{Columns: c.returning(), From: c.name(), Where: []sql.Node{where}}
	if hasPlaces {
		look = sql.Seq(look, sql.Raw(" FOR UPDATE"))
		where = sql.Seq(place.expr, sql.Raw(" = ANY ("), sql.Value{Of: Parameter{Keys: at + 1}, Type: sql.BuiltIn("tid").Array()}, sql.Raw(")"))
	}
	before := newStatement(look)
	c.out.Before = &before
	return where
}

// Row is one row to insert: an object of the plan, and the columns that other
// rows decided, which come before its own.
type Row struct {
	Columns []plan.Assignment
	Given   map[string]Text
}

// maxInsertParameters is how many parameters one insert may have; the
// protocol's limit is 65535. The rest leaves room for the conditions.
const maxInsertParameters = 60000

// Chunks tells how many rows one statement may insert.
func Chunks(rows []Row) int {
	columns := len(insertedColumns(rows))
	return max(1, maxInsertParameters/max(1, columns))
}

// Insert translates an insert of rows of one table. The values of the columns
// extra are returned too.
func Insert(in *plan.Insert, rows []Row, extra []string, o Options) Change {
	c := newChange(in.Table, o)
	c.answer(in.Answer, in.One)
	c.check(c.insertCheck(in))
	c.extra(extra)
	return c.finish(sql.Seq(sql.Raw("INSERT INTO "), c.name(), c.values(rows), c.conflict(in.Conflict),
		sql.Raw(" RETURNING "), sql.List(c.returning()...)))
}

// insertCheck is the insert permission's condition; of a row that an upsert
// updated, that of the update permission, if there is one.
func (c *change) insertCheck(in *plan.Insert) sql.Node {
	var insert, update sql.Node
	if in.Check != nil {
		insert = c.sel.t.condition(c.target, in.Check)
	}
	if in.Conflict != nil && updates(in.Conflict) && in.Conflict.Check != nil {
		update = c.sel.t.condition(c.target, in.Conflict.Check)
	}
	if update == nil {
		return insert
	}
	if insert == nil {
		insert = sql.And()
	}
	return sql.Seq(sql.Raw("CASE WHEN "), sql.Column(c.target.alias, "xmax"), sql.Raw(" = 0 THEN "), insert,
		sql.Raw(" ELSE "), update, sql.Raw(" END"))
}

// insertedColumns lists the columns that any of the rows names.
func insertedColumns(rows []Row) []string {
	var names []string
	seen := make(map[string]bool)
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, r := range rows {
		for _, a := range r.Columns {
			add(a.Column.Name)
		}
		for name := range r.Given {
			add(name)
		}
	}
	slices.Sort(names) // the same statement for the same columns
	return names
}

func (c *change) values(rows []Row) sql.Node {
	names := insertedColumns(rows)
	if len(names) == 0 {
		if len(rows) == 1 {
			return sql.Raw(" DEFAULT VALUES")
		}
		names = []string{c.target.table.Columns[0].Name}
	}
	columns := make([]sql.Node, len(names))
	for i, name := range names {
		columns[i] = sql.Name(name)
	}
	tuples := make([]sql.Node, len(rows))
	for i, r := range rows {
		tuples[i] = sql.Paren(sql.List(r.tuple(c.target.table, names)...))
	}
	return sql.Seq(sql.Raw(" "), sql.Paren(sql.List(columns...)), sql.Raw(" VALUES "), sql.List(tuples...))
}

func (r Row) tuple(table *database.Table, names []string) []sql.Node {
	values := make(map[string]sql.Node, len(names))
	for _, a := range r.Columns {
		values[a.Column.Name] = valueFor(a.Column, a.Value)
	}
	for name, text := range r.Given {
		values[name] = sql.Value{Of: Parameter{Text: &text}, Type: typeOf(table.Column(name))}
	}
	tuple := make([]sql.Node, len(names))
	for i, name := range names {
		if tuple[i] = values[name]; tuple[i] == nil {
			tuple[i] = sql.Raw("DEFAULT")
		}
	}
	return tuple
}

func (c *change) conflict(on *plan.Conflict) sql.Node {
	if on == nil {
		return nil
	}
	head := sql.Raw(" ON CONFLICT")
	if on.Constraint != "" {
		head = sql.Seq(sql.Raw(" ON CONFLICT ON CONSTRAINT "), sql.Name(on.Constraint))
	}
	if !updates(on) {
		return sql.Seq(head, sql.Raw(" DO NOTHING"))
	}
	var set []sql.Node
	for _, name := range on.Update {
		if !presets(on.Set, name) {
			set = append(set, sql.Seq(sql.Name(name), sql.Raw(" = EXCLUDED."), sql.Name(name)))
		}
	}
	for _, a := range on.Set {
		set = append(set, sql.Seq(sql.Name(a.Column.Name), sql.Raw(" = "), valueFor(a.Column, a.Value)))
	}
	return sql.Seq(head, sql.Raw(" DO UPDATE SET "), sql.List(set...), sql.Raw(" WHERE "), c.where(on.Where))
}

// updates reports whether a conflict changes the row that is there. The presets
// alone do not: with no column to update nothing is done.
func updates(on *plan.Conflict) bool { return len(on.Update) > 0 }

func presets(set []plan.Assignment, name string) bool {
	return slices.ContainsFunc(set, func(a plan.Assignment) bool { return a.Column.Name == name })
}
