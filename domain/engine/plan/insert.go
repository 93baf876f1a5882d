package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"annals/domain/engine/schema"
)

const conflictArgument = "on_conflict"

// insert builds an insert of several rows.
func (b *builder) insert(at place, t *schema.Table, f field) *Insert {
	args := b.arguments(at, f, insertArguments("objects", t)...)
	v, objects := args.required("objects", wanted{name: insertInput(t), list: true})
	insert := b.newInsert(t, b.newRows(objects, v, t, nil), args)
	insert.Answer = b.mutationAnswer(at, t, f)
	return insert
}

// insertOne builds an insert of one row, which is its answer.
func (b *builder) insertOne(at place, t *schema.Table, f field) *Insert {
	args := b.arguments(at, f, insertArguments("object", t)...)
	v, object := args.required("object", wanted{name: insertInput(t)})
	insert := b.newInsert(t, []Object{b.newRow(object, v, t, nil)}, args)
	insert.One = true
	insert.Answer.Row = b.fields(at, t, f)
	return insert
}

func insertArguments(rows string, t *schema.Table) []string {
	if t.MayUpsert() {
		return []string{rows, conflictArgument}
	}
	return []string{rows}
}

func insertInput(t *schema.Table) string { return t.Name + "_insert_input" }

func (b *builder) newInsert(t *schema.Table, objects []Object, args arguments) *Insert {
	return &Insert{Table: t.Shape, Objects: objects, Check: b.check(t, t.Insert), Conflict: b.conflict(args, t)}
}

// newRows reads rows to insert. The fixed columns get their values from the
// row around.
func (b *builder) newRows(at place, v value, t *schema.Table, fixed []string) []Object {
	var rows []Object
	for i, item := range listed(at, v) {
		if at.failed() {
			return nil
		}
		inner := at.index(i)
		item = b.open(inner, item, wanted{name: insertInput(t), nonNull: true})
		rows = append(rows, b.newRow(inner, item, t, fixed))
	}
	return rows
}

func (b *builder) newRow(at place, v value, t *schema.Table, fixed []string) Object {
	members := b.object(at, v, insertInput(t), func(name string) bool {
		return t.Insertable(name) != nil || insertableRelationship(t, name) != nil
	})
	row := Object{Path: string(at.path)}
	for _, m := range members.values {
		if c := t.Insertable(m.name); c != nil && b.given(m.value) {
			row.Columns = append(row.Columns, Assignment{c.Column, b.columnValue(at.key(m.name), m.value, c)})
		}
	}
	given := assigned(row.Columns)
	if twice := intersection(given, fixed); len(twice) > 0 {
		at.fail("cannot insert %s columns as their values are already being determined by parent insert", quoted(twice))
	}
	for _, m := range members.values {
		r := insertableRelationship(t, m.name)
		if r == nil || at.failed() || !b.given(m.value) {
			continue
		}
		b.nested(at.key(m.name), m.value, r, &row, append(given, fixed...))
	}
	row.Columns = append(row.Columns, b.presets(t, t.Insert)...)
	return row
}

// columnValue reads a value that a column is to have.
func (b *builder) columnValue(at place, v value, c *schema.Column) Value {
	return b.leaf(at, v, c.Type, wanted{name: c.Type.Name}, nulls(c.Nullable))
}

func insertableRelationship(t *schema.Table, name string) *schema.Relationship {
	r := t.AnyRelationship(name)
	if r == nil || r.Table.Insert == nil {
		return nil
	}
	return r
}

