package capture

import (
	"annals/domain"
	"annals/domain/metadata"
	"annals/domain/sql"
)

// operation is a change of rows that can be captured.
type operation struct {
	name sql.Name // in the names of what is installed
	// of is what an event trigger says about it, nil when it does not listen.
	of func(metadata.EventTriggerSpec) *metadata.OperationSpec
	// event is the operation in CREATE TRIGGER and in the payload.
	event sql.Node
	code  sql.Literal
	bit   int16 // in pg_trigger.tgtype
	// transition is the table of a statement's rows, nil where rows are
	// captured one by one in any case.
	transition sql.Node
	old, new   bool // which images there are
	oldRows    sql.Name
	newRows    sql.Name
}

// changed is what a capture function calls its statement's rows.
const changed sql.Name = "changed"

var operations = []operation{
	{
		name: "insert", of: func(s metadata.EventTriggerSpec) *metadata.OperationSpec { return s.Insert },
		event: sql.Raw("INSERT"), code: "INSERT", bit: 1 << 2, transition: sql.Raw("NEW TABLE"), new: true, newRows: changed,
	},
	{
		name: "update", of: func(s metadata.EventTriggerSpec) *metadata.OperationSpec { return s.Update },
		event: sql.Raw("UPDATE"), code: "UPDATE", bit: 1 << 4, old: true, new: true,
	},
	{
		name: "delete", of: func(s metadata.EventTriggerSpec) *metadata.OperationSpec { return s.Delete },
		event: sql.Raw("DELETE"), code: "DELETE", bit: 1 << 3, transition: sql.Raw("OLD TABLE"), old: true, oldRows: changed,
	},
}

// forEachRow is the bit of pg_trigger.tgtype that tells row triggers.
const forEachRow int16 = 1 << 0

// definition is one database trigger as it should be.
type definition struct {
	trigger   string // the event trigger
	operation operation
	spec      metadata.OperationSpec
	column    *string // that deliveries are ordered by
	table     relation
}

// wanted returns what an event trigger wants on a table; nothing where the
// rows of such a table cannot be observed.
func wanted(t metadata.EventTrigger, table relation) []definition {
	if !table.observable() {
		return nil
	}
	var list []definition
	for _, op := range operations {
		if spec := op.of(t.Definition); spec != nil {
			list = append(list, definition{t.Name, op, *spec, t.OrderingKey, table})
		}
	}
	return list
}

// byRow reports whether rows are captured one by one.
func (d definition) byRow() bool { return d.operation.transition == nil || !d.table.seesAllRows() }

// functionName and triggerName name what is installed. An event trigger's name
// has at most 42 characters, so that these fit.
func functionName(trigger string, op operation) string {
	return "capture_" + trigger + "_" + string(op.name)
}

func triggerName(trigger string, op operation) string {
	return "annals_" + trigger + "_" + string(op.name)
}

func (d definition) function() string { return functionName(d.trigger, d.operation) }

// shape is the trigger's form, as pg_trigger has it.
func (d definition) shape() shape {
	s := shape{table: d.table.oid, name: triggerName(d.trigger, d.operation), kind: d.operation.bit, enabled: true}
	if d.byRow() {
		s.kind |= forEachRow
		return s
	}
	s.old, s.new = string(d.operation.oldRows), string(d.operation.newRows)
	return s
}

// shape is what is compared of a trigger.
type shape struct {
	table    uint32
	name     string
	kind     int16
	old, new string // names of transition tables
	enabled  bool
}

// relation is a table as the triggers see it.
type relation struct {
	name      domain.QualifiedName
	oid       uint32
	kind      string // pg_class.relkind
	partition bool   // of a partitioned table
	parent    bool   // that other tables inherit from
}

// observable: PostgreSQL has triggers after the change of a row.
func (r relation) observable() bool { return r.kind == "r" || r.kind == "p" || r.kind == "f" }

// seesAllRows: a statement trigger has all rows of a statement, however it
// came to the table. Rows that are routed to a partition do not make its
// statement triggers fire, nor those written to a partition its parent's. A
// statement on a table that others inherit from has their rows among its own.
func (r relation) seesAllRows() bool { return r.kind == "r" && !r.partition && !r.parent }
