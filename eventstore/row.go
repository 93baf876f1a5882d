package eventstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"annals/eventstore/chain"
)

// binaryResults makes the server send every column in its binary form, which for text
// and JSON are the stored bytes.
func binaryResults() pgx.QueryResultFormats { return pgx.QueryResultFormats{pgx.BinaryFormatCode} }

// databaseEpoch is where PostgreSQL counts microseconds from, 2000-01-01 UTC, on
// Go's scale.
const databaseEpoch = 946_684_800_000_000

func parseInt8(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

func timeOf(recordedAt int64) time.Time { return time.UnixMicro(recordedAt + databaseEpoch).UTC() }

// A row is an event as it came over the wire. Its bytes belong to the
// connection and are overwritten by the next row.
type row struct {
	position   int64
	fields     chain.Fields
	recordedAt int64
	prevHash   [32]byte
	hash       [32]byte
}

var errMalformed = errors.New("a row of the log does not have the columns of an event")

// parseRow takes the columns in the order that read.sql and its neighbours
// select them.
func parseRow(v [][]byte) (r row, err error) {
	if len(v) != 13 || len(v[0]) != 8 || len(v[1]) != 16 || len(v[9]) != 4 || len(v[10]) != 8 {
		return row{}, errMalformed
	}
	r.position = parseInt8(v[0])
	r.fields = chain.Fields{
		ID: v[1], Type: v[2], Args: v[3], Changes: v[4], Actor: v[5],
		Comment: v[6], Batch: v[7], BatchIndex: v[8], SchemaVersion: v[9],
	}
	r.recordedAt = parseInt8(v[10])
	if len(v[11]) != 32 || len(v[12]) != 32 {
		return r, fmt.Errorf("event %d: a hash is not 32 bytes long", r.position)
	}
	r.prevHash, r.hash = [32]byte(v[11]), [32]byte(v[12])
	return r, nil
}

// recorded copies the row into memory of its own.
func (r *row) recorded() Recorded {
	f := &r.fields
	texts := make([]byte, 0, len(f.Args)+len(f.Changes)+len(f.Actor))
	keep := func(text []byte) []byte {
		start := len(texts)
		texts = append(texts, text...)
		return texts[start:len(texts):len(texts)]
	}
	e := Event{
		ID: uuid.UUID(f.ID), Type: string(f.Type),
		Args: keep(f.Args), Changes: keep(f.Changes), Actor: keep(f.Actor),
		Comment: string(f.Comment), SchemaVersion: int(int32(binary.BigEndian.Uint32(f.SchemaVersion))),
	}
	if len(f.Batch) == 16 {
		e.Batch = uuid.UUID(f.Batch)
	}
	if len(f.BatchIndex) == 4 {
		e.BatchIndex = int(int32(binary.BigEndian.Uint32(f.BatchIndex)))
	}
	return Recorded{Event: e, Position: r.position, RecordedAt: timeOf(r.recordedAt), PrevHash: r.prevHash, Hash: r.hash}
}

func parseRecorded(v [][]byte) (Recorded, error) {
	r, err := parseRow(v)
	if err != nil {
		return Recorded{}, err
	}
	return r.recorded(), nil
}

// collectRecorded is pgx.RowToFunc for events.
func collectRecorded(r pgx.CollectableRow) (Recorded, error) { return parseRecorded(r.RawValues()) }
