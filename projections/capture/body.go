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

// statementBody captures the rows of a statement's transition table, which
// never shows a name of a column for one of ours.
func (d definition) statementBody() sql.Node {
	return sql.Seq(sql.Raw(`
#variable_conflict use_variable
declare
  made_at pg_catalog.timestamptz := pg_catalog.clock_timestamp();
  ids     pg_catalog.text;
  origin  pg_catalog.json;
begin
  if annals.captures() then
    ids := annals.delivery_ids_of(made_at);
    origin := annals.capture_origin();
    `), d.capture(), sql.Raw(`;
  end if;
  return null;
end
`))
}

// capture writes a statement's rows down. Where they are not ordered, they are
// not collected first: what is many rows long would lie on the disk for it. Ids
// ascend, so deliveries of one moment are made in the order of the rows.
func (d definition) capture() sql.Node {
	if d.column == nil {
		return sql.Seq(sql.Raw("with captured as (\n      "), intoDeliveries, sql.Raw(`
      select annals.delivery_id(ids), 'event', `), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(", "), d.change(), sql.Raw(`, origin, made_at
      from `), changed, sql.Raw(` returning id
    )
    insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at, place)
    select c.id, made_at, `), d.lane(), sql.Raw(`, made_at, made_at, null from captured as c`))
	}
	return sql.Seq(sql.Raw(`with made as materialized (
      select annals.delivery_id(ids) as id, `), d.payload(), sql.Raw(" as payload, "), d.orderingKey(), sql.Raw(` as ordering_key
      from `), changed, sql.Raw(`
    ), captured as (
      `), intoDeliveries, sql.Raw(`
      select m.id, 'event', `), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(", "), d.operation.code, sql.Raw(`, m.payload, origin, made_at from made as m
    )
    insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at, ordering_key)
    select m.id, made_at, `), d.lane(), sql.Raw(`, made_at, made_at, m.ordering_key from made as m`))
}

var intoDeliveries = sql.Raw("insert into annals.deliveries (id, kind, trigger, schema_name, table_name, operation, payload, origin, due_at)")

// rowBody captures one row.
func (d definition) rowBody() sql.Node {
	return sql.Seq(sql.Raw(`
declare
  made_at pg_catalog.timestamptz;
  made    pg_catalog.uuid;
  origin  pg_catalog.json;`), d.comparisonVariables(), sql.Raw(`
begin
  if not annals.captures() then
    return null;
  end if;`), d.comparison(), sql.Raw(`
  made_at := pg_catalog.clock_timestamp();
  made := annals.delivery_id(made_at);
  origin := annals.capture_origin();
  `), intoDeliveries, sql.Raw(`
  values (made, 'event', `), sql.Literal(d.trigger), sql.Raw(", "), d.tableName(), sql.Raw(`,
    `), d.change(), sql.Raw(`, origin, made_at);
  insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at, turn_at, ordering_key, place)
  values (made, made_at, `), d.lane(), sql.Raw(", made_at, made_at, "), d.orderingKey(), sql.Raw(", "), d.place(), sql.Raw(`);
  return null;
end
`))
}

func (d definition) lane() sql.Node { return sql.Literal("event:" + d.trigger) }

// tableName is what the delivery says the table is. A row trigger of a
// partitioned table runs on the partitions, which nobody tracks.
func (d definition) tableName() sql.Node {
	if d.table.kind == "p" {
		return sql.List(sql.Literal(d.table.name.Schema), sql.Literal(d.table.name.Name))
	}
	return sql.Raw("tg_table_schema, tg_table_name")
}

// change is the operation and the payload.
func (d definition) change() sql.Node { return sql.List(d.operation.code, d.payload()) }

// payload is what is kept of a change: the image that there is, or both. Two
// are put together as text, which costs a third of what building JSON out of
// JSON does.
func (d definition) payload() sql.Node {
	switch {
	case !d.operation.old:
		return d.image("new")
	case !d.operation.new:
		return d.image("old")
	}
	return sql.Seq(
		sql.Raw("("), sql.Literal(`{"old":`), and, d.image("old"), asText, and, sql.Literal(`,"new":`), and, d.image("new"), asText,
		and, sql.Literal("}"), sql.Raw(")::pg_catalog.json"),
	)
}

var (
	and    = sql.Raw(" operator(pg_catalog.||) ") // joins two texts
	asText = sql.Raw("::pg_catalog.text")
)

// image is a row as JSON, as far as it is sent.
func (d definition) image(row sql.Name) sql.Node {
	whole := d.whole(row)
	if p := d.spec.Payload; p != nil && !p.All {
		return sql.Call("annals.capture_image", whole, names(p.Names))
	}
	return whole
}

// whole is a row as JSON. The star keeps a column of the transition table's own
// name from being taken for the row.
func (d definition) whole(row sql.Name) sql.Node {
	if d.byRow() {
		return sql.Call("pg_catalog.row_to_json", row)
	}
	return sql.Call("pg_catalog.row_to_json", sql.Seq(changed, sql.Raw(".*")))
}

// orderingKey is what tells which deliveries are made one after the other: a
// column of the row as it is now, or was in the end. There is none where the
// column is gone.
func (d definition) orderingKey() sql.Node {
	if d.column == nil {
		return sql.Raw("null")
	}
	row := sql.Name("old")
	if d.operation.new {
		row = "new"
	}
	return sql.Call("annals.capture_key", d.whole(row), sql.Literal(*d.column))
}

// place is where a delivery stands in the line of its ordering key.
func (d definition) place() sql.Node {
	if d.column == nil {
		return sql.Raw("null")
	}
	return sql.Raw("default")
}

func names(list []string) sql.Node {
	literals := make([]sql.Node, len(list))
	for i, name := range list {
		literals[i] = sql.Literal(name)
	}
	return sql.Seq(sql.Raw("array["), sql.List(literals...), sql.Raw("]::pg_catalog.text[]"))
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
  counted_old pg_catalog.record;
  counted_new pg_catalog.record;`)
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
