package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHeapGrowsLessTheMoreOfItIsAlive(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 32 << 20: 300, 48 << 20: 166, 64 << 20: 100, 1 << 30: 100} {
		require.Equal(t, want, growth(live), "%d bytes alive", live)
	}
}
