package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	slowWebhook   = 5 * time.Second
	deliveryLimit = 3 * time.Second // an event that is due arrives within this

	portLimit = 2 * time.Minute
	portPause = 100 * time.Millisecond
)

// A webhook is a helper server that tells a case what it got. Its queue holds
// one call, so a case that is slow to read delays the answer.
type webhook struct {
	calls    chan webhookCall
	failures atomic.Int32 // calls to the paths that are meant to fail
	server   *http.Server
}

type webhookCall struct {
	path   string
	header http.Header
	body   any
}

// webhooks are the helper servers of one class, by the names the index uses.
type webhooks map[string]*webhook

func openWebhooks(ctx context.Context, helpers []string) (webhooks, error) {
	ports := map[string]int{"events-webhook": 5592, "scheduled-webhook": 5594}
	opened := webhooks{}
	for _, helper := range helpers {
		if helper == actionsWebhook {
			continue // opened once there is a server for it to work with
		}
		if helper == "remote-5000" && slices.Contains(helpers, "node-4000") {
			continue // the cases of joins name it, and never ask it
		}
		if server, joins := joinServers()[helper]; joins {
			hook, err := server.open(ctx)
			if err != nil {
				return nil, errors.Join(err, opened.close())
			}
			opened[helper] = hook
			continue
		}
		if helper == remote5000 {
			servers, err := openRemotes(ctx)
			if err != nil {
				return nil, errors.Join(err, opened.close())
			}
			opened[helper] = servers
			continue
		}
		port, known := ports[helper]
		if !known {
			return nil, errors.Join(fmt.Errorf("this runner has no helper server %s", helper), opened.close())
		}
		hook, err := openWebhook(ctx, port)
		if err != nil {
			return nil, errors.Join(err, opened.close())
		}
		opened[helper] = hook
	}
	return opened, nil
}

func openWebhook(ctx context.Context, port int) (*webhook, error) {
	listener, err := listenWhenFree(ctx, port)
	if err != nil {
		return nil, err
	}
	hook := &webhook{calls: make(chan webhookCall, 1)}
	hook.server = &http.Server{Handler: hook}
	go func() { _ = hook.server.Serve(listener) }() // ends with Close
	return hook, nil
}

// listenWhenFree waits for another run of these tests to be done with the port.
func listenWhenFree(ctx context.Context, port int) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, portLimit)
	defer cancel()
	for {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || !waited(ctx, portPause) {
			return listener, err
		}
	}
}

func (h webhooks) close() error {
	var failures []error
	for _, hook := range h {
		failures = append(failures, hook.server.Close())
	}
	return errors.Join(failures...)
}

func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/fail":
		h.failures.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "/timeout_short":
		h.failures.Add(1)
		waited(r.Context(), slowWebhook)
	case "/timeout_long":
		waited(r.Context(), slowWebhook)
		h.keep(r)
	default:
		h.keep(r)
	}
	w.WriteHeader(http.StatusNoContent)
}

// keep queues the call unless its caller has hung up.
func (h *webhook) keep(r *http.Request) {
	source, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	call := webhookCall{path: r.URL.Path, header: r.Header}
	call.body, _ = parseJSON(source) // what is no JSON shows as nil to the case
	select {
	case h.calls <- call:
	case <-r.Context().Done():
	}
}

// waited lets time pass, and reports whether it did before the context ended.
func waited(ctx context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-ctx.Done():
		return false
	}
}

// next returns the next call within a limit.
func (h *webhook) next(ctx context.Context, limit time.Duration) (webhookCall, error) {
	select {
	case call := <-h.calls:
		return call, nil
	case <-time.After(limit):
		return webhookCall{}, fmt.Errorf("the webhook got nothing within %s", limit)
	case <-ctx.Done():
		return webhookCall{}, ctx.Err()
	}
}

// nothing wants no call within the limit.
func (h *webhook) nothing(limit time.Duration) error {
	select {
	case call := <-h.calls:
		return fmt.Errorf("the webhook got %s although nothing should be sent", toJSON(call.body))
	case <-time.After(limit):
		return nil
	}
}
