package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/translate"
	"annals/domain/metadata"
	"annals/domain/sql"
)

// ExplainRequest asks how an operation would be run. It is not held against
// the allow-list.
type ExplainRequest struct {
	Request
	// JSON asks for plans as PostgreSQL's JSON, instead of lines of text.
	JSON bool
	// Analyze has the statements run, for plans that tell what really happened.
	Analyze bool
	// World is the metadata that the operation is explained under; nil is that
	// of the moment.
	World *metadata.World
}

// rootExplained is how one root field is run. SQL and plan are null for one
// that needs no database; remote is there for one of a remote server.
type rootExplained struct {
	Field string `json:"field"`
	explained
	Action *actionExplained `json:"action,omitempty"`
}

// explained is statements with their plans. Plan is a list of lines, or of
// objects, one for each statement.
type explained struct {
	SQL  *string           `json:"sql"`
	Plan []json.RawMessage `json:"plan"`
	// Remote is what a remote server would be sent, for one of its fields.
	Remote *remoteExplained `json:"remote,omitempty"`
	// Joins are what remote servers would be sent for the field's rows.
	Joins []joinExplained `json:"remote_joins,omitempty"`
}

// remoteExplained is an operation for the server of a remote schema. Fields of
// one server that are asked for together have the same.
type remoteExplained struct {
	Schema    string                     `json:"remote_schema"`
	Query     string                     `json:"query"`
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
}

// subscriptionExplained is how a subscription's first answer comes about, and
// what its statements were bound with.
type subscriptionExplained struct {
	explained
	Variables explainedVariables `json:"variables"`
}

// explainedVariables are the values of parameters as PostgreSQL was given them,
// by where they came from: the session, the request's variables, the
// operation's own text.
type explainedVariables struct {
	Session   map[string]string  `json:"session"`
	Query     map[string]*string `json:"query"`
	Synthetic []*string          `json:"synthetic"`
}

// Explain returns, as JSON, the statements that a request would run and the
// plans that PostgreSQL has for them: a list with an item for each root field,
// or one object for a subscription. The statements are those that [Executor.Run]
// sends, with the parameters written into them.
//
// Nothing is left of it in the database: a query is explained in a transaction
// that only reads; a mutation is run, as its later statements depend on the rows
// that earlier ones return, in a transaction that is rolled back.
func (e *Executor) Explain(ctx context.Context, r ExplainRequest) ([]byte, error) {
	op, err := e.prepareToExplain(r)
	if err != nil {
		return nil, err
	}
	if err := e.checkExplainedSession(op); err != nil {
		return nil, err
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return nil, presented(fmt.Errorf("acquire a connection: %w", err), "$")
	}
	defer conn.Release()
	x := explaining{e, ctx, conn.Conn().PgConn(), r}
	answer, err := x.operation(op)
	if err := errors.Join(err, leave(ctx, x.pg)); err != nil {
		return nil, err
	}
	return encoded(answer)
}

// prepareToExplain prepares as prepare does; nothing is kept of another world.
func (e *Executor) prepareToExplain(r ExplainRequest) (Operation, error) {
	if r.World == nil {
		return e.prepare(r.Request)
	}
	p, err := e.make(schema.New(), *r.World, r.Request)
	if err != nil {
		return Operation{}, err
	}
	return p.operation(r.Request), nil
}

