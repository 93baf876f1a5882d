package outbound_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/handlers/outbound"
)

// serve starts a server that the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

func client(t *testing.T, c outbound.Config) *outbound.Client {
	t.Helper()
	made := outbound.New(c)
	t.Cleanup(made.Close)
	return made
}

// failure sends a request that is to fail, and returns how.
func failure(t *testing.T, c *outbound.Client, r outbound.Request) *outbound.Error {
	t.Helper()
	_, err := c.Send(t.Context(), r)
	var failed *outbound.Error
	require.ErrorAs(t, err, &failed)
	return failed
}

func TestARequestIsSentAsItIsGivenAndItsAnswerComesBackWhole(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("X-Sent")+"|"+r.Header.Get("User-Agent")+"|"+r.Host+"|"+r.Method)
		_, keyed := r.Header["Idempotency-Key"]
		require.False(t, keyed, "the key without a value is not sent")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(append([]byte("got "), body...))
	})
	response, err := client(t, outbound.Config{UserAgent: "us/1"}).Send(t.Context(), outbound.Request{
		URL: server.URL, Body: []byte(`{"a":1}`),
		Header: http.Header{"X-Sent": {"yes"}, "Host": {"example.org"}, "User-Agent": {"another"}},
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusTeapot, response.Status)
	require.Equal(t, `got {"a":1}`, string(response.Body))
	require.Equal(t, "yes|us/1|example.org|POST", response.Header.Get("X-Seen"))
	require.Positive(t, response.Duration)
}

func TestAUserInTheURLSignsInUnlessAHeaderDoes(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
	defer server.Close()
	c := outbound.New(outbound.Config{})
	url := strings.Replace(server.URL, "http://", "http://clerk:secret@", 1)
	_, err := c.Send(t.Context(), outbound.Request{URL: url})
	require.NoError(t, err)
	require.Equal(t, "Basic Y2xlcms6c2VjcmV0", got)
	_, err = c.Send(t.Context(), outbound.Request{URL: url, Header: http.Header{"Authorization": {"Bearer other"}}})
	require.NoError(t, err)
	require.Equal(t, "Bearer other", got)
}

func TestARedirectIsAnAnswerAndIsNotFollowed(t *testing.T) {
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	response, err := client(t, outbound.Config{}).Send(t.Context(), outbound.Request{URL: server.URL})
	require.NoError(t, err)
	require.Equal(t, http.StatusTemporaryRedirect, response.Status)
	require.EqualValues(t, 1, calls.Load())
}

func TestABodyIsCutAtTheLimit(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "0123456789") })
	c := client(t, outbound.Config{MaxResponse: 4})
	for _, one := range []struct {
		limit     int64
		body      string
		truncated bool
	}{{0, "0123", true}, {7, "0123456", true}, {10, "0123456789", false}} {
		response, err := c.Send(t.Context(), outbound.Request{URL: server.URL, MaxResponse: one.limit})
		require.NoError(t, err)
		require.Equal(t, one.body, string(response.Body))
		require.Equal(t, one.truncated, response.Truncated)
	}
}

func TestHeadersThatAreTooLongAreNoAnswer(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 300<<10)) })
	failed := failure(t, client(t, outbound.Config{}), outbound.Request{URL: server.URL})
	require.Equal(t, outbound.InternalFailure, failed.Kind, "%v", failed)
	require.Contains(t, failed.Error(), "headers exceeded")
}

func TestTheTimeoutCoversHeadersAndBody(t *testing.T) {
	held := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-held
	})
	defer close(held)
	for _, path := range []string{"/headers", "/body"} {
		failed := failure(t, client(t, outbound.Config{}), outbound.Request{URL: server.URL + path, Timeout: 30 * time.Millisecond})
		require.Equal(t, outbound.ResponseTimeout, failed.Kind)
		require.Equal(t, "ResponseTimeout", failed.Error())
		require.True(t, failed.Timeout())
	}
}

func TestAnAnswerMayComeCompressedAndBehindWordThatItIsOnItsWay(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = io.WriteString(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write([]byte("packed"))
		_ = packed.Close()
	})
	c := client(t, outbound.Config{})
	for range 2 {
		response, err := c.Send(t.Context(), outbound.Request{URL: server.URL, Header: http.Header{}})
		require.NoError(t, err)
		require.Equal(t, "packed", string(response.Body))
		require.Empty(t, response.Header.Get("Content-Encoding"))
		require.Empty(t, response.Header.Get("Content-Length"))
		response, err = c.Send(t.Context(), outbound.Request{URL: server.URL, Header: http.Header{"Accept-Encoding": {"identity"}}})
		require.NoError(t, err)
		require.Equal(t, "plain", string(response.Body))
	}
}

