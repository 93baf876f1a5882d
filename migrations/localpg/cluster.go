package localpg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// superuser is the role that owns everything in a cluster made here.
const superuser = "postgres"

// A cluster maker fills a folder with a new PostgreSQL cluster.
type maker struct {
	folder   folder
	programs Programs
	account  account
	seed     string
	sync     bool
	log      *slog.Logger
}

// ensure makes the cluster if there is none. It is made under a passing name,
// so a cluster that was half done when the program was killed is never used.
func (m maker) ensure(ctx context.Context) error {
	if major, err := m.folder.major(); major != 0 || err != nil {
		return err
	}
	if err := m.sweep(); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(string(m.folder), "cluster-partial-")
	if err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	defer os.RemoveAll(partial)
	if err := m.fill(ctx, partial); err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	// The target may be an empty folder; one with content is nobody's to replace.
	if err := os.Rename(partial, m.folder.cluster()); err != nil {
		return fmt.Errorf("make a cluster: %w", err)
	}
	return nil
}

func (m maker) sweep() error {
	left, err := filepath.Glob(m.folder.path("cluster-partial-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// fill takes the seed's cluster if there is one, and leaves one there if not.
func (m maker) fill(ctx context.Context, dir string) error {
	if err := m.account.take(dir); err != nil {
		return err
	}
	if m.seed == "" {
		return m.initdb(ctx, dir)
	}
	seed := filepath.Join(m.seed, strconv.Itoa(m.programs.Major))
	if _, err := os.Stat(seed); err == nil {
		return copyTree(seed, dir, m.give)
	}
	if err := m.initdb(ctx, dir); err != nil {
		return err
	}
	return m.plant(dir, seed)
}

// give hands a copied file of a cluster to the account.
func (m maker) give(path string, info fs.FileInfo) error {
	return errors.Join(os.Chmod(path, info.Mode().Perm()), m.account.take(path))
}

// plant saves a new cluster as the seed. Somebody else may have been faster.
func (m maker) plant(dir, seed string) error {
	if err := makeFolder(filepath.Dir(seed), 0o700); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(seed), "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	if err := copyTree(dir, partial, m.give); err != nil {
		return err
	}
	if err := os.Rename(partial, seed); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (m maker) initdb(ctx context.Context, dir string) error {
	m.log.InfoContext(ctx, "making a PostgreSQL cluster", "folder", m.folder.cluster(), "version", m.programs.Version, "user", m.account.name)
	args := []string{
		"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=reject", "--no-instructions",
	}
	if !m.sync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, m.programs.initdb(), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, environment(), m.account.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb as user %s: %w: %s", m.account.name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// environment is all that the server's programs get to see: messages in
// English, which are searched, and no settings that happen to be lying around.
func environment() []string { return []string{"LC_ALL=C", "TZ=UTC"} }
