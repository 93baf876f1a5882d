package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
)

// patience is how long to wait until everybody has heard.
const patience = time.Minute

// audience is the subscribers.
type audience struct {
	subscribers int
	heard       chan time.Time // when a message came
	conns       []*websocket.Conn
	failed      chan error
}

func newAudience(subscribers int) *audience {
	return &audience{subscribers: subscribers, heard: make(chan time.Time, 2*subscribers), failed: make(chan error, 1)}
}

// subscribe opens websockets, and spreads the subscribers over them.
func (a *audience) subscribe(ctx context.Context, address string, sockets int) error {
	a.conns = make([]*websocket.Conn, sockets)
	var group errgroup.Group
	group.SetLimit(64)
	for i := range sockets {
		group.Go(func() (err error) {
			a.conns[i], err = a.open(ctx, address, i, sockets)
			return err
		})
	}
	return group.Wait()
}

// open opens one websocket, with every so-manieth subscriber.
func (a *audience) open(ctx context.Context, address string, first, step int) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, "ws://"+address+"/v1/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		return nil, fmt.Errorf("open a websocket: %w", err)
	}
	say := func(text string) error { return conn.Write(ctx, websocket.MessageText, []byte(text)) }
	if err := say(`{"type":"connection_init"}`); err != nil {
		return nil, err
	}
	if _, _, err := conn.Read(ctx); err != nil { // the acknowledgement
		return nil, err
	}
	go a.listen(ctx, conn)
	for id := first; id < a.subscribers; id += step {
		if err := say(`{"type":"subscribe","id":"` + strconv.Itoa(id) + `","payload":{"query":"subscription ($id: Int!) { item_by_pk(id: $id) { id turn } }","variables":{"id":` + strconv.Itoa(id) + `}}}`); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

func (a *audience) listen(ctx context.Context, conn *websocket.Conn) {
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			a.fail(err)
			return
		}
		switch text := string(frame); {
		case strings.HasPrefix(text, `{"type":"next"`):
			a.heard <- time.Now()
		case !strings.HasPrefix(text, `{"type":"ping"`):
			a.fail(fmt.Errorf("unexpected message %s", text))
			return
		}
	}
}

func (a *audience) fail(err error) {
	select {
	case a.failed <- err:
	default: // the first one is told
	}
}

// all waits for so many messages, and returns how long after a moment each came.
func (a *audience) all(messages int, since time.Time) ([]time.Duration, error) {
	late := time.After(patience)
	took := make([]time.Duration, messages)
	for i := range took {
		select {
		case at := <-a.heard:
			took[i] = at.Sub(since)
		case err := <-a.failed:
			return nil, err
		case <-late:
			return nil, fmt.Errorf("only %d of %d messages came", i, messages)
		}
	}
	select {
	case <-a.heard:
		return nil, errors.New("more messages came than there were changes")
	default:
		return took, nil
	}
}

func (a *audience) close() {
	for _, conn := range a.conns {
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}
