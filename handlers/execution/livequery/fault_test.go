package livequery_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// scripted answers as a test says: a subscription's text is its value.
type scripted struct {
	mu     sync.Mutex
	answer func(value string) error
	asked  [][]string
}

func (s *scripted) PrepareLive(_ context.Context, r execution.Request) (*execution.Live, error) {
	return &execution.Live{Shape: &execution.Shape{ID: sha256.Sum256(nil)}, Values: r.Query.Query}, nil
}

func (*scripted) IsCurrent(*execution.Live) bool { return true }

func (s *scripted) AnswerLive(_ context.Context, all []*execution.Live) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var values []string
	var answers [][]byte
	var failed error
	for _, l := range all {
		values = append(values, l.Values)
		answers = append(answers, fmt.Appendf(nil, "%s %d", l.Values, len(s.asked)))
		failed = errors.Join(failed, s.answer(l.Values))
	}
	slices.Sort(values)
	s.asked = append(s.asked, values)
	return answers, failed
}

// set changes how it answers, and forgets what it was asked.
func (s *scripted) set(answer func(value string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.asked = answer, nil
}

// was reports whether it was asked for these values at once.
func (s *scripted) was(values ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.asked, func(asked []string) bool { return slices.Equal(asked, values) })
}

func fine(string) error { return nil }

func newScripted(t *testing.T) (*scripted, *livequery.Hub) {
	t.Helper()
	source := &scripted{answer: fine}
	hub := livequery.New(source, livequery.Config{Interval: 5 * time.Millisecond})
	t.Cleanup(hub.Close)
	return source, hub
}

func follow(t *testing.T, hub *livequery.Hub, value string) *subscriber {
	t.Helper()
	out := &subscriber{t: t, news: make(chan struct{}, 1)}
	var err error
	out.Subscription, err = hub.Subscribe(t.Context(), request(domain.Session{}, value, ""), func() {
		select {
		case out.news <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	return out
}

func TestASubscriptionOutlivesADatabaseThatIsNotThere(t *testing.T) {
	t.Parallel()
	source, hub := newScripted(t)
	source.set(func(string) error { return errors.New("no connection") })
	s := follow(t, hub, "a")
	u := s.next()
	require.Error(t, u.Err)
	require.False(t, u.Last, "nothing is wrong with what it asks for")
	source.set(fine)
	for u = s.next(); u.Err != nil; {
		u = s.next()
	}
	require.Contains(t, string(u.Answer), "a ")
}

func TestWhatFailedIsAskedForApartUntilItSucceeds(t *testing.T) {
	t.Parallel()
	source, hub := newScripted(t)
	all := map[string]*subscriber{}
	for _, value := range []string{"a", "b", "c", "d"} {
		all[value] = follow(t, hub, value)
		all[value].next()
	}
	require.Eventually(t, func() bool { return source.was("a", "b", "c", "d") }, patience, time.Millisecond)
	source.set(func(value string) error {
		if value == "b" {
			return &execution.Spoiled{Err: errors.New("a bad value")}
		}
		return nil
	})
	for u := all["b"].next(); u.Err == nil; {
		u = all["b"].next()
	}
	require.Eventually(t, func() bool { return source.was("a", "c", "d") && source.was("b") }, patience, time.Millisecond)
	source.set(fine)
	require.Eventually(t, func() bool { return source.was("a", "b", "c", "d") }, patience, time.Millisecond)
	for u := all["b"].next(); u.Err != nil; {
		u = all["b"].next()
	}
}

func TestAPollerEndsWithItsLastSubscriber(t *testing.T) {
	t.Parallel()
	source, hub := newScripted(t)
	one, two := follow(t, hub, "a"), follow(t, hub, "a")
	one.next()
	one.Close()
	source.set(fine)
	require.Eventually(t, func() bool { return source.was("a") }, patience, time.Millisecond)
	two.Close()
	require.Equal(t, livequery.Stats{}, hub.Stats())
	hub.Close() // waits for whoever still asks
	source.set(fine)
	require.False(t, source.was("a"))
}

func TestAPanicIsAnErrorOfWhatBroughtItAbout(t *testing.T) {
	t.Parallel()
	source, hub := newScripted(t)
	source.set(func(value string) error {
		if value == "bad" {
			panic("a bug")
		}
		return nil
	})
	good, bad := follow(t, hub, "good"), follow(t, hub, "bad")
	require.NoError(t, good.next().Err)
	failed := bad.next()
	require.ErrorContains(t, failed.Err, "panic: a bug")
	require.True(t, failed.Last)
	var stack interface{ Stack() []byte }
	require.ErrorAs(t, failed.Err, &stack)
	require.Contains(t, string(stack.Stack()), "fault_test.go")
}
