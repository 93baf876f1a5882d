package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	"annals/domain"
)

// introduce finds out who the client is, from what it says of itself and, the first
// time, from the headers of the handshake too. Operations that run already go on
// as they began.
func (s *socket) introduce(payload json.RawMessage) {
	first := s.caller() == nil
	if s.speaks.strict && !first {
		s.close(closeInitTwice, "Too many initialisation requests")
		return
	}
	if why := s.wasDenied(); why != "" {
		s.deny(why)
		return
	}
	said, err := saidHeaders(payload)
	if err != nil {
		s.misunderstood(err.Error())
		return
	}
	credentials := said
	if first {
		credentials = joinHeaders(said, s.handshakeHeaders())
	}
	caller, err := s.auth.Authenticate(s.alive, credentials)
	if err != nil {
		p := s.problemOf(s.requestOf(nil), err)
		s.deny(p.Error)
		return
	}
	s.letIn(&introduced{caller, said})
}

// saidHeaders reads {"headers": {name: value}}.
func saidHeaders(payload json.RawMessage) (http.Header, error) {
	var said struct {
		Headers map[string]string `json:"headers"`
	}
	if len(payload) > 0 {
		if err := strict.Unmarshal(payload, &said); err != nil {
			return nil, err
		}
	}
	h := http.Header{}
	for name, value := range said.Headers {
		h.Add(name, value)
	}
	return h, nil
}

// handshakeHeaders are those of the handshake that are believed. A browser sends
// cookies wherever a page leads it: without CORS settings nothing says which pages may.
func (s *socket) handshakeHeaders() http.Header {
	h := s.credentials(s.handshake).Clone()
	if s.cfg.CORS.disabled && !s.cfg.Sockets.ReadCookie {
		h.Del("Cookie")
	}
	return h
}

// joinHeaders adds headers that are not among the first, in either spelling.
func joinHeaders(first, others http.Header) http.Header {
	known := map[string]bool{}
	for name := range first {
		known[headerKey(name)] = true
	}
	joined := first.Clone()
	for name, values := range others {
		if !known[headerKey(name)] {
			joined[name] = values
		}
	}
	return joined
}

// headerKey is the same for both spellings of a header of ours.
func headerKey(name string) string {
	if domain.IsSessionVariable(name) {
		return domain.SessionVariable(name)
	}
	return strings.ToLower(name)
}

func (s *socket) caller() *introduced {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

func (s *socket) wasDenied() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

func (s *socket) deny(why string) {
	s.mu.Lock()
	s.denied, s.who = why, nil
	s.callOffEnds()
	s.mu.Unlock()
	s.waitForInit()
	s.logSocket(slog.LevelError, socketEvent{"conn_err", why}, "")
	if s.speaks.strict {
		s.close(closeForbidden, why)
		return
	}
	s.write(say(wordConnectionError, "", encode(why)))
}

// letIn tells the client that it is known, for as long as what it showed counts.
func (s *socket) letIn(who *introduced) {
	s.mu.Lock()
	s.who = who
	s.callOffEnds()
	if !s.stopped {
		s.ends = s.endsOf(who)
	}
	s.mu.Unlock()
	s.write(say(wordAck, "", nil))
	if !s.speaks.strict {
		s.write(say(s.speaks.keepAlive, "", nil))
	}
}

// endsOf closes the connection at the end of what its client showed.
func (s *socket) endsOf(who *introduced) (ends []func() bool) {
	if !who.Expires.IsZero() {
		ends = append(ends, time.AfterFunc(time.Until(who.Expires), func() { s.close(closeForbidden, "the session has expired") }).Stop)
	}
	if who.Revoked != nil {
		ends = append(ends, who.Revoked(func() { s.close(closeForbidden, "the admin secret was removed") }))
	}
	return ends
}

// callOffEnds is called with the lock held.
func (s *socket) callOffEnds() {
	for _, callOff := range s.ends {
		callOff()
	}
	s.ends = nil
}
