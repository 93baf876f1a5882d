package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"annals/domain/metadata"
)

var update = flag.Bool("update", false, "write the README's table of flags anew")

const readme = "../../README.md"

func TestTheREADMEsTableOfFlagsIsTheProgramsOwn(t *testing.T) {
	parser, err := newParser(t.Context(), &commands{}, console{}, func(int) {})
	require.NoError(t, err)
	serve := parser.Model.Children[slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == "serve" })]
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, table, after := section(t, string(text), "flags")
	want := flagTable(serve.Flags)
	if *update {
		require.NoError(t, os.WriteFile(readme, []byte(before+want+after), 0o644))
		return
	}
	require.Equal(t, want, table, "run make golden")
}

func flagTable(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n")
	for _, f := range flags {
		name := "`--" + f.Name + "`"
		if f.Short != 0 {
			name += ", `-" + string(f.Short) + "`"
		}
		variable, standard := "", ""
		if len(f.Envs) > 0 {
			variable = "`" + strings.TrimPrefix(f.Envs[0], variablePrefixes[0]) + "`"
		}
		if f.Default != "" {
			standard = "`" + f.Default + "`"
		}
		help := f.Help
		if f.Enum != "" {
			help += " One of " + strings.ReplaceAll(f.Enum, ",", ", ") + "."
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, variable, standard, strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

// section cuts a text at the marks <!-- name --> and <!-- /name -->.
func section(t *testing.T, text, name string) (before, within, after string) {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	before, rest, begun := strings.Cut(text, begin)
	within, after, ended := strings.Cut(rest, end)
	require.True(t, begun && ended, "the README has no %s", name)
	return before + begin, within, end + after
}

func TestTheREADMENamesTheOperationsThereAre(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	_, table, _ := section(t, string(text), "operations")
	var named []string
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, match := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cell, -1) {
			named = append(named, match[1])
		}
	}
	slices.Sort(named)
	aliases := func(name string) bool { return strings.HasPrefix(name, "pg_") }
	require.Equal(t, slices.DeleteFunc(metadata.Operations(), aliases), named)
}

func TestTheREADMELinksEveryScript(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	require.NoError(t, err)
	for _, script := range scripts {
		require.True(t, strings.Contains(string(text), "(cmd/annals/"+script+")"), "the README has no link to %s", script)
	}
}
