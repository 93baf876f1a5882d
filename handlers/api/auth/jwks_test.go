package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"annals/domain"
	"annals/handlers/api/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source serves a set of keys. It is a server, and a transport where no
// network may be: where time is the test's.
type source struct {
	mu      sync.Mutex
	fetched int
	status  int // 0: the source is down
	headers http.Header
	keys    []object
}

func serving(signers ...signer) *source {
	s := &source{}
	s.serve(signers...)
	return s
}

func (s *source) serve(signers ...signer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.keys = http.StatusOK, nil
	for _, signer := range signers {
		s.keys = append(s.keys, signer.jwk())
	}
}

func (s *source) fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// says sets the headers of all answers, from now on.
func (s *source) says(pairs ...string) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = headers(pairs...)
	return s
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	response, err := s.RoundTrip(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	io.Copy(w, response.Body)
}

func (s *source) RoundTrip(*http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched++
	if s.status == 0 {
		return nil, errors.New("connection refused")
	}
	body := string(must(json.Marshal(object{"keys": s.keys})))
	return &http.Response{StatusCode: s.status, Header: s.headers.Clone(), Body: io.NopCloser(strings.NewReader(body))}, nil
}

// running is a chain that believes the keys of a source, with what keeps them
// fresh running until the test ends.
func (s *source) running(t *testing.T) *auth.Chain {
	t.Helper()
	chain := s.chain(t)
	run(t, chain)
	return chain
}

func (s *source) chain(t *testing.T) *auth.Chain {
	t.Helper()
	return chainOf(t, "http://keys.example/", &http.Client{Transport: s})
}

func chainOf(t *testing.T, url string, client *http.Client) *auth.Chain {
	t.Helper()
	jwt, err := auth.ParseJWTConfig(fmt.Sprintf(`{"jwk_url":%q}`, url))
	require.NoError(t, err)
	chain, err := auth.New(auth.Config{Secrets: secretService.Secrets, JWT: &jwt, Client: client})
	require.NoError(t, err)
	return chain
}

func run(t *testing.T, chain *auth.Chain) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); chain.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
}

// endless are the claims of a token that never expires.
var endless = object{namespace: editor()}

func shows(t *testing.T, chain *auth.Chain, s signer) error {
	t.Helper()
	_, err := chain.Authenticate(t.Context(), bearing(s.token(endless)))
	return err
}

// passes lets time pass, and everything that is due happen.
func passes(d time.Duration) {
	time.Sleep(d) // in a bubble: no time passes outside
	synctest.Wait()
}

func named(s signer, id string) signer { s.id = id; return s }

var (
	first  = signer{"ES256", p256(), "first"}
	second = signer{"EdDSA", edwards(), "second"}
	third  = signer{"ES384", p384(), "third"}
)

const unusable = unverified + "JWSError NoUsableKeys"

func TestATokenOfEveryFamilyIsVerifiedWithKeysOfASource(t *testing.T) {
	server := httptest.NewServer(serving(families()...))
	defer server.Close()
	client := auth.NewClient()
	defer client.CloseIdleConnections()
	chain := chainOf(t, server.URL, client)
	run(t, chain)
	for _, s := range families() {
		require.NoError(t, shows(t, chain, s), s.algorithm)
	}
}

func TestAKeyIsFoundByItsName(t *testing.T) {
	chain := serving(first, named(first, "twin"), third).chain(t)
	require.NoError(t, shows(t, chain, first))
	require.NoError(t, shows(t, chain, third))
	require.NoError(t, shows(t, chain, named(first, "")), "a token without a name is held against all keys")
	refused(t, shows(t, chain, named(third, "first")), auth.InvalidJWT, unverified+"JWSError AlgorithmMismatch")
	refused(t, shows(t, chain, second), auth.InvalidJWT, unusable)

	nameless := serving(named(first, ""), named(third, "")).chain(t)
	require.NoError(t, shows(t, nameless, first), "a key without a name fits tokens of every name")
	refused(t, shows(t, nameless, second), auth.InvalidJWT, unverified+"JWSError AlgorithmMismatch")
}

func TestOnlyKeysThatVerifySignaturesAreUsed(t *testing.T) {
	rs := signer{"RS256", rsaKey(), "rs"}
	for name, c := range map[string]struct {
		with object
		good bool
	}{
		"as it is":                     {object{}, true},
		"for its algorithm":            {object{"alg": "RS256"}, true},
		"for another algorithm":        {object{"alg": "RS512"}, false},
		"for an algorithm of secrets":  {object{"alg": "HS256"}, false},
		"for an algorithm of ciphers":  {object{"alg": "RSA-OAEP"}, false},
		"for signatures":               {object{"use": "sig"}, true},
		"for encryption":               {object{"use": "enc"}, false},
		"for verifying":                {object{"key_ops": []string{"verify"}}, true},
		"for signing":                  {object{"key_ops": []string{"sign"}}, false},
		"of a type nobody knows":       {object{"kty": "XYZ"}, false},
		"without a modulus":            {object{"n": ""}, false},
		"with what others add to keys": {object{"x5t": "abc", "issuer": "us"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(rs, first)
			for member, value := range c.with {
				s.keys[0][member] = value
			}
			chain := s.chain(t)
			require.NoError(t, shows(t, chain, first), "the other key is used in any case")
			require.Equal(t, c.good, shows(t, chain, rs) == nil)
		})
	}
}

