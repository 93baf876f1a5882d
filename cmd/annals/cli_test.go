package main

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

func TestTheHelpOfEachCommandHasExamples(t *testing.T) {
	parser, err := newParser(t.Context(), &commands{}, console{}, func(int) {})
	require.NoError(t, err)
	examined := 0
	require.NoError(t, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if command, ok := node.(*kong.Node); ok && command.Leaf() && command.Name != "version" {
			examined++
			require.Contains(t, command.Detail, "Examples:", command.Path())
		}
		return next(nil)
	}))
	require.NotZero(t, examined)
}
