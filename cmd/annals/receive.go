package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// receiveCommand is `annals receive`: a receiver of webhooks, to try things on.
type receiveCommand struct {
	Port   int  `help:"Port to listen on, on this machine only. 0 takes a free one." default:"9000"`
	Status int  `help:"Status of its answers." default:"204"`
	Count  int  `short:"n" help:"End after so many webhooks; without it, when interrupted." placeholder:"NUMBER"`
	JSON   bool `name:"json" help:"Print each webhook as a line of JSON, with all its headers."`
}

// Help is printed below the flags.
func (receiveCommand) Help() string {
	return `Examples:
  annals receive                     prints what http://localhost:9000 is sent
  annals receive --status 503 -n 1   refuses one webhook, and ends`
}

// Validate refuses numbers that make no sense.
func (c *receiveCommand) Validate() error {
	switch {
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("--port: %d is no port; expecting 0 to 65535", c.Port)
	case c.Status < 200 || c.Status > 599:
		return fmt.Errorf("--status: %d is no status of an answer; expecting 200 to 599", c.Status)
	case c.Count < 0:
		return fmt.Errorf("--count: expecting a number above 0, not %d", c.Count)
	}
	return nil
}

const (
	// receivedMax is how much of a webhook's body is read.
	receivedMax = 16 << 20
	// receiveTimeout is how long a request may take to arrive.
	receiveTimeout = 10 * time.Second
)

// Run implements kong's command.
func (c *receiveCommand) Run(ctx context.Context, con console) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("listen: %w; choose another port with --port", err)
	}
	fmt.Fprintf(con.err, "listening on http://%s\n", listener.Addr())
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	server := &http.Server{Handler: &receiver{receiveCommand: c, con: con, enough: enough}, ReadTimeout: receiveTimeout}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("receive: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Shutdown(context.WithoutCancel(ctx)) // the last answer is sent
	})
	return group.Wait()
}

// receiver prints what it is sent, one at a time.
type receiver struct {
	*receiveCommand
	con    console
	enough func()

	mu       sync.Mutex
	received int
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, receivedMax))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Count > 0 && r.received == r.Count {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.received++
	w.WriteHeader(r.Status)
	r.print(request, body)
	if r.received == r.Count {
		r.enough()
	}
}

func (r *receiver) print(request *http.Request, body []byte) {
	if r.JSON {
		line, _ := json.Marshal(map[string]any{ // of text only
			"method": request.Method, "path": request.URL.RequestURI(), "headers": request.Header, "body": string(body),
		})
		fmt.Fprintf(r.con.out, "%s\n", line)
		return
	}
	fmt.Fprintln(r.con.out, r.con.paint(bold, oneLine(request.Method+" "+request.URL.RequestURI()))+"  "+oneLine(request.Header.Get("Webhook-Id")))
	text := oneLine(string(body))
	if json.Valid(body) {
		text = pretty(body, "    ")
	}
	fmt.Fprintln(r.con.out, "    "+text)
}
