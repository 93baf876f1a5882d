package execution

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
)

// constraintError is the code of an ON CONFLICT that names what does not exist.
const constraintError domain.Code = "constraint-error"

const checkFailed = "check constraint of an insert/update permission has failed"

// presented gives an error of PostgreSQL the form that clients know. path is
// where in the request the statement comes from. Other errors stay as they are.
func presented(err error, path string) error {
	var pg *pgconn.PgError
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &connecting):
		return &domain.Error{Code: domain.PostgresError, Message: "connection error", Path: "$", Fault: true}
	case !errors.As(err, &pg):
		return err
	}
	refusal := classify(pg)
	refusal.Path = path
	var failed *failure
	if errors.As(err, &failed) {
		if refusal.Fault || refusal.Code == domain.Timeout { // what else is told apart has a message that says it all
			refusal.Internal = internalOf(pg, failed.statement)
		}
	}
	return refusal
}

// classify is the table from SQLSTATE to code and message.
func classify(pg *pgconn.PgError) *domain.Error {
	switch {
	case pg.Code == "23502":
		return &domain.Error{Code: domain.ConstraintViolation, Message: "Not-NULL violation. " + pg.Message}
	case pg.Code == "23503":
		return &domain.Error{Code: domain.ConstraintViolation, Message: "Foreign key violation. " + pg.Message}
	case pg.Code == "23505":
		return &domain.Error{Code: domain.ConstraintViolation, Message: "Uniqueness violation. " + pg.Message}
	case pg.Code == "23P01":
		return &domain.Error{Code: domain.ConstraintViolation, Message: "Exclusion violation. " + pg.Message}
	case pg.Code == "23001":
		return &domain.Error{Code: domain.ConstraintViolation, Message: "Can not delete or update due to data being referred. " + pg.Message}
	case pg.Code == "23514":
		return &domain.Error{Code: domain.PermissionError, Message: "Check constraint violation. " + pg.Message}
	case strings.HasPrefix(pg.Code, "23"):
		return &domain.Error{Code: domain.ConstraintViolation, Message: pg.Message}
	case pg.Code == "55P03":
		return &domain.Error{Code: domain.Timeout, Message: "another transaction held a lock for too long; nothing was changed: try again"}
	case pg.Code == "57014":
		return &domain.Error{Code: domain.Timeout, Message: "a statement took longer than it may, and was cancelled; nothing was changed: ask for less, or have --statement-timeout raised"}
	case pg.Code == "22025":
		return &domain.Error{Code: domain.BadRequest, Message: pg.Message}
	case strings.HasPrefix(pg.Code, "22"):
		return &domain.Error{Code: domain.DataException, Message: pg.Message}
	case pg.Code == "42P10":
		return &domain.Error{Code: constraintError, Message: "there is no unique or exclusion constraint on target column(s)"}
	case pg.Code == "42704":
		return &domain.Error{Code: constraintError, Message: pg.Message}
	}
	return &domain.Error{Code: domain.Unexpected, Message: "database query error", Fault: true}
}

// internalDetail is what those who may see it are told of a failed statement.
type internalDetail struct {
	Statement string    `json:"statement"`
	Prepared  bool      `json:"prepared"`
	Error     sqlDetail `json:"error"`
	Arguments []*string `json:"arguments"`
}

type sqlDetail struct {
	ExecStatus  string  `json:"exec_status"`
	Hint        *string `json:"hint"`
	Message     string  `json:"message"`
	StatusCode  string  `json:"status_code"`
	Description *string `json:"description"`
}

func internalOf(pg *pgconn.PgError, s bound) json.RawMessage {
	d := internalDetail{Statement: s.sql, Prepared: true, Arguments: make([]*string, len(s.values)), Error: sqlDetail{
		ExecStatus: "FatalError", Hint: orNull(pg.Hint), Message: pg.Message, StatusCode: pg.Code, Description: orNull(pg.Detail),
	}}
	for i, v := range s.values {
		if v != nil {
			text := string(v)
			d.Arguments[i] = &text
		}
	}
	detail, _ := json.Marshal(d) // texts only
	return detail
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
