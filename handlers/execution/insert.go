package execution

import (
	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/translate"
)

func (tx transaction) insert(w *writer, f plan.Root, in *plan.Insert) error {
	i := inserting{tx, "$.selectionSet." + f.Field + ".args.objects"}
	done, err := i.insert(in, nil, nil)
	if err != nil {
		return err
	}
	c := translate.Insert(in, nil, nil, tx.config.Options) // for its answer alone
	var sets []*rowset
	if len(done.rows) > 0 {
		if sets, err = tx.belonging(c.Statements, done.rows); err != nil {
			return err
		}
	}
	w.reading(sets, func() { w.answer(c.Answer, done.rows, done.affected) })
	return nil
}

// inserting is one root field's insert, nested ones included. path is its place
// in the request.
type inserting struct {
	transaction
	path string
}

// inserted is what became of an insert. extra holds, for each object, the
// columns that were asked for; nil for an object that was left out.
type inserted struct {
	rows     [][][]byte
	extra    []map[string]translate.Text
	affected int
}

// insert inserts objects; given are columns that the row around decided, the
// same for all. Objects that nothing belongs to go in one statement.
func (i inserting) insert(in *plan.Insert, given map[string]translate.Text, extra []string) (inserted, error) {
	if isFlat(in) {
		return i.flat(in, given, extra)
	}
	var all inserted
	for _, o := range in.Objects {
		one, err := i.nested(in, o, given, extra)
		if err != nil {
			return inserted{}, err
		}
		all.rows = append(all.rows, one.rows...)
		all.extra = append(all.extra, one.extra...)
		all.affected += one.affected
	}
	return all, nil
}

func isFlat(in *plan.Insert) bool {
	for _, o := range in.Objects {
		if len(o.Before) > 0 || len(o.After) > 0 {
			return false
		}
	}
	return true
}

func (i inserting) flat(in *plan.Insert, given map[string]translate.Text, extra []string) (inserted, error) {
	rows := make([]translate.Row, len(in.Objects))
	for n, o := range in.Objects {
		rows[n] = translate.Row{Columns: o.Columns, Given: given}
	}
	var all inserted
	for chunk := translate.Chunks(rows); len(rows) > 0; rows = rows[min(chunk, len(rows)):] {
		part, err := i.statement(in, rows[:min(chunk, len(rows))], extra)
		if err != nil {
			return inserted{}, err
		}
		all.rows = append(all.rows, part.rows...)
		all.extra = append(all.extra, part.extra...)
		all.affected += part.affected
	}
	return all, nil
}

// statement inserts rows by one statement.
func (i inserting) statement(in *plan.Insert, rows []translate.Row, extra []string) (inserted, error) {
	c := translate.Insert(in, rows, extra, i.config.Options)
	set, err := i.one(c.Statement, nil, i.path)
	if err != nil {
		return inserted{}, err
	}
	done := inserted{rows: set.rows(), affected: set.len()} // the set is not reused: its rows are kept
	if !pass(done.rows, c.Check) {
		return inserted{}, domain.RefuseAt(i.path, domain.PermissionError, checkFailed)
	}
	for _, row := range done.rows {
		values := make(map[string]translate.Text, len(extra))
		for n, name := range extra {
			values[name] = row[c.Extra[n]]
		}
		done.extra = append(done.extra, values)
	}
	return done, nil
}

// nested inserts one object: first the rows that it refers to, then its own,
// then the rows that refer to it.
func (i inserting) nested(in *plan.Insert, o plan.Object, given map[string]translate.Text, extra []string) (inserted, error) {
	columns := make(map[string]translate.Text, len(given))
	for name, text := range given {
		columns[name] = text
	}
	affected, err := i.before(in, o, columns)
	if err != nil {
		return inserted{}, err
	}
	wanted := append(append([]string{}, extra...), hereColumns(o.After)...)
	done, err := i.statement(in, []translate.Row{{Columns: o.Columns, Given: columns}}, wanted)
	if err != nil {
		return inserted{}, err
	}
	after, err := i.after(in, o, done)
	if err != nil {
		return inserted{}, err
	}
	done.affected += affected + after
	return done, nil
}

func hereColumns(nested []plan.NestedInsert) []string {
	var names []string
	for _, n := range nested {
		for _, pair := range n.On {
			names = append(names, pair.Here)
		}
	}
	return names
}

// before inserts the rows that an object refers to, and sets its columns.
func (i inserting) before(in *plan.Insert, o plan.Object, columns map[string]translate.Text) (affected int, err error) {
	for _, n := range o.Before {
		var there []string
		for _, pair := range n.On {
			there = append(there, pair.There)
		}
		done, err := i.insert(n.Insert, nil, there)
		if err != nil {
			return 0, err
		}
		if len(done.extra) == 0 {
			return 0, domain.RefuseAt(i.path, domain.NotSupported,
				`cannot proceed to insert object relation "%s" since insert to table "%s" affects zero rows`, n.Relationship, n.Insert.Table.Name)
		}
		for _, pair := range n.On {
			columns[pair.Here] = done.extra[0][pair.There]
		}
		affected += done.affected
	}
	return affected, nil
}

// after inserts the rows that refer to an object's row.
func (i inserting) after(in *plan.Insert, o plan.Object, row inserted) (affected int, err error) {
	for _, n := range o.After {
		if len(n.Insert.Objects) == 0 {
			continue
		}
		if len(row.extra) == 0 {
			return 0, domain.RefuseAt(i.path, domain.NotSupported,
				`cannot proceed to insert array relations since insert to table "%s" affects zero rows`, in.Table.Name)
		}
		given := make(map[string]translate.Text, len(n.On))
		for _, pair := range n.On {
			given[pair.There] = row.extra[0][pair.Here]
		}
		done, err := i.insert(n.Insert, given, nil)
		if err != nil {
			return 0, err
		}
		affected += done.affected
	}
	return affected, nil
}
