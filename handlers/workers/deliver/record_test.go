package deliver

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/domain/delivery"
)

// TestAStopDoesNotWaitForADatabaseThatIsAway has leases that are held for longer
// than anybody waits for a stop.
func TestAStopDoesNotWaitForADatabaseThatIsAway(t *testing.T) {
	away, err := pgxpool.New(t.Context(), "host=127.0.0.1")
	require.NoError(t, err)
	away.Close()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(&queue{records: away}, slog.New(slog.DiscardHandler), newMeters(nil, nil))
		lease := Job{Delivery: delivery.Delivery{ID: "018f4e2e-7c1a-7000-8000-000000000001"}, until: time.Now().Add(time.Hour)}
		for range 2 * collectUpTo {
			r.add(&outcome{job: lease})
		}
		began := time.Now()
		r.close()
		require.Equal(t, lastWait, time.Since(began))
	})
}
