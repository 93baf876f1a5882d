package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// startFailed is the code of operations that were not even looked at.
const startFailed domain.Code = "start-failed"

// ongoing is an operation that the client began, and that has not ended.
type ongoing struct {
	id     string
	who    *introduced
	cancel context.CancelFunc
	text   atomic.Pointer[queryText] // nil: not read yet

	// Guarded by the socket's lock.
	subscription *livequery.Subscription
	changed      bool // it is in the list of those that have changed
	holders      int  // the goroutine that runs it, and its place among those that run
}

// start begins an operation, if it may be.
func (s *socket) start(id string, payload json.RawMessage) {
	ctx, cancel := context.WithCancel(s.alive)
	o := &ongoing{id: id, cancel: cancel}
	if err := s.admit(o); err != nil {
		cancel()
		s.logOperation(o, operationPhase{"proto_err", err.Message})
		s.write(s.speaks.refused(id, s.problemOf(s.requestOf(nil), err), s.present)...)
		return
	}
	go func() {
		defer s.once.Done()
		defer s.release(o)
		s.run(ctx, o, payload)
	}()
}

// admit counts an operation in. One that was stopped counts until its goroutine has let
// go of its answer, or a client that reads nothing could have any number of them. Where the newer dialect has a status for why it is not,
// the connection is closed with it.
func (s *socket) admit(o *ongoing) *domain.Error {
	s.mu.Lock()
	o.who = s.who
	_, exists := s.running[o.id]
	full := s.held >= s.cfg.Sockets.MaxOperations
	admitted := o.who != nil && !exists && !full && !s.stopped
	if admitted {
		s.running[o.id] = o
		o.holders = 2
		s.held++
		s.once.Add(1)
	}
	why := s.denied
	s.mu.Unlock()

	switch {
	case admitted:
		return nil
	case o.who == nil && s.speaks.strict:
		s.close(closeUnauthorized, "Unauthorized")
	case exists && s.speaks.strict:
		s.close(closeOperationExists, "Subscriber for "+o.id+" already exists")
	}
	switch {
	case why != "":
		return domain.RefuseAt("$", startFailed, "cannot start as connection_init failed with : %s", why)
	case o.who == nil:
		return domain.RefuseAt("$", startFailed, "start received before the connection is initialised")
	case exists:
		return domain.RefuseAt("$", startFailed, "an operation already exists with this id: %s", o.id)
	case full:
		return domain.RefuseAt("$", startFailed, "%d operations run over this connection already, which is all it may have: stop some, open another, or raise --websocket-max-operations", s.cfg.Sockets.MaxOperations)
	}
	return domain.RefuseAt("$", startFailed, stopping)
}

// run answers an operation. A panic ends that operation alone.
func (s *socket) run(ctx context.Context, o *ongoing, payload json.RawMessage) {
	r := s.requestOf(o.who)
	defer func() {
		if cause := recover(); cause != nil {
			s.finish(o, s.speaks.refused(o.id, s.problemOf(r, domain.Recovered(cause)), s.present)...)
		}
	}()
	request, begun, err := s.begin(ctx, o, payload)
	if err == nil && begun.Kind == plan.Subscription {
		err = s.subscribe(ctx, o, request)
	}
	switch {
	case err != nil:
		p := s.problemOf(r.WithContext(ctx), err)
		s.logOperation(o, operationPhase{"query_err", p.detail()})
		s.finish(o, s.speaks.refused(o.id, p, s.present)...)
	case begun.Kind != plan.Subscription:
		s.answer(ctx, r, o, begun)
	}
}

// begin reads an operation and checks that it can be begun.
func (s *socket) begin(ctx context.Context, o *ongoing, payload json.RawMessage) (execution.Request, execution.Begun, error) {
	if payload == nil {
		payload = json.RawMessage("null") // which is refused in words that say what is missing
	}
	value, err := wire.Parse(payload)
	if err != nil {
		return execution.Request{}, execution.Begun{}, err
	}
	query, err := wire.Decode(value, parseOperation)
	if err != nil {
		return execution.Request{}, execution.Begun{}, err
	}
	o.text.Store(new(textOf(query)))
	s.logOperation(o, operationPhase{Type: "started"})
	request := execution.Request{
		Session: o.who.Session, BackendOnly: o.who.BackendOnly, Query: query,
		Client: execution.Client{Header: o.who.header, Host: s.handshake.Host},
		Told:   s.telling(s.handshake, o.who.Caller, query),
	}
	begun, err := s.subscriptions.Begin(ctx, request)
	return request, begun, err
}

