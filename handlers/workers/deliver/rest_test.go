package deliver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLooksBecomeRareWhileNothingIsDueAndWhoeverWakesIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := Config{FetchInterval: time.Second}
		s := &Subscriber{config: SubscriberConfig{Config: config}, slots: newSlots(config, nil), wake: make(chan struct{}, 1)}
		c := &claimer{Subscriber: s, found: time.Now()}
		rested := func(found pause) time.Duration {
			began := time.Now()
			c.rest(t.Context(), found)
			return time.Since(began)
		}
		nothing := pause{soonest: time.Hour}
		for time.Since(c.found) < attentive {
			require.Equal(t, busyInterval, rested(nothing), "more may come soon")
		}
		for _, want := range []time.Duration{40, 80, 160, 320, 640, 1000, 1000} {
			require.Equal(t, want*time.Millisecond, rested(nothing))
		}
		require.Equal(t, 300*time.Millisecond, rested(pause{soonest: 300 * time.Millisecond}), "something falls due")
		s.Wake()
		require.Equal(t, wakeGap, rested(nothing))
		require.Equal(t, busyInterval, rested(pause{claimed: 1, soonest: time.Hour}))
	})
}
