package plan

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// argsPath is where the arguments of an operation of the metadata API lie.
const argsPath wire.Path = "$.args"

// OfRows makes the plan of a command of the metadata API about rows, for a
// role. It has one root field, whose answer is the command's; a count's is
// {"aggregate": {"count": n}}. Of the limits MaxNodes holds: how many columns
// may be selected, of related rows too.
func OfRows(r *schema.Role, cmd metadata.RowCommand, l Limits) (*Operation, error) {
	b := rowBuilder{&builder{
		role: r.WithAllNames(), limits: l.withDefaults(), root: place{argsPath, new(*domain.Error)},
		session: map[string]bool{}, rules: map[*schema.Permission]ruled{},
	}, new(int)}
	op := &Operation{Kind: Mutation, Name: cmd.Operation()}
	if cmd.OnlyReads() {
		op.Kind = Query
	}
	step := b.step(cmd)
	if b.root.failed() {
		return nil, *b.root.fault
	}
	op.Fields = []Root{{Alias: cmd.Operation(), Field: cmd.Operation(), Step: step}}
	op.Session = sortedKeys(b.session)
	return op, nil
}

// rowBuilder makes the plans of commands about rows. Columns go by their names
// in the database, not by those in GraphQL.
type rowBuilder struct {
	*builder
	selected *int // columns so far
}

func (b rowBuilder) step(cmd metadata.RowCommand) Step {
	switch cmd := cmd.(type) {
	case metadata.Select:
		if t := b.table(cmd.Table, "select", maySelect, ""); t != nil {
			return b.selectRows(b.root, t, cmd.RowSelection)
		}
	case metadata.Count:
		const only = `; "count" is only allowed if the role has "select" permissions on the table`
		if t := b.table(cmd.Table, "select", maySelect, only); t != nil {
			return b.countRows(t, cmd)
		}
	case metadata.Insert:
		if t := b.table(cmd.Table, "insert", func(t *schema.Table) *schema.Permission { return t.Insert }, ""); t != nil {
			return b.insertRows(t, cmd)
		}
	case metadata.Update:
		if t := b.table(cmd.Table, "update", func(t *schema.Table) *schema.Permission { return t.Update }, ""); t != nil {
			return b.updateRows(t, cmd)
		}
	case metadata.Delete:
		if t := b.table(cmd.Table, "delete", func(t *schema.Table) *schema.Permission { return t.Delete }, ""); t != nil {
			return b.deleteRows(t, cmd)
		}
	}
	return nil
}

func maySelect(t *schema.Table) *schema.Permission { return t.Select }

// table finds a table that the role has a permission for; nil when it has not.
func (b rowBuilder) table(name domain.QualifiedName, action string, permission func(*schema.Table) *schema.Permission, addition string) *schema.Table {
	t := b.role.Table(name)
	if t == nil {
		b.root.key("table").failCode(domain.NotExists, "table %q does not exist", name)
		return nil
	}
	if permission(t) == nil {
		b.deny(t, action, addition)
		return nil
	}
	return t
}

func (b rowBuilder) deny(t *schema.Table, action, addition string) {
	b.root.failCode(domain.PermissionDenied, "%s on %q for role %q is not allowed. %s", action, t.Table.Name, b.role.Name, addition)
}

// columnOf returns a column by its name, as one of the role's lookups by field has it.
func columnOf(t *schema.Table, name string, lookup func(field string) *schema.Column) *schema.Column {
	if c := lookup(t.Table.FieldOf(name)); c != nil && c.Name == name {
		return c
	}
	return nil
}

// missing says why a role does not have a column.
func (b rowBuilder) missing(name, action string) string {
	if b.role.Name == domain.AdminRole {
		return "no such column exists : " + strconv.Quote(name)
	}
	return "role " + strconv.Quote(b.role.Name) + " does not have permission to " + action + " column " + strconv.Quote(name)
}

