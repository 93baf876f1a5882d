package execution

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
)

// Spoiled is an error of [Executor.AnswerLive] that may be due to some of the requests
// only: the others may be answered without them.
type Spoiled struct{ Err error }

func (s *Spoiled) Error() string { return s.Err.Error() }
func (s *Spoiled) Unwrap() error { return s.Err }

// notOfValues are the classes of PostgreSQL's errors that no value brings about: the
// connection, the statement or the server is at fault.
var notOfValues = map[string]bool{
	"08": true, "25": true, "26": true, "40": true, "42": true, "53": true,
	"54": true, "55": true, "57": true, "58": true, "F0": true, "XX": true,
}

// failedTogether presents an error of so many requests. Where there are several, none
// is told the values of the others.
func failedTogether(err error, requests int) error {
	var pg *pgconn.PgError
	fromDatabase := errors.As(err, &pg)
	err = presented(err, "$")
	var refusal *domain.Error
	if !errors.As(err, &refusal) {
		return err
	}
	if requests > 1 {
		told := *refusal
		told.Internal = nil
		err = &told
	}
	if fromDatabase && !notOfValues[pg.Code[:min(2, len(pg.Code))]] || !fromDatabase && !refusal.Fault {
		return &Spoiled{err}
	}
	return err
}
