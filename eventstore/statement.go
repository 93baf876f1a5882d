package eventstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// hangUpLimit is how long to be polite to a server that is not heard again.
const hangUpLimit = 2 * time.Second

const (
	// lookOutFor is how long an answer is looked out for before the goroutine
	// parks until it comes. Most commits take less.
	lookOutFor = 300 * time.Microsecond
	// lookEvery is how often others are let run between two looks.
	lookEvery = 20
)

// A statement is one that so much waits for that it speaks to the server
// itself, in the messages of the protocol. Around the same messages pgx looks up
// types, scans rows, and sets a timer for a write that might block, which wakes
// a thread: together a tenth of the time of an append that has the log to
// itself. None of it is needed where all values are in PostgreSQL's binary form,
// the answer is one row at most, and comes only when all was written.
type statement struct{ name, sql string }

// run returns the row, in memory of its own, or nil if there is none. An error of
// the server is a *pgconn.PgError and leaves the connection as pgx would; after
// any other, and if ctx ends meanwhile, it is closed and the outcome unknown.
func (s statement) run(ctx context.Context, conn *pgx.Conn, values ...[]byte) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if _, err := conn.Prepare(ctx, s.name, s.sql); err != nil {
		return nil, err
	}
	wire := conn.PgConn()
	watched := context.AfterFunc(ctx, func() { _ = wire.Conn().SetDeadline(time.Unix(1, 0)) })
	row, refused, broken := s.exchange(wire, values)
	if !watched() {
		broken = errors.Join(context.Cause(ctx), broken)
	}
	if broken != nil {
		abandon(conn)
		return nil, errors.Join(refused, broken)
	}
	return row, refused
}

// exchange returns what the server answered, and why it could not be heard to
// the end.
func (s statement) exchange(wire *pgconn.PgConn, values [][]byte) (row [][]byte, refused, broken error) {
	binary := []int16{pgx.BinaryFormatCode}
	to := wire.Frontend()
	to.SendBind(&pgproto3.Bind{PreparedStatement: s.name, ParameterFormatCodes: binary, Parameters: values, ResultFormatCodes: binary})
	to.SendExecute(&pgproto3.Execute{})
	to.SendSync(&pgproto3.Sync{})
	if err := to.Flush(); err != nil {
		return nil, nil, fmt.Errorf("send: %w", err)
	}
	lookOut(wire.Conn())
	for {
		message, err := wire.ReceiveMessage(context.Background())
		if err != nil {
			return nil, refused, err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			row = slices.Clone(m.Values)
			for i := range row {
				row[i] = slices.Clone(row[i])
			}
		case *pgproto3.ErrorResponse:
			refused = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return row, refused, nil
		}
	}
}

// lookOut waits for an answer, or for a moment. A goroutine that parks lets its
// processor fall asleep; to wake it again, and before that the one on which the
// server works, takes a seventh of the time of an append. Appends come one by
// one and seldom, and who else wants to run goes first, so the moment is spent
// on nothing that anyone misses.
func lookOut(conn net.Conn) {
	of, ok := conn.(syscall.Conn)
	if !ok || runtime.GOMAXPROCS(0) == 1 {
		return // TLS may have read ahead; the server may need the only processor
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return
	}
	came := false
	look := func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		came = !errors.Is(err, syscall.EAGAIN)
		return true
	}
	for start := time.Now(); time.Since(start) < lookOutFor; {
		if err := raw.Read(look); err != nil || came {
			return
		}
		for range lookEvery {
			runtime.Gosched()
		}
	}
}

// abandon ends a connection in the middle of a statement, which must not go on
// to wait for a lock and then write for a caller who is gone.
func abandon(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), hangUpLimit)
	defer cancel()
	_ = conn.PgConn().CancelRequest(ctx) // it is of no more use either way
	_ = conn.Close(ctx)
}