// answer runs a query or a mutation.
func (s *socket) answer(ctx context.Context, r *http.Request, o *ongoing, begun execution.Begun) {
	body, err := begun.Run(ctx)
	if err == nil {
		s.logOperation(o, operationPhase{Type: "completed"})
		s.finish(o, say(s.speaks.data, o.id, body), say(wordComplete, o.id, nil))
		return
	}
	p := s.problemOf(r.WithContext(ctx), err)
	s.logOperation(o, operationPhase{"query_err", p.detail()})
	s.finish(o, s.speaks.failed(o.id, p, s.present), say(wordComplete, o.id, nil))
}

func (s *socket) subscribe(ctx context.Context, o *ongoing, request execution.Request) error {
	subscription, err := s.subscriptions.Subscribe(ctx, request, func() { s.hasChanged(o) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	stays := s.running[o.id] == o
	o.subscription = subscription
	s.mu.Unlock()
	if !stays { // it was stopped while it began
		subscription.Close()
		return nil
	}
	s.hasChanged(o) // what came before the subscription was known
	return nil
}

// release takes one of its holders from an operation, the last of which counts it out.
func (s *socket) release(o *ongoing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(o)
}

func (s *socket) releaseLocked(o *ongoing) {
	if o.holders--; o.holders == 0 {
		s.held--
	}
}

// hasChanged notes that an operation has news. It does not wait for the client.
func (s *socket) hasChanged(o *ongoing) {
	s.mu.Lock()
	if s.running[o.id] == o && !o.changed {
		o.changed = true
		s.changed = append(s.changed, o)
	}
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default: // it is known already
	}
}

// bringNews tells the client what has changed: of each subscription the newest
// answer, whatever came before it.
func (s *socket) bringNews() {
	for {
		s.mu.Lock()
		if len(s.changed) == 0 {
			s.changed = nil
			s.mu.Unlock()
			return
		}
		o := s.changed[0]
		s.changed = s.changed[1:]
		o.changed = false
		subscription := o.subscription
		s.mu.Unlock()
		if subscription == nil {
			continue
		}
		if update, ok := subscription.Take(); ok {
			s.bring(o, update)
		}
	}
}

func (s *socket) bring(o *ongoing, u livequery.Update) {
	if u.Err == nil {
		s.tell(o, say(s.speaks.data, o.id, u.Answer))
		return
	}
	p := s.problemOf(s.requestOf(o.who), u.Err)
	s.logOperation(o, operationPhase{"query_err", p.detail()})
	if u.Last {
		s.finish(o, s.speaks.refused(o.id, p, s.present)...)
		return
	}
	s.tell(o, s.speaks.failed(o.id, p, s.present))
}

// tell says something about an operation, if it was not stopped.
func (s *socket) tell(o *ongoing, frames ...[]byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.runs(o) {
		s.writeLocked(frames...)
	}
}

// finish says the last about an operation, if it was not stopped. After it, the id is free.
func (s *socket) finish(o *ongoing, frames ...[]byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.forget(o) {
		s.writeLocked(frames...)
	}
}

func (s *socket) runs(o *ongoing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[o.id] == o
}

// forget ends an operation, and reports whether it had not ended before. The client is told
// nothing more of it.
func (s *socket) forget(o *ongoing) bool {
	s.mu.Lock()
	ran := s.running[o.id] == o
	if ran {
		delete(s.running, o.id)
		s.changed = slices.DeleteFunc(s.changed, func(other *ongoing) bool { return other == o })
		s.releaseLocked(o)
	}
	subscription := o.subscription
	s.mu.Unlock()
	o.cancel()
	if subscription != nil {
		subscription.Close()
	}
	return ran
}

// stopOperation ends the operation with an id, if there is one.
func (s *socket) stopOperation(id string) {
	s.mu.Lock()
	o := s.running[id]
	s.mu.Unlock()
	if o != nil && s.forget(o) {
		s.logOperation(o, operationPhase{Type: "stopped"})
	}
}

// stopAll ends all operations.
func (s *socket) stopAll() {
	s.mu.Lock()
	s.stopped = true
	all := slices.Collect(maps.Values(s.running))
	s.callOffEnds()
	s.late.Stop()
	s.mu.Unlock()
	for _, o := range all {
		s.forget(o)
	}
}

// requestOf stands for the request that an operation would have been over HTTP, for what
// describes errors.
func (s *socket) requestOf(who *introduced) *http.Request {
	x := &exchange{requestID: exchangeOf(s.handshake).requestID}
	if who != nil {
		x.caller = &who.Caller
	}
	return withExchange(s.handshake.WithContext(s.alive), x)
}
