package capture

import (
	"annals/domain/metadata"
	"annals/domain/sql"
)

// SkipSetting, when it is "off", keeps the changes of a transaction from being
// captured. It is for SQL that reshapes tables.
const SkipSetting = "annals.capture"

// body is the source of the capture function, in PL/pgSQL.
func (d definition) body() string {
	if d.byRow() {
		return sql.Print(d.rowBody()).SQL
	}
	return sql.Print(d.statementBody()).SQL
}

// statementBody captures the rows of a statement's transition table. Their ids
// are one random one counted up, which costs a fifth of as many random ones,
// and keeps their order.
func (d definition) statementBody() sql.Node {
	return sql.Seq(preferVariables, sql.Raw(`
declare
  made_at timestamptz := clock_timestamp();
  first   text := annals.delivery_id(made_at);
  head    text := left(first, 24);
  tail    bigint := annals.capture_tail(first);
  session json;
  trace   json;
begin
  if annals.captures() then
    session := `), sessionVariables, sql.Raw(`;
    trace := `), traceContext, sql.Raw(`;`), d.statementInserts(), sql.Raw(`
  end if;
  return null;
end
`))
}

// statementInserts writes both tables. A lane without an order needs no place
// in it, and then the first insert can hand its ids to the second; with an
// order the ids are made a second time, row by row the same.
func (d definition) statementInserts() sql.Node {
	deliveries := d.insert(countedID)
	if d.column == nil {
		return sql.Seq(sql.Raw(`
    with captured as (
      `), deliveries, sql.Raw(`
      returning id
    )
    insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, place)
    select c.id, made_at, `), d.lane(), sql.Raw(`, made_at, 0 from captured as c;`))
	}
	return sql.Seq(sql.Raw(`
    `), deliveries, sql.Raw(`;
    insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, ordering_key)
    select `), countedID, sql.Raw(", made_at, "), d.lane(), sql.Raw(", made_at, "), d.orderingKey(), sql.Raw(`
    from `), changed, sql.Raw(`;`))
}

var countedID = sql.Raw(`(head || to_hex(tail + row_number() over ()))::uuid`)

// rowBody captures one row.
func (d definition) rowBody() sql.Node {
	return sql.Seq(preferVariables, sql.Raw(`
declare
  made_at timestamptz := clock_timestamp();
  made    uuid := annals.delivery_id(made_at);
  session json;
  trace   json;`), d.comparisonVariables(), sql.Raw(`
begin
  if not annals.captures() then
    return null;
  end if;`), d.comparison(), sql.Raw(`
  session := `), sessionVariables, sql.Raw(`;
  trace := `), traceContext, sql.Raw(`;
  `), d.insert(sql.Raw("made")), sql.Raw(`;
  insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, ordering_key)
  values (made, made_at, `), d.lane(), sql.Raw(", made_at, "), d.orderingKey(), sql.Raw(`);
  return null;
end
`))
}

// The user's columns are in scope beside the names of the functions' own. A
// variable goes before a column; a row, which would go after it, has a name
// that nobody gives a column.
var preferVariables = sql.Raw(`
#variable_conflict use_variable`)

const (
	changed sql.Name = "annals: changed"
	data    sql.Name = "annals: data"
	payload sql.Name = "annals: payload"
)

// What a mutation sets for its transaction. The aliases are those that scripts
// written for v1.3 set.
var (
	sessionVariables = sql.Raw(`annals.capture_setting('annals.session', 'hasura.user')`)
	traceContext     = sql.Raw(`annals.capture_setting('annals.trace', 'hasura.tracecontext')`)
)

func (d definition) lane() sql.Node { return sql.Literal("event:" + d.trigger) }

// tableName is what the delivery says the table is. A row trigger of a
// partitioned table runs on the partitions, which nobody tracks.
func (d definition) tableName() sql.Node {
	if d.table.kind == "p" {
		return sql.List(sql.Literal(d.table.name.Schema), sql.Literal(d.table.name.Name))
	}
	return sql.Raw("tg_table_schema, tg_table_name")
}

