package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A layer is a folder of packages, what of ours they may import, and the
// sentence that any other import breaks.
type layer struct {
	folder   string
	imports  []string
	sentence string
}

// layers are the house from top to bottom; a package belongs to the first one
// that holds it. A folder is followed by what lies below it.
var layers = []layer{
	{"cmd", []string{"cmd/internal", "domain", "eventstore", "projections", "handlers", "migrations"}, "cmd wires the parts"},

	{"handlers/api", []string{"handlers/api", "handlers/command", "handlers/dump", "handlers/execution", "domain", "eventstore", "projections"},
		"api is an edge: it knows the use cases, and nothing of workers or migrations"},
	{"handlers/workers", []string{"handlers/workers", "handlers/command", "handlers/execution", "handlers/outbound", "domain", "eventstore", "projections"},
		"workers is an edge: it knows the use cases, and nothing of api or migrations"},
	{"handlers/command", []string{"handlers/command", "handlers/outbound", "domain", "eventstore", "projections"},
		"a use case knows neither edge, nor the other use case, nor migrations"},
	{"handlers/execution", []string{"handlers/execution", "handlers/outbound", "domain", "projections"},
		"a use case knows neither edge, nor the other use case, nor migrations"},
	{"handlers/nodetest", []string{"handlers/command", "handlers/execution", "domain", "eventstore", "projections", "migrations"},
		"a node for tests joins the use cases, and knows neither edge"},
	{"handlers/dump", nil, "a dump knows a database and a program, and nothing of ours"},
	{"handlers/outbound", []string{"handlers/outbound", "domain"}, "the one door out knows nothing of who goes through it"},

	{"projections", []string{"projections", "domain", "eventstore"}, "projections are folded from events with the domain's rules, and know nobody who reacts"},

	{"domain", []string{"domain"}, "domain imports nothing of ours outside domain"},
	{"eventstore", []string{"eventstore"}, "eventstore knows neither the domain nor migrations"},
	{"migrations", []string{"migrations"}, "migrations knows neither the domain nor eventstore"},
}

// outside is what decisions from values alone have no use for: IO, the clock's
// company, chance.
var outside = []string{
	"context", "os", "net/http", "log", "io/fs", "math/rand", "crypto/rand", "database/sql",
	"github.com/jackc/pgx/v5", "github.com/ThreeDotsLabs/watermill",
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportsOnlyPointDown(t *testing.T) {
	for _, p := range listPackages(t) {
		home, ok := layerOf(p.ImportPath)
		require.True(t, ok, "%s belongs to no layer: say in which", p.ImportPath)
		for _, imported := range p.Imports {
			if path, ours := strings.CutPrefix(imported, "annals/"); ours && !home.may(path) {
				t.Errorf("%s imports %s, but %s", p.ImportPath, imported, home.sentence)
			}
		}
	}
}

func TestTheDomainDecidesFromValuesAlone(t *testing.T) {
	for _, p := range listPackages(t) {
		if !within(strings.TrimPrefix(p.ImportPath, "annals/"), "domain") {
			continue
		}
		for _, imported := range p.Imports {
			if slices.ContainsFunc(outside, func(path string) bool { return within(imported, path) }) {
				t.Errorf("%s imports %s, but domain knows no IO, no clock, no context", p.ImportPath, imported)
			}
		}
	}
}

// listPackages lists the packages of this module, with what they import outside tests.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = "../.."
	text, err := list.Output()
	require.NoError(t, err)
	var packages []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p listedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, packages)
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

func layerOf(importPath string) (layer, bool) {
	path := strings.TrimPrefix(importPath, "annals/")
	i := slices.IndexFunc(layers, func(l layer) bool { return within(path, l.folder) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

func (l layer) may(path string) bool {
	return slices.ContainsFunc(l.imports, func(folder string) bool { return within(path, folder) })
}

// within reports whether a package lies in a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func TestTheREADMEsCodeMapNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, p := range listPackages(t) {
		line := "| `" + strings.TrimPrefix(p.ImportPath, "annals/") + "` |"
		require.True(t, strings.Contains(string(text), line), "the README's code map has no line %s", line)
	}
}
