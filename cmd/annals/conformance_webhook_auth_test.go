package main_test

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/coder/websocket"
)

// What section 6.7 of the cases' description says of the authentication webhook.

func webhookAuthCases() map[string]codedCase {
	const class = "test_webhook.py::TestWebhookSubscriptionExpiry."
	return map[string]codedCase{
		class + "test_expiry_with_no_header":     talking("/v1/graphql", staysOpen),
		class + "test_expiry_with_cache_control": talking("/v1/graphql", endsInTime),
	}
}

const (
	sessionTime  = 6 * time.Second
	stillOpen    = 4 * time.Second
	closedBy     = 8 * time.Second
	closedStatus = websocket.StatusCode(4403)
)

var webhookUser = map[string]string{"X-Hasura-Role": "user", "X-Hasura-User-Id": "1234321"}

// staysOpen wants a session that the webhook sets no end to have none.
func staysOpen(ctx context.Context, w *world, s *socket) error {
	if err := s.enter(ctx, w, webhookUser); err != nil {
		return err
	}
	select {
	case err := <-s.closing(ctx):
		return fmt.Errorf("the connection was closed: %w", err)
	case <-time.After(stillOpen):
		return nil
	}
}

// endsInTime wants a connection to live as long as the webhook says.
func endsInTime(ctx context.Context, w *world, s *socket) error {
	session := maps.Clone(webhookUser)
	session["Cache-Control"] = fmt.Sprintf("max-age=%.0f", sessionTime.Seconds())
	if err := s.enter(ctx, w, session); err != nil {
		return err
	}
	entered, gone := time.Now(), s.closing(ctx)
	select {
	case err := <-gone:
		if lived := time.Since(entered); lived < stillOpen || websocket.CloseStatus(err) != closedStatus {
			return fmt.Errorf("the connection was closed after %s: %w", lived, err)
		}
		return nil
	case <-time.After(closedBy):
		return fmt.Errorf("the connection is open %s after its session's time of %s", closedBy-sessionTime, sessionTime)
	}
}

func (s *socket) enter(ctx context.Context, w *world, session map[string]string) error {
	headers, err := w.gate.headers(session)
	if err != nil {
		return err
	}
	return s.introduce(ctx, headers)
}

// closing returns why the connection ends, once it does. Nobody else may read.
func (s *socket) closing(ctx context.Context) <-chan error {
	gone := make(chan error, 1)
	go func() {
		for {
			if _, _, err := s.conn.Read(ctx); err != nil {
				gone <- err
				return
			}
		}
	}()
	return gone
}