func TestAnAnswerThatIsNoSetOfKeysIsAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"no JSON":              {200, "<html>"},
		"no set":               {200, "[]"},
		"a set of nothing":     {200, `{"keys":[]}`},
		"no key that is known": {200, `{"keys":[{"kty":"XYZ"}]}`},
		"too many keys":        {200, `{"keys":[{}` + strings.Repeat(",{}", auth.MaxKeys) + `]}`},
		"too large":            {200, string(must(json.Marshal(object{"keys": []object{first.jwk()}, "x": strings.Repeat("x", auth.MaxKeySetBytes)})))},
		"not found":            {404, string(must(json.Marshal(object{"keys": []object{first.jwk()}})))},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer server.Close()
			closed(t, shows(t, chainOf(t, server.URL, server.Client()), first))
		})
	}
}

func TestASourceIsNotFollowedElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(serving(first))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	closed(t, shows(t, chainOf(t, server.URL, server.Client()), first))
}

// closed is what a token gets while no key is known: a fault of the server's.
func closed(t *testing.T, err error) {
	t.Helper()
	refused(t, err, domain.Unexpected, "Could not verify JWT: the keys are not known yet, as jwk_url does not answer")
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.True(t, refusal.Fault)
}

func TestASourceThatIsDownAtTheStartClosesTokensOnlyAndIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		chain := s.running(t)
		synctest.Wait()
		require.Equal(t, 1, s.count(), "the start asks, and goes on")
		closed(t, shows(t, chain, first))
		_, err := chain.Authenticate(t.Context(), headers("X-Service-Admin-Secret", "s3cret"))
		require.NoError(t, err, "a secret opens as ever")

		s.serve(first)
		passes(auth.RetryInterval)
		require.Equal(t, 2, s.count())
		require.NoError(t, shows(t, chain, first))
	})
}

func TestATokenAsksASourceThatWasDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		chain := s.running(t)
		synctest.Wait()
		s.serve(first)
		closed(t, shows(t, chain, first))
		require.Equal(t, 1, s.count(), "but not at once")
		passes(auth.RefetchInterval)
		require.NoError(t, shows(t, chain, first))
		require.Equal(t, 2, s.count())
	})
}

func TestKeysAreFetchedAgainWhenTheirTimeIsOver(t *testing.T) {
	const never = 0
	for name, c := range map[string]struct {
		headers []string
		after   time.Duration // never: not again
	}{
		"max-age":                         {[]string{"Cache-Control", "public, max-age=3600"}, time.Hour},
		"max-age in quotes and capitals":  {[]string{"Cache-Control", `Max-Age="3600"`}, time.Hour},
		"s-maxage":                        {[]string{"Cache-Control", "s-maxage=7200"}, 2 * time.Hour},
		"max-age in a line of its own":    {[]string{"Cache-Control", "public", "Cache-Control", "max-age=60"}, time.Minute},
		"Expires":                         {[]string{"Expires", "Sat, 01 Jan 2000 03:00:00 GMT"}, 3 * time.Hour},
		"max-age before Expires":          {[]string{"Cache-Control", "max-age=60", "Expires", "Sat, 01 Jan 2000 03:00:00 GMT"}, time.Minute},
		"not to be kept":                  {[]string{"Cache-Control", "no-store"}, auth.RetryInterval},
		"not to be kept unasked":          {[]string{"Cache-Control", "no-cache, max-age=7200"}, auth.RetryInterval},
		"no time":                         {[]string{"Cache-Control", "max-age=0"}, auth.RetryInterval},
		"a time that is over":             {[]string{"Expires", "Fri, 31 Dec 1999 03:00:00 GMT"}, auth.RetryInterval},
		"nothing":                         {nil, never},
		"no number":                       {[]string{"Cache-Control", "max-age=soon"}, never},
		"a number before zero":            {[]string{"Cache-Control", "max-age=-5"}, never},
		"no date":                         {[]string{"Expires", "0"}, never},
		"more than a year, so a year":     {[]string{"Cache-Control", "max-age=2147483647"}, 365 * 24 * time.Hour},
		"more than any number, so nobody": {[]string{"Cache-Control", "max-age=99999999999999999999"}, never},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // begins on 1 January 2000
				s := serving(first).says(c.headers...)
				chain := s.running(t)
				synctest.Wait()
				require.Equal(t, 1, s.count())
				s.serve(second)
				if c.after == never {
					passes(2 * 365 * 24 * time.Hour)
					require.Equal(t, 1, s.count())
					require.NoError(t, shows(t, chain, first))
					return
				}
				passes(c.after - time.Second)
				require.Equal(t, 1, s.count())
				require.NoError(t, shows(t, chain, first))
				passes(time.Second)
				require.Equal(t, 2, s.count())
				require.NoError(t, shows(t, chain, second))
				refused(t, shows(t, chain, first), auth.InvalidJWT, unusable)
			})
		})
	}
}

