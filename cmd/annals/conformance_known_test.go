package main_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// The known failures are the honest list of what the server does not do yet:
//
//	class::case[transport]<TAB>reason    run, and expected to fail
//	feature:NAME<TAB>reason              not run, for its ground is missing
//
// A line starting with # is a comment. The list only shrinks: a line whose
// case passes fails the test until the line is removed.
type knownFailures map[string]string

func readKnown(file string) (knownFailures, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the known failures: %w", err)
	}
	return parseKnown(string(source))
}

func parseKnown(source string) (knownFailures, error) {
	known := knownFailures{}
	for i, line := range strings.Split(source, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, separated := strings.Cut(line, "\t")
		if !separated || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("known failures, line %d: wanted a name, a tab and a reason, got %q", i+1, line)
		}
		if _, twice := known[name]; twice {
			return nil, fmt.Errorf("known failures, line %d: %s is listed twice", i+1, name)
		}
		known[name] = reason
	}
	return known, nil
}

// strangers returns the names that no case of the index answers to.
func (k knownFailures) strangers(classes []caseClass) []string {
	indexed := map[string]bool{}
	for _, class := range classes {
		for _, c := range class.cases {
			indexed[featureLine(c.feature)] = true
			for _, transport := range c.transports {
				indexed[caseLine(c, transport)] = true
			}
		}
	}
	var unknown []string
	for name := range k {
		if !indexed[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// strangeSteps returns the coded cases that the index does not have.
func strangeSteps(coded map[string]codedCase, classes []caseClass) []string {
	unknown := maps.Clone(coded)
	for _, class := range classes {
		for _, c := range class.cases {
			delete(unknown, stepsName(c))
		}
	}
	return slices.Collect(maps.Keys(unknown))
}

func stepsName(c indexedCase) string { return c.class + "." + c.name }

func featureLine(feature string) string { return "feature:" + feature }

func caseLine(c indexedCase, transport string) string {
	return fmt.Sprintf("%s::%s[%s]", c.class, c.name, transport)
}

// settle turns the outcome of a case into a complaint, or nil.
func (k knownFailures) settle(line string, failure error) error {
	_, known := k[line]
	switch {
	case known && failure == nil:
		return fmt.Errorf("%s passes: remove this line from the known failures", line)
	case !known && failure != nil:
		return failure
	}
	return nil
}
