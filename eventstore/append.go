package eventstore

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"annals/eventstore/chain"
)

// Expected is where the writer believes the log to end: [Any] or [At].
type Expected struct {
	position int64
	exact    bool
}

// Any appends wherever the log ends.
func Any() Expected { return Expected{} }

// At appends only if the log ends at this position, 0 being the empty log's.
func At(position int64) Expected { return Expected{position: position, exact: true} }

// refuses returns the conflict, if this is not what was expected.
func (e Expected) refuses(actual int64) error {
	if e.exact && e.position != actual {
		return VersionConflict{Expected: e.position, Actual: actual}
	}
	return nil
}

func (e Expected) parameter() *int64 {
	if !e.exact {
		return nil
	}
	return &e.position
}

// binary is the parameter in PostgreSQL's binary form.
func (e Expected) binary() []byte {
	if !e.exact {
		return nil
	}
	return binary.BigEndian.AppendUint64(nil, uint64(e.position))
}

// VersionConflict says that the log did not end where the writer expected it
// to. Nothing was written.
type VersionConflict struct{ Expected, Actual int64 }

func (c VersionConflict) Error() string {
	return fmt.Sprintf("the log is at position %d, not at %d as expected", c.Actual, c.Expected)
}

//go:embed lock.sql
var lockSQL string

// Lock takes the head of the log until tx ends: nobody else appends meanwhile.
// A transaction that decides on the state of the log calls it first; one that
// only records leaves it to AppendTx, last, and keeps others waiting for less
// time.
func (s *Store) Lock(ctx context.Context, tx pgx.Tx) (Head, error) {
	head, err := scanHead(tx.QueryRow(ctx, lockSQL))
	if err != nil {
		return Head{}, fmt.Errorf("lock the head of the log: %w", err)
	}
	return head, nil
}

// AppendTx appends events in the caller's transaction, one after the other. It
// takes the head's lock unless the transaction has it. After a VersionConflict
// or an InvalidEvent nothing was written and the transaction can go on; any
// other error leaves it aborted.
func (s *Store) AppendTx(ctx context.Context, tx pgx.Tx, expected Expected, events ...Event) ([]Recorded, error) {
	if len(events) == 0 {
		head, err := s.Lock(ctx, tx)
		if err != nil {
			return nil, err
		}
		return nil, expected.refuses(head.Position)
	}
	if err := validate(events); err != nil {
		return nil, err
	}
	return appendEvents(ctx, tx.Conn(), expected, events, true)
}

// appendEvents is one statement and so one round trip. Its commit wakes the
// followers, but for a single event only if hint says so.
func appendEvents(ctx context.Context, conn *pgx.Conn, expected Expected, events []Event, hint bool) (recorded []Recorded, err error) {
	if len(events) == 1 {
		recorded, err = appendOne(ctx, conn, expected, &events[0], hint)
	} else {
		recorded, err = appendSeveral(ctx, conn, expected, events)
	}
	if conflict := (VersionConflict{}); err != nil && !errors.As(err, &conflict) {
		err = fmt.Errorf("append %d events beginning with %s: %w", len(events), events[0].Type, err)
	}
	return recorded, err
}

//go:embed append_one.sql
var appendOneSQL string

//go:embed append_one_with_objects.sql
var appendOneWithObjectsSQL string

func appendOne(ctx context.Context, conn *pgx.Conn, expected Expected, e *Event, hint bool) ([]Recorded, error) {
	for {
		r, err := tryAppendOne(ctx, conn, expected, e, hint)
		if err == nil {
			return []Recorded{r}, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, err
		}
		head, err := scanHead(conn.QueryRow(ctx, headSQL))
		if err != nil {
			return nil, err
		}
		if conflict := expected.refuses(head.Position); conflict != nil {
			return nil, conflict
		}
		// Since the attempt the log has come to the expected position.
	}
}

// tryAppendOne returns pgx.ErrNoRows if the log does not end as expected.
func tryAppendOne(ctx context.Context, conn *pgx.Conn, expected Expected, e *Event, hint bool) (Recorded, error) {
	f := e.fields()
	digest := chain.Digest(chain.Encode(nil, f))
	statement, values := statement{"annals_append_one", appendOneSQL}, [][]byte{
		expected.binary(), digest[:], f.ID, f.Type, f.Args, f.Changes, f.Actor, f.Comment,
		f.Batch, f.BatchIndex, f.SchemaVersion, boolean(hint),
	}
	if len(e.Objects) > 0 {
		kinds, keys, err := e.objectColumns(conn.TypeMap())
		if err != nil {
			return Recorded{}, err
		}
		statement.name, statement.sql = "annals_append_one_with_objects", appendOneWithObjectsSQL
		values = append(values, kinds, keys)
	}
	row, err := statement.run(ctx, conn, values...)
	if err != nil {
		return Recorded{}, err
	}
	if row == nil {
		return Recorded{}, pgx.ErrNoRows
	}
	return Recorded{
		Event: *e, Position: parseInt8(row[0]), RecordedAt: timeOf(parseInt8(row[1])),
		PrevHash: [32]byte(row[2]), Hash: [32]byte(row[3]),
	}, nil
}

