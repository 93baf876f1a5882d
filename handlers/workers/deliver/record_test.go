package deliver

import (
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
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

func TestWhatManyTriesShareCrossesOnce(t *testing.T) {
	one, another := json.RawMessage(`{"a":1}`), json.RawMessage(`{"a":2}`)
	batch := []*outcome{
		{Attempt: Attempt{Request: one, Response: another}},
		{Attempt: Attempt{Request: json.RawMessage(`{"a":1}`), Response: one}},
		{Attempt: Attempt{Request: another}},
	}
	c := columnsOf(batch, time.Now())
	require.EqualValues(t, []json.RawMessage{one, another}, c.texts.list)
	require.Equal(t, []int32{1, 1, 2}, c.requests)
	require.Equal(t, []int32{2, 1, 0}, c.responses, "nothing stands at no place")
}

func TestIDsOfAttemptsAreOfVersion7AndAscend(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	ids := append(attemptIDs(now, collectUpTo), attemptIDs(now.Add(time.Millisecond), 1)...)
	var last uuid.UUID
	for i := range ids {
		id := uuid.UUID(ids[i].Bytes)
		require.Equal(t, uuid.Version(7), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Less(t, last.String(), id.String())
		last = id
	}
	sec, nsec := uuid.UUID(ids[0].Bytes).Time().UnixTime()
	require.WithinDuration(t, now, time.Unix(sec, nsec), time.Millisecond)
}