// encoded writes an answer as it is read, < and > as themselves.
func encoded(answer any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return nil, fmt.Errorf("write an explanation: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkExplainedSession is checkSession in the words that explain has for it.
func (e *Executor) checkExplainedSession(op Operation) error {
	for _, name := range op.Plan.Session {
		if !translate.HasVariable(op.Session, name) {
			return domain.RefuseAt("$", domain.UnexpectedPayload,
				"missing required session variable for role %q : %s", op.Session.Role, e.config.spelled(name))
		}
	}
	return nil
}

// explaining is one request as it is answered, on its connection.
type explaining struct {
	*Executor
	ctx context.Context
	pg  *pgconn.PgConn
	ask ExplainRequest
}

func (x explaining) operation(op Operation) (any, error) {
	switch op.Plan.Kind {
	case plan.Mutation:
		return x.mutation(op)
	case plan.Subscription:
		return x.subscription(op)
	}
	if err := x.command("BEGIN"); err != nil {
		return nil, err
	}
	return x.query(op)
}

func (x explaining) query(op Operation) ([]rootExplained, error) {
	roots := make([]rootExplained, len(op.Plan.Fields))
	remotes := explainedRemotes(op, op.Plan.Fields)
	for i, f := range op.Plan.Fields {
		roots[i].Field, roots[i].Remote, roots[i].Joins = f.Alias, remotes[f.Alias], explainedJoins(op, f)
		roots[i].Action = x.actionOf(f.Step, op)
		if err := x.step(&roots[i].explained, op, op.steps[i]); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// explainedRemotes are the calls that root fields of remote servers lead to, by
// the fields' keys in the answer.
func explainedRemotes(op Operation, fields []plan.Root) map[string]*remoteExplained {
	found := map[string]*remoteExplained{}
	for _, c := range remoteCalls(op.Plan.Kind, fields, 0) {
		r := c.request(op)
		for _, alias := range c.aliases {
			found[alias] = &remoteExplained{r.Schema, r.Query, r.Variables}
		}
	}
	return found
}

// step explains the statements of one root field.
func (x explaining) step(e *explained, op Operation, step translate.Step) error {
	binding := translate.Binding{Variables: op.Variables, Session: op.Session}
	for _, s := range step.Statements {
		values, err := s.Bind(binding)
		if err != nil {
			return err
		}
		if err := x.add(e, bound{s.SQL, values}); err != nil {
			return presented(err, "$")
		}
	}
	return nil
}

// subscription explains the statements that answer the subscription together
// with others of its shape. They are shown as they are sent, without values, as these are
// each subscriber's own; the plans are those for this one.
func (x explaining) subscription(op Operation) (any, error) {
	if err := x.checkLive(op); err != nil {
		return nil, err
	}
	if introspects(op.Plan) {
		return nil, domain.RefuseAt("$", domain.NotSupported, "Introspection not supported over subscriptions")
	}
	answer := subscriptionExplained{Variables: explainedVariables{map[string]string{}, map[string]*string{}, []*string{}}}
	if err := x.command("BEGIN"); err != nil {
		return nil, err
	}
	live, err := newLive(x.shapeOf(op.Plan), op, nil)
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, s := range live.Shape.statements() {
		texts = append(texts, s.SQL)
		if err := x.add(&answer.explained, bound{s.SQL, manyValues(s, i, []*Live{live})}); err != nil {
			return nil, presented(err, "$")
		}
		for j, p := range s.Parameters {
			answer.Variables.note(p, op.Session, live.bound[i][j])
		}
	}
	text := strings.Join(texts, separator)
	answer.SQL = &text
	return answer, nil
}

func introspects(op *plan.Operation) bool {
	return slices.ContainsFunc(op.Fields, func(f plan.Root) bool {
		_, constant := f.Step.(plan.Constant)
		return constant
	})
}

func (v *explainedVariables) note(p translate.Parameter, s domain.Session, value []byte) {
	switch {
	case p.Session:
		maps.Copy(v.Session, s.Variables)
	case p.Value == nil:
	case p.Value.Session != "":
		v.Session[p.Value.Session] = string(value)
	case p.Value.Variable != "":
		v.Query[p.Value.Variable] = textOf(value)
	default:
		v.Synthetic = append(v.Synthetic, textOf(value))
	}
}

// textOf is a parameter's value; nil for null.
func textOf(value []byte) *string {
	if value == nil {
		return nil
	}
	text := string(value)
	return &text
}

func (x explaining) mutation(op Operation) ([]rootExplained, error) {
	roots := make([]rootExplained, len(op.Plan.Fields))
	var now *explained // of the root field that runs
	tx := transaction{
		Executor: x.Executor, ctx: x.ctx, pg: x.pg, binding: translate.Binding{Variables: op.Variables, Session: op.Session},
		allowed: x.config.allowed(), before: func(s bound) error { return x.addApart(now, s) },
	}
	if err := tx.begin(); err != nil {
		return nil, err
	}
	remotes := map[string]*remoteExplained{}
	for _, part := range stretches(op.Plan.Fields) {
		maps.Copy(remotes, explainedRemotes(op, part.fields))
	}
	for i, f := range op.Plan.Fields {
		roots[i].Field, roots[i].Remote, roots[i].Joins = f.Alias, remotes[f.Alias], explainedJoins(op, f)
		if roots[i].Remote != nil {
			continue // other servers are not asked
		}
		now = &roots[i].explained
		if roots[i].Action = x.actionOf(f.Step, op); roots[i].Action != nil {
			continue // it is not called, so there is nothing to read for it
		}
		if err := tx.root(&writer{}, f); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// addApart explains a statement that is about to be run. With analyze it is run
// for its plan already, and that must leave nothing behind.
func (x explaining) addApart(e *explained, s bound) error {
	if !x.ask.Analyze {
		return x.add(e, s)
	}
	if err := x.command("SAVEPOINT explained"); err != nil {
		return err
	}
	if err := x.add(e, s); err != nil {
		return err
	}
	return x.command("ROLLBACK TO SAVEPOINT explained")
}

// separator stands between the statements of a root field.
const separator = ";\n"

// add explains one statement. What PostgreSQL explains is the text that is shown.
func (x explaining) add(e *explained, s bound) error {
	text := sql.Inline(s.sql, s.values)
	lines, err := once(x.ctx, x.pg, bound{sql: x.prefix() + text}, nil)
	if err != nil {
		// Whoever is told of the failure is told of the statement that runs.
		return fmt.Errorf("explain a statement: %w", &failure{err, s})
	}
	defer lines.free()
	if e.SQL != nil {
		text = *e.SQL + separator + text
	}
	e.SQL = &text
	for _, row := range lines.rows() {
		plans, err := x.plans(row[0])
		if err != nil {
			return err
		}
		e.Plan = append(e.Plan, plans...)
	}
	return nil
}

func (x explaining) prefix() string {
	options := []string{"FORMAT TEXT"}
	if x.ask.JSON {
		options[0] = "FORMAT JSON"
	}
	if x.ask.Analyze {
		options = append(options, "ANALYZE")
	}
	return "EXPLAIN (" + strings.Join(options, ", ") + ") "
}

// plans reads a row of EXPLAIN: a line, or a list of plans.
func (x explaining) plans(row []byte) (plans []json.RawMessage, err error) {
	if !x.ask.JSON {
		return []json.RawMessage{appendString(nil, row)}, nil
	}
	if err := json.Unmarshal(row, &plans); err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	return plans, nil
}

// command runs a statement that has no rows.
func (x explaining) command(statement string) error {
	set, err := once(x.ctx, x.pg, bound{sql: statement}, nil)
	if err != nil {
		return presented(fmt.Errorf("explain an operation: %w", err), "$")
	}
	set.free()
	return nil
}