func TestWhoeverGivesUpIsNotKeptWaiting(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		giveUp()
		<-r.Context().Done()
	})
	_, err := client(t, outbound.Config{}).Send(ctx, outbound.Request{URL: server.URL})
	var failed *outbound.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, outbound.Cancelled, failed.Kind, "%v", failed)
}

func TestABodyOfAnyLengthArrivesWhole(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	})
	c := client(t, outbound.Config{})
	for _, length := range []int{0, 1, 4 << 10, 64 << 10, 64<<10 + 1, 1 << 20} {
		sent := strings.Repeat("x", length)
		response, err := c.Send(t.Context(), outbound.Request{URL: server.URL, Body: []byte(sent)})
		require.NoError(t, err)
		require.True(t, sent == string(response.Body), "%d bytes", length)
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := unused.Addr().String()
	require.NoError(t, unused.Close())
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	secure := httptest.NewTLSServer(plain.Config.Handler)
	t.Cleanup(secure.Close)
	closing := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if r.URL.Path == "/middle" {
			_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
			_ = out.Flush()
		}
		_ = conn.Close()
	})
	for name, one := range map[string]struct {
		url  string
		kind outbound.Kind
	}{
		"nobody listens":                 {"http://" + refused, outbound.ConnectionFailure},
		"no such name":                   {"http://no-such-name.invalid", outbound.ConnectionFailure},
		"an unknown authority":           {secure.URL, outbound.TLSFailure},
		"no TLS":                         {"https" + strings.TrimPrefix(plain.URL, "http"), outbound.TLSFailure},
		"no URL":                         {"http://%zz", outbound.InvalidURL},
		"another scheme":                 {"file:///etc/passwd", outbound.InvalidURL},
		"no host":                        {"http:///path", outbound.InvalidURL},
		"closed before an answer":        {closing.URL + "/at-once", outbound.NoAnswer},
		"closed in the middle of a body": {closing.URL + "/middle", outbound.ShortBody},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(t, client(t, outbound.Config{}), outbound.Request{URL: one.url})
			require.Equal(t, one.kind, failed.Kind, "%v", failed)
			require.True(t, strings.HasPrefix(failed.Error(), string(one.kind)))
		})
	}
}

func TestAnAddressIsJudgedWhenItIsDialled(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("this address is not called") })
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	c := client(t, outbound.Config{Deny: []string{outbound.Loopback}})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		failed := failure(t, c, outbound.Request{URL: "http://" + host + port})
		require.Equal(t, outbound.AddressDenied, failed.Kind, host)
		var denied *outbound.Denied
		require.ErrorAs(t, failed, &denied)
		require.Equal(t, outbound.Loopback, denied.Range)
	}
}

// rebinding is a server of names that tells of each address once, the last one
// always: what it calls one and the same name moves from question to question.
type rebinding struct {
	mu        sync.Mutex
	addresses []netip.Addr
}

// resolver asks the server, over a connection within this process.
func (s *rebinding) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go s.serve(theirs)
		return ours, nil
	}}
}

