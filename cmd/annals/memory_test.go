package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHeapGrowsLessTheMoreOfItIsAlive(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 1 << 20: 1600, 16 << 20: 700, 32 << 20: 300, 48 << 20: 166, 64 << 20: 100, 1 << 30: 100} {
		require.Equal(t, want, growth(live), "%d bytes alive", live)
	}
}
