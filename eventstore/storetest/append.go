package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/eventstore"
)

func testPositions(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	head, err := store.Head(t.Context())
	require.NoError(t, err)
	require.Zero(t, head, "an empty log")

	first := Append(t, store, NewEvent("a"))
	rest := Append(t, store, NewEvents(3)...)
	all := append(first, rest...)
	require.Equal(t, []int64{1, 2, 3, 4}, positions(all))
	prev := [32]byte{}
	for _, e := range all {
		require.Equal(t, prev, e.PrevHash)
		require.NotEqual(t, prev, e.Hash)
		require.WithinDuration(t, time.Now(), e.RecordedAt, time.Minute)
		prev = e.Hash
	}
	head, err = store.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventstore.Head{Position: 4, Hash: prev}, head)
	require.Equal(t, head, Verified(t, store))
}

func testRoundTrip(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	full := NewEvent("full")
	full.Comment, full.Batch, full.BatchIndex, full.SchemaVersion = "because", uuid.Must(uuid.NewV7()), 3, 12
	plain := NewEvent("plain")
	for _, e := range Append(t, store, full, plain) {
		got, err := store.Get(t.Context(), e.Position)
		require.NoError(t, err)
		require.Equal(t, e, got)
	}
}

func testHostileTexts(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	for _, text := range []string{
		`""`, ` { "a" : 1 } `, "\n[1,\t2]\r\n", `{"a":1,"a":2}`, `"\u0000"`, `"\ud800"`, `"\u00e9é"`, `"👩‍👩‍👧‍👦 ﷽ \u202e"`,
		`1e999`, `-0.000`, `"'; drop table annals.events; --"`, `"\\x00"`, `"$1 %s {{.}} \""`, `null`, `"NULL"`, `{}`,
		`"` + strings.Repeat("€", 100_000) + `"`,
	} {
		e := NewEvent("hostile")
		e.Args, e.Changes, e.Actor, e.Comment = json.RawMessage(text), json.RawMessage(text), json.RawMessage(text), text
		e.Objects = []eventstore.Object{{Kind: "'", Key: "{\"\\,NULL}\n"}, {Kind: "", Key: ""}, {Kind: "", Key: ""}}
		recorded := Append(t, store, e)[0]
		got, err := store.Get(t.Context(), recorded.Position)
		require.NoError(t, err)
		recorded.Objects = nil
		require.Equal(t, recorded, got)
		found, err := store.Find(t.Context(), eventstore.Filter{Object: &e.Objects[0], Limit: 1})
		require.NoError(t, err)
		require.Equal(t, []eventstore.Recorded{recorded}, found)
	}
	Verified(t, store)
}

func testExpected(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	_, err := store.Append(t.Context(), eventstore.At(0), NewEvents(2)...)
	require.NoError(t, err)
	for _, wrong := range []int64{0, 1, 3} {
		want := eventstore.VersionConflict{Expected: wrong, Actual: 2}
		_, err := store.Append(t.Context(), eventstore.At(wrong), NewEvents(2)...)
		require.ErrorIs(t, err, want)
		// In a transaction too, which is as good as before.
		err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := store.AppendTx(t.Context(), tx, eventstore.At(wrong), NewEvents(2)...)
			require.ErrorIs(t, err, want)
			return nil
		})
		require.NoError(t, err)
	}
	recorded, err := store.Append(t.Context(), eventstore.At(2), NewEvent("right"))
	require.NoError(t, err)
	require.Equal(t, []int64{3}, positions(recorded))
	require.EqualValues(t, 3, Verified(t, store).Position)
}

func testNothing(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	for _, expected := range []eventstore.Expected{eventstore.Any(), eventstore.At(0)} {
		recorded, err := store.Append(t.Context(), expected)
		require.NoError(t, err)
		require.Empty(t, recorded)
	}
	want := eventstore.VersionConflict{Expected: 7, Actual: 0}
	_, err := store.Append(t.Context(), eventstore.At(7))
	require.ErrorIs(t, err, want)
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := store.AppendTx(t.Context(), tx, eventstore.At(7))
		return err
	})
	require.ErrorIs(t, err, want)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = store.Append(ended, eventstore.At(7))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorAs(t, err, &eventstore.VersionConflict{}, "nobody knows where the log ends")
}

func testInvalid(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	for name, spoil := range map[string]func(*eventstore.Event){
		"no id":               func(e *eventstore.Event) { e.ID = uuid.Nil },
		"no type":             func(e *eventstore.Event) { e.Type = "" },
		"a very long type":    func(e *eventstore.Event) { e.Type = strings.Repeat("x", eventstore.MaxTypeBytes+1) },
		"no args":             func(e *eventstore.Event) { e.Args = nil },
		"no changes":          func(e *eventstore.Event) { e.Changes = nil },
		"no actor":            func(e *eventstore.Event) { e.Actor = json.RawMessage{} },
		"an index, no batch":  func(e *eventstore.Event) { e.BatchIndex = 1 },
		"a version too large": func(e *eventstore.Event) { e.SchemaVersion = 1 << 31 },
		"a very long object": func(e *eventstore.Event) {
			e.Objects = []eventstore.Object{{Kind: "table", Key: strings.Repeat("x", eventstore.MaxObjectBytes)}}
		},
	} {
		bad := NewEvent("bad")
		spoil(&bad)
		_, err := store.Append(t.Context(), eventstore.Any(), NewEvent("good"), bad)
		var invalid eventstore.InvalidEvent
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, 1, invalid.Index)
	}
	malformed := NewEvent("malformed")
	malformed.Args = json.RawMessage(`{"a":`)
	_, err := store.Append(t.Context(), eventstore.Any(), NewEvent("good"), malformed)
	require.Error(t, err)

	longest := NewEvent(strings.Repeat("x", eventstore.MaxTypeBytes))
	longest.Objects = []eventstore.Object{{Key: incompressible(eventstore.MaxObjectBytes)}}
	Append(t, store, longest)
	require.EqualValues(t, 1, Verified(t, store).Position)
}

// incompressible text, because PostgreSQL would make an index entry shorter.
func incompressible(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(uuid.NewString())
	}
	return b.String()[:n]
}

func testRollback(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	Append(t, store, NewEvent("kept"))
	changedMind := errors.New("changed my mind")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		recorded, err := store.AppendTx(t.Context(), tx, eventstore.At(1), NewEvents(2)...)
		require.NoError(t, err)
		require.Equal(t, []int64{2, 3}, positions(recorded))
		return changedMind
	})
	require.ErrorIs(t, err, changedMind)
	require.Equal(t, []int64{2}, positions(Append(t, store, NewEvent("next"))))
	require.EqualValues(t, 2, Verified(t, store).Position)
}

func testLock(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	other := make(chan []eventstore.Recorded, 1)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		head, err := store.Lock(t.Context(), tx)
		require.NoError(t, err)
		go func() {
			recorded, _ := store.Append(t.Context(), eventstore.Any(), NewEvent("other"))
			other <- recorded
		}()
		require.Eventually(t, func() bool { return waitsForALock(t, pool) }, 10*time.Second, time.Millisecond)
		for range 2 { // a transaction may append as often as it likes
			recorded, err := store.AppendTx(t.Context(), tx, eventstore.At(head.Position), NewEvent("mine"))
			require.NoError(t, err)
			head.Position = recorded[0].Position
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []int64{3}, positions(<-other))
	require.EqualValues(t, 3, Verified(t, store).Position)
}

func waitsForALock(t *testing.T, pool *pgxpool.Pool) (waits bool) {
	require.NoError(t, pool.QueryRow(t.Context(),
		`select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits))
	return waits
}