//go:embed append_events.sql
var appendEventsSQL string

func appendSeveral(ctx context.Context, conn *pgx.Conn, expected Expected, events []Event) ([]Recorded, error) {
	var (
		position   int64
		recordedAt *time.Time
		links      pgtype.FlatArray[[]byte]
	)
	err := conn.QueryRow(ctx, appendEventsSQL, newColumns(events).parameters(expected)...).Scan(&position, &recordedAt, &links)
	if err != nil {
		return nil, err
	}
	if recordedAt == nil {
		return nil, expected.refuses(position)
	}
	recorded := make([]Recorded, len(events))
	for i, e := range events {
		recorded[i] = Recorded{
			Event: e, Position: position + 1 + int64(i), RecordedAt: recordedAt.UTC(),
			PrevHash: [32]byte(links[i]), Hash: [32]byte(links[i+1]),
		}
	}
	return recorded, nil
}

// columns are events turned on their side, the way append_events.sql takes them.
type columns struct {
	ids, batches                           pgtype.FlatArray[pgtype.UUID]
	types, args, changes, actors, comments pgtype.FlatArray[[]byte]
	digests                                pgtype.FlatArray[[]byte]
	batchIndexes                           pgtype.FlatArray[pgtype.Int4]
	schemaVersions, objectEvents           pgtype.FlatArray[int32]
	objectKinds, objectKeys                pgtype.FlatArray[string]
}

func newColumns(events []Event) *columns {
	c := &columns{objectEvents: []int32{}, objectKinds: []string{}, objectKeys: []string{}}
	var encoding []byte
	for i := range events {
		e := &events[i]
		f := e.fields()
		encoding = chain.Encode(encoding[:0], f)
		digest := chain.Digest(encoding)
		c.ids = append(c.ids, pgtype.UUID{Bytes: e.ID, Valid: true})
		c.types = append(c.types, f.Type)
		c.args = append(c.args, f.Args)
		c.changes = append(c.changes, f.Changes)
		c.actors = append(c.actors, f.Actor)
		c.comments = append(c.comments, f.Comment)
		c.batches = append(c.batches, e.batch())
		c.batchIndexes = append(c.batchIndexes, e.batchIndex())
		c.schemaVersions = append(c.schemaVersions, int32(e.SchemaVersion))
		c.digests = append(c.digests, digest[:])
		for o := range e.objects() {
			c.objectEvents = append(c.objectEvents, int32(i+1))
			c.objectKinds = append(c.objectKinds, o.Kind)
			c.objectKeys = append(c.objectKeys, o.Key)
		}
	}
	return c
}

func (c *columns) parameters(expected Expected) []any {
	return []any{
		expected.parameter(), c.ids, c.types, c.args, c.changes, c.actors, c.comments,
		c.batches, c.batchIndexes, c.schemaVersions, c.digests,
		c.objectEvents, c.objectKinds, c.objectKeys,
	}
}

func (e *Event) batch() pgtype.UUID { return pgtype.UUID{Bytes: e.Batch, Valid: e.Batch != uuid.Nil} }

func (e *Event) batchIndex() pgtype.Int4 {
	return pgtype.Int4{Int32: int32(e.BatchIndex), Valid: e.Batch != uuid.Nil}
}

// objects yields each object once, however often the event names it.
func (e *Event) objects() iter.Seq[Object] {
	return func(yield func(Object) bool) {
		seen := make(map[Object]bool, len(e.Objects))
		for _, o := range e.Objects {
			if seen[o] {
				continue
			}
			if seen[o] = true; !yield(o) {
				return
			}
		}
	}
}

// objectColumns are the objects turned on their side, in PostgreSQL's binary form.
func (e *Event) objectColumns(types *pgtype.Map) (kinds, keys []byte, err error) {
	var column [2][]string
	for o := range e.objects() {
		column[0], column[1] = append(column[0], o.Kind), append(column[1], o.Key)
	}
	if kinds, err = types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, column[0], nil); err != nil {
		return nil, nil, err
	}
	keys, err = types.Encode(pgtype.TextArrayOID, pgtype.BinaryFormatCode, column[1], nil)
	return kinds, keys, err
}