func TestARefreshThatFailsKeepsTheKeysAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(first).says("Cache-Control", "max-age=3600")
		chain := s.running(t)
		synctest.Wait()
		s.fail(http.StatusServiceUnavailable)
		passes(time.Hour)
		require.Equal(t, 2, s.count())
		require.NoError(t, shows(t, chain, first))
		s.fail(0)
		passes(auth.RetryInterval)
		require.Equal(t, 3, s.count())
		require.NoError(t, shows(t, chain, first))

		s.says() // it comes back, and does not say for how long
		s.serve(second)
		passes(auth.RetryInterval)
		require.Equal(t, 4, s.count())
		require.NoError(t, shows(t, chain, second))
		passes(auth.RetryInterval)
		require.Equal(t, 5, s.count(), "as after a failure")
	})
}

func TestAnUnknownKeyIsLookedForOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(first)
		chain := s.running(t)
		synctest.Wait()
		s.serve(first, second)
		for range 100 {
			refused(t, shows(t, chain, second), auth.InvalidJWT, unusable)
		}
		require.Equal(t, 1, s.count(), "not right after a fetch")

		passes(auth.RefetchInterval)
		require.NoError(t, shows(t, chain, second))
		require.NoError(t, shows(t, chain, first), "during a rotation both are good")
		for i := range 100 {
			require.Error(t, shows(t, chain, named(third, fmt.Sprint(i))))
		}
		require.Equal(t, 2, s.count())

		s.fail(0)
		passes(auth.RefetchInterval)
		refused(t, shows(t, chain, third), auth.InvalidJWT, unusable)
		require.NoError(t, shows(t, chain, second), "the keys stay when a look fails")
		passes(365 * 24 * time.Hour)
		require.Equal(t, 3, s.count(), "a source that never said how long is not asked without a reason")
	})
}

func TestALookForAnUnknownKeyMovesTheNextRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serving(first).says("Cache-Control", "max-age=60")
		chain := s.running(t)
		synctest.Wait()
		passes(30 * time.Second)
		s.serve(first, second)
		require.NoError(t, shows(t, chain, second))
		passes(30 * time.Second)
		require.Equal(t, 2, s.count(), "what was due is not, any more")
		passes(30 * time.Second)
		require.Equal(t, 3, s.count())
	})
}

func TestManyTokensAtOnceAskOnce(t *testing.T) {
	s := serving(first)
	chain := s.chain(t)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			for range 20 {
				_, err := chain.Authenticate(context.Background(), bearing(first.token(endless)))
				if err != nil {
					t.Error(err)
				}
				if _, err = chain.Authenticate(context.Background(), bearing(second.token(endless))); err == nil {
					t.Error("an unknown key was good")
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, s.count())
}

// stuck is a source that answers when it is told to.
type stuck struct {
	asked  chan struct{}
	answer chan struct{}
	keys   *source
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked <- struct{}{}
	select {
	case <-s.answer:
		return s.keys.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestACallerThatHangsUpDoesNotSpoilTheFetchForOthers(t *testing.T) {
	s := &stuck{asked: make(chan struct{}), answer: make(chan struct{}), keys: serving(first)}
	chain := chainOf(t, "http://keys.example/", &http.Client{Transport: s})
	ctx, hangUp := context.WithCancel(t.Context())
	fetched := make(chan error)
	go func() {
		_, err := chain.Authenticate(ctx, bearing(first.token(endless)))
		fetched <- err
	}()
	<-s.asked
	hangUp()

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := chain.Authenticate(gone, bearing(first.token(endless)))
	require.ErrorIs(t, err, context.Canceled, "who only waits may leave")

	close(s.answer)
	require.NoError(t, <-fetched)
	require.NoError(t, shows(t, chain, first))
}

func TestASourceThatDoesNotAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{asked: make(chan struct{}, 100), answer: make(chan struct{}), keys: serving(first)}
		chain := chainOf(t, "http://keys.example/", &http.Client{Transport: s})
		began := time.Now()
		closed(t, shows(t, chain, first))
		require.Equal(t, auth.FetchTimeout, time.Since(began))
	})
}

func TestTheRefreshEndsWithItsContextWhateverItDoes(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (chain *auth.Chain, ready func()){
		"while it fetches": func(t *testing.T) (*auth.Chain, func()) {
			s := &stuck{asked: make(chan struct{}), answer: make(chan struct{})}
			return chainOf(t, "http://keys.example/", &http.Client{Transport: s}), func() { <-s.asked }
		},
		"while it waits":  func(t *testing.T) (*auth.Chain, func()) { return (&source{}).chain(t), func() {} },
		"without an end":  func(t *testing.T) (*auth.Chain, func()) { return serving(first).chain(t), func() {} },
		"without a fetch": func(t *testing.T) (*auth.Chain, func()) { return must(auth.New(secretService)), func() {} },
	} {
		t.Run(name, func(t *testing.T) {
			chain, ready := begin(t)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); chain.Run(ctx) }()
			ready()
			stop()
			<-done
		})
	}
}
