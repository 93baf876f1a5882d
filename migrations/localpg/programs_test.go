package localpg_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/migrations/localpg"
)

func TestTheNewestProgramsAreFoundFirst(t *testing.T) {
	old, young := installation(t, "97.3 (Debian 97.3-1)"), installation(t, "98beta2")
	t.Setenv("PATH", young+":"+os.Getenv("PATH"))
	found, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: t.TempDir(), ExtraBinDirs: []string{old}})
	require.NoError(t, err)
	require.Equal(t, localpg.Programs{BinDir: young, Version: "98beta2", Major: 98}, found)
}

func TestThereIsAFolderOfLastResort(t *testing.T) {
	t.Parallel()
	dir, extra := t.TempDir(), installation(t, "99.1")
	_, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: dir, BinDir: t.TempDir(), ExtraBinDirs: []string{extra}})
	require.ErrorIs(t, err, localpg.ErrNoPrograms, "an explicit folder ends the search")

	// Data of a version that nothing else here can read.
	makeCluster(t, dir, "99")
	found, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: dir, ExtraBinDirs: []string{extra}})
	require.NoError(t, err)
	require.Equal(t, extra, found.BinDir)
}

func TestProgramsMustFitTheData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeCluster(t, dir, "42")
	_, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: dir, BinDir: installation(t, "99.1")})
	require.ErrorIs(t, err, localpg.ErrNoPrograms)
	require.ErrorContains(t, err, "version 42")
	require.ErrorContains(t, err, "only version 99.1")
}

func TestProgramsThatAreTooOldAreNotTaken(t *testing.T) {
	t.Parallel()
	_, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: t.TempDir(), BinDir: installation(t, "9.6.24")})
	require.ErrorIs(t, err, localpg.ErrNoPrograms)
}

func TestALinkedProgramIsFoundWhereItsFilesAre(t *testing.T) {
	t.Parallel()
	real, links := installation(t, "99.1"), t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(real, "postgres"), filepath.Join(links, "postgres")))
	found, err := localpg.FindPrograms(t.Context(), localpg.Config{DataDir: t.TempDir(), BinDir: links})
	require.NoError(t, err)
	require.Equal(t, real, found.BinDir)
}

func TestDataHasAPlaceThatTheServersUserCanEnter(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/home/somebody/state")
	dir, err := localpg.DefaultDataDir()
	require.NoError(t, err)
	want := map[bool]string{true: "/var/lib/annals", false: "/home/somebody/state/annals"}
	require.Equal(t, want[os.Geteuid() == 0], dir)
}

// installation makes programs that can tell a version and nothing else.
func installation(t *testing.T, version string) (bin string) {
	t.Helper()
	bin, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	script := fmt.Appendf(nil, "#!/bin/sh\necho 'postgres (PostgreSQL) %s'\n", version)
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), script, 0o755))
	}
	return bin
}

func makeCluster(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cluster"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster", "PG_VERSION"), []byte(version+"\n"), 0o600))
}
