package plan

import (
	"fmt"
	"slices"
	"strings"

	"annals/domain/engine/schema"
)

func argumentsOf(list []schema.Change) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Argument
	}
	return names
}

// update builds a change of all rows that a filter is for.
func (b *builder) update(at place, t *schema.Table, f field) *Update {
	offered := t.Changes()
	args := b.arguments(at, f, append(argumentsOf(offered), "where")...)
	v, inner := args.required("where", wanted{name: boolExp(t)})
	update := b.newUpdate(args, t, offered, b.where(inner, v, t))
	update.Answer = b.mutationAnswer(at, t, f)
	return update
}

// updateByKey builds a change of one row, which is its answer.
func (b *builder) updateByKey(at place, t *schema.Table, f field) *Update {
	offered := t.Changes()
	args := b.arguments(at, f, append(argumentsOf(offered), "pk_columns")...)
	typeName := t.Name + "_pk_columns_input"
	v, inner := args.required("pk_columns", wanted{name: typeName})
	key := b.object(inner, v, typeName, func(name string) bool { return columnNamed(t.PrimaryKey(), name) != nil })
	update := b.newUpdate(args, t, offered, b.key(key, t))
	update.ByKey = true
	update.Answer.Row = b.fields(at, t, f)
	return update
}

func (b *builder) newUpdate(args arguments, t *schema.Table, offered []schema.Change, where Condition) *Update {
	update := &Update{
		Table: t.Shape,
		Where: allOf(b.filter(t, t.Update), where),
		Set:   b.changed(args, t, offered),
		Check: b.check(t, t.Update),
	}
	for _, p := range b.presets(t, t.Update) {
		update.Set = append(update.Set, UpdateColumn{p.Column, "set", p.Value})
	}
	return update
}

// changed reads the columns to change. A column may be changed in one way only.
func (b *builder) changed(args arguments, t *schema.Table, offered []schema.Change) []UpdateColumn {
	var set []UpdateColumn
	given := false
	ways := map[string][]string{}
	for _, c := range offered {
		v, at, ok := args.optional(c.Argument, wanted{name: t.Name + c.Input})
		if !ok {
			continue
		}
		given = true
		for _, u := range b.changedBy(at, v, t, c) {
			set = append(set, u)
			field := t.Table.FieldOf(u.Column.Name)
			ways[field] = append(ways[field], c.Argument)
		}
	}
	if !given && len(t.Update.Presets) == 0 {
		args.at.fail("at least any one of %s is expected", strings.Join(argumentsOf(offered), ", "))
	}
	if twice := manyWays(ways); len(twice) > 0 {
		args.at.fail("column found in multiple operators; %s", strings.Join(twice, ". "))
	}
	return set
}

func (b *builder) changedBy(at place, v value, t *schema.Table, c schema.Change) []UpdateColumn {
	column := func(name string) *schema.Column {
		if found := t.Updatable(name); found != nil && c.CanChange(found) {
			return found
		}
		return nil
	}
	members := b.object(at, v, t.Name+c.Input, func(name string) bool { return column(name) != nil })
	var set []UpdateColumn
	for _, m := range members.values {
		if at.failed() {
			return nil
		}
		if b.given(m.value) {
			found := column(m.name)
			set = append(set, UpdateColumn{found.Column, c.Operator, b.changeValue(at.key(m.name), m.value, found, c)})
		}
	}
	return set
}

func (b *builder) changeValue(at place, v value, column *schema.Column, c schema.Change) Value {
	switch {
	case c.List:
		return b.leaves(at, v, *c.As)
	case c.As != nil:
		return b.leaf(at, v, *c.As, wanted{name: c.As.Name}, nullRefused)
	}
	return b.columnValue(at, v, column)
}

func manyWays(ways map[string][]string) []string {
	var texts []string
	for column, arguments := range ways {
		if len(arguments) > 1 {
			texts = append(texts, fmt.Sprintf("%q in %s", column, strings.Join(arguments, ", ")))
		}
	}
	slices.Sort(texts)
	return texts
}

// delete builds a removal of all rows that a filter is for.
func (b *builder) delete(at place, t *schema.Table, f field) *Delete {
	v, inner := b.arguments(at, f, "where").required("where", wanted{name: boolExp(t)})
	return &Delete{
		Table:  t.Shape,
		Where:  allOf(b.filter(t, t.Delete), b.where(inner, v, t)),
		Answer: b.mutationAnswer(at, t, f),
	}
}

// deleteByKey builds a removal of one row, which is its answer.
func (b *builder) deleteByKey(at place, t *schema.Table, f field) *Delete {
	return &Delete{
		Table:  t.Shape,
		Where:  allOf(b.filter(t, t.Delete), b.keyArguments(at, t, f)),
		ByKey:  true,
		Answer: MutationAnswer{Row: b.fields(at, t, f)},
	}
}
