// Package storetest says what a log must do, as tests against a store that the
// caller opens, and makes events for other packages' tests.
//
//	func TestTheContract(t *testing.T) { storetest.Run(t, open) }
package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/eventstore"
)

// Open gives a test an empty log, and the pool of the database it is in.
type Open func(testing.TB) (*eventstore.Store, *pgxpool.Pool)

// Run tests the whole contract, every part of it against a log of its own.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *eventstore.Store, *pgxpool.Pool){
		"positions count from one and the chain links them":          testPositions,
		"an event comes back as it was given":                        testRoundTrip,
		"hostile texts come back to the byte and verify":             testHostileTexts,
		"an expected position that is not the head's writes nothing": testExpected,
		"appending nothing still checks what is expected":            testNothing,
		"an event that cannot be stored is refused by name":          testInvalid,
		"what is rolled back never was":                              testRollback,
		"who locks the head decides alone":                           testLock,
		"reading goes on where it is asked to":                       testRead,
		"scanning lends what a fold needs":                           testScan,
		"an absent event is not found":                               testGet,
		"an audit page answers every filter, newest first":           testFind,
		"an object is found by every event that touched it":          testFindObject,
		"a time has a position":                                      testPositionAt,
		"checkpoints keep positions":                                 testCheckpoints,
		"snapshots answer for the positions after them":              testSnapshots,
		"following hears what is appended":                           testFollow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, pool := open(t)
			test(t, store, pool)
		})
	}
}

// NewEvent is an event of a type, otherwise small and plain.
func NewEvent(eventType string) eventstore.Event {
	return eventstore.Event{
		ID:            uuid.Must(uuid.NewV7()),
		Type:          eventType,
		Args:          json.RawMessage(`{"name":"example"}`),
		Changes:       json.RawMessage(`[]`),
		Actor:         json.RawMessage(`{"role":"admin"}`),
		SchemaVersion: 1,
	}
}

// NewEvents are several of them, of the types e1, e2 and so on.
func NewEvents(n int) []eventstore.Event {
	events := make([]eventstore.Event, n)
	for i := range events {
		events[i] = NewEvent(fmt.Sprintf("e%d", i+1))
	}
	return events
}

// Verified requires that the chain of the log holds, and returns its head.
func Verified(t testing.TB, store *eventstore.Store) eventstore.Head {
	t.Helper()
	report, err := store.Verify(t.Context(), eventstore.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, report.OK, "position %d: %s", report.Position, report.Reason)
	return report.Head
}

// Append appends to a log that must take it.
func Append(t testing.TB, store *eventstore.Store, events ...eventstore.Event) []eventstore.Recorded {
	t.Helper()
	recorded, err := store.Append(t.Context(), eventstore.Any(), events...)
	require.NoError(t, err)
	return recorded
}

func positions(events []eventstore.Recorded) []int64 {
	out := []int64{}
	for _, e := range events {
		out = append(out, e.Position)
	}
	return out
}
