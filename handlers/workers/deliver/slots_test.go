package deliver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/delivery"
)

func ofTwo(string) delivery.Limits { return delivery.Limits{Concurrency: 2} }

func TestWhatEndsWhileMoreIsHandedOverWidensNoLane(t *testing.T) {
	s := newSlots(Config{}, ofTwo)
	require.Equal(t, []share{{lane: "a", free: 2}}, s.allot([]string{"a"}))
	s.free("a", s.take("a", 100)) // the only one in hand is over
	s.allot(nil)                  // and somebody else looks
	s.allot(nil)
	require.True(t, s.take("a", 100).come())
	require.True(t, s.take("a", 100).come())
	require.False(t, s.take("a", 100).come())
}

func TestAQuickLaneTakesAheadWhatItEndsMeanwhileUpToABound(t *testing.T) {
	s := newSlots(Config{}, ofTwo)
	s.ahead = true
	free := func() int { return s.allot([]string{"a"})[0].free }
	took := 0
	for _, want := range []int{2, 2 + 2*2, 2 + aheadOfSlots*2, 2 + aheadOfSlots*2} {
		took = free()
		require.Equal(t, want, took)
		turns := make([]turn, took)
		for i := range turns {
			turns[i] = s.take("a", 100)
		}
		for _, mine := range turns {
			require.True(t, mine.come(), "those before it are over")
			s.free("a", mine)
		}
	}
	require.Equal(t, 2+aheadOfSlots*2, free())
	require.Equal(t, 2, free(), "nothing ended since")
}

func TestALaneWhoseCallsHangTakesNothingAhead(t *testing.T) {
	s := newSlots(Config{}, ofTwo)
	s.ahead = true
	s.allot([]string{"a"})
	s.take("a", 100)
	s.take("a", 100)
	require.Empty(t, s.allot([]string{"a"}))
}

func TestOfLargePayloadsFewAreTakenAhead(t *testing.T) {
	s := newSlots(Config{}, ofTwo)
	s.ahead = true
	next := func(size int) int {
		free := s.allot([]string{"a"})[0].free
		for range free {
			s.free("a", s.take("a", size))
		}
		return free
	}
	next(aheadBytes / 3)
	require.Equal(t, 2+3, next(2*aheadBytes))
	require.Equal(t, 2, next(100), "none of those fits")
	for range 100 {
		next(100)
	}
	require.Equal(t, 2+aheadOfSlots*2, next(100), "they were small for long")
}
