package execution

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"annals/domain"
	"annals/domain/graphql"
	"annals/projections/allowlist"
)

// AllowListMode is what becomes of operations that are not in the allow-list.
type AllowListMode string

// The modes.
const (
	AllowListOff     AllowListMode = ""        // they are run: there is no list
	AllowListEnforce AllowListMode = "enforce" // they are refused
	AllowListReport  AllowListMode = "report"  // they are run, and told to the log
)

// AllowList says which operations are run at all. Its zero value is all.
type AllowList struct {
	Mode AllowListMode
	// Log takes what is reported. Nil: [slog.Default].
	Log *slog.Logger
}

// gate lets operations in.
type gate struct {
	mode AllowListMode
	log  *slog.Logger
	list *allowlist.Live
}

func newGate(a AllowList, list *allowlist.Live) gate {
	if a.Log == nil {
		a.Log = slog.Default()
	}
	return gate{a.Mode, a.Log, list}
}

// notListed is for those who may see why.
var notListed = json.RawMessage(`{"message":"query is not in any of the allowlists"}`)

// admit refuses an operation that is not in the allow-list, where there is one.
// The admin may ask for anything.
func (g gate) admit(ctx context.Context, r Request) error {
	if g.mode == AllowListOff || r.Session.Role == domain.AdminRole {
		return nil
	}
	allowed, err := g.list.Current().Allows(r.Query.Query)
	switch {
	case allowed:
		return nil
	case g.mode == AllowListReport:
		// Not the text: it may hold what must not be written down.
		g.log.WarnContext(ctx, "an operation is not in the allow-list", "role", r.Session.Role, "operation_name", r.Query.OperationName)
		return nil
	case err != nil && !errors.Is(err, graphql.ErrTooLong): // what is too long is in no list
		return domain.RefuseAt("$.query", domain.ValidationFailed, "not a valid graphql query")
	}
	return &domain.Error{Code: domain.ValidationFailed, Message: "query is not allowed", Path: "$", Internal: notListed}
}

// Admit refuses an operation that [Executor.Run] would not run because of the
// allow-list. It is for those who prepare operations and run them themselves.
func (e *Executor) Admit(ctx context.Context, r Request) error { return e.gate.admit(ctx, r) }
