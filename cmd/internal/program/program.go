// Package program runs the built program for benchmarks, as a node of its own, and
// the PostgreSQL that it is on.
package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Node is the running program.
type Node struct {
	cmd *exec.Cmd
	// Address is where it listens.
	Address string
}

// Start starts the program on a database, and waits until it says where it listens.
func Start(ctx context.Context, binary, url string, flags ...string) (*Node, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"serve", "--database-url", url, "--server-host", "127.0.0.1", "--server-port", "0", "--stop-timeout", "1s"}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &Node{cmd: cmd}
	lines := bufio.NewScanner(out)
	for n.Address == "" && lines.Scan() {
		var line struct {
			Type   string
			Detail struct{ Info struct{ Address string } }
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Type == "startup" {
			n.Address = line.Detail.Info.Address
		}
	}
	if n.Address == "" {
		return nil, errors.Join(errors.New("the program ended before it listened"), cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // what it says after that is of no interest, but has to go somewhere
	return n, nil
}

// Stop ends the program.
func (n *Node) Stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	_ = n.cmd.Wait() // its status does not matter here
}

// PID is the program's process.
func (n *Node) PID() int { return n.cmd.Process.Pid }

// Query sends an operation of the metadata API.
func (n *Node) Query(ctx context.Context, body string) error { return n.Post(ctx, "/v1/query", body) }

// Post sends a body, and wants an answer without errors.
func (n *Node) Post(ctx context.Context, path, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Address+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || strings.HasPrefix(string(text), `{"errors"`)) {
		err = fmt.Errorf("status %d: %.300s", answer.StatusCode, text)
	}
	return err
}
