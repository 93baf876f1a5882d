package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// How keys are fetched.
const (
	// FetchTimeout is how long the source of keys may take to answer.
	FetchTimeout = 10 * time.Second
	// RetryInterval is the wait after a fetch that failed, or that said nothing
	// of how long the keys are good for.
	RetryInterval = time.Minute
	// RefetchInterval is the least time between two fetches that tokens with an
	// unknown key ask for.
	RefetchInterval = 10 * time.Second
	// MaxKeySetBytes is how large a set of keys may be.
	MaxKeySetBytes = 1 << 20
	// MaxKeys is how many keys a set may have: a token that names none is held
	// against all of them.
	MaxKeys = 100
)

// keySource holds the keys that a URL serves.
//
//	        fetched, good for d         d is over
//	nothing ───────────────────> fresh ───────────> fetched again
//	   │ ^                         ^                   │
//	   │ └─ failed: RetryInterval  └── failed, or without d: RetryInterval
//	   └─ fetched without d: kept, and only an unknown key has them fetched again
//
// Keys that were fetched once stay in use while the source is down.
type keySource struct {
	url    string
	client *http.Client
	now    func() time.Time
	log    *slog.Logger

	current atomic.Pointer[keySet]
	busy    chan struct{} // full while somebody fetches
	changed chan struct{} // wakes run after a fetch that was not its own
}

// keySet is what is known after a fetch. It does not change.
type keySet struct {
	keys  []key
	tried time.Time // zero: no fetch was tried
	due   time.Time // zero: never again
}

func (s *keySet) known() bool { return len(s.keys) > 0 }

func newKeySource(url string, c Config) *keySource {
	s := &keySource{url: url, client: c.Client, now: c.Now, log: c.KeysLog, busy: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	s.current.Store(&keySet{})
	return s
}

// errNoKeys is the answer to tokens while no key is known. It is the server's
// fault, so that clients keep their tokens.
var errNoKeys = fault("Could not verify JWT: the keys are not known yet, as jwk_url does not answer")

// named returns the keys that a token may be signed with. A key that is not
// known may be new, so the source is asked, but not for each such token.
func (s *keySource) named(ctx context.Context, id string) ([]key, error) {
	set := s.current.Load()
	if keys := named(set.keys, id); len(keys) > 0 {
		return keys, nil
	}
	set, err := s.refetch(ctx, set)
	if err != nil {
		return nil, err
	}
	if !set.known() {
		return nil, errNoKeys
	}
	return named(set.keys, id), nil
}

// refetch returns what is known after seen, which did not suffice.
func (s *keySource) refetch(ctx context.Context, seen *keySet) (*keySet, error) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the keys of JWT: %w", ctx.Err())
	}
	defer func() { <-s.busy }()
	set := s.current.Load()
	if set != seen || !set.tried.IsZero() && s.now().Sub(set.tried) < RefetchInterval {
		return set, nil
	}
	// Whoever waits for the keys as well must not suffer from a caller that hangs up.
	set = s.fetch(context.WithoutCancel(ctx))
	select {
	case s.changed <- struct{}{}:
	default: // run has not looked since the last time: it will
	}
	return set, nil
}

// run fetches the keys when they are due, until the context ends.
func (s *keySource) run(ctx context.Context) {
	for {
		set := s.current.Load()
		if !s.wait(ctx, set) {
			return
		}
		s.refresh(ctx, set)
	}
}

// wait returns when the keys are due, or when there are others; false at the
// end of the context.
func (s *keySource) wait(ctx context.Context, set *keySet) bool {
	var due <-chan time.Time
	switch {
	case set.tried.IsZero():
		return ctx.Err() == nil
	case !set.due.IsZero():
		due = time.After(set.due.Sub(s.now()))
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
	case <-s.changed:
	}
	return true
}

// refresh fetches the keys, unless they are not due or somebody else did.
func (s *keySource) refresh(ctx context.Context, seen *keySet) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-s.busy }()
	set := s.current.Load()
	if set == seen && set.isDue(s.now()) {
		s.fetch(ctx)
	}
}

func (s *keySet) isDue(now time.Time) bool {
	return s.tried.IsZero() || !s.due.IsZero() && !now.Before(s.due)
}

// fetch asks the source once and remembers what came of it. Only who holds
// busy may call it.
func (s *keySource) fetch(ctx context.Context) *keySet {
	ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	was := s.current.Load()
	keys, goodFor, err := s.download(ctx)
	now := s.now()
	set := &keySet{keys: keys, tried: now, due: was.next(now, goodFor, err)}
	if err != nil {
		set.keys = was.keys
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("cannot fetch the keys of JWT", "error", err, "keys_kept", len(set.keys))
	}
	s.current.Store(set)
	return set
}

// next is when to fetch again after a fetch that followed was. Only a source
// whose first answer says how long it holds is asked again without a reason.
func (s *keySet) next(now time.Time, goodFor time.Duration, err error) time.Time {
	onlyOnce := s.known() && s.due.IsZero() || !s.known() && err == nil
	switch {
	case err == nil && goodFor > 0:
		return now.Add(goodFor)
	case onlyOnce:
		return time.Time{}
	}
	return now.Add(RetryInterval)
}

// download makes the call. How long the keys are good for is 0 when the source
// does not say.
func (s *keySource) download(ctx context.Context) (keys []key, goodFor time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, 0, cause(err)
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	request.Header.Set("User-Agent", userAgent)
	response, err := s.client.Do(request)
	if err != nil {
		return nil, 0, cause(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("the source answered with status %d", response.StatusCode)
	}
	body, err := readAtMost(response.Body, MaxKeySetBytes)
	if err != nil {
		return nil, 0, err
	}
	if keys, err = s.parse(body); err != nil {
		return nil, 0, err
	}
	return keys, holds(response.Header, s.now()), nil
}

// holds is how long an answer says that it may be kept. One that is not to be
// kept is kept for the shortest time there is here.
func holds(h http.Header, now time.Time) time.Duration {
	cacheControl := strings.Join(h.Values("Cache-Control"), ",")
	d, said := lifetime(cacheControl, h.Get("Expires"), now)
	if said && d <= 0 || forbidsKeeping(cacheControl) {
		return RetryInterval
	}
	return d
}

// parse reads a set. Keys that cannot be used are passed over: a source may
// serve others beside ours.
func (s *keySource) parse(text []byte) ([]key, error) {
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the answer is not a set of JSON web keys")
	}
	if len(set.Keys) > MaxKeys {
		return nil, fmt.Errorf("the set has %d keys, more than %d", len(set.Keys), MaxKeys)
	}
	var keys []key
	for i, text := range set.Keys {
		k, err := parseJWK(text)
		if err != nil {
			s.log.Info("a key of JWT is passed over", "index", i, "error", err)
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("the set has no key that verifies tokens, among %d", len(set.Keys))
	}
	return slices.Clip(keys), nil
}

// keyring knows the keys that a token may be signed with.
type keyring interface {
	// named returns the keys with an id, and those without any; all keys for
	// the empty id.
	named(ctx context.Context, id string) ([]key, error)
}

// fixedKey is the one key of the settings.
type fixedKey struct{ key key }

func (f fixedKey) named(context.Context, string) ([]key, error) { return []key{f.key}, nil }

func named(keys []key, id string) []key {
	if id == "" {
		return keys
	}
	var list []key
	for _, k := range keys {
		if k.id == id || k.id == "" {
			list = append(list, k)
		}
	}
	return list
}