// serve answers questions as they come over TCP: each behind its length.
func (s *rebinding) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := s.answer(question)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer is the answer to one question (RFC 1035, 4.1): an address where one of
// IPv4 is asked for, and none otherwise.
func (s *rebinding) answer(message []byte) []byte {
	const header = 12
	end := header
	for message[end] != 0 {
		end += int(message[end]) + 1
	}
	end += 5 // the root, type and class
	question := message[header:end]
	isIPv4 := binary.BigEndian.Uint16(question[len(question)-4:]) == 1
	answer := append([]byte{message[0], message[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if !isIPv4 {
		return answer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	address := s.addresses[0].As4()
	s.addresses = s.addresses[min(1, len(s.addresses)-1):]
	answer[7] = 1
	return append(append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), address[:]...)
}

func TestANameThatMovesToADeniedAddressIsNotCalledThere(t *testing.T) {
	var calls atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Connection", "close")
	})
	names := &rebinding{addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")}}
	c := outbound.NewAsking(names.resolver(), outbound.Config{Deny: []string{outbound.Private}})
	t.Cleanup(c.Close)
	request := outbound.Request{URL: "http://hook.example" + server.URL[strings.LastIndexByte(server.URL, ':'):]}
	_, err := c.Send(t.Context(), request)
	require.NoError(t, err)
	failed := failure(t, c, request)
	require.Equal(t, outbound.AddressDenied, failed.Kind, "%v", failed)
	require.Contains(t, failed.Error(), "10.0.0.1 is a private address")
	require.EqualValues(t, 1, calls.Load())
}

func TestNoProxyHidesWhichAddressIsCalledWhereSomeAreDenied(t *testing.T) {
	require.True(t, client(t, outbound.Config{}).UsesProxies())
	require.False(t, client(t, outbound.Config{Deny: []string{outbound.Private}}).UsesProxies())
}

func TestEachRangeIsDeniedOnItsOwn(t *testing.T) {
	for address, name := range map[string]string{
		"127.8.9.1": outbound.Loopback, "::1": outbound.Loopback, "0.0.0.0": outbound.Loopback,
		"169.254.169.254": outbound.LinkLocal, "fe80::1": outbound.LinkLocal, "64:ff9b::a9fe:a9fe": outbound.LinkLocal,
		"64:ff9b:1::10.0.0.1": outbound.Private, "2002:7f00:1::": outbound.Loopback, "2001:0:1:2:3:4:5601:5601": outbound.LinkLocal,
		"10.0.0.1": outbound.Private, "172.16.0.1": outbound.Private, "192.168.1.1": outbound.Private,
		"fd00::1": outbound.Private, "100.64.0.1": outbound.Private, "::ffff:10.0.0.1": outbound.Private,
		"8.8.8.8": "", "2606:4700::1111": "",
	} {
		require.Equal(t, name, outbound.RangeOf(netip.MustParseAddr(address)), address)
	}
	require.Panics(t, func() { outbound.New(outbound.Config{Deny: []string{"everything"}}) })
}

func TestAKeptConnectionThatWasClosedCostsNoRequest(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	c := client(t, outbound.Config{})
	for range 20 {
		response, err := c.Send(t.Context(), outbound.Request{URL: server.URL, Body: []byte("{}")})
		require.NoError(t, err)
		require.Equal(t, "ok", string(response.Body))
		server.CloseClientConnections()
	}
}

func TestWhatMustNotBeDoneTwiceIsNotSentAgain(t *testing.T) {
	for way, header := range map[string]http.Header{"plain": {}, "transport": {"X-Name": {"ü"}}} {
		for _, once := range []bool{true, false} {
			t.Run(fmt.Sprint(way, " ", once), func(t *testing.T) {
				var came atomic.Int32
				server := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if came.Add(1) != 2 {
						return
					}
					// The second is read, and its connection closed without a word.
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						_ = conn.Close()
					}
				})
				c := client(t, outbound.Config{})
				send := func() error {
					_, err := c.Send(t.Context(), outbound.Request{URL: server.URL, Header: header.Clone(), Body: []byte("{}"), Once: once})
					return err
				}
				require.NoError(t, send())
				if once {
					require.Error(t, send())
					require.EqualValues(t, 2, came.Load())
				} else {
					require.NoError(t, send())
					require.EqualValues(t, 3, came.Load())
				}
			})
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := client(t, outbound.Config{})
	for range 50 {
		_, err := c.Send(t.Context(), outbound.Request{URL: server.URL})
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, opened.Load())
}

func TestWhatNobodyAskedForIsNotTheAnswerToTheNextRequest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	served, late := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		for _, answer := range []string{"first", "second"} {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
			if answer == "first" {
				<-late
				_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 4\r\n\r\nlate")
				late <- struct{}{}
			}
		}
	}()
	c := client(t, outbound.Config{})
	send := func() string {
		response, err := c.Send(t.Context(), outbound.Request{URL: "http://" + listener.Addr().String(), Body: []byte("{}")})
		require.NoError(t, err)
		return fmt.Sprint(response.Status, " ", string(response.Body))
	}
	require.Equal(t, "200 first", send())
	late <- struct{}{}
	<-late
	require.Equal(t, "200 second", send())
	<-served
}
