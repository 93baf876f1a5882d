// Package capture keeps the database triggers that turn changes of rows into
// deliveries.
//
// They are a projection of the catalog into the user's database. An event
// trigger NAME wants, for each operation that it listens to, a function and a
// trigger on its table:
//
//	annals."capture_NAME_insert"()    what is written: one row in annals.deliveries, one in annals.delivery_queue
//	"annals_NAME_insert"              when: after the statement, or after each row
//
// Inserts and deletes are captured by the statement, from its transition
// table, which costs half as much for many rows. Updates are captured by the
// row, because old and new have to be held against each other; so is
// everything on partitioned tables, their partitions, tables that others inherit
// from, and foreign tables, where statements see other rows than the table's, or
// PostgreSQL has no transition tables.
//
// What always holds:
//
//   - What is wanted is a function of the catalog and of what its tables are.
//     [Reconcile] makes it so for some event triggers, [ReconcileAll] for all,
//     in the caller's transaction; [Compare] says what is not so.
//   - What is installed as wanted is not touched: no lock is taken on its table.
//   - The functions belong to the schema's owner and run as that role: who may
//     change a row is captured, whatever their rights on our schema. They run on
//     the writer's search_path, since setting one costs more than the rest of a
//     small capture; so each name in them is qualified, and finds no other.
//   - A change of a row never fails because a column that the event trigger names
//     was renamed, dropped or given another type behind the service's back, nor
//     because of what its JSON holds.
//   - A trigger that is removed archives its events: what it still had to send is
//     cancelled, with a reason in the deliveries' history.
package capture
