// Package outbound is the one door through which HTTP leaves: webhooks,
// actions, remote schemas.
//
// [Client.Send] sends one request and brings back one answer, whole and in
// memory, within a time limit that covers everything from the name's lookup to
// the last byte of the body. Whatever status an answer has, it is no error; an
// [Error] says that there was no usable answer, and of which kind the failure
// was.
//
// What always holds:
//
//   - an address is judged when it is dialled, after the name was resolved
//     ([Config.Deny]), so no name can be pointed elsewhere between a check and
//     its use;
//   - redirects are answers: nobody is sent on to where he was not sent;
//   - a body is read up to a limit, and what lies beyond it is cut off.
//
// A request whose kept connection turns out to have been closed by the other
// side is sent again on a new one, as v1.3 does: without that, a webhook that
// is tried once would fail for having been quiet. A receiver may so see a
// request twice, which deliveries promise anyway (at least once).
//
// Who may be called, with what, and what an answer means is left to callers.
package outbound

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Defaults of [Config] and [Request].
const (
	DefaultMaxResponse int64 = 10 << 20
	DefaultTimeout           = 60 * time.Second
	DefaultUserAgent         = "annals"
	DefaultIdlePerHost       = 100
)

// How connections are made and kept.
const (
	connectTimeout = 30 * time.Second
	keepAlive      = 30 * time.Second
	idleTimeout    = 90 * time.Second
	// maxHeader is how long the headers of an answer may be, in bytes.
	maxHeader = 256 << 10
	// announcedAtMost is for how many bytes of a body room is made because the
	// other side announces them.
	announcedAtMost = 64 << 10
)

// Config is how a client is set up.
type Config struct {
	// Deny names ranges of addresses that are not called: see [Ranges]. With
	// any of them no proxy is used, because behind one the address called
	// cannot be seen. None: all are called, and the proxies that the
	// environment names are used.
	Deny []string
	// MaxResponse is how many bytes of an answer's body are kept.
	// 0: [DefaultMaxResponse].
	MaxResponse int64
	// UserAgent is sent with every request. Empty: [DefaultUserAgent].
	UserAgent string
	// IdlePerHost is how many unused connections to one host are kept for the
	// next request. 0: [DefaultIdlePerHost].
	IdlePerHost int
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	transport   *http.Transport
	plain       plain
	maxResponse int64
	userAgent   []string // as a header's values
	addresses   addresses
}

// New makes a client. A name in Deny that is not one of [Ranges] is a mistake
// of the caller, and panics.
func New(c Config) *Client {
	t := transport(c)
	return &Client{
		transport:   t,
		plain:       plain{transport: t},
		maxResponse: cmp.Or(c.MaxResponse, DefaultMaxResponse),
		userAgent:   []string{cmp.Or(c.UserAgent, DefaultUserAgent)},
	}
}

func transport(c Config) *http.Transport {
	t := &http.Transport{
		DialContext:         newGuard(c.Deny).dialer().DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: cmp.Or(c.IdlePerHost, DefaultIdlePerHost),
		IdleConnTimeout:     idleTimeout,
		TLSHandshakeTimeout: connectTimeout,

		MaxResponseHeaderBytes: maxHeader,
	}
	if len(c.Deny) == 0 {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

// Request is what is to be sent.
type Request struct {
	Method string // empty: POST
	URL    string
	// Header is the client's from then on.
	Header http.Header
	Body   []byte
	// Timeout covers the whole exchange. 0: [DefaultTimeout].
	Timeout time.Duration
	// MaxResponse is how many bytes of the answer's body are kept. 0: the client's.
	MaxResponse int64
	// Once: what is asked for must not be done twice. Else a request is sent again
	// when a kept connection over which it was sent ended without an answer, since
	// mostly the other side had closed it before; but it may have read it.
	Once bool
}

// Response is what came back.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Truncated says that the body was longer than what was kept.
	Truncated bool
	Duration  time.Duration
}

// Send sends a request and waits for its answer. Any error is an [*Error].
// The response holds the duration in any case.
func (c *Client) Send(ctx context.Context, r Request) (Response, error) {
	started := time.Now()
	response, err := c.exchange(ctx, r)
	response.Duration = time.Since(started)
	return response, err
}

func (c *Client) exchange(ctx context.Context, r Request) (Response, error) {
	to, err := c.addresses.find(r.URL)
	if err != nil {
		return Response{}, &Error{Kind: InvalidURL, URL: r.URL, Err: err}
	}
	request, err := c.request(ctx, to, r)
	if err != nil {
		return Response{}, err
	}
	one := call{Request: request, ctx: ctx, address: to.plain, deadline: deadline(ctx, r), limit: cmp.Or(r.MaxResponse, c.maxResponse), once: r.Once}
	send := c.roundTrip
	if c.plain.takes(to, request) {
		send = c.plain.send
	}
	response, connected, err := send(one)
	if err != nil {
		return Response{}, classify(ctx, err, connected)
	}
	return response, nil
}

// deadline is when a request's time is over.
func deadline(ctx context.Context, r Request) time.Time {
	at := time.Now().Add(cmp.Or(r.Timeout, DefaultTimeout))
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(at) {
		return earlier
	}
	return at
}

// roundTrip makes an exchange by the transport, and says whether there was a
// connection.
func (c *Client) roundTrip(one call) (Response, bool, error) {
	ctx, cancel := context.WithDeadline(one.ctx, one.deadline)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	answer, err := c.transport.RoundTrip(one.WithContext(ctx)) // not a client's Do: nobody is redirected, and there are no cookies
	if err != nil {
		return Response{}, connected.Load(), err
	}
	defer answer.Body.Close()
	response := Response{Status: answer.StatusCode, Header: answer.Header}
	response.Body, response.Truncated, err = readAtMost(answer.Body, answer.ContentLength, one.limit)
	return response, true, err
}

func (c *Client) request(ctx context.Context, to address, r Request) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodPost), "", bytes.NewReader(r.Body))
	if err != nil {
		return nil, &Error{Kind: InvalidURL, URL: r.URL, Err: err}
	}
	request.URL, request.Host = to.URL, to.Host
	if r.Header != nil {
		request.Header = r.Header
	}
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	request.Header["User-Agent"] = c.userAgent
	if !r.Once {
		// A key without a value is not sent; it tells net/http that the request
		// may be sent again.
		request.Header["Idempotency-Key"] = request.Header.Values("Idempotency-Key")
	}
	return request, nil
}

// readAtMost reads a body up to a limit, and says whether there was more. The
// length that the body announces, if any, is only a hint.
func readAtMost(body io.Reader, announced, limit int64) ([]byte, bool, error) {
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(announced, 0), limit, announcedAtMost)+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(body, limit+1)); err != nil {
		return nil, false, err
	}
	text := buffer.Bytes()
	if int64(len(text)) > limit {
		return text[:limit], true, nil
	}
	return text, false, nil
}

// UserAgent is what the client calls itself.
func (c *Client) UserAgent() string { return c.userAgent[0] }

// Close drops the connections that are kept for later requests.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.plain.drop(time.Now())
}
