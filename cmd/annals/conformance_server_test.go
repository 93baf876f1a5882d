package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	startLimit = 60 * time.Second // from the start to a healthy answer, on a busy machine
	stopLimit  = 30 * time.Second // from SIGTERM to the end, before SIGKILL; the server gives requests 20
	startTries = 3                // another program may take the port found free
	outputKept = 2 << 10          // bytes of a server's output shown with a failure
	linesKept  = 4 << 20          // bytes of a server's standard output that a case can read
)

// A server is one running process of the built program.
type server struct {
	url    string
	output *lastBytes // of both its outputs
	lines  *lastBytes // of its standard output
	cmd    *exec.Cmd
	ended  chan struct{} // closed once the process was reaped
}

// A launch says how to start a server. The process sees these variables and
// no others of its kind, so that a test never depends on the shell it runs in.
type launch struct {
	program     string
	database    string
	port        int // 0: any free one
	flags       []string
	environment []string
}

var errEnded = errors.New("the server ended before it was healthy")

// buildAnnals builds the program of this folder for one test.
func buildAnnals(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "annals")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "build annals: %s", output)
	return program
}

// start returns once the server answers /healthz with 200.
func (l launch) start(ctx context.Context) (*server, error) {
	var s *server
	var err error
	for range startTries {
		if s, err = l.startOnce(ctx); !errors.Is(err, errEnded) {
			break
		}
	}
	return s, err
}

func (l launch) startOnce(ctx context.Context) (*server, error) {
	port := l.port
	if port == 0 {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	s, err := l.run(port)
	if err != nil {
		return nil, err
	}
	if err := s.awaitHealthy(ctx); err != nil {
		s.kill()
		return nil, fmt.Errorf("%w; its output:\n%s", err, s.output)
	}
	return s, nil
}

func (l launch) run(port int) (*server, error) {
	arguments := append([]string{"serve", "--database-url", l.database, "--server-port", fmt.Sprint(port)}, l.flags...)
	s := &server{
		url:    fmt.Sprintf("http://127.0.0.1:%d", port),
		output: &lastBytes{limit: outputKept},
		lines:  &lastBytes{limit: linesKept},
		cmd:    exec.Command(l.program, arguments...),
		ended:  make(chan struct{}),
	}
	s.cmd.Stdout, s.cmd.Stderr = io.MultiWriter(s.output, s.lines), s.output
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"),
		"SERVICE_GRAPHQL_SERVER_HOST=127.0.0.1",
	}, l.environment...)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start annals: %w", err)
	}
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // how it ended shows in its output
	}()
	return s, nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) awaitHealthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !s.healthy(ctx) {
		select {
		case <-s.ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("the server is not healthy after %s", startLimit)
		case <-poll.C:
		}
	}
	return nil
}

func (s *server) healthy(ctx context.Context) bool {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/healthz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// stop asks the process to end, and insists after a while.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop annals: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopLimit):
		s.kill()
		return fmt.Errorf("annals did not stop within %s of SIGTERM; its output:\n%s", stopLimit, s.output)
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.ended
}

// lastBytes keeps the end of what was written to it.
type lastBytes struct {
	limit int
	mu    sync.Mutex
	kept  []byte
}

func (b *lastBytes) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, p...)
	if surplus := len(b.kept) - b.limit; surplus > 0 {
		b.kept = bytes.Clone(b.kept[surplus:])
	}
	return len(p), nil
}

func (b *lastBytes) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.kept)
}
