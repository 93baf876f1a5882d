package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/eventstore"
)

func testRead(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	all := Append(t, store, NewEvents(5)...)
	for _, c := range []struct {
		after int64
		limit int
		want  []eventstore.Recorded
	}{{0, 0, all}, {0, 2, all[:2]}, {3, 0, all[3:]}, {3, 1, all[3:4]}, {5, 0, nil}, {9, 9, nil}} {
		var got []eventstore.Recorded
		for e, err := range store.Read(t.Context(), pool, c.after, c.limit) {
			require.NoError(t, err)
			got = append(got, e)
		}
		require.Equal(t, c.want, got, "after %d, limit %d", c.after, c.limit)
	}
	for e, err := range store.Read(t.Context(), pool, 0, 0) {
		require.NoError(t, err)
		require.Equal(t, all[0], e)
		break // and the connection is good for the next
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, err := range store.Read(ended, pool, 0, 0) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func testScan(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	all := Append(t, store, NewEvents(5)...)
	var got []int64
	require.NoError(t, store.Scan(t.Context(), pool, 1, 3, func(e eventstore.RawEvent) error {
		want := all[e.Position-1]
		require.Equal(t, want.Type, string(e.Type))
		require.Equal(t, string(want.Changes), string(e.Changes))
		require.Equal(t, want.SchemaVersion, e.SchemaVersion)
		got = append(got, e.Position)
		return nil
	}))
	require.Equal(t, []int64{2, 3, 4}, got)
	enough := errors.New("enough")
	require.Equal(t, enough, store.Scan(t.Context(), pool, 0, 0, func(eventstore.RawEvent) error { return enough }))
}

func testGet(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	Append(t, store, NewEvent("only"))
	for _, absent := range []int64{-1, 0, 2} {
		_, err := store.Get(t.Context(), absent)
		require.ErrorIs(t, err, eventstore.NotFound{Position: absent})
	}
}

func testFind(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	events := NewEvents(6)
	for i, actor := range []string{
		`{"role":"admin","credential":"ops"}`, `{"role":"user","request_id":"r-1"}`, `{"role":"admin"}`, `null`, `"admin"`, `[{"role":"admin"}]`,
	} {
		events[i].Actor = json.RawMessage(actor)
	}
	events[4].Type = "e1"
	Append(t, store, events[:3]...)
	late := Append(t, store, events[3:]...)[0].RecordedAt
	for name, c := range map[string]struct {
		filter eventstore.Filter
		want   []int64
	}{
		"all":             {eventstore.Filter{}, []int64{6, 5, 4, 3, 2, 1}},
		"limit":           {eventstore.Filter{Limit: 2}, []int64{6, 5}},
		"next page":       {eventstore.Filter{Limit: 2, Before: 5}, []int64{4, 3}},
		"after":           {eventstore.Filter{After: 4}, []int64{6, 5}},
		"type":            {eventstore.Filter{Type: "e1"}, []int64{5, 1}},
		"role":            {eventstore.Filter{Actor: "admin"}, []int64{3, 1}},
		"credential":      {eventstore.Filter{Actor: "ops"}, []int64{1}},
		"request id":      {eventstore.Filter{Actor: "r-1"}, []int64{2}},
		"since":           {eventstore.Filter{Since: late}, []int64{6, 5, 4}},
		"until":           {eventstore.Filter{Until: late}, []int64{3, 2, 1}},
		"several at once": {eventstore.Filter{Type: "e1", Since: late, After: 1, Before: 6}, []int64{5}},
		"nothing":         {eventstore.Filter{Type: "e1", Actor: "r-1"}, []int64{}},
	} {
		found, err := store.Find(t.Context(), c.filter)
		require.NoError(t, err, name)
		require.Equal(t, c.want, positions(found), name)
	}
}

func testFindObject(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	events := NewEvents(4)
	albums, artists := eventstore.Object{Kind: "table", Key: "album"}, eventstore.Object{Kind: "table", Key: "artist"}
	events[0].Objects = []eventstore.Object{albums, artists}
	events[2].Objects = []eventstore.Object{albums, albums}
	events[3].Objects = []eventstore.Object{{Kind: "action", Key: "album"}}
	Append(t, store, events...)
	for _, c := range []struct {
		filter eventstore.Filter
		want   []int64
	}{
		{eventstore.Filter{Object: &albums}, []int64{3, 1}},
		{eventstore.Filter{Object: &artists}, []int64{1}},
		{eventstore.Filter{Object: &albums, Limit: 1}, []int64{3}},
		{eventstore.Filter{Object: &albums, Before: 3}, []int64{1}},
		{eventstore.Filter{Object: &albums, Type: "e3", Actor: "admin"}, []int64{3}},
		{eventstore.Filter{Object: &eventstore.Object{Kind: "table", Key: "none"}}, []int64{}},
	} {
		found, err := store.Find(t.Context(), c.filter)
		require.NoError(t, err)
		require.Equal(t, c.want, positions(found))
	}
}

func testPositionAt(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	first := Append(t, store, NewEvents(2)...)[1].RecordedAt
	second := Append(t, store, NewEvent("later"))[0].RecordedAt
	for want, times := range map[int64][]time.Time{
		0: {{}, first.Add(-time.Microsecond)},
		2: {first, second.Add(-time.Microsecond)},
		3: {second, second.Add(time.Hour)},
	} {
		for _, at := range times {
			position, err := store.PositionAt(t.Context(), pool, at)
			require.NoError(t, err)
			require.Equal(t, want, position)
		}
	}
}

func testCheckpoints(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	for _, position := range []int64{7, 9, 0} {
		require.NoError(t, store.SaveCheckpoint(t.Context(), pool, "catalog", position))
		got, err := store.LoadCheckpoint(t.Context(), pool, "catalog")
		require.NoError(t, err)
		require.Equal(t, position, got)
	}
	got, err := store.LoadCheckpoint(t.Context(), pool, "unknown")
	require.NoError(t, err)
	require.Zero(t, got)
}

func testSnapshots(t *testing.T, store *eventstore.Store, pool *pgxpool.Pool) {
	at := func(position int64) (int64, string) {
		at, state, ok, err := store.SnapshotAtOrBefore(t.Context(), pool, position)
		require.NoError(t, err)
		require.Equal(t, at != 0, ok)
		return at, string(state)
	}
	for _, position := range []int64{10, 20, 30, 20} {
		require.NoError(t, store.SaveSnapshot(t.Context(), pool, position, []byte{byte(position), 0, 0xff}))
	}
	position, _ := at(9)
	require.Zero(t, position)
	position, state := at(29)
	require.EqualValues(t, 20, position)
	require.Equal(t, "\x14\x00\xff", state)
	require.NoError(t, store.PruneSnapshots(t.Context(), pool, 1))
	position, _ = at(29)
	require.Zero(t, position)
	position, _ = at(30)
	require.EqualValues(t, 30, position)
}

func testFollow(t *testing.T, store *eventstore.Store, _ *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	Append(t, store, NewEvents(3)...)
	var got []int64
	for e, err := range store.Follow(ctx, 1) {
		require.NoError(t, err)
		got = append(got, e.Position)
		if e.Position < 6 { // the log grows while it is followed
			Append(t, store, NewEvent("more"))
		}
		if e.Position == 7 {
			break
		}
	}
	require.Equal(t, []int64{2, 3, 4, 5, 6, 7}, got)
}
