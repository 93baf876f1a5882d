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

// statementBody captures the rows of a statement's transition table.
func (d definition) statementBody() sql.Node {
	return sql.Seq(sql.Raw(`
declare
  session json;
  trace   json;
begin
  if annals.captures() then
    session := `), sessionVariables, sql.Raw(`;
    trace := `), traceContext, sql.Raw(`;
    with made as materialized (
      select annals.delivery_id(clock_timestamp()) as id, clock_timestamp() as at, `), d.payload(), sql.Raw(" as payload, "), d.orderingKey(), sql.Raw(` as ordering_key
      from `), changed, sql.Raw(`
    ), captured as (
      insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
      select m.id, 'event', `), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(`, m.payload, m.at from made as m
    )
    insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, ordering_key)
    select m.id, m.at, `), d.lane(), sql.Raw(`, m.at, m.ordering_key from made as m;
  end if;
  return null;
end
`))
}

// rowBody captures one row.
func (d definition) rowBody() sql.Node {
	return sql.Seq(sql.Raw(`
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
  insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
  values (made, 'event', `), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(`,
    `), d.payload(), sql.Raw(`, made_at);
  insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, ordering_key)
  values (made, made_at, `), d.lane(), sql.Raw(", made_at, "), d.orderingKey(), sql.Raw(`);
  return null;
end
`))
}

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

func (d definition) payload() sql.Node {
	return sql.Seq(
		sql.Raw("json_build_object('op', "), d.operation.code,
		sql.Raw(", 'data', json_build_object('old', "), d.image(d.operation.old, "old"),
		sql.Raw(", 'new', "), d.image(d.operation.new, "new"),
		sql.Raw("), 'session_variables', session, 'trace_context', trace)"),
	)
}

// image is a row as JSON, as far as it is sent.
func (d definition) image(there bool, row sql.Name) sql.Node {
	if !there {
		return sql.Raw("null")
	}
	if !d.byRow() {
		row = changed
	}
	whole := sql.Call("row_to_json", row)
	if p := d.spec.Payload; p != nil && !p.All {
		return sql.Call("annals.capture_image", whole, names(p.Names))
	}
	return whole
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
