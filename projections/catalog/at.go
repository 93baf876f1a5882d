package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
	"annals/eventstore"
)

// SnapshotEvery is how many events lie between two snapshots, by default.
const SnapshotEvery = 1000

// At returns the catalog as it was at a position, from the last snapshot at or
// before it and the events since.
func At(ctx context.Context, tx pgx.Tx, store *eventstore.Store, position int64) (metadata.Catalog, error) {
	from, state, ok, err := store.SnapshotAtOrBefore(ctx, tx, position)
	if err != nil {
		return metadata.Catalog{}, fmt.Errorf("catalog at %d: %w", position, err)
	}
	start := metadata.Catalog{}
	if !ok {
		from = 0
	} else if start, err = decodeSnapshot(state); err != nil {
		return metadata.Catalog{}, fmt.Errorf("catalog at %d: snapshot at %d: %w", position, from, err)
	}
	if from == position {
		return start, nil
	}
	fold := metadata.FoldFrom(start)
	err = store.Scan(ctx, tx, from, int(position-from), func(e eventstore.RawEvent) error {
		return fold.Event(e.Position, e.SchemaVersion, e.Changes)
	})
	if err != nil {
		return metadata.Catalog{}, fmt.Errorf("catalog at %d: %w", position, err)
	}
	return fold.Catalog(), nil
}

// SaveSnapshot stores the catalog of a position, so that a later [At] need not
// fold from zero. Saving the same position again changes nothing.
func SaveSnapshot(ctx context.Context, q eventstore.Querier, store *eventstore.Store, position int64, c metadata.Catalog) error {
	if err := store.SaveSnapshot(ctx, q, position, encodeSnapshot(c)); err != nil {
		return fmt.Errorf("save snapshot at %d: %w", position, err)
	}
	return nil
}

// A snapshot is gzip over a sequence of entries: position (8 bytes, big
// endian), then kind, name and definition, each after its length (4 bytes, big
// endian). It is made anew from the log when its form changes.

func encodeSnapshot(c metadata.Catalog) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	var b []byte
	for e := range c.All() {
		b = binary.BigEndian.AppendUint64(b[:0], uint64(e.Position))
		for _, part := range [][]byte{[]byte(e.Key.Kind), []byte(e.Key.Name), e.Definition} {
			b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
			b = append(b, part...)
		}
		z.Write(b) // into memory: never fails
	}
	z.Close()
	return out.Bytes()
}

func decodeSnapshot(state []byte) (metadata.Catalog, error) {
	z, err := gzip.NewReader(bytes.NewReader(state))
	if err != nil {
		return metadata.Catalog{}, err
	}
	rest, err := io.ReadAll(z)
	if err != nil {
		return metadata.Catalog{}, err
	}
	fold := metadata.FoldFrom(metadata.Catalog{})
	for len(rest) > 0 {
		if len(rest) < 8 {
			return metadata.Catalog{}, io.ErrUnexpectedEOF
		}
		position := int64(binary.BigEndian.Uint64(rest))
		rest = rest[8:]
		var parts [3][]byte
		for i := range parts {
			if parts[i], rest, err = cutPart(rest); err != nil {
				return metadata.Catalog{}, err
			}
		}
		fold.Put(metadata.Key{Kind: metadata.Kind(parts[0]), Name: string(parts[1])}, position, parts[2])
	}
	return fold.Catalog(), nil
}

// cutPart takes a part off the front.
func cutPart(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := int64(binary.BigEndian.Uint32(b))
	if b = b[4:]; int64(len(b)) < n {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return b[:n:n], b[n:], nil
}
