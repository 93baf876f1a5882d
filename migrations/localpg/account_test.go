package localpg

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// somebody is a user that owns nothing here.
func somebody() account { return account{name: "somebody", uid: 54321, gid: 54321, foreign: true} }

func TestAnAccountReachesWhatEveryFolderOnTheWayLetsItTo(t *testing.T) {
	t.Parallel()
	top := passable(t)
	program := filepath.Join(top, "closed", "bin", "postgres")
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o755))
	require.NoError(t, os.WriteFile(program, nil, 0o755))
	require.NoError(t, somebody().reaches(program))

	require.NoError(t, os.Chmod(program, 0o744))
	require.ErrorContains(t, somebody().reaches(program), program)
	require.NoError(t, os.Chmod(program, 0o755))

	closed := filepath.Join(top, "closed")
	require.NoError(t, os.Chmod(closed, 0o700))
	require.ErrorContains(t, somebody().reaches(program), "user somebody may not pass "+closed)
	require.NoError(t, account{name: "this user"}.reaches(program))
}

func TestProgramsOutOfReachAreCarriedIntoTheDataFolder(t *testing.T) {
	t.Parallel()
	top := passable(t)
	f := folder(filepath.Join(top, "data"))
	require.NoError(t, os.Mkdir(string(f), 0o711))
	home := filepath.Join(top, "home")
	p := privateInstallation(t, home)

	carried, err := f.runnable(t.Context(), p, somebody(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, somebody().reaches(carried.postgres()))
	library, err := os.ReadFile(filepath.Join(carried.BinDir, "..", "lib", "libpq.so"))
	require.NoError(t, err)
	require.Equal(t, "library", string(library), "a link goes with its target")

	inPlace, err := f.runnable(t.Context(), p, account{name: "this user"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Equal(t, p, inPlace)
}

func TestAUserWithoutAnEntryIsToldSo(t *testing.T) {
	t.Parallel()
	_, err := accountOf(1<<31 - 7)
	require.ErrorContains(t, err, "has no entry in the user database")
}

func TestAFolderInTheWayOfTheSocketIsRefused(t *testing.T) {
	t.Parallel()
	mine := account{name: "this user", uid: os.Geteuid(), gid: os.Getegid()}
	dir := filepath.Join(t.TempDir(), "socket")
	require.NoError(t, mine.private(dir))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, mine.private(dir))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	require.Error(t, somebody().private(dir), "somebody else's folder")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	require.Error(t, mine.private(link), "a link that somebody may turn")
}

// privateInstallation makes programs in a home that nobody else may enter.
func privateInstallation(t *testing.T, home string) Programs {
	t.Helper()
	for _, part := range []string{"bin", "lib", "share"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, part), 0o755))
	}
	script := []byte("#!/bin/sh\necho 'postgres (PostgreSQL) 99.1'\n")
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, "bin", name), script, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "lib", "libpq.so.5"), []byte("library"), 0o600))
	require.NoError(t, os.Symlink("libpq.so.5", filepath.Join(home, "lib", "libpq.so")))
	require.NoError(t, os.Chmod(home, 0o700))
	p, err := programsIn(t.Context(), filepath.Join(home, "bin"))
	require.NoError(t, err)
	return p
}

// passable is a temporary folder that every user may enter, which t.TempDir is not.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "localpg-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return dir
}
