package execution

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnEmptyTextIsNotNullInAFreshBuffer(t *testing.T) {
	s := &rowset{columns: 1, ends: []int{0, -1, 0}}
	s.cut()
	require.Equal(t, [][]byte{{}, nil, {}}, s.values)
	require.NotNil(t, s.values[0])
	require.Nil(t, s.values[1])
}
