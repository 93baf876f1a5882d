package localpg

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A postmaster is what the file postmaster.pid says about a server: the one
// that runs, or one that was killed and could not remove the file.
type postmaster struct {
	pid    int
	socket string // its socket's folder, empty while the server is just beginning
}

// postmaster reads the file; pid is 0 if there is none.
func (f folder) postmaster() (postmaster, error) {
	text, err := os.ReadFile(filepath.Join(f.cluster(), "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return postmaster{}, nil
	}
	if err != nil {
		return postmaster{}, fmt.Errorf("read who serves the cluster: %w", err)
	}
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	var p postmaster
	if len(lines) > 0 {
		p.pid, _ = strconv.Atoi(lines[0]) // a file cut off by a crash names nobody
	}
	if len(lines) > 4 {
		p.socket = lines[4]
	}
	return p, nil
}

// serves reports whether the process is a server at work in the cluster. A
// number alone proves nothing: it may have been given to another process, or
// belong to a zombie nobody reaped.
func (f folder) serves(pid int) bool {
	if pid <= 0 {
		return false
	}
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		return f.servesByCommand(pid)
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	name, _ := os.ReadFile(filepath.Join(proc, "comm"))
	return err == nil && cwd == f.cluster() && strings.HasPrefix(string(name), "post")
}

// servesByCommand asks ps, on systems without /proc: the server was started
// with its cluster as an argument.
func (f folder) servesByCommand(pid int) bool {
	out, err := exec.Command("ps", "-ww", "-o", "stat=,args=", "-p", strconv.Itoa(pid)).Output()
	state := strings.TrimSpace(string(out))
	return err == nil && !strings.HasPrefix(state, "Z") &&
		strings.Contains(state, "postgres") && strings.Contains(state, f.cluster())
}

// removeStale takes away the lock files of a server that is no more. Without
// that, PostgreSQL would refuse to start because of any process that has by
// now been given the number they name. Should we ever be wrong, its check of
// the shared memory still keeps a second server off the data.
func (f folder) removeStale(socket string) error {
	for _, path := range []string{
		filepath.Join(f.cluster(), "postmaster.pid"),
		filepath.Join(socket, socketName),
		filepath.Join(socket, socketName+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a dead server's lock: %w", err)
		}
	}
	return nil
}

// send signals one process. To the system numbers below 1 mean many processes,
// so they must never get there.
func send(pid int, signal syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("%d is no server's process", pid)
	}
	return syscall.Kill(pid, signal)
}

// reap collects the process if it is a child of ours that has ended.
func reap(pid int) (ended bool, status syscall.WaitStatus) {
	if pid <= 1 {
		return false, 0
	}
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid, status
}
