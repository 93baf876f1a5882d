// Package follow keeps a node at the head of the history.
//
// Other nodes append; this one hears of it through the log's topic, and folds
// what is new. A message is only a hint that there is something: the catalog
// is brought to the head whatever it says, so a message that comes late, twice
// or not at all (the topic then polls) does no harm.
//
// The follower also takes a snapshot of the catalog every so many events, so
// that looking back in time never folds from zero.
package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"annals/eventstore"
	"annals/projections/catalog"
)

// CatchUp brings the node's catalog to a position at least.
type CatchUp func(ctx context.Context, position int64) error

// Follower is the worker of one node.
type Follower struct {
	Store *eventstore.Store
	Live  *catalog.Live
	// CatchUp is called for each message.
	CatchUp CatchUp
	// SnapshotEvery is how many events lie between snapshots; zero takes
	// [catalog.SnapshotEvery].
	SnapshotEvery int64
	// Snapshot saves the catalog of a version.
	Snapshot func(ctx context.Context, v catalog.Version) error
	Log      *slog.Logger
}

// Run follows until the context ends. It returns nil then, and an error only
// when the topic cannot be subscribed to.
func (f *Follower) Run(ctx context.Context) error {
	subscriber, err := f.Store.Subscriber(eventstore.SubscriberConfig{After: f.Live.Position()})
	if err != nil {
		return fmt.Errorf("follow the history: %w", err)
	}
	defer subscriber.Close()
	messages, err := subscriber.Subscribe(ctx, eventstore.Topic)
	if err != nil {
		return fmt.Errorf("follow the history: %w", err)
	}
	last := f.Live.Position()
	for m := range messages {
		last = f.handle(ctx, m, last)
	}
	return nil
}

// handle brings the node to a message's position at least. The message is acknowledged in any
// case: a failure is tried again with the next one, or the next call.
func (f *Follower) handle(ctx context.Context, m *message.Message, snapshot int64) int64 {
	defer m.Ack()
	position, err := strconv.ParseInt(m.Metadata.Get(eventstore.MetadataPosition), 10, 64)
	if err != nil {
		f.Log.Warn("a message of the history has no position", "error", err)
		return snapshot
	}
	if position <= f.Live.Position() {
		return f.snapshotAfter(ctx, snapshot) // this node appended it, or an earlier message brought more than itself
	}
	if err := f.CatchUp(ctx, position); err != nil && !errors.Is(err, context.Canceled) {
		f.Log.Warn("cannot follow the history; trying again with the next event", "error", err)
	}
	return f.snapshotAfter(ctx, snapshot)
}

// snapshotAfter takes a snapshot when enough events came since the last, and
// returns the position of the newest.
func (f *Follower) snapshotAfter(ctx context.Context, last int64) int64 {
	every := f.SnapshotEvery
	if every == 0 {
		every = catalog.SnapshotEvery
	}
	v := f.Live.Current()
	if v.Position/every == last/every {
		return last
	}
	if err := f.Snapshot(ctx, v); err != nil && !errors.Is(err, context.Canceled) {
		f.Log.Warn("cannot save a snapshot of the catalog; looking back in time will be slower", "position", v.Position, "error", err)
		return last
	}
	return v.Position
}
