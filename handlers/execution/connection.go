package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// MaxPrepared is how many statements are kept prepared on each connection.
// When one more comes, all are given up and it starts anew.
const MaxPrepared = 500

// bound is a statement with its parameters, as text.
type bound struct {
	sql    string
	values [][]byte
}

// statementNames is the statements that one connection has prepared, by their
// text.
type statementNames struct {
	names map[string]*pgconn.StatementDescription
	made  int
}

// preparedKey is where a connection carries its prepared statements.
const preparedKey = "annals.execution.prepared"

func namesOn(conn *pgconn.PgConn) *statementNames {
	if p, ok := conn.CustomData()[preparedKey].(*statementNames); ok {
		return p
	}
	p := &statementNames{names: make(map[string]*pgconn.StatementDescription)}
	conn.CustomData()[preparedKey] = p
	return p
}

// pipeline sends statements at once and reads their rows, in one round trip.
// Statements that the connection has not prepared yet are prepared on the way.
func pipeline(ctx context.Context, conn *pgconn.PgConn, statements []bound, a *allowance) (sets []*rowset, err error) {
	known := namesOn(conn)
	if len(known.names)+len(statements) > MaxPrepared {
		if err := known.forget(ctx, conn); err != nil {
			return nil, err
		}
	}
	if len(statements) == 1 && known.names[statements[0].sql] != nil {
		return alone(ctx, conn, known.names[statements[0].sql], statements[0], a)
	}
	p := conn.StartPipeline(ctx)
	sent := known.send(p, statements)
	if err := p.Sync(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	sets, err = known.receive(p, sent, a)
	if closing := p.Close(); err == nil {
		err = closing
	}
	if err != nil {
		failed := &failure{err: err, statement: statements[min(len(sets), len(statements)-1)]}
		free(sets)
		return nil, failed
	}
	return sets, nil
}

// alone runs one statement that is prepared, as a pipeline of it would, for less.
func alone(ctx context.Context, conn *pgconn.PgConn, known *pgconn.StatementDescription, s bound, a *allowance) ([]*rowset, error) {
	set, err := drain(conn.ExecStatement(ctx, known, s.values, nil, nil), a)
	if err != nil {
		return nil, &failure{err, s}
	}
	return []*rowset{set}, nil
}

// failure is an error of a statement, with the statement.
type failure struct {
	err       error
	statement bound
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// expected is what an answer of a pipeline is for: a statement's rows, or that
// it was prepared.
type expected struct{ prepares, name string }

func (k *statementNames) send(p *pgconn.Pipeline, statements []bound) []expected {
	sent := make([]expected, 0, len(statements))
	fresh := map[string]string{}
	for _, s := range statements {
		if known, ok := k.names[s.sql]; ok {
			p.SendQueryStatement(known, s.values, nil, nil)
			sent = append(sent, expected{})
			continue
		}
		name, ok := fresh[s.sql]
		if !ok {
			k.made++
			name = "annals_" + strconv.Itoa(k.made)
			fresh[s.sql] = name
			p.SendPrepare(name, s.sql, nil)
			sent = append(sent, expected{prepares: s.sql, name: name})
		}
		p.SendQueryPrepared(name, s.values, nil, nil)
		sent = append(sent, expected{})
	}
	return sent
}

func (k *statementNames) receive(p *pgconn.Pipeline, sent []expected, a *allowance) (sets []*rowset, err error) {
	for _, e := range sent {
		result, err := p.GetResults()
		if err != nil {
			return sets, err
		}
		switch result := result.(type) {
		case *pgconn.StatementDescription:
			k.names[e.prepares] = described(e.name, result)
		case *pgconn.ResultReader:
			set, err := drain(result, a)
			if err != nil {
				return sets, err
			}
			sets = append(sets, set)
		default:
			return sets, fmt.Errorf("unexpected answer %T in a pipeline", result)
		}
	}
	return sets, nil
}

// described is what is kept of a prepared statement. One that is known to have
// columns is not described again each time it runs; what they are called, its
// plan knows.
func described(name string, s *pgconn.StatementDescription) *pgconn.StatementDescription {
	return &pgconn.StatementDescription{Name: name, Fields: slices.Clone(s.Fields[:min(1, len(s.Fields))])}
}

// forget gives up all prepared statements of the connection that are ours.
func (k *statementNames) forget(ctx context.Context, conn *pgconn.PgConn) error {
	p := conn.StartPipeline(ctx)
	for _, known := range k.names {
		p.SendDeallocate(known.Name)
	}
	clear(k.names)
	if err := p.Sync(); err != nil {
		return errors.Join(err, p.Close())
	}
	if err := p.Close(); err != nil {
		return fmt.Errorf("deallocate statements: %w", err)
	}
	return nil
}

// once runs a statement that is not worth preparing.
func once(ctx context.Context, conn *pgconn.PgConn, s bound, a *allowance) (*rowset, error) {
	set, err := drain(conn.ExecParams(ctx, s.sql, s.values, nil, nil, nil), a)
	if err != nil {
		return nil, &failure{err, s}
	}
	return set, nil
}

func free(sets []*rowset) {
	for _, s := range sets {
		if s != nil {
			s.free()
		}
	}
}

// isStale reports whether a prepared statement no longer fits: what it selects
// from was changed, or somebody deallocated it.
func isStale(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "26000" ||
		pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery")
}