// nested reads rows that are inserted with the row: the one it refers to
// before it, those that refer to it after it.
func (b *builder) nested(at place, v value, r *schema.Relationship, row *Object, given []string) {
	suffix := "_obj_rel_insert_input"
	if r.Array {
		suffix = "_arr_rel_insert_input"
	}
	v = b.open(at, v, wanted{name: r.Table.Name + suffix})
	if r.Array && v.kind == kindNull {
		return
	}
	members := b.object(at, v, r.Table.Name+suffix, func(name string) bool {
		return name == "data" || name == conflictArgument && r.Table.MayUpsert()
	})
	if at.failed() {
		return
	}
	here, there := slices.Sorted(maps.Keys(r.On)), slices.Sorted(maps.Values(r.On))
	if r.Array {
		data, inner := members.required("data", wanted{name: insertInput(r.Table), list: true})
		if objects := b.newRows(inner, data, r.Table, there); len(objects) > 0 {
			row.After = append(row.After, NestedInsert{r.Name, pairs(r), b.newInsert(r.Table, objects, members)})
		}
		return
	}
	if twice := intersection(here, given); len(twice) > 0 {
		at.fail("cannot insert object relation ship %q as %s column values are already determined", r.Name, quoted(twice))
	}
	data, inner := members.required("data", wanted{name: insertInput(r.Table)})
	object := b.newRow(inner, data, r.Table, nil)
	row.Before = append(row.Before, NestedInsert{r.Name, pairs(r), b.newInsert(r.Table, []Object{object}, members)})
}

func assigned(list []Assignment) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Column.Name
	}
	return names
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = strconv.Quote(n)
	}
	return strings.Join(texts, ", ")
}

// conflict reads what to do with rows that are there already.
func (b *builder) conflict(args arguments, t *schema.Table) *Conflict {
	v, at, ok := args.optional(conflictArgument, wanted{name: t.Name + "_on_conflict"})
	if !ok || at.failed() {
		return nil
	}
	members := b.object(at, v, t.Name+"_on_conflict", func(name string) bool {
		return name == "constraint" || name == "update_columns" || name == "where"
	})
	conflict := &Conflict{Constraint: b.constraint(members, t), Update: b.updateColumns(members, t)}
	if len(conflict.Update) == 0 {
		return conflict
	}
	conflict.Set = b.presets(t, t.Update)
	conflict.Check = b.conflictCheck(t)
	conflict.Where = b.filter(t, t.Update)
	if v, at, ok := members.optional("where", wanted{name: boolExp(t)}); ok {
		conflict.Where = allOf(conflict.Where, b.where(at, v, t))
	}
	return conflict
}

func (b *builder) constraint(members arguments, t *schema.Table) string {
	typeName := t.Name + "_constraint"
	v, at := members.required("constraint", wanted{name: typeName})
	var name string
	if read := enumValue(at, v, typeName, t.Constraints()); read != nil {
		_ = json.Unmarshal(read, &name) // just written
	}
	return name
}

func (b *builder) updateColumns(members arguments, t *schema.Table) []string {
	typeName := t.Name + "_update_column"
	v, at := members.required("update_columns", wanted{name: typeName, list: true})
	if at.failed() {
		return nil
	}
	var names []string
	for i, item := range listed(at, v) {
		inner := at.index(i)
		item = b.open(inner, item, wanted{name: typeName, nonNull: true})
		enumValue(inner, item, typeName, fieldNames(t.UpdatableColumns()))
		if c := t.Updatable(item.text); c != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// mutationAnswer builds what is selected of a mutation's response.
func (b *builder) mutationAnswer(at place, t *schema.Table, f field) MutationAnswer {
	typeName := t.Name + "_mutation_response"
	at, selected := b.subselection(at, typeName, f)
	answer := MutationAnswer{Fields: []MutationField{}}
	for _, s := range selected {
		inner := at.key(s.name)
		b.noArguments(inner, s)
		switch {
		case s.name == typenameField:
			b.noSelection(inner, s)
			answer.Fields = append(answer.Fields, MutationField{Alias: s.alias, Typename: typeName})
		case s.name == "affected_rows":
			b.noSelection(inner, s)
			answer.Fields = append(answer.Fields, MutationField{Alias: s.alias, AffectedRows: true})
		case s.name == "returning" && t.Select != nil:
			answer.Fields = append(answer.Fields, MutationField{Alias: s.alias, Returning: b.fields(inner, t, s), IsReturning: true})
		default:
			inner.fail("field %q not found in type: '%s'", s.name, typeName)
		}
	}
	return answer
}
