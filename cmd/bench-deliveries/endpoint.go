package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// endpoint is what deliveries are made to: /slow/10s answers after so long,
// /hang never, any other path at once.
type endpoint struct {
	server *httptest.Server
	first  atomic.Int64 // when a path was called that answers at once, for the first time since the reset
	ended  chan struct{}

	mu        sync.Mutex
	latencies []float64 // milliseconds since the row's own time
}

func newEndpoint() *endpoint {
	e := &endpoint{ended: make(chan struct{})}
	e.server = httptest.NewServer(http.HandlerFunc(e.answer))
	return e
}

func (e *endpoint) url(path string) string { return e.server.URL + path }

func (e *endpoint) close() {
	close(e.ended)
	e.server.CloseClientConnections()
	e.server.Close()
}

func (e *endpoint) answer(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, _ := io.ReadAll(r.Body) // what is cut off counts as a call
	if text, ok := strings.CutPrefix(r.URL.Path, "/slow/"); ok {
		length, _ := time.ParseDuration(text)
		e.wait(r, length)
		return
	}
	if r.URL.Path == "/hang" {
		e.wait(r, time.Hour)
		return
	}
	e.first.CompareAndSwap(0, now.UnixNano())
	if made, ok := number(body, `"made_at":`); ok {
		e.mu.Lock()
		e.latencies = append(e.latencies, float64(now.UnixMicro()-made)/1000)
		e.mu.Unlock()
	}
}

func (e *endpoint) wait(r *http.Request, length time.Duration) {
	select {
	case <-time.After(length):
	case <-r.Context().Done():
	case <-e.ended:
	}
}

func (e *endpoint) reset() { e.first.Store(0) }

// began is when the first call since the reset came.
func (e *endpoint) began() time.Time { return time.Unix(0, e.first.Load()) }

// heard gives the latencies since the last time it was asked.
func (e *endpoint) heard() []float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.latencies
	e.latencies = nil
	return list
}

// number reads the digits behind a key.
func number(body []byte, key string) (int64, bool) {
	_, rest, found := bytes.Cut(body, []byte(key))
	if !found {
		return 0, false
	}
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseInt(string(rest[:max(end, 0)]), 10, 64)
	return n, err == nil
}
