package localpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// oldestMajor is the oldest PostgreSQL that is accepted.
	oldestMajor = 14
	// versionLimit bounds how long a program may take to tell its version.
	versionLimit = 10 * time.Second
)

// ErrNoPrograms says that this machine has no usable PostgreSQL server programs.
var ErrNoPrograms = errors.New("no PostgreSQL server programs")

// Programs are a PostgreSQL's server programs.
type Programs struct {
	BinDir  string // the folder that holds initdb and postgres
	Version string // as the program says it, such as "15.4"
	Major   int
}

func (p Programs) initdb() string   { return filepath.Join(p.BinDir, "initdb") }
func (p Programs) postgres() string { return filepath.Join(p.BinDir, "postgres") }

// FindPrograms looks for server programs in cfg.BinDir alone if it is set, and
// otherwise in what pg_config names, on PATH, in the folders where
// distributions put them, newest first, and last in cfg.ExtraBinDirs. If the
// data folder holds a cluster, only its own major version will do. The error
// is [ErrNoPrograms] with one line on what to install.
func FindPrograms(ctx context.Context, cfg Config) (Programs, error) {
	major, err := folder(cfg.DataDir).major()
	if err != nil {
		return Programs{}, err
	}
	found := candidates(ctx, cfg)
	if ctx.Err() != nil {
		return Programs{}, fmt.Errorf("look for PostgreSQL's programs: %w", context.Cause(ctx))
	}
	for _, p := range found {
		if major == 0 && p.Major >= oldestMajor || p.Major == major {
			return p, nil
		}
	}
	return Programs{}, missingPrograms(cfg, major, found)
}

// ErrNoTool says that this machine has not the program that was looked for.
var ErrNoTool = errors.New("not found")

// FindTool looks for a program that comes with PostgreSQL, such as pg_dump: in
// cfg.BinDir, on PATH, and beside the server programs of this machine, the
// newest first. The error is [ErrNoTool].
func FindTool(ctx context.Context, cfg Config, name string) (string, error) {
	if cfg.BinDir != "" {
		if path, err := exec.LookPath(filepath.Join(cfg.BinDir, name)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, p := range candidates(ctx, cfg) {
		if path, err := exec.LookPath(filepath.Join(p.BinDir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w; install PostgreSQL's client programs", name, ErrNoTool)
}

// candidates are the programs of this machine, the preferred first.
func candidates(ctx context.Context, cfg Config) []Programs {
	if cfg.BinDir != "" {
		return inspect(ctx, []string{cfg.BinDir})
	}
	system := inspect(ctx, systemFolders(ctx))
	slices.SortStableFunc(system, func(a, b Programs) int { return cmp.Compare(b.Major, a.Major) })
	return append(system, inspect(ctx, cfg.ExtraBinDirs)...)
}

func systemFolders(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // PostgreSQL's own RPMs
		"/usr/lib/postgresql[0-9]*/bin",     // SUSE
		"/usr/libexec/postgresql[0-9]*",     // Alpine
		"/usr/local/pgsql/bin",              // built from source
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		matches, _ := filepath.Glob(pattern) // the only error is a malformed pattern
		dirs = append(dirs, matches...)
	}
	return dirs
}

// inspect keeps the folders that hold both programs, each once.
func inspect(ctx context.Context, dirs []string) []Programs {
	var found []Programs
	for _, dir := range dirs {
		p, err := programsIn(ctx, dir)
		if err == nil && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found
}

func programsIn(ctx context.Context, dir string) (Programs, error) {
	// A package manager's folder of links does not hold the libraries beside.
	postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return Programs{}, err
	}
	if postgres, err = filepath.Abs(postgres); err != nil {
		return Programs{}, err
	}
	p := Programs{BinDir: filepath.Dir(postgres)}
	if _, err := os.Stat(p.initdb()); err != nil {
		return Programs{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.postgres(), "--version").Output()
	if err != nil {
		return Programs{}, fmt.Errorf("ask %s for its version: %w", p.postgres(), err)
	}
	p.Version, p.Major, err = parseVersion(string(out))
	return p, err
}

// parseVersion reads "postgres (PostgreSQL) 15.4 (Debian 15.4-1)"; a
// preliminary version reads "17beta1".
func parseVersion(text string) (version string, major int, err error) {
	_, rest, _ := strings.Cut(text, ") ")
	version, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	digits := strings.IndexFunc(version+".", func(r rune) bool { return r < '0' || r > '9' })
	major, err = strconv.Atoi(version[:digits])
	if err != nil {
		return "", 0, fmt.Errorf("no version in %q", strings.TrimSpace(text))
	}
	return version, major, nil
}

func missingPrograms(cfg Config, major int, found []Programs) error {
	wanted, where, others := fmt.Sprintf("%d or newer", oldestMajor), "on this machine", ""
	if major != 0 {
		wanted = fmt.Sprintf("%d, which made the data in %s,", major, cfg.DataDir)
	}
	if cfg.BinDir != "" {
		where = "in " + cfg.BinDir
	}
	for _, p := range found {
		others += fmt.Sprintf(" (only version %s in %s)", p.Version, p.BinDir)
	}
	return fmt.Errorf("%w of version %s were found %s%s: install them (apt-get install postgresql, dnf install postgresql-server, "+
		"apk add postgresql, brew install postgresql), name the folder of initdb and postgres, or give the URL of a database",
		ErrNoPrograms, wanted, where, others)
}
