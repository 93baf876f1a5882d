package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// longestSocketFolder keeps a socket's whole path below the about 100 bytes
// that every system can put into a socket address.
const longestSocketFolder = 100 - len("/.s.PGSQL.5432.lock")

// A folder is a data folder: absolute, its symbolic links resolved, because
// paths that the system reports about the server are compared with it.
type folder string

// DefaultDataDir is where data is kept if nobody says otherwise: the state
// folder of the system for root, whose home other users cannot enter, and that
// of the user for everyone else.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/annals", nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "annals"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the data: %w", err)
	}
	return filepath.Join(home, ".local", "state", "annals"), nil
}

// openFolder makes the data folder if it is missing. Root's is made passable,
// since the server inside runs as another user; what needs secrecy has a
// private folder further down.
func openFolder(dir string) (folder, error) {
	if dir == "" {
		return "", errors.New("no data folder was named")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	if err := makeFolder(dir, folderMode()); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("find the data folder: %w", err)
	}
	return folder(dir), nil
}

// folderMode lets another user pass where the server is another user.
func folderMode() fs.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

// makeFolder is os.MkdirAll with the mode that was asked for, whatever the umask.
func makeFolder(dir string, mode fs.FileMode) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeFolder(filepath.Dir(dir), mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, mode)
}

func (f folder) path(name string) string { return filepath.Join(string(f), name) }
func (f folder) cluster() string         { return f.path("cluster") }
func (f folder) log() string             { return f.path("postgres.log") }

// major is the major version of the PostgreSQL that made the cluster, 0 when
// there is none yet.
func (f folder) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(f.cluster(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read the cluster's version: %w", err)
	}
	return major, nil
}

// socketFolder is where a server to be started puts its socket. A long path
// does not fit into a socket address, and a comma separates two folders in
// PostgreSQL's setting; then a short folder in the system's temporary one
// stands in, its name telling whose it is.
func (f folder) socketFolder(uid int) string {
	inside := f.path("socket")
	if len(inside) <= longestSocketFolder && !strings.ContainsAny(inside, `,"`) {
		return inside
	}
	sum := sha256.Sum256([]byte(f))
	name := fmt.Sprintf("annals-%d-%s", uid, hex.EncodeToString(sum[:6]))
	if short := filepath.Join(os.TempDir(), name); len(short) <= longestSocketFolder {
		return short
	}
	return filepath.Join("/tmp", name)
}

// ownerOf is the user id that owns path, -1 when that cannot be known.
func ownerOf(path string) int {
	info, err := os.Lstat(path)
	if err != nil {
		return -1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
