package eventstore

import (
	"context"
	"iter"
)

// FollowBatch is how many events a follower reads at once.
const FollowBatch = 256

// Follow yields the events after a position in their order, and then those that
// are appended, until ctx is done. An append on any node wakes it; should that
// fail, it looks every Config.PollInterval. An error is yielded, and whoever
// goes on after it lets the follower try again. It holds no connection while it
// waits and none while an event is handled.
func (s *Store) Follow(ctx context.Context, after int64) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		rings, leave := s.bell.listen()
		defer leave()
		for ctx.Err() == nil {
			events, err := s.readBatch(ctx, after)
			for _, recorded := range events {
				if ctx.Err() != nil || !yield(recorded, nil) {
					return
				}
				after = recorded.Position
			}
			if err != nil && (ctx.Err() != nil || !yield(Recorded{}, err)) {
				return
			}
			if len(events) < FollowBatch {
				pause(ctx, s.config.PollInterval, rings)
			}
		}
	}
}

func (s *Store) readBatch(ctx context.Context, after int64) (events []Recorded, err error) {
	for recorded, err := range s.Read(ctx, s.pool, after, FollowBatch) {
		if err != nil {
			return events, err
		}
		events = append(events, recorded)
	}
	return events, nil
}
