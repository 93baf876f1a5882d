package localpg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// runnable gives programs the account can run: the ones found, or a copy in
// the data folder if they lie where the account cannot reach them, as in a
// checkout under root's home. PostgreSQL finds its libraries and files by the
// place of its program, so a whole installation can be carried.
func (f folder) runnable(ctx context.Context, p Programs, a account, log *slog.Logger) (Programs, error) {
	unreachable := errors.Join(a.reaches(p.postgres()), a.reaches(p.initdb()))
	if unreachable == nil {
		return p, nil
	}
	from := filepath.Dir(p.BinDir)
	to := filepath.Join(f.path("programs"), p.Version+"-"+fingerprint(p.postgres()))
	carried := Programs{BinDir: filepath.Join(to, filepath.Base(p.BinDir)), Version: p.Version, Major: p.Major}
	if _, err := os.Stat(to); err == nil {
		return carried, nil
	}
	log.InfoContext(ctx, "copying the PostgreSQL programs, since the server's user cannot reach them", "from", from, "to", to, "user", a.name)
	if err := f.carry(p, from, to); err != nil {
		return Programs{}, fmt.Errorf("copy the PostgreSQL programs for user %s (%w): %w", a.name, unreachable, err)
	}
	if _, err := programsIn(ctx, carried.BinDir); err != nil {
		return Programs{}, fmt.Errorf("run a copy of the PostgreSQL programs for user %s (%w): %w", a.name, unreachable, err)
	}
	return carried, nil
}

// carry copies the three parts of an installation; the copy appears under its
// name when it is complete.
func (f folder) carry(p Programs, from, to string) error {
	if err := makeFolder(filepath.Dir(to), 0o711); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(to), "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	for _, part := range []string{filepath.Base(p.BinDir), "lib", "share"} {
		if err := copyTree(filepath.Join(from, part), filepath.Join(partial, part), anyonesToRead); err != nil {
			return err
		}
	}
	if err := os.Chmod(partial, 0o711); err != nil {
		return err
	}
	return os.Rename(partial, to)
}

// anyonesToRead opens a copied program file to every user.
func anyonesToRead(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm() | 0o444
	if mode&0o100 != 0 {
		mode |= 0o111
	}
	return os.Chmod(path, mode)
}

// fingerprint tells one build of a program from another by what changes when
// it is replaced.
func fingerprint(program string) string {
	info, err := os.Stat(program)
	if err != nil {
		return "unknown"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s", program, info.Size(), info.ModTime().UTC()))
	return hex.EncodeToString(sum[:6])
}
