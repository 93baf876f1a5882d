// Package chain makes the event log tamper-evident.
//
// Every event carries the hash of the event before it, so changing, removing
// or reordering one stored event breaks the chain at that place:
//
//	hash(n)   = SHA-256(hash(n-1) || position(n) || recorded_at(n) || digest(n))
//	digest(n) = SHA-256(encoding(n))
//	hash(0)   = 32 zero bytes
//
// The digest covers what the writer of an event knows. Position and time are
// given by the database while it holds the head of the log, which is why they
// are linked in a second step: the database can take it without knowing what an
// event is made of. [Encode] alone knows the order of the fields; it never
// changes, and a test pins its bytes.
//
// The chain proves that the log was not changed by someone who does not
// rewrite all of it, head included. Against that, keep a copy of a hash
// elsewhere.
//
// Package chain does no IO: the store brings it events, in order.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
)

// format opens every encoding, so that another order of fields, should one ever
// be needed, cannot be mistaken for this one.
const format = 1

// Fields are the columns of an event that its writer knows, each in the
// database's binary form: text and JSON as UTF-8 bytes exactly as stored, ids as
// 16 bytes, integers as 4 bytes big-endian. nil is null, which is not the same
// as empty.
type Fields struct {
	ID, Type, Args, Changes, Actor, Comment, Batch, BatchIndex, SchemaVersion []byte
}

// Encode appends the encoding of an event: the format, then every field as a
// byte that says whether it is present and, if it is, its length in 4 bytes and
// its bytes. No two different events have the same encoding.
func Encode(dst []byte, f Fields) []byte {
	dst = append(dst, format)
	for _, field := range [...][]byte{
		f.ID, f.Type, f.Args, f.Changes, f.Actor, f.Comment, f.Batch, f.BatchIndex, f.SchemaVersion,
	} {
		if field == nil {
			dst = append(dst, 0)
			continue
		}
		dst = append(dst, 1)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(field)))
		dst = append(dst, field...)
	}
	return dst
}

// Digest is the hash of an encoding.
func Digest(encoding []byte) [32]byte { return sha256.Sum256(encoding) }

// Link is the hash of the event that follows prev. recordedAt is in the
// database's own measure, microseconds since 2000-01-01 00:00 UTC.
func Link(prev [32]byte, position, recordedAt int64, digest [32]byte) [32]byte {
	var b [80]byte
	copy(b[:32], prev[:])
	binary.BigEndian.PutUint64(b[32:], uint64(position))
	binary.BigEndian.PutUint64(b[40:], uint64(recordedAt))
	copy(b[48:], digest[:])
	return sha256.Sum256(b[:])
}
