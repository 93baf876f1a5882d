package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"annals/migrations/localpg"
)

// maxConnections of the shared server are enough for every package's tests at once.
const maxConnections = "300"

// start attaches to the shared server, or starts it.
func start(ctx context.Context) (*localpg.Server, error) {
	base, err := baseFolder()
	if err != nil {
		return nil, err
	}
	cfg := config(base)
	cfg.Settings = map[string]string{"max_connections": maxConnections, "log_checkpoints": "off"}
	cfg.DataDir = filepath.Join(base, serverPrefix+boot()+key(cfg))
	s, err := localpg.Start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start the PostgreSQL for tests: %w", err)
	}
	if s.Started() {
		sweepFolders(ctx, base)
	}
	return s, nil
}

func config(base string) localpg.Config {
	cfg := localpg.Config{
		BinDir: os.Getenv("ANNALS_POSTGRES_BIN"),
		Seed:   filepath.Join(base, "seed"),
		Fast:   true,
	}
	if top, ok := repository(); ok {
		cfg.ExtraBinDirs = []string{filepath.Join(top, ".postgres", "bin")}
	}
	return cfg
}

// baseFolder is where this user's tests keep their clusters. It lies where
// every user can write, so one that somebody else put there is refused.
func baseFolder() (string, error) {
	base := filepath.Join(os.TempDir(), fmt.Sprintf("annals-pgtest-%d", os.Geteuid()))
	if err := os.Mkdir(base, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the folder for test servers: %w", err)
	}
	info, err := os.Lstat(base)
	if err != nil {
		return "", fmt.Errorf("find the folder for test servers: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s is in the way of the test servers: it is not a folder of this user", base)
	}
	return base, os.Chmod(base, 0o711)
}

// key tells apart servers that cannot stand in for each other.
func key(cfg localpg.Config) string {
	return digest(fmt.Sprintf("%q %v", cfg.BinDir, cfg.Settings))
}

// boot tells one run of the machine from the next: without durability a crash
// of it may have left rubbish. Where that is not known, all are one.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return digest(string(id)) + "-"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// repository is the folder of go.mod, looked for from the working folder
// upward: a test works in the folder of its package.
func repository() (string, bool) {
	dir, err := os.Getwd()
	for err == nil {
		if _, stat := os.Stat(filepath.Join(dir, "go.mod")); stat == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}

func newDataDir(ctx context.Context) (string, error) {
	base, err := baseFolder()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(base, dataDirPrefix)
	if err != nil {
		return "", err
	}
	cfg := config(base)
	cfg.DataDir = dir
	if err := errors.Join(os.Chmod(dir, 0o711), localpg.Prepare(ctx, cfg)); err != nil {
		return dir, err
	}
	return dir, appendTo(filepath.Join(dir, "cluster", "postgresql.conf"), "fsync = off\nfull_page_writes = off\n")
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

const (
	serverPrefix  = "server-"
	dataDirPrefix = "data-"
)

// sweepFolders removes what killed runs and earlier boots left, and what may
// still run in it. It does what it can; the next sweep finds the rest.
func sweepFolders(ctx context.Context, base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if abandoned(entry) {
			_ = localpg.Discard(ctx, filepath.Join(base, entry.Name()))
		}
	}
}

func abandoned(entry fs.DirEntry) bool {
	switch name := entry.Name(); {
	case strings.HasPrefix(name, serverPrefix):
		return !strings.HasPrefix(name, serverPrefix+boot())
	case strings.HasPrefix(name, dataDirPrefix):
		info, err := entry.Info()
		return err == nil && time.Since(info.ModTime()) > abandonedAfter
	default:
		return false
	}
}
