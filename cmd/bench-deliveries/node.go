package main

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

// node is the program that is measured.
type node struct {
	cmd     *exec.Cmd
	address string
}

// startNode starts the program, and waits until it says where it listens.
func startNode(ctx context.Context, binary, url string, flags ...string) (*node, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"serve", "--database-url", url, "--server-host", "127.0.0.1", "--server-port", "0", "--stop-timeout", "1s"}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &node{cmd: cmd}
	lines := bufio.NewScanner(out)
	for n.address == "" && lines.Scan() {
		var line struct {
			Type   string
			Detail struct{ Info struct{ Address string } }
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Type == "startup" {
			n.address = line.Detail.Info.Address
		}
	}
	if n.address == "" {
		return nil, errors.Join(errors.New("the program ended before it listened"), cmd.Wait())
	}
	go func() { // what it says after that is of no interest, but has to go somewhere
		for lines.Scan() {
		}
	}()
	return n, nil
}

func (n *node) stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	_ = n.cmd.Wait() // its status does not matter here
}

// query sends an operation of the metadata API.
func (n *node) query(ctx context.Context, body string) error { return n.post(ctx, "/v1/query", body) }

// listen makes an event trigger for inserted rows.
func (n *node) listen(ctx context.Context, table, hook string) error {
	return n.query(ctx, fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":%q,"table":%q,"webhook":%q,"insert":{"columns":"*"}}}`, table, table, hook))
}

func (n *node) post(ctx context.Context, path, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.address+path, strings.NewReader(body))
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
