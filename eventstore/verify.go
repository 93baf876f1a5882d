package eventstore

import (
	"context"
	_ "embed"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"annals/eventstore/chain"
)

// ProgressEvery is how many events lie between two calls of a Verify's Progress.
const ProgressEvery = 10_000

// VerifyOptions say how much to verify. The zero value is everything.
type VerifyOptions struct {
	// From is the first event to verify: its link to the one before is checked,
	// those before are believed. 0 and 1 begin at the beginning.
	From int64

	// Progress, if given, hears from time to time how far the work has come.
	Progress func(done, total int64)
}

// A Report is what a Verify found.
type Report struct {
	OK       bool
	Events   int64 // found to be good
	Head     Head  // as the log gives it
	Position int64 // if not OK: the first place that does not fit
	Reason   string
}

//go:embed verify.sql
var verifySQL string

// Verify computes the chain anew over the stored bytes and compares it with what
// is stored: an event that was changed, removed, added or moved is found, and a
// tail that was cut off, for the head knows where the log ended. Everything is
// read at one moment, so appending may go on. The error is for a log that could
// not be read; one that is not good is in the report.
func (s *Store) Verify(ctx context.Context, o VerifyOptions) (Report, error) {
	var report Report
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) (err error) {
		report, err = verify(ctx, tx, o)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("verify the log: %w", err)
	}
	return report, nil
}

func verify(ctx context.Context, tx pgx.Tx, o VerifyOptions) (Report, error) {
	head, err := scanHead(tx.QueryRow(ctx, headSQL))
	if err != nil {
		return Report{}, err
	}
	before := min(max(o.From-1, 0), head.Position)
	v := &verifier{head: head, last: Head{Position: before}, before: before, progress: o.Progress}
	// The event that is believed is read as well: it brings the hash to begin with.
	start := before
	if before == 0 {
		start = math.MinInt64 // there is no such event, nor must there be any before
	}
	rows, err := tx.Query(ctx, verifySQL, binaryResults(), start)
	if err != nil {
		return Report{}, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := v.row(rows.RawValues()); err != nil {
			return Report{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return Report{}, err
	}
	return v.report(), nil
}

// A verifier walks along the chain. After the first flaw it walks on, because
// the rows come anyway, but looks no more.
type verifier struct {
	head     Head
	last     Head  // the last event that fits
	before   int64 // the position that is believed
	encoding []byte
	flaw     string
	progress func(done, total int64)
}

func (v *verifier) row(values [][]byte) error {
	if v.flaw != "" {
		return nil
	}
	r, err := parseRow(values)
	switch {
	case err != nil && r.position == 0:
		return err
	case err != nil:
		v.flaw = err.Error()
	case r.position == v.before && v.before > 0:
		v.last.Hash = r.hash
	default:
		v.flaw = v.check(&r)
	}
	return nil
}

// check is why an event does not follow the last one; if it does, it is the
// last one now.
func (v *verifier) check(r *row) string {
	place := v.last.Position + 1
	switch {
	case r.position < place:
		return fmt.Sprintf("there is an event at position %d, where none can be", r.position)
	case r.position > place:
		return fmt.Sprintf("event %d is missing: the next one is at position %d", place, r.position)
	case r.prevHash != v.last.Hash:
		return fmt.Sprintf("event %d does not link to the event before it", place)
	}
	v.encoding = chain.Encode(v.encoding[:0], r.fields)
	if chain.Link(v.last.Hash, r.position, r.recordedAt, chain.Digest(v.encoding)) != r.hash {
		return fmt.Sprintf("event %d is not what was recorded: its content does not have its hash", place)
	}
	v.last = Head{Position: place, Hash: r.hash}
	if v.progress != nil && (place%ProgressEvery == 0 || place == v.head.Position) {
		v.progress(place-v.before, v.head.Position-v.before)
	}
	return ""
}

func (v *verifier) report() Report {
	r := Report{Head: v.head, Events: v.last.Position - v.before, Position: v.last.Position + 1, Reason: v.flaw}
	switch {
	case v.flaw != "":
	case v.last.Position < v.head.Position:
		r.Reason = fmt.Sprintf("the log ends at position %d, but its head is at %d: events %d to %d are missing",
			v.last.Position, v.head.Position, v.last.Position+1, v.head.Position)
	case v.last.Position > v.head.Position:
		r.Position, r.Events = v.head.Position+1, v.head.Position-v.before
		r.Reason = fmt.Sprintf("the head of the log is at position %d, but there are events up to %d", v.head.Position, v.last.Position)
	case v.last.Hash != v.head.Hash:
		r.Position = v.head.Position
		r.Reason = "the head of the log does not have the hash of the last event"
	default:
		r.OK, r.Position = true, 0
	}
	return r
}
