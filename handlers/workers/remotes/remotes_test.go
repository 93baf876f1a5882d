package remotes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"annals/domain/database"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
	"annals/handlers/workers/remotes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a watch over one remote schema, whose server and clock the test has.
type watched struct {
	*remotes.Watch
	t     *testing.T
	world metadata.World
	mu    sync.Mutex
	now   time.Time
	says  json.RawMessage // nil: nothing
	asked int
	log   bytes.Buffer
}

func types(sdl string) json.RawMessage { return graphqltest.New(sdl, nil, nil).Introspection() }

func watch(t *testing.T) *watched {
	w := &watched{t: t, now: time.Unix(1_000_000, 0), says: types(`type Query { a: Int }`)}
	w.world = metadata.NewWorld(metadata.Catalog{}, database.Shape{}, nil)
	request, err := metadata.Parse([]byte(`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://r"}}}`))
	require.NoError(t, err)
	w.decide(7, request.Command.(metadata.AddRemoteSchema).WithIntrospection(w.says))
	w.Watch = &remotes.Watch{
		World: func() metadata.World { return w.world }, Interval: time.Minute,
		Ask: func(context.Context, metadata.RemoteSchema) (json.RawMessage, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked++
			if w.says == nil {
				return nil, errors.New("no route")
			}
			return w.says, nil
		},
		ReadAt: func(_ context.Context, position int64) (time.Time, error) { return time.Unix(position*1000, 0), nil },
		Clock:  func() time.Time { return w.now },
		Log:    slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	return w
}

func (w *watched) decide(position int64, d metadata.Decider) {
	w.t.Helper()
	decision, err := metadata.Decide(w.world, position, d)
	require.NoError(w.t, err)
	w.world = decision.World
}

// after lets time pass and has the watch look.
func (w *watched) after(d time.Duration) remotes.Status {
	w.t.Helper()
	w.now = w.now.Add(d)
	w.RunOnce(w.t.Context())
	list := w.Statuses()
	require.Len(w.t, list, 1)
	return list[0]
}

func TestAServerIsAskedNowAndThen(t *testing.T) {
	w := watch(t)
	require.Equal(t, remotes.Status{Name: "r", Confirmed: w.now}, w.after(0), "a node that starts asks at once")
	w.after(59 * time.Second)
	require.Equal(t, 1, w.asked)
	require.Equal(t, w.now.Add(time.Second), w.after(time.Second).Confirmed)
	require.Equal(t, 2, w.asked)
	require.Empty(t, w.log.String())
}

func TestAServerThatIsAwayKeepsItsAgeAndIsAskedAgainSooner(t *testing.T) {
	w := watch(t)
	w.says = nil
	require.Equal(t, remotes.Status{Name: "r", Confirmed: time.Unix(7000, 0), Away: true}, w.after(0), "its types are as old as their event")
	require.Equal(t, 1, w.Away())
	for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		w.after(pause*time.Second - 1)
		require.Equal(t, i+1, w.asked)
		w.after(1)
		require.Equal(t, i+2, w.asked)
	}
	w.says = types(`type Query { a: Int }`)
	require.Equal(t, remotes.Status{Name: "r", Confirmed: w.now.Add(time.Minute)}, w.after(time.Minute))
	require.Equal(t, 2, bytes.Count(w.log.Bytes(), []byte("\n")), "it is told when it goes and when it comes back, not each time")
}

func TestOtherTypesAreToldAndNotTaken(t *testing.T) {
	w := watch(t)
	before := w.after(0)
	w.says = types(`type Query { a: Int  b: Int }`)
	s := w.after(time.Minute)
	require.True(t, s.Changed)
	require.Equal(t, before.Confirmed, s.Confirmed)
	require.Contains(t, w.log.String(), "added=[Query.b]")
	w.after(time.Minute)
	require.Equal(t, 1, bytes.Count(w.log.Bytes(), []byte("\n")))

	request, err := metadata.Parse([]byte(`{"type":"reload_remote_schema","args":{"name":"r"}}`))
	require.NoError(t, err)
	w.decide(9, request.Command.(metadata.ReloadRemoteSchema).WithIntrospection(w.says))
	require.Equal(t, remotes.Status{Name: "r", Confirmed: time.Unix(9000, 0)}, w.after(0))
	require.Equal(t, 3, w.asked, "it was just asked")

	request, err = metadata.Parse([]byte(`{"type":"remove_remote_schema","args":{"name":"r"}}`))
	require.NoError(t, err)
	w.decide(10, request.Command.(metadata.Decider))
	w.RunOnce(t.Context())
	require.Empty(t, w.Statuses())
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	w := watch(t)
	ctx, cancel := context.WithCancel(t.Context())
	hangs := make(chan struct{})
	w.Ask = func(ctx context.Context, _ metadata.RemoteSchema) (json.RawMessage, error) {
		close(hangs)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-hangs
	cancel()
	require.NoError(t, <-ended)
	require.Zero(t, w.Away(), "a server is not away because the node stops")

	w.Interval = -1
	require.NoError(t, w.Run(t.Context()), "nobody is asked")
}
