package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
func startNode(ctx context.Context, binary, url string) (*node, error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "--database-url", url, "--server-host", "127.0.0.1", "--server-port", "0")
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

func (n *node) pid() int { return n.cmd.Process.Pid }

func (n *node) stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	_ = n.cmd.Wait() // its status does not matter here
}

// prepare makes a tracked table with a row for each subscriber.
func (n *node) prepare(ctx context.Context, rows int) error {
	body := fmt.Sprintf(`{"type":"bulk","args":[
		{"type":"run_sql","args":{"sql":"CREATE TABLE item (id int PRIMARY KEY, turn int NOT NULL); INSERT INTO item SELECT i, 0 FROM generate_series(0, %d) i; ANALYZE item"}},
		{"type":"track_table","args":"item"}]}`, rows-1)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.address+"/v1/query", strings.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("make the table: status %d", answer.StatusCode)
	}
	return nil
}
