package localpg

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A failed start once took -1 for its child's number, and that means everybody.
func TestNumbersThatMeanManyProcessesAreNeverSignalled(t *testing.T) {
	t.Parallel()
	const none = syscall.Signal(0)
	for _, pid := range []int{-1, 0, 1} {
		require.Error(t, send(pid, none))
		ended, _ := reap(pid)
		require.False(t, ended)
	}
}
