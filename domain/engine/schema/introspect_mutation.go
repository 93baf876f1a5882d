package schema

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// insertables yields the relationships whose rows can be inserted with a row.
func (t *Table) insertables(yield func(*Relationship) bool) {
	for stored := range t.role.World().RelationshipsOf(t.Table.Name) {
		r := t.AnyRelationship(stored.Name)
		if r != nil && r.Table.Insert != nil && !yield(r) {
			return
		}
	}
}

// takesRows reports whether there is anything to give to an insert.
func (t *Table) takesRows() bool {
	own := func(t *Table) bool { return len(t.InsertableColumns()) > 0 }
	return reaches(t, own, func(t *Table, yield func(*Table) bool) {
		t.insertables(func(r *Relationship) bool { return yield(r.Table) })
	})
}

// newRow is the type of rows to be inserted.
func (l *lister) newRow(t *Table) string {
	description := fmt.Sprintf("input type for inserting data into table %q", t.Table.Name.Name)
	return l.input(t.Name+"_insert_input", description, func() ast.FieldList {
		var fields ast.FieldList
		for _, c := range t.InsertableColumns() {
			fields = append(fields, member(c.Field, nullable(l.scalar(c.Type)), c.Comment))
		}
		for r := range t.insertables {
			if r.Table.takesRows() {
				fields = appendNew(fields, member(r.Name, nullable(l.nestedRows(r)), ""))
			}
		}
		return fields
	})
}

// nestedRows is the type of rows to be inserted with the row that they are
// related to.
func (l *lister) nestedRows(r *Relationship) string {
	t := r.Table
	name, kind := t.Name+"_obj_rel_insert_input", "object"
	if r.Array {
		name, kind = t.Name+"_arr_rel_insert_input", "array"
	}
	description := fmt.Sprintf("input type for inserting %s relation for remote table %q", kind, t.Table.Name.Name)
	return l.input(name, description, func() ast.FieldList {
		data := required(l.newRow(t))
		if r.Array {
			data = requiredList(l.newRow(t))
		}
		fields := ast.FieldList{member("data", data, "")}
		if t.MayUpsert() {
			fields = append(fields, member("on_conflict", nullable(l.onConflict(t)), ""))
		}
		return fields
	})
}

func (l *lister) onConflict(t *Table) string {
	description := fmt.Sprintf("on conflict condition type for table %q", t.Table.Name.Name)
	return l.input(t.Name+"_on_conflict", description, func() ast.FieldList {
		return ast.FieldList{
			member("constraint", required(l.constraint(t)), ""),
			member("update_columns", requiredList(l.updateColumn(t)), ""),
			member("where", nullable(l.boolExp(t)), ""),
		}
	})
}

func (l *lister) constraint(t *Table) string {
	return l.enum(t.Name+"_constraint", fmt.Sprintf("unique or primary key constraints on table %q", t.Table.Name.Name),
		t.Constraints(), "unique or primary key constraint")
}

func (l *lister) updateColumn(t *Table) string {
	return l.enum(t.Name+"_update_column", fmt.Sprintf("update columns of table %q", t.Table.Name.Name),
		fieldsOf(t.UpdatableColumns()), "column name")
}

// changeArguments are the ways to change a table's columns.
func (l *lister) changeArguments(t *Table) ast.ArgumentDefinitionList {
	var list ast.ArgumentDefinitionList
	for _, c := range t.Changes() {
		list = append(list, argument(c.Argument, nullable(l.change(t, c)), c.Meaning))
	}
	return list
}

func (l *lister) change(t *Table, c Change) string {
	return l.input(t.Name+c.Input, c.Meaning, func() ast.FieldList {
		var fields ast.FieldList
		for _, column := range t.Changed(c) {
			given := column.Type
			if c.As != nil {
				given = *c.As
			}
			value := nullable(l.scalar(given))
			if c.List {
				value = listOf(l.scalar(given))
			}
			fields = append(fields, member(column.Field, value, column.Comment))
		}
		return fields
	})
}

func (l *lister) keyInput(t *Table) string {
	description := fmt.Sprintf("primary key columns input for table: %q", t.Table.Name.Name)
	return l.input(t.Name+"_pk_columns_input", description, func() ast.FieldList {
		var fields ast.FieldList
		for _, c := range t.PrimaryKey() {
			fields = append(fields, member(c.Field, required(l.scalar(c.Type)), c.Comment))
		}
		return fields
	})
}

// response is the type of what a mutation of several rows answers.
func (l *lister) response(t *Table) string {
	description := fmt.Sprintf("response of any mutation on the table %q", t.Table.Name.Name)
	return l.object(t.Name+"_mutation_response", description, func() ast.FieldList {
		fields := ast.FieldList{
			member("affected_rows", required(l.scalar(Leaf{Name: Int})), "number of affected rows by the mutation"),
		}
		if t.Select != nil && t.answers() {
			fields = append(fields, member("returning", requiredList(l.row(t)), "data of the affected rows by the mutation"))
		}
		return fields
	})
}
