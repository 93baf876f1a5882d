package domain

import (
	"encoding/json"
	"fmt"
)

// Code says which kind of refusal an [Error] is. The list is closed; clients
// of the admin API match on these words.
type Code string

// The codes, in the words of the v1.3 admin API.
const (
	InvalidJSON         Code = "invalid-json"
	ParseFailed         Code = "parse-failed"
	AccessDenied        Code = "access-denied"
	NotExists           Code = "not-exists"
	AlreadyExists       Code = "already-exists"
	AlreadyTracked      Code = "already-tracked"
	AlreadyUntracked    Code = "already-untracked"
	DependencyError     Code = "dependency-error"
	NotSupported        Code = "not-supported"
	ConstraintViolation Code = "constraint-violation"
	PermissionDenied    Code = "permission-denied"
	PermissionError     Code = "permission-error"
	Unexpected          Code = "unexpected"
	UnexpectedPayload   Code = "unexpected-payload"
	PostgresError       Code = "postgres-error"
	DataException       Code = "data-exception"
	BadRequest          Code = "bad-request"
	InvalidParams       Code = "invalid-params"
	NotFound            Code = "not-found"
	Busy                Code = "busy"
	ValidationFailed    Code = "validation-failed"
	RemoteSchemaError   Code = "remote-schema-error"
	RemoteConflicts     Code = "remote-schema-conflicts"
	InvalidHeaders      Code = "invalid-headers"
	// Conflict is ours: the history moved past the position a caller expected.
	Conflict Code = "conflict"
	// TooLarge is ours: a request exceeds a named limit.
	TooLarge Code = "payload-too-large"
	// Timeout is ours: a wait reached its limit, and nothing was recorded.
	Timeout Code = "timeout"
)

// Error is a refusal: what is wrong, where, and what would be right, for the
// person who sent the request. Anything else that goes wrong is an ordinary
// error, and reaches a client as "internal error" only.
type Error struct {
	Code    Code
	Message string
	// Path is where in the request the fault is, such as $.args.name. Empty
	// means the place is not known yet; the edge fills in its default.
	Path string
	// Internal explains more, as JSON, to those who may see it.
	Internal json.RawMessage
	// Fault marks the few refusals that v1.3 counts as the server's own, with
	// status 500, although their code is also used with 400.
	Fault bool
}

func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s at %s: %s", e.Code, e.Path, e.Message)
}

// Refuse returns a refusal whose place is the operation's arguments, $.args.
func Refuse(code Code, format string, args ...any) *Error {
	return RefuseAt("$.args", code, format, args...)
}

// RefuseAt returns a refusal at a path of the request.
func RefuseAt(path string, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Path: path, Message: fmt.Sprintf(format, args...)}
}
