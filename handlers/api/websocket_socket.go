package api

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	strict "github.com/go-json-experiment/json"

	"annals/handlers/api/auth"
)

// socket is one websocket. One goroutine reads, one brings the news of
// subscriptions and signs of life, and each query or mutation has its own; whoever
// writes holds the lock of writing.
type socket struct {
	webSocket
	conn      *websocket.Conn
	speaks    dialect
	handshake *http.Request
	id        string
	news      chan struct{} // an operation has changed

	alive context.Context
	end   context.CancelFunc
	once  sync.WaitGroup // queries and mutations that run

	writing sync.Mutex

	mu      sync.Mutex
	stopped bool // nothing new is begun
	who     *introduced
	denied  string // why the client was not let in
	running map[string]*ongoing
	held    int // operations that run, or that were stopped and still hold something
	changed []*ongoing
	// ends calls off what would close the connection once what its client showed
	// counts no more.
	ends []func() bool
	// late closes the connection of a client that is not let in.
	late *time.Timer
}

// introduced is a client that was let in: who it is, and the headers by which it said so.
type introduced struct {
	auth.Caller
	header http.Header
}

// serve talks with the client until one of both ends it.
func (s *socket) serve() {
	s.logSocket(slog.LevelInfo, socketEvent{Type: "accepted"}, "")
	s.waitForInit()
	var tending sync.WaitGroup
	tending.Go(s.tend)
	err := s.read()
	s.logSocket(slog.LevelInfo, socketEvent{Type: "closed"}, closeReason(err))
	s.end()
	s.stopAll()
	tending.Wait()
	s.once.Wait()
	_ = s.conn.CloseNow() // it is closed already where everything went well
}

// read hears what the client says, until it says nothing more.
func (s *socket) read() error {
	if !s.speaks.strict {
		s.write(say(s.speaks.keepAlive, "", nil))
	}
	for {
		frame, err := s.next()
		if err != nil {
			return err
		}
		s.hear(frame)
	}
}

// next reads a message, unless it is longer than one may be.
func (s *socket) next() ([]byte, error) {
	_, message, err := s.conn.Reader(s.alive)
	if err != nil {
		return nil, err
	}
	most, advice := s.cfg.Sockets.MaxMessageBytes, "send less, or raise --websocket-max-message-size"
	if s.caller() == nil && most > MaxIntroductionBytes {
		most, advice = MaxIntroductionBytes, "more is read of those who were let in"
	}
	frame, err := io.ReadAll(io.LimitReader(message, most+1))
	if err == nil && int64(len(frame)) > most {
		err = fmt.Errorf("a message may have at most %d bytes: %s", most, advice)
		s.close(websocket.StatusMessageTooBig, err.Error())
	}
	return frame, err
}

// tend brings signs of life, and news.
func (s *socket) tend() {
	ticker := time.NewTicker(s.cfg.Sockets.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-s.alive.Done():
			return
		case <-ticker.C:
			if !s.speaks.strict || s.caller() != nil {
				s.write(say(s.speaks.keepAlive, "", nil))
			}
		case <-s.news:
			s.bringNews()
		}
	}
}

// write says something. A client that does not take it in in time is given up.
func (s *socket) write(frames ...[]byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.writeLocked(frames...)
}

func (s *socket) writeLocked(frames ...[]byte) {
	for _, frame := range frames {
		ctx, cancel := context.WithTimeout(s.alive, s.cfg.Sockets.WriteTimeout)
		err := s.conn.Write(ctx, websocket.MessageText, frame)
		cancel()
		if err != nil {
			s.end()
			return
		}
	}
}

// maxReason is how many bytes a close frame has for its reason.
const maxReason = 123

// close ends the connection with a reason.
func (s *socket) close(status websocket.StatusCode, reason string) {
	_ = s.conn.Close(status, cut(reason, maxReason)) // a client that has gone is told nothing
	s.end()
}

// waitForInit gives the client so long to be let in.
func (s *socket) waitForInit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		s.late = time.AfterFunc(s.cfg.Sockets.InitTimeout, s.initTimeout)
	} else if !s.stopped {
		s.late.Reset(s.cfg.Sockets.InitTimeout)
	}
}

// initTimeout closes the connection unless the client was let in. One that was denied
// keeps it as long as one that says nothing: it takes a place.
func (s *socket) initTimeout() {
	s.mu.Lock()
	who, denied := s.who, s.denied
	s.mu.Unlock()
	switch {
	case who != nil:
	case denied != "":
		s.close(closeForbidden, denied)
	default:
		s.close(closeInitTimeout, "Connection initialisation timeout")
	}
}

// stop ends the connection because the node is being stopped.
func (s *socket) stop(ctx context.Context) {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.once.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.close(websocket.StatusGoingAway, stopping)
}

// hear understands one message of the client.
func (s *socket) hear(frame []byte) {
	var m message
	if err := strict.Unmarshal(frame, &m); err != nil {
		s.misunderstood("no message of the sub-protocol: " + err.Error())
		return
	}
	switch {
	case m.Type == wordInit:
		s.introduce(m.Payload)
	case m.Type == s.speaks.start && m.ID != "":
		s.start(m.ID, m.Payload)
	case m.Type == s.speaks.stop && m.ID != "":
		s.stopOperation(m.ID)
	case m.Type == wordTerminate && !s.speaks.strict:
		s.close(websocket.StatusNormalClosure, "GQL_CONNECTION_TERMINATE received")
	case m.Type == wordPing && s.speaks.strict:
		s.write(say(wordPong, "", nil))
	case m.Type == wordPong && s.speaks.strict:
	default:
		s.misunderstood("the message has no type that is known, or lacks an id")
	}
}

func (s *socket) misunderstood(why string) {
	if s.speaks.strict {
		s.close(closeBadMessage, why)
		return
	}
	s.write(say(wordConnectionError, "", encode("parsing ClientMessage failed: "+why)))
}
