// Package metadata decides what happens to the catalog: the tables that are
// tracked, their relationships and permissions, triggers, remote schemas,
// actions, collections.
//
// A file is a subject. It holds the subject's definition, its commands, what
// they decide, and what the subject needs in order to stand. Around the
// subjects lie four ideas:
//
//   - A [Catalog] holds the definitions of all objects, each under its [Key].
//     It is immutable, and shares all but the changed part with the one before.
//   - A [Command] is one call of the metadata API, decoded and checked on its
//     own. [Decide] turns it into [Change]s, or refuses it.
//   - A [Change] is a fact: an object's definition before and after. [Fold]
//     makes a catalog of them, and needs nothing else.
//   - A [World] is a catalog with the shape of the user's database beside it
//     and the [Standing] of every object: what it needs, and why it cannot
//     stand where it cannot.
//
// Always true: the catalog folded from the log's changes, from zero, equals
// the catalog that commands were decided on, to the byte.
//
// Package metadata does no IO; the database's shape and the names of the
// environment's variables are handed to it.
package metadata