func (b rowBuilder) readable(at place, t *schema.Table, name string) *schema.Column {
	c := columnOf(t, name, t.Readable)
	if c == nil {
		at.failCode(domain.PermissionDenied, "%s", b.missing(name, "select"))
	}
	return c
}

func (b rowBuilder) selectRows(at place, t *schema.Table, s metadata.RowSelection) *Rows {
	return &Rows{
		Source:    Source{Table: t.Shape},
		Where:     allOf(b.filter(t, t.Select), b.where(at, t, s.Where)),
		Order:     b.orders(at.key("order_by"), t, s.OrderBy),
		Limit:     boundOf(at.key("limit"), s.Limit),
		Offset:    boundOf(at.key("offset"), s.Offset),
		MaxRows:   t.Select.Limit,
		Selection: b.columns(at.key("columns"), t, s.Columns),
	}
}

func boundOf(at place, n *int) *Value {
	if n == nil {
		return nil
	}
	if *n < 0 {
		at.failCode(domain.NotSupported, "unexpected negative value")
	}
	return &Value{Literal: strconv.AppendInt(nil, int64(*n), 10)}
}

// columns is what is selected of a row. Of two under one key, the first stays.
func (b rowBuilder) columns(at place, t *schema.Table, list []metadata.RowColumn) []Field {
	var fields []Field
	for i, item := range list {
		if at.failed() {
			return nil
		}
		selected := b.column(at.index(i), t, item)
		if *b.selected += len(selected); *b.selected > b.limits.MaxNodes {
			at.fail("the command selects more than %d columns: ask for them in parts, or raise --max-query-nodes", b.limits.MaxNodes)
		}
		for _, f := range selected {
			if !slices.ContainsFunc(fields, func(other Field) bool { return other.Alias == f.Alias }) {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

func (b rowBuilder) column(at place, t *schema.Table, item metadata.RowColumn) []Field {
	switch {
	case item.Rows != nil:
		return b.related(at, t, item)
	case item.Name == "*":
		return allColumns(t)
	case item.Name == "*.*":
		return b.everything(at, t)
	}
	if c := b.readable(at, t, item.Name); c != nil {
		return []Field{columnField(c)}
	}
	return nil
}

func columnField(c *schema.Column) Field {
	return Field{Alias: c.Name, Column: &Column{Column: c.Column}}
}

func allColumns(t *schema.Table) []Field {
	var fields []Field
	for _, c := range t.ReadableColumns() {
		fields = append(fields, columnField(c))
	}
	return fields
}

func (b rowBuilder) everything(at place, t *schema.Table) []Field {
	fields := allColumns(t)
	for r := range t.Relationships() {
		all := metadata.RowColumn{Name: r.Name, Rows: &metadata.RowSelection{Columns: []metadata.RowColumn{{Name: "*"}}}}
		fields = append(fields, b.related(at, t, all)...)
	}
	return fields
}

func (b rowBuilder) related(at place, t *schema.Table, item metadata.RowColumn) []Field {
	r := t.Relationship(item.Name)
	if r == nil {
		b.readable(at, t, item.Name)
		at.failCode(domain.UnexpectedPayload, "%q is a column, not a relationship: it has no columns", item.Name)
		return nil
	}
	rows := b.selectRows(at, r.Table, *item.Rows)
	if rows.Single = !r.Array; rows.Single {
		if item.Rows.Where != nil || item.Rows.OrderBy != nil || rows.Limit != nil || rows.Offset != nil {
			at.failCode(domain.UnexpectedPayload, "%q is an object relationship: where, order_by, limit and offset do not apply to it", item.Name)
		}
		rows.MaxRows = nil
	}
	alias := item.Name
	if item.Alias != "" {
		alias = item.Alias
	}
	return []Field{{Alias: alias, Rows: &Related{On: pairs(r), Rows: rows}}}
}

func (b rowBuilder) orders(at place, t *schema.Table, list []metadata.RowOrder) []Order {
	var orders []Order
	for _, item := range list {
		order := Order{Descending: item.Descending, NullsFirst: item.NullsFirst}
		last, around := len(item.Path)-1, t
		for _, name := range item.Path[:last] {
			r := around.Relationship(name)
			if r == nil || r.Array {
				at.failCode(domain.PermissionDenied, "%q is not an object relationship of table %q", name, around.Table.Name)
				return nil
			}
			order.Via, around = b.hop(order.Via, r), r.Table
		}
		if c := b.readable(at, around, item.Path[last]); c != nil {
			order.Column = c.Name
			orders = append(orders, order)
		}
	}
	return orders
}

func (b rowBuilder) countRows(t *schema.Table, cmd metadata.Count) *Aggregate {
	count := AggregateValue{Alias: schema.Count, Function: schema.Count}
	for i, name := range cmd.Distinct {
		if c := b.readable(b.root.key("distinct").index(i), t, name); c != nil {
			count.Columns = append(count.Columns, c.Name)
		}
	}
	if len(count.Columns) > 0 {
		count.Distinct = &Value{Literal: json.RawMessage("true")}
	}
	return &Aggregate{
		Rows:   Rows{Source: Source{Table: t.Shape}, Where: allOf(b.filter(t, t.Select), b.where(b.root, t, cmd.Where))},
		Fields: []AggregateField{{Alias: "aggregate", Values: []AggregateValue{count}}},
	}
}

func (b rowBuilder) insertRows(t *schema.Table, cmd metadata.Insert) *Insert {
	insert := &Insert{Table: t.Shape, Check: b.check(t, t.Insert), Answer: b.answer(t, cmd.Returning)}
	if len(cmd.Objects) == 0 {
		b.root.failCode(domain.UnexpectedPayload, "objects should not be empty")
	}
	for i, object := range cmd.Objects {
		at := b.root.key("objects").index(i)
		values := b.assignments(at, t, object, "insert", t.Insertable, t.Insert)
		insert.Objects = append(insert.Objects, Object{Columns: append(values, b.presets(t, t.Insert)...), Path: string(argsPath)})
	}
	if cmd.Conflict != nil {
		insert.Conflict = b.onConflict(t, cmd)
	}
	return insert
}

// assignments reads the values that a role gives to columns.
func (b rowBuilder) assignments(
	at place, t *schema.Table, object metadata.RowObject, action string, lookup func(string) *schema.Column, p *schema.Permission,
) []Assignment {
	var list []Assignment
	for _, v := range object {
		if c := b.writable(at, t, v.Column, action, lookup, p); c != nil {
			list = append(list, Assignment{c.Column, b.literal(at.key(v.Column), c, v.Value)})
		}
	}
	return list
}

func (b rowBuilder) writable(
	at place, t *schema.Table, name, action string, lookup func(string) *schema.Column, p *schema.Permission,
) *schema.Column {
	if _, preset := p.Presets[name]; preset {
		words := map[string]string{"insert": "insertable", "update": "updatable"}
		at.failCode(domain.NotSupported, "column %q is not %s for role %q; its value is predefined in permission", name, words[action], b.role.Name)
		return nil
	}
	c := columnOf(t, name, lookup)
	if c == nil {
		at.failCode(domain.PermissionDenied, "%s", b.missing(name, action))
	}
	return c
}

// literal is a value as it is written, also where it looks like the name of a
// session variable. The scale of a numeric is seen in its text: it is that of v1.3.
func (b rowBuilder) literal(at place, c *schema.Column, raw json.RawMessage) Value {
	b.walk(at, raw, func(n wire.Node) {
		metadata.CheckValue(n, c.Column)
		if n.Kind() == wire.Number && c.Column.Type == "numeric" {
			raw = json.RawMessage(wire.Packed(n.Number().String()))
		}
	})
	return Value{Literal: arrayText(c.Column, raw)}
}

// walk reads a part of the command that lies at a place.
func (b rowBuilder) walk(at place, raw json.RawMessage, read func(wire.Node)) {
	v, err := wire.Parse(raw)
	if err == nil {
		_, err = wire.DecodeAt(at.path, v, func(n wire.Node) struct{} { read(n); return struct{}{} })
	}
	var fault *domain.Error
	if errors.As(err, &fault) && !at.failed() {
		*at.fault = fault
	}
}

func (b rowBuilder) onConflict(t *schema.Table, cmd metadata.Insert) *Conflict {
	at := b.root.key("on_conflict")
	conflict := &Conflict{Constraint: b.constraintOf(at, t, *cmd.Conflict)}
	if !cmd.Conflict.Update {
		return conflict
	}
	if conflict.Constraint == "" {
		at.failCode(domain.UnexpectedPayload, `expecting "constraint" or "constraint_on" when the "action" is "update"`)
		return nil
	}
	if t.Update == nil {
		b.deny(t, "update", "")
		return nil
	}
	for _, object := range cmd.Objects {
		for _, v := range object {
			if columnOf(t, v.Column, t.Updatable) != nil && !slices.Contains(conflict.Update, v.Column) {
				conflict.Update = append(conflict.Update, v.Column)
			}
		}
	}
	conflict.Set = b.presets(t, t.Update)
	conflict.Where = b.filter(t, t.Update)
	conflict.Check = b.conflictCheck(t)
	return conflict
}

// constraintOf finds the constraint that a conflict is about, by its name or
// by its columns; empty when none is told.
func (b rowBuilder) constraintOf(at place, t *schema.Table, conflict metadata.RowConflict) string {
	keys := slices.Clone(t.Shape.UniqueKeys)
	if t.Shape.PrimaryKey != nil {
		keys = append(keys, *t.Shape.PrimaryKey)
	}
	if name := conflict.Constraint; name != "" {
		if !slices.ContainsFunc(keys, func(k database.Constraint) bool { return k.Name == name }) {
			at.key("constraint").failCode(domain.UnexpectedPayload, "constraint %q for table %q does not exist", name, t.Table.Name)
		}
		return name
	}
	if len(conflict.Columns) == 0 {
		return ""
	}
	for i, name := range conflict.Columns {
		if t.Shape.Column(name) == nil {
			at.key("constraint_on").index(i).failCode(domain.NotExists, "column %q does not exist", name)
		}
	}
	wanted := slices.Sorted(slices.Values(conflict.Columns))
	for _, key := range keys {
		if slices.Equal(slices.Sorted(slices.Values(key.Columns)), wanted) {
			return key.Name
		}
	}
	at.key("constraint_on").failCode(domain.UnexpectedPayload, "there is no unique constraint on these columns")
	return ""
}

func (b rowBuilder) updateRows(t *schema.Table, cmd metadata.Update) *Update {
	update := &Update{
		Table:  t.Shape,
		Where:  allOf(b.filter(t, t.Update), b.where(b.root, t, cmd.Where)),
		Check:  b.check(t, t.Update),
		Answer: b.answer(t, cmd.Returning),
	}
	for _, change := range cmd.Changes {
		update.Set = append(update.Set, b.changes(t, change)...)
	}
	for i, u := range update.Set {
		if slices.ContainsFunc(update.Set[:i], func(other UpdateColumn) bool { return other.Column == u.Column }) {
			b.root.failCode(domain.UnexpectedPayload, "column %q is changed twice", u.Column.Name)
		}
	}
	for _, p := range b.presets(t, t.Update) {
		update.Set = append(update.Set, UpdateColumn{p.Column, "set", p.Value})
	}
	if len(update.Set) == 0 {
		b.root.failCode(domain.UnexpectedPayload, "atleast one of $set, $inc, $mul has to be present")
	}
	return update
}

func (b rowBuilder) changes(t *schema.Table, change metadata.RowChange) []UpdateColumn {
	at := b.root.key(change.Member)
	var list []UpdateColumn
	for _, v := range change.Values {
		c := b.writable(at, t, v.Column, "update", t.Updatable, t.Update)
		if c == nil {
			return nil
		}
		u := UpdateColumn{Column: c.Column, Operator: change.Operator}
		if change.Operator != "default" {
			u.Value = b.literal(at.key(v.Column), c, v.Value)
		}
		list = append(list, u)
	}
	return list
}

func (b rowBuilder) deleteRows(t *schema.Table, cmd metadata.Delete) *Delete {
	return &Delete{
		Table:  t.Shape,
		Where:  allOf(b.filter(t, t.Delete), b.where(b.root, t, cmd.Where)),
		Answer: b.answer(t, cmd.Returning),
	}
}

// answer is what a change answers: how many rows, and the rows where asked for.
func (b rowBuilder) answer(t *schema.Table, returning []metadata.RowColumn) MutationAnswer {
	answer := MutationAnswer{Fields: []MutationField{{Alias: "affected_rows", AffectedRows: true}}}
	if returning == nil {
		return answer
	}
	if t.Select == nil {
		b.deny(t, "select", `; "returning" can only be used if the role has "select" permissions on the table`)
		return answer
	}
	fields := b.columns(b.root.key("returning"), t, returning)
	answer.Fields = append(answer.Fields, MutationField{Alias: "returning", Returning: fields, IsReturning: true})
	return answer
}

// where reads a condition of the command. Of columns and relationships it has
// those that the role may see, and of related tables their visible rows.
func (b rowBuilder) where(at place, t *schema.Table, raw json.RawMessage) (where Condition) {
	if raw == nil || at.failed() {
		return nil
	}
	if t.Select == nil {
		b.deny(t, "select", `; "where" can only be used if the role has "select" permissions on the table`)
		return Never{}
	}
	b.walk(at.key("where"), raw, func(n wire.Node) { where = b.condition(n, t) })
	return where
}

func (b rowBuilder) condition(n wire.Node, t *schema.Table) Condition {
	var all []Condition
	for name, member := range n.Members() {
		if n.Failed() {
			break
		}
		all = append(all, b.conditionMember(name, member, t))
	}
	return allOf(all...)
}

// memberExists is about rows of any table: operations of GraphQL have no such member.
const memberExists = "_exists"

// exists is about any rows of another table that the role may see.
func (b rowBuilder) exists(n wire.Node) Condition {
	name, where := metadata.ExistsMembers(n)
	if n.Failed() {
		return Never{}
	}
	t := b.role.Table(name)
	switch {
	case t == nil:
		n.FailCode(domain.NotExists, "table %q does not exist", name)
		return Never{}
	case t.Select == nil:
		n.FailCode(domain.PermissionDenied, "select on %q for role %q is not allowed. ", name, b.role.Name)
		return Never{}
	}
	return Exists{Table: t.Shape, Where: allOf(b.filter(t, t.Select), b.condition(where, t))}
}

func (b rowBuilder) conditionMember(name string, n wire.Node, t *schema.Table) Condition {
	items := func() []Condition {
		return wire.List(n, func(item wire.Node) Condition { return b.condition(item, t) })
	}
	switch strings.Replace(name, "$", "_", 1) {
	case memberAnd:
		return allOf(items()...)
	case memberOr:
		return anyOf(items()...)
	case memberNot:
		return not(b.condition(n, t))
	case memberExists:
		return b.exists(n)
	}
	if c := columnOf(t, name, t.Readable); c != nil {
		for _, other := range metadata.ComparedColumns(n) {
			if columnOf(t, other, t.Readable) == nil {
				n.FailCode(domain.PermissionDenied, "%s", b.missing(other, "select"))
			}
		}
		return metadata.VisitOperators[Condition](b.role.World(), n, t.Shape, c.Column, visitor{b.builder})
	}
	r := t.Relationship(name)
	if r == nil {
		n.FailCode(domain.PermissionDenied, "%s", b.missing(name, "select"))
		return Never{}
	}
	inner := b.condition(n, r.Table)
	return Exists{Table: r.Table.Shape, On: pairs(r), Where: allOf(b.filter(r.Table, r.Table.Select), inner)}
}
