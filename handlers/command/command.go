// Package command carries out calls of the metadata API.
//
// A call is one transaction on the database: the head of the history is
// locked, what the call names of the user's database is read, the domain
// decides, what must happen in the database happens, one event is appended
// for each operation, and the persisted catalog is brought up to date. Then
// the transaction is committed, and only then does this node's catalog change.
// An operation either took effect everywhere and is in the log, or did neither.
//
// A plan is the same, with a rollback instead of the commit.
package command

import (
	"encoding/json"

	"annals/domain"
	"annals/domain/metadata"
)

// Request is a call of the metadata API, and who makes it.
type Request struct {
	metadata.Request
	Session domain.Session
	// BackendOnly lets the role use permissions that are kept for backends.
	BackendOnly bool
	Actor       domain.Actor
	// Trace is what the call is a part of. Changes of rows carry it.
	Trace domain.Trace
}

// Result is the answer to a call.
type Result struct {
	// Body is the JSON that the caller gets.
	Body json.RawMessage
	// Position is the history's head after the call: the catalog's version.
	Position int64
}
