package actions

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/domain"
	"annals/projections/deliveries"
)

//go:embed start.sql
var startSQL string

//go:embed result.sql
var resultSQL string

//go:embed open.sql
var openSQL string

//go:embed finish.sql
var finishSQL string

//go:embed clear.sql
var clearSQL string

// lane is where the deliveries of an action's calls are queued.
func lane(action string) string { return "action:" + action }

// Call is a call of an asynchronous action.
type Call struct {
	ID     uuid.UUID
	Action string
	// Input is a JSON object.
	Input json.RawMessage
	// Session is the variables of who asked, the role among them.
	Session map[string]string
	// Header is what the handler gets of the client's.
	Header http.Header
}

// Statement is a statement with its parameters as text.
type Statement struct {
	SQL    string
	Values [][]byte
}

// Start returns the statement that writes a call. It has no rows.
func (c Call) Start() Statement {
	header := c.Header
	if header == nil {
		header = http.Header{}
	}
	headers, _ := json.Marshal(header) // maps of strings have a JSON form
	return Statement{startSQL, [][]byte{[]byte(c.ID.String()), []byte(c.Action), c.Input, sessionText(c.Session), headers}}
}

func sessionText(session map[string]string) []byte {
	text, _ := json.Marshal(session) // a map of strings has a JSON form
	return text
}

// Result returns the statement that reads what became of a call. Its row is
// the id, the time of the call as JSON, the errors and the response; there is
// none for a call that is not there, or that others asked for. A nil session may
// see all.
func Result(id []byte, action string, session map[string]string) Statement {
	var mine []byte
	if session != nil {
		mine = sessionText(session)
	}
	return Statement{resultSQL, [][]byte{id, []byte(action), mine}}
}

// ErrGone says that a call is not there any more.
var ErrGone = errors.New("the call was cleared")

// State is where a call is on its way.
type State string

// The states of a call that was opened.
const (
	Processing State = "processing"
	Completed  State = "completed"
	Failed     State = "error"
)

// Open begins a call that its delivery has due. One that has been finished
// before stays what it became.
func Open(ctx context.Context, q deliveries.Querier, id string) (c Call, s State, err error) {
	if c.ID, err = uuid.Parse(id); err != nil {
		return c, "", fmt.Errorf("open the call of an action: %w", err)
	}
	err = q.QueryRow(ctx, openSQL, c.ID).Scan(&c.Action, &c.Input, &c.Session, &c.Header, &s)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, "", ErrGone
	}
	if err != nil {
		return c, "", fmt.Errorf("open the call of an action: %w", err)
	}
	return c, s, nil
}

// failure is a refusal as it is kept.
type failure struct {
	Code     domain.Code     `json:"code"`
	Path     string          `json:"path"`
	Error    string          `json:"error"`
	Internal json.RawMessage `json:"internal,omitempty"`
}

// Errors is a refusal as the result of a call has it.
func Errors(e *domain.Error) json.RawMessage {
	text, _ := json.Marshal(failure{e.Code, e.Path, e.Message, e.Internal}) // texts, and JSON that was made here
	return text
}

// Finish ends a call: with a response, or else with errors. It does nothing
// where the lease is not held any more.
func Finish(ctx context.Context, q deliveries.Querier, id uuid.UUID, lease int, response, errors json.RawMessage) error {
	if _, err := q.Exec(ctx, finishSQL, id, lease, response, errors); err != nil {
		return fmt.Errorf("finish the call of an action: %w", err)
	}
	return nil
}

// Clear forgets all calls of an action.
func Clear(ctx context.Context, q deliveries.Querier, action string) error {
	if _, err := q.Exec(ctx, clearSQL, action); err != nil {
		return fmt.Errorf("clear the calls of action %s: %w", action, err)
	}
	return nil
}
