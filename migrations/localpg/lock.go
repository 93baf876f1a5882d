package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// pollInterval is how often a fact that cannot be waited for is looked at
// again: a lock, a socket, a process.
const pollInterval = 10 * time.Millisecond

// A fileLock is a lock on an open file. The system drops it when the process
// ends, however it ends, and children do not inherit it.
type fileLock struct{ file *os.File }

func (l *fileLock) release() error { return l.file.Close() }

// lockStart waits for the right to start or stop the folder's server.
func (f folder) lockStart(ctx context.Context) (*fileLock, error) {
	file, err := f.openLock("start.lock")
	if err != nil {
		return nil, err
	}
	err = poll(ctx, func() (bool, error) { return tryLock(file, syscall.LOCK_EX) })
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("wait for %s: %w", file.Name(), err)
	}
	return &fileLock{file}, nil
}

// join counts this process among the server's users. It needs the start lock,
// under which nobody probes with an exclusive lock.
func (f folder) join() (*fileLock, error) {
	file, err := f.openLock("users.lock")
	if err != nil {
		return nil, err
	}
	if ok, err := tryLock(file, syscall.LOCK_SH); !ok {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), errors.Join(err, syscall.EWOULDBLOCK))
	}
	return &fileLock{file}, nil
}

// unused reports whether nobody uses the server. It needs the start lock.
func (f folder) unused() (bool, error) {
	file, err := f.openLock("users.lock")
	if err != nil {
		return false, err
	}
	defer file.Close()
	return tryLock(file, syscall.LOCK_EX)
}

// openLock follows no symbolic link: as root it may be working in a folder
// that belongs to somebody else.
func (f folder) openLock(name string) (*os.File, error) {
	file, err := os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return file, f.own(file)
}

// own gives a file that root made to the owner of the folder, who wants to use
// the folder without root another day.
func (f folder) own(file *os.File) error {
	owner := ownerOf(string(f))
	if os.Geteuid() != 0 || owner <= 0 {
		return nil
	}
	return file.Chown(owner, -1)
}

func tryLock(file *os.File, how int) (bool, error) {
	err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// poll asks until done, an error or the end of ctx, whichever comes first.
func poll(ctx context.Context, ask func() (done bool, err error)) error {
	return pollEvery(ctx, pollInterval, ask)
}

func pollEvery(ctx context.Context, interval time.Duration, ask func() (done bool, err error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
