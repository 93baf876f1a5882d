package pgtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheSweepRemovesFoldersThatNobodyWillUseAgain(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	kept := []string{"seed", "data-young", "server-" + boot() + "abc"}
	gone := []string{"data-old", "server-00000000-abc"}
	for _, name := range append(kept, gone...) {
		require.NoError(t, os.Mkdir(filepath.Join(base, name), 0o711))
	}
	then := time.Now().Add(-2 * abandonedAfter)
	require.NoError(t, os.Chtimes(filepath.Join(base, "data-old"), then, then))

	sweepFolders(t.Context(), base)
	for _, name := range kept {
		require.DirExists(t, filepath.Join(base, name))
	}
	for _, name := range gone {
		require.NoDirExists(t, filepath.Join(base, name))
	}
}