// insert writes deliveries with an id for each row. What is sent is put
// together as rows: they become JSON with the names of their columns faster than
// pairs of names and values do.
func (d definition) insert(id sql.Node) sql.Node {
	var rows sql.Node
	if !d.byRow() {
		rows = sql.Seq(sql.Raw(" from "), changed)
	}
	return sql.Seq(
		sql.Raw(`insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
      select `), id, sql.Raw(", 'event', "), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(", row_to_json("), payload, sql.Raw(`), made_at
      from (
        select `), d.operation.code, sql.Raw(" as op, "), data, sql.Raw(` as data, session as session_variables, trace as trace_context
        from (select `), d.image(d.operation.old, "old"), sql.Raw(" as old, "), d.image(d.operation.new, "new"), sql.Raw(" as new"), rows, sql.Raw(") as "), data, sql.Raw(`
      ) as `), payload,
	)
}

// image is what is sent of a row: the row itself, or some members of its JSON.
func (d definition) image(there bool, row sql.Name) sql.Node {
	if !there {
		return sql.Raw("null")
	}
	if !d.byRow() {
		row = changed
	}
	if p := d.spec.Payload; p != nil && !p.All {
		return sql.Call("annals.capture_image", sql.Call("row_to_json", row), names(p.Names))
	}
	return row
}

// orderingKey is what tells which deliveries are made one after the other: a
// column of the row as it is now, or was in the end. There is none where the
// column is gone.
func (d definition) orderingKey() sql.Node {
	if d.column == nil {
		return sql.Raw("null")
	}
	row := changed
	switch {
	case d.byRow() && d.operation.new:
		row = "new"
	case d.byRow():
		row = "old"
	}
	return sql.Seq(sql.Call("row_to_json", row), sql.Raw(" operator(pg_catalog.->>) "), sql.Literal(*d.column))
}

func names(list []string) sql.Node {
	literals := make([]sql.Node, len(list))
	for i, name := range list {
		literals[i] = sql.Literal(name)
	}
	return sql.Seq(sql.Raw("array["), sql.List(literals...), sql.Raw("]::text[]"))
}

// comparison leaves the function when an update changed nothing that counts.
//
// Rows are compared as records: two nulls are equal, and each type's own
// equality counts. A type that has none is compared by its bytes. That is
// found out as it runs, since a column may get another type at any time; so is
// a column that is not there any more, whereupon every change counts.
func (d definition) comparison() sql.Node {
	if d.operation.name != "update" {
		return nil
	}
	const before, after = sql.Name("old"), sql.Name("new")
	if d.spec.Columns.All {
		return sql.Seq(unless(before, after), sql.Raw(`
  begin`), equal(before, after), sql.Raw(`
  exception when undefined_function then
    null;
  end;`))
	}
	return sql.Seq(unless(before, after), sql.Raw(`
  begin
    counted_old := `), fields("old", d.spec.Columns), sql.Raw(`;
    counted_new := `), fields("new", d.spec.Columns), sql.Raw(`;`), unless("counted_old", "counted_new"), equal("counted_old", "counted_new"), sql.Raw(`
  exception when undefined_function or undefined_column then
    null;
  end;`))
}

func (d definition) comparisonVariables() sql.Node {
	if d.operation.name != "update" || d.spec.Columns.All {
		return nil
	}
	return sql.Raw(`
  counted_old record;
  counted_new record;`)
}

// unless leaves when two rows are the same byte by byte.
func unless(before, after sql.Name) sql.Node {
	return sql.Seq(sql.Raw(`
  if `), before, sql.Raw(" operator(pg_catalog.*=) "), after, sql.Raw(` then
    return null;
  end if;`))
}

// equal leaves when two rows are equal.
func equal(before, after sql.Name) sql.Node {
	return sql.Seq(sql.Raw(`
    if `), before, sql.Raw(" operator(pg_catalog.=) "), after, sql.Raw(` then
      return null;
    end if;`))
}

func fields(row sql.Name, columns metadata.EventColumns) sql.Node {
	list := make([]sql.Node, len(columns.Names))
	for i, name := range columns.Names {
		list[i] = sql.Column(row, name)
	}
	return sql.Call("row", list...)
}
