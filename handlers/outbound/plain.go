package outbound

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// plainBody is how long a body may be that is sent over plain HTTP by whoever
// calls. A receiver may answer before it has read a longer one, and to notice
// that, reading and writing have to go on at once, as in [http.Transport].
const plainBody = 64 << 10

// plain makes exchanges over plain HTTP/1.1.
//
// [http.Transport] hands each request to a goroutine of its connection, and the
// answer comes from another one: for a webhook within one's own network, which
// takes no time, that costs as much as all else. Here whoever calls writes the
// request and reads the answer himself, with net/http's own [http.Request.Write]
// and [http.ReadResponse]. TLS, proxies, long bodies and whatever is unusual go
// by the transport.
type plain struct {
	// transport says how to connect, and by which proxy.
	transport *http.Transport

	mu    sync.Mutex
	idle  map[string][]*connection // by address, the last used at the end
	sweep *time.Timer              // drops those that were idle for too long; nil while there are none
}

// connection is one that is used for one exchange after another.
type connection struct {
	net.Conn
	in    *bufio.Reader
	out   *bufio.Writer
	room  int64 // how many more bytes are read
	kept  bool  // it was used before
	probe probe
	since time.Time
}

// errNotSilent says that a kept connection ended, or that something came over it
// that nobody had asked for.
var errNotSilent = errors.New("the connection was closed, or an answer came to no request")

// errLongHeaders says that an answer's headers are longer than maxHeader.
var errLongHeaders = fmt.Errorf("the answer's headers exceeded %d bytes", maxHeader)

// Read reads from the connection as far as there is room.
func (c *connection) Read(p []byte) (int, error) {
	if c.room <= 0 {
		return 0, errLongHeaders
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.room)])
	c.room -= int64(n)
	return n, err
}

// takes reports whether a request to an address may be sent here.
func (p *plain) takes(a address, r *http.Request) bool {
	if a.plain == "" || r.ContentLength > plainBody {
		return false
	}
	if p.transport.Proxy != nil {
		if proxy, err := p.transport.Proxy(r); proxy != nil || err != nil {
			return false
		}
	}
	for name, values := range r.Header {
		if !isPrintable(name) || strings.ContainsAny(name, ` "(),/:;<=>?@[\]{}`) {
			return false
		}
		for _, value := range values {
			if !isPrintable(value) {
				return false
			}
		}
	}
	return true
}

// isPrintable reports whether a text is of ASCII alone, without what controls.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// call is one exchange.
type call struct {
	*http.Request
	ctx      context.Context // the caller's
	address  string
	deadline time.Time
	limit    int64 // of the answer's body
	once     bool  // see [Request]
	unzips   bool
}

// send makes an exchange, and says whether there was a connection. A kept one
// that turns out to be of no use any more costs nothing but the way there.
func (p *plain) send(c call) (Response, bool, error) {
	c.unzips = c.asksForGzip()
	if kept := p.take(c.address); kept != nil {
		response, stale, err := p.over(kept, c)
		if !stale {
			return response, true, err
		}
		if c.Body, err = c.GetBody(); err != nil {
			return Response{}, true, err
		}
	}
	opened, err := p.open(c)
	if err != nil {
		return Response{}, false, err
	}
	response, _, err := p.over(opened, c)
	return response, true, err
}

// asksForGzip lets the other side compress its answer, unless the request has
// its own word on that.
func (c *call) asksForGzip() bool {
	if c.Header["Accept-Encoding"] != nil || c.Header["Range"] != nil || c.Method == http.MethodHead {
		return false
	}
	c.Header["Accept-Encoding"] = []string{"gzip"}
	return true
}

func (p *plain) open(c call) (*connection, error) {
	ctx, cancel := context.WithDeadline(c.ctx, c.deadline)
	defer cancel()
	conn, err := p.transport.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	made := &connection{Conn: conn, out: bufio.NewWriter(conn)}
	made.in = bufio.NewReader(made)
	return made, nil
}

