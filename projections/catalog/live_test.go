package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/database"
	"annals/domain/metadata"
)

func version(position int64) Version {
	return Version{position, metadata.NewWorld(metadata.Catalog{}, database.Shape{}, nil)}
}

func TestAnOlderVersionDoesNotReplaceANewerOne(t *testing.T) {
	l := NewLive(version(5))
	l.Publish(version(4))
	require.EqualValues(t, 5, l.Position())
	l.Publish(version(7))
	require.EqualValues(t, 7, l.Position())
}

func TestWhoWaitsForAPositionIsWokenWhenItIsReached(t *testing.T) {
	l := NewLive(version(1))
	reached := make(chan error)
	go func() { reached <- l.WaitFor(t.Context(), 3) }()
	l.Publish(version(2))
	l.Publish(version(3))
	require.NoError(t, <-reached)
	require.NoError(t, l.WaitFor(t.Context(), 2))
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, NewLive(version(1)).WaitFor(ctx, 2), context.Canceled)
}

func TestASnapshotIsReadBackAsItWasSaved(t *testing.T) {
	fold := metadata.FoldFrom(metadata.Catalog{})
	require.NoError(t, fold.Event(3, metadata.SchemaVersion, []byte(
		`[{"type":"t","kind":"query_collection","key":"\"a b\"","definition":{"name":"a b","definition":{"queries":[]}}},
		  {"type":"t","kind":"table","key":"public.t","definition":{"table":{"schema":"public","name":"t"}}}]`)))
	want := fold.Catalog()
	got, err := decodeSnapshot(encodeSnapshot(want))
	require.NoError(t, err)
	require.Equal(t, want.Len(), got.Len())
	require.Empty(t, metadata.Difference(want, got))
	for e := range want.All() {
		require.Equal(t, e.Position, got.Get(e.Key).Position)
	}
}

func TestADamagedSnapshotIsAnErrorNotACatalog(t *testing.T) {
	fold := metadata.FoldFrom(metadata.Catalog{})
	fold.Put(metadata.Key{Kind: metadata.KindTable, Name: "public.t"}, 1, []byte(`{}`))
	state := encodeSnapshot(fold.Catalog())
	for i := range state {
		_, err := decodeSnapshot(state[:i])
		require.Error(t, err, i)
	}
	for _, entries := range []string{
		"\x00", "\x00\x00\x00\x00\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00",
		"\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfftable",
	} {
		var state bytes.Buffer
		z := gzip.NewWriter(&state)
		z.Write([]byte(entries))
		require.NoError(t, z.Close())
		_, err := decodeSnapshot(state.Bytes())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}
