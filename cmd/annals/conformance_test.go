package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	conformanceFolder = "../../../shared/conformance" // unless ANNALS_CONFORMANCE names another
	classesAtOnce     = 2
	knownFile         = "testdata/conformance-known.txt"
)

// TestConformance drives the built program over the request/response cases of
// a folder that is no part of this repository; without it there is nothing to
// judge. Each class gets a fresh database and a fresh server, once without an
// admin secret and settings given as variables, once with both given as flags.
// What is about other ways of telling callers apart has modes of its own.
//
//	ANNALS_CONFORMANCE=folder     where the cases are
//	ANNALS_CONFORMANCE_ALL=1      run the features that are known to fail too
//	ANNALS_CONFORMANCE_GATES=1    run all cases behind JWT and behind a webhook too
//
// One case: go test ./cmd/annals -run 'TestConformance/TestRunSQL/no_secret/test_sql_rename_table\['
func TestConformance(t *testing.T) {
	folder := conformanceFolder
	if named := os.Getenv("ANNALS_CONFORMANCE"); named != "" {
		folder = named
	}
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		t.Skipf("no conformance cases at %s", folder)
	}
	classes, err := readIndex(filepath.Join(folder, "index.tsv"))
	require.NoError(t, err)
	known, err := readKnown(knownFile)
	require.NoError(t, err)
	assert.Empty(t, known.strangers(classes), "known failures that are no case of the index")
	assert.Empty(t, strangeSteps(codedSteps(), classes), "coded steps of no case of the index")

	suite := &suite{
		program: buildAnnals(t),
		cases:   filepath.Join(folder, "cases"),
		known:   known,
		all:     os.Getenv("ANNALS_CONFORMANCE_ALL") != "",
		slots:   make(chan struct{}, classesAtOnce),
		ports:   &sync.Mutex{},
		tally:   newTally(),
	}
	t.Cleanup(func() { suite.tally.report(t, known) })
	for _, class := range classes {
		suite.start(t, class)
	}
}

// A suite is what all classes share.
type suite struct {
	program string
	cases   string
	known   knownFailures
	all     bool
	slots   chan struct{}
	ports   *sync.Mutex // of the helper servers: they are fixed, so one class at a time has them
	tally   *tally
}

// start runs a class beside others, without the cases of features that are
// known to have no ground yet.
func (s *suite) start(t *testing.T, class caseClass) {
	var wanted []indexedCase
	for _, c := range class.cases {
		if _, groundless := s.known[featureLine(c.feature)]; groundless && !s.all {
			s.tally.count(c.feature, notRun)
			continue
		}
		wanted = append(wanted, c)
	}
	if len(wanted) == 0 {
		return
	}
	_, name, _ := strings.Cut(class.name, "::")
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		newClassRun(t, s, wanted).run()
	})
}

// An outcome is what became of one case over one transport in all modes.
type outcome string

const (
	passed      outcome = "passed"
	failed      outcome = "failed"
	notRun      outcome = "not run"
	notPossible outcome = "not possible here"
)

type tally struct {
	mu     sync.Mutex
	counts map[string]map[outcome]int // by feature
}

func newTally() *tally { return &tally{counts: map[string]map[outcome]int{}} }

func (y *tally) count(feature string, o outcome) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.counts[feature] == nil {
		y.counts[feature] = map[outcome]int{}
	}
	y.counts[feature][o]++
}

// report logs the counts, and complains of a feature that is listed as
// known to fail although all of it passed.
func (y *tally) report(t *testing.T, known knownFailures) {
	y.mu.Lock()
	defer y.mu.Unlock()
	total := map[outcome]int{}
	for feature, counts := range y.counts {
		for o, n := range counts {
			total[o] += n
		}
		if _, listed := known[featureLine(feature)]; listed && counts[passed] > 0 {
			t.Logf("%s: %v", feature, counts)
			assert.NotEqual(t, map[outcome]int{passed: counts[passed]}, counts,
				"all of %s passes: remove this line from the known failures", featureLine(feature))
		}
	}
	t.Logf("conformance: %v", total)
}
