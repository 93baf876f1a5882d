package catalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
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
	in := bufio.NewReader(z)
	fold := metadata.FoldFrom(metadata.Catalog{})
	for {
		var position int64
		switch err := binary.Read(in, binary.BigEndian, &position); {
		case errors.Is(err, io.EOF):
			return fold.Catalog(), nil
		case err != nil:
			return metadata.Catalog{}, err
		}
		var parts [3][]byte
		for i := range parts {
			if parts[i], err = readPart(in); err != nil {
				return metadata.Catalog{}, err
			}
		}
		fold.Put(metadata.Key{Kind: metadata.Kind(parts[0]), Name: string(parts[1])}, position, parts[2])
	}
}

func readPart(in io.Reader) ([]byte, error) {
	var n uint32
	if err := binary.Read(in, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	part := make([]byte, n)
	_, err := io.ReadFull(in, part)
	return part, err
}