// over makes an exchange over a connection, which is kept if it may be used
// again. It is stale if it was not silent before, or was closed before the first
// byte of an answer to what may be sent again.
func (p *plain) over(conn *connection, c call) (response Response, stale bool, err error) {
	undisturbed := context.AfterFunc(c.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	keep := false
	defer func() {
		if undisturbed() && keep {
			p.keep(c.address, conn)
		} else {
			_ = conn.Close()
		}
	}()
	if err = conn.SetDeadline(c.deadline); err != nil {
		return response, true, err
	}
	if conn.kept && !conn.silent() {
		return response, true, errNotSilent
	}
	conn.room = maxHeader
	written := c.Write(conn.out)
	if written == nil {
		written = conn.out.Flush()
	}
	if _, err = conn.in.Peek(1); err != nil {
		stale = !c.once && !isTimeout(err) && c.ctx.Err() == nil
		if written != nil {
			err = written
		}
		return response, stale, err
	}
	response, keep, err = conn.answer(c)
	keep = keep && err == nil && written == nil
	return response, false, err
}

// answer reads an answer, and says whether another one may follow.
func (c *connection) answer(to call) (response Response, more bool, err error) {
	answer, err := http.ReadResponse(c.in, to.Request)
	for err == nil && answer.StatusCode < http.StatusOK && answer.StatusCode != http.StatusSwitchingProtocols {
		answer, err = http.ReadResponse(c.in, to.Request) // what came was word that it is on its way
	}
	if err != nil {
		return response, false, err
	}
	c.room = math.MaxInt64
	body := io.Reader(answer.Body)
	if to.unzips && strings.EqualFold(answer.Header.Get("Content-Encoding"), "gzip") {
		if body, err = gzip.NewReader(body); err != nil {
			return response, false, err
		}
		answer.Header.Del("Content-Encoding")
		answer.Header.Del("Content-Length")
		answer.ContentLength = -1
	}
	response = Response{Status: answer.StatusCode, Header: answer.Header}
	response.Body, response.Truncated, err = readAtMost(body, answer.ContentLength, to.limit)
	over := !response.Truncated && !answer.Close && answer.StatusCode != http.StatusSwitchingProtocols
	return response, over && c.in.Buffered() == 0, err
}

// silent reports whether nothing came over a connection since its last answer:
// neither its end nor what the next request would take for its own answer, such
// as the word of a server that it has waited long enough.
func (c *connection) silent() bool {
	if c.probe.raw == nil {
		of, ok := c.Conn.(syscall.Conn)
		if !ok {
			return true
		}
		raw, err := of.SyscallConn()
		if err != nil {
			return false
		}
		c.probe.raw, c.probe.read = raw, c.probe.readOne
	}
	return c.probe.raw.Read(c.probe.read) == nil && c.probe.empty
}

// probe looks whether there is something to read, made once for a connection.
type probe struct {
	raw   syscall.RawConn
	read  func(fd uintptr) bool // readOne
	one   [1]byte               // what is read is not needed: the connection ends with it
	empty bool
}

func (p *probe) readOne(fd uintptr) bool {
	_, err := syscall.Read(int(fd), p.one[:])
	p.empty = err == syscall.EAGAIN
	return true
}

// take takes the connection to an address that was used last, if one is kept.
func (p *plain) take(address string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[address]
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	list[len(list)-1] = nil
	p.idle[address] = list[:len(list)-1]
	return last
}

// keep keeps a connection for the next exchange, unless enough are.
func (p *plain) keep(address string, c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[address]) >= p.transport.MaxIdleConnsPerHost {
		_ = c.Close()
		return
	}
	c.since, c.kept = time.Now(), true
	if p.idle == nil {
		p.idle = map[string][]*connection{}
	}
	p.idle[address] = append(p.idle[address], c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTimeout, func() { p.drop(time.Now().Add(-idleTimeout)) })
	}
}

// drop closes the connections that were not used since a moment.
func (p *plain) drop(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for address, list := range p.idle {
		used := 0
		for used < len(list) && !list[used].since.After(before) {
			_ = list[used].Close()
			used++
		}
		if used == len(list) {
			delete(p.idle, address)
		} else {
			p.idle[address] = append([]*connection(nil), list[used:]...)
		}
	}
	if p.sweep != nil && len(p.idle) > 0 {
		p.sweep.Reset(idleTimeout)
	} else if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
}
