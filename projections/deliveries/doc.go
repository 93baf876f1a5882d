// Package deliveries keeps the book of webhook deliveries: what was planned or
// asked for, what became of it, and what is still to be tried.
//
// The tables are those of migrations/0003_deliveries.sql. A delivery is one
// immutable row; its history is the rows of the log, which only grow; a row in
// the queue says that it will be tried. The state of a delivery is read from
// these, never written:
//
//	queued, not leased        pending, or waiting for a retry
//	queued, leased            a worker is at it
//	else the last decision    delivered, failed, dropped, cancelled
//
// A redelivery starts a new round: an entry in the log, and a row in the queue
// again. Nothing of earlier rounds is erased.
//
// What is planned but untouched - a fire of a cron trigger that is not due yet
// and that nobody has tried - may be withdrawn, and then was never there.
//
// [Book] is what commands ask for, in their own transactions; the functions that
// list and tell are for those who look. Claiming and sending is the workers'.
package deliveries
