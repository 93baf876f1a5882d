// Package catalog keeps the catalog that the history adds up to, in two
// places: in memory on every node ([Live]), and in the table annals.catalog.
//
// Both are folded from the same changes. The table is written in the
// transaction that appends the event, so it stands at the head of the history
// at any moment, and a start reads it instead of the log. Either can be thrown
// away and built again: [Rebuild] folds the log from zero, and compares.
//
// How the catalog looked at an earlier position is answered by [At], from the
// last snapshot before it and the events since.
package catalog
