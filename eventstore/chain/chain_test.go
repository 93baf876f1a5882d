package chain_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/eventstore/chain"
)

func example() chain.Fields {
	return chain.Fields{
		ID:            []byte("0123456789abcdef"),
		Type:          []byte("create"),
		Args:          []byte(`{"name":"ü"}`),
		Changes:       []byte(`[]`),
		Actor:         []byte(`{}`),
		Comment:       []byte("why"),
		Batch:         []byte("fedcba9876543210"),
		BatchIndex:    []byte{0, 0, 0, 7},
		SchemaVersion: []byte{0, 0, 0, 1},
	}
}

// These bytes are in every log there is. If this test fails, the code is wrong.
func TestTheEncodingIsTheseBytes(t *testing.T) {
	want := "01" +
		"01" + "00000010" + hex.EncodeToString([]byte("0123456789abcdef")) +
		"01" + "00000006" + "637265617465" +
		"01" + "0000000d" + "7b226e616d65223a22c3bc227d" +
		"01" + "00000002" + "5b5d" +
		"01" + "00000002" + "7b7d" +
		"01" + "00000003" + "776879" +
		"01" + "00000010" + hex.EncodeToString([]byte("fedcba9876543210")) +
		"01" + "00000004" + "00000007" +
		"01" + "00000004" + "00000001"
	require.Equal(t, want, hex.EncodeToString(chain.Encode(nil, example())))
}

func TestAnAbsentFieldIsOneZeroByte(t *testing.T) {
	f := example()
	f.Comment, f.Batch, f.BatchIndex = nil, nil, nil
	got := hex.EncodeToString(chain.Encode(nil, f))
	require.True(t, strings.HasSuffix(got, "01"+"00000002"+"7b7d"+"00"+"00"+"00"+"01"+"00000004"+"00000001"), got)
}

func TestTheLinkIsTheseBytes(t *testing.T) {
	digest := chain.Digest(chain.Encode(nil, example()))
	require.Equal(t, "36350ec348a847c86ca36de4efd7686fbad7c90761df0adb8fb022af1a612936", hex.EncodeToString(digest[:]))
	first := chain.Link([32]byte{}, 1, 848_000_000_000_000, digest)
	require.Equal(t, "e40ee1467ca6f1fc988cbea5208614bc492e70d8426ea0cfedbd66a805e3570d", hex.EncodeToString(first[:]))
	second := chain.Link(first, 2, 848_000_000_000_001, digest)
	require.Equal(t, "70f187dd9af55046ba4e757e677f9d4de6338a7b8e05d205bbc5c15aba2d9503", hex.EncodeToString(second[:]))
}

func TestEmptyIsNotAbsentAndNothingMovesFromFieldToField(t *testing.T) {
	variants := []func(*chain.Fields){
		func(*chain.Fields) {},
		func(f *chain.Fields) { f.Comment = nil },
		func(f *chain.Fields) { f.Comment = []byte{} },
		func(f *chain.Fields) { f.Args, f.Changes = f.Changes, f.Args },
		func(f *chain.Fields) { f.Type, f.Args = []byte("creat"), append([]byte("e"), f.Args...) },
		func(f *chain.Fields) { f.Batch, f.BatchIndex = nil, f.Batch },
		func(f *chain.Fields) { f.Comment, f.Batch = f.Batch, f.Comment },
		func(f *chain.Fields) { f.Batch = nil },
		func(f *chain.Fields) { f.BatchIndex = nil },
	}
	seen := map[string]int{}
	for i, vary := range variants {
		f := example()
		vary(&f)
		encoding := string(chain.Encode(nil, f))
		other, twice := seen[encoding]
		require.False(t, twice, "variants %d and %d encode alike", other, i)
		seen[encoding] = i
	}
}

func TestALinkDependsOnEveryPartOfIt(t *testing.T) {
	prev, digest := [32]byte{1}, [32]byte{2}
	link := chain.Link(prev, 3, 4, digest)
	require.NotEqual(t, link, chain.Link([32]byte{}, 3, 4, digest))
	require.NotEqual(t, link, chain.Link(prev, 4, 3, digest))
	require.NotEqual(t, link, chain.Link(prev, 3, 5, digest))
	require.NotEqual(t, link, chain.Link(prev, 3, 4, prev))
}
