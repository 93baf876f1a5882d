package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// An indexed case is one line of the index: what it covers, its scene, and
// what is sent. Several paths in one column are separated by spaces.
type indexedCase struct {
	feature, tier, class, name, kind string
	transports                       []string
	classUp, caseUp                  []string
	steps                            []string
	caseDown, classDown              []string
	helpers                          []string
	auth, note                       string
}

// A caseClass holds the cases that share one scene.
type caseClass struct {
	name  string
	cases []indexedCase
}

// A request is one exchange of a case file. Where judged is false only the
// status counts.
type request struct {
	url     string
	status  int
	headers map[string]string
	query   any
	want    any
	judged  bool
}

const indexColumns = 14

func readIndex(file string) ([]caseClass, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the index of cases: %w", err)
	}
	lines := strings.Split(strings.TrimRight(string(source), "\n"), "\n")
	var classes []caseClass
	place := map[string]int{}
	for i, line := range lines[1:] {
		c, err := parseIndexLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+2, err)
		}
		at, known := place[c.class]
		if !known {
			at = len(classes)
			place[c.class] = at
			classes = append(classes, caseClass{name: c.class})
		}
		classes[at].cases = append(classes[at].cases, c)
	}
	return classes, nil
}

func parseIndexLine(line string) (indexedCase, error) {
	column := strings.Split(line, "\t")
	if len(column) != indexColumns {
		return indexedCase{}, fmt.Errorf("wanted %d columns, got %d", indexColumns, len(column))
	}
	return indexedCase{
		feature: column[0], tier: column[1], class: column[2], name: column[3], kind: column[4],
		transports: strings.Split(column[5], ","),
		classUp:    strings.Fields(column[6]), caseUp: strings.Fields(column[7]),
		steps:    strings.Fields(column[8]),
		caseDown: strings.Fields(column[9]), classDown: strings.Fields(column[10]),
		helpers: strings.Fields(column[11]),
		auth:    column[12], note: column[13],
	}, nil
}

// onlyFile returns the file of a case that has one step.
func (c indexedCase) onlyFile() string {
	_, file, _ := strings.Cut(strings.Join(c.steps, " "), ":")
	return file
}

// Not every machine has the locale that scenes set for amounts of money.
const (
	caseLocale = `SET lc_monetary TO "en_US.utf-8"`
	ourLocale  = `SET lc_monetary TO "C"`
)

// readScene reads a file that is posted as it stands.
func readScene(folder, file string) (any, error) {
	source, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return nil, fmt.Errorf("read a scene: %w", err)
	}
	value, err := parseYAML(bytes.ReplaceAll(source, []byte(caseLocale), []byte(ourLocale)))
	if err != nil {
		return nil, fmt.Errorf("read scene %s: %w", file, err)
	}
	return value, nil
}

// readRequests reads a case file: one exchange or a list of them.
func readRequests(folder, file string) ([]request, error) {
	value, err := readScene(folder, file)
	if err != nil {
		return nil, err
	}
	exchanges, several := value.([]any)
	if !several {
		exchanges = []any{value}
	}
	requests := make([]request, len(exchanges))
	for i, exchange := range exchanges {
		if requests[i], err = newRequest(exchange); err != nil {
			return nil, fmt.Errorf("%s, request %d: %w", file, i+1, err)
		}
	}
	return requests, nil
}

func newRequest(exchange any) (request, error) {
	r := request{
		url:    text(get(exchange, "url")),
		status: 200,
		query:  get(exchange, "query"),
		want:   get(exchange, "response"),
		judged: has(exchange, "response"),
	}
	if r.url == "" {
		return r, fmt.Errorf("no url in %s", toJSON(exchange))
	}
	if status, ok := get(exchange, "status").(number); ok {
		code, err := strconv.Atoi(string(status))
		if err != nil {
			return r, fmt.Errorf("read the status: %w", err)
		}
		r.status = code
	}
	r.headers = map[string]string{}
	if headers, ok := get(exchange, "headers").(*object); ok {
		for _, name := range headers.keys {
			r.headers[name] = text(headers.fields[name])
		}
	}
	return r, nil
}
