package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// startLimit bounds the wait for a node to call itself ready.
const startLimit = 2 * time.Minute

// startTime starts the program on a database and measures until it is ready.
func startTime(ctx context.Context, binary, url string) (time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "serve", "--database-url", url, "--server-host", "127.0.0.1", "--server-port", strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ready := waitReady(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port))
	took := time.Since(started)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait() // its status does not matter here
	return took, ready
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func waitReady(ctx context.Context, url string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		response, err := http.Get(url)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the program did not become ready"), err)
		case <-tick.C:
		}
	}
}
