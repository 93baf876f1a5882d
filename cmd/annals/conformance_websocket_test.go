package main_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	subProtocol  = "graphql-ws" // Apollo's subscriptions-transport-ws
	messageLimit = 15 * time.Second
	frameLimit   = 16 << 20
)

// A socket is one connection that speaks Apollo's sub-protocol. It serves
// many requests; each begins with a connection_init that names its caller.
type socket struct {
	conn *websocket.Conn
	last int // the id given to the newest operation
}

// socketAt returns the world's one connection at a path.
func (w *world) socketAt(ctx context.Context, path string) (*socket, error) {
	if s, open := w.websocket[path]; open {
		return s, nil
	}
	s, err := dialSocket(ctx, w.server.url+path)
	if err != nil {
		return nil, err
	}
	w.websocket[path] = s
	return s, nil
}

func dialSocket(ctx context.Context, url string) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, messageLimit)
	defer cancel()
	options := &websocket.DialOptions{Subprotocols: []string{subProtocol}}
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), options)
	if err != nil {
		return nil, fmt.Errorf("open a websocket: %w", err)
	}
	conn.SetReadLimit(frameLimit)
	return &socket{conn: conn}, nil
}

func (s *socket) close() { _ = s.conn.CloseNow() }

// query wants one data message that equals the expected body, then complete.
func (s *socket) query(ctx context.Context, r request) error {
	first, err := s.first(ctx, r, r.query)
	if err != nil {
		return err
	}
	if text(get(first, "type")) == "error" {
		return nil // its complete was read with it
	}
	done, err := s.next(ctx)
	if err != nil {
		return err
	}
	return wantType(done, "complete")
}

// subscribe sends the query as a subscription and wants one data message.
// After stop nothing more may come: a second connection_init is the fence
// behind which a late message would have shown.
func (s *socket) subscribe(ctx context.Context, r request) error {
	subscription, err := asSubscription(r.query)
	if err != nil {
		return err
	}
	if _, err := s.first(ctx, r, subscription); err != nil {
		return err
	}
	if err := s.send(ctx, makeObject("id", s.id(), "type", "stop")); err != nil {
		return err
	}
	return s.introduce(ctx, r.headers)
}

// first starts an operation and judges the first message of its id.
func (s *socket) first(ctx context.Context, r request, operation any) (any, error) {
	if err := s.introduce(ctx, r.headers); err != nil {
		return nil, err
	}
	s.last++
	if err := s.send(ctx, makeObject("id", s.id(), "type", "start", "payload", operation)); err != nil {
		return nil, err
	}
	message, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.judge(r, message); err != nil {
		return nil, err
	}
	return message, s.endOfRefusal(ctx, message)
}

// endOfRefusal reads the complete that follows every error.
func (s *socket) endOfRefusal(ctx context.Context, message any) error {
	if text(get(message, "type")) != "error" {
		return nil
	}
	return s.wantNext(ctx, "complete")
}

func (s *socket) judge(r request, message any) error {
	refusal := has(r.want, "errors") || has(r.want, "error")
	if !refusal || text(get(message, "type")) != "error" {
		if err := wantType(message, "data"); err != nil {
			return err
		}
	}
	if id := text(get(message, "id")); id != s.id() {
		return fmt.Errorf("wanted a message of operation %s, got %s", s.id(), toJSON(message))
	}
	if !r.judged {
		return nil
	}
	return judge(r.url, r.query, r.want, get(message, "payload"))
}

// introduce says who is asking from now on.
func (s *socket) introduce(ctx context.Context, headers map[string]string) error {
	payload := newObject()
	if len(headers) > 0 {
		named := newObject()
		for name, value := range headers {
			named.set(name, value)
		}
		payload.set("headers", named)
	}
	if err := s.send(ctx, makeObject("type", "connection_init", "payload", payload)); err != nil {
		return err
	}
	message, err := s.next(ctx)
	if err != nil {
		return err
	}
	return wantType(message, "connection_ack")
}

func (s *socket) id() string { return fmt.Sprint(s.last) }

func (s *socket) send(ctx context.Context, message any) error {
	ctx, cancel := context.WithTimeout(ctx, messageLimit)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, toJSON(message)); err != nil {
		return fmt.Errorf("send over the websocket: %w", err)
	}
	return nil
}

// next returns the next message that is no sign of life.
func (s *socket) next(ctx context.Context) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, messageLimit)
	defer cancel()
	for {
		_, frame, err := s.conn.Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("read from the websocket: %w", err)
		}
		message, err := parseJSON(frame)
		if err != nil {
			return nil, fmt.Errorf("a frame that is no JSON: %w: %s", err, frame)
		}
		if text(get(message, "type")) != "ka" {
			return message, nil
		}
	}
}

func wantType(message any, kind string) error {
	if text(get(message, "type")) != kind {
		return fmt.Errorf("wanted a message of type %s, got %s", kind, toJSON(message))
	}
	return nil
}

// asSubscription turns a query's text into a subscription on the same fields.
func asSubscription(body any) (any, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text(get(body, "query"))), "query ")
	if !ok {
		return nil, fmt.Errorf("only text that begins with \"query \" becomes a subscription: %s", toJSON(body))
	}
	subscription := newObject()
	subscription.merge(body)
	subscription.set("query", "subscription "+strings.Replace(rest, "{", "@_multiple_top_level_fields {", 1))
	return subscription, nil
}
