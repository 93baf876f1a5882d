package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"annals/domain/engine/plan"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// LineQuery tells of a GraphQL operation that is about to be run: its text, its
// variables, and the SQL of each root field of a query. It is the one line that
// holds what clients wrote, so it is written only where [Config.LogQueries] is
// set. Values of session variables that speak of a credential are left out.
const LineQuery = "query-log"

type queryDetail struct {
	RequestID string                  `json:"request_id"`
	Query     queryText               `json:"query"`
	SQL       map[string]generatedSQL `json:"generated_sql"` // null for what is no query
}

// queryText is an operation as a client wrote it.
type queryText struct {
	Variables     json.RawMessage `json:"variables"`
	OperationName *string         `json:"operationName"`
	Query         string          `json:"query"`
}

// generatedSQL is the statements of a root field, one below the other, and
// their arguments, those of the first statement first.
type generatedSQL struct {
	Query     string    `json:"query"`
	Arguments []*string `json:"prepared_arguments"`
}

func textOf(r plan.Request) queryText {
	text := queryText{Variables: r.Variables.Raw(), Query: r.Query}
	if r.OperationName != "" {
		text.OperationName = &r.OperationName
	}
	return text
}

// telling returns what writes the line of an operation; nil where none is wanted.
func (a *API) telling(r *http.Request, caller auth.Caller, request plan.Request) func([]execution.Told) {
	if !a.cfg.LogQueries {
		return nil
	}
	return a.teller(r, caller, request)
}

func (a *API) teller(r *http.Request, caller auth.Caller, request plan.Request) func([]execution.Told) {
	return func(roots []execution.Told) {
		d := queryDetail{RequestID: exchangeOf(r).requestID, Query: textOf(request)}
		shown := auth.Redact(caller.Variables)
		for _, root := range roots {
			if d.SQL == nil {
				d.SQL = make(map[string]generatedSQL, len(roots))
			}
			d.SQL[root.Field] = generated(root, shown)
		}
		a.log(r.Context(), Line{Type: LineQuery, Detail: d})
	}
}

func generated(root execution.Told, shown map[string]string) generatedSQL {
	g := generatedSQL{Query: strings.Join(root.Statements, ";\n"), Arguments: make([]*string, len(root.Arguments))}
	for i, argument := range root.Arguments {
		switch {
		case argument.AllSession:
			g.Arguments[i] = new(string(encode(shown)))
		case argument.Session != "" && shown[argument.Session] == auth.Redacted:
			g.Arguments[i] = new(auth.Redacted)
		case argument.Value != nil:
			g.Arguments[i] = new(string(argument.Value))
		}
	}
	return g
}
