// Package dump tells the user's database as SQL text, by PostgreSQL's own
// pg_dump.
//
// Options come from clients, and so only those are passed on that choose what
// the text holds and how it is written: none names another database, a file, or
// a form that is no text. The password goes by the environment, where no list
// of processes shows it.
package dump
