package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/domain"
	"annals/eventstore"
)

// eventParameters are the parameters of a list of events: which events it has,
// and how many. A cursor is the "next" of the page before; together with
// "before", the lower of the two counts.
var eventParameters = []parameterOf[eventstore.Filter]{
	{"object", func(f *eventstore.Filter, value string) string {
		kind, key, ok := strings.Cut(value, ":")
		if !ok || kind == "" || key == "" {
			return "kind:key, such as table:public.author"
		}
		f.Object = &eventstore.Object{Kind: kind, Key: key}
		return ""
	}},
	{"type", func(f *eventstore.Filter, value string) string { f.Type = value; return "" }},
	{"actor", func(f *eventstore.Filter, value string) string { f.Actor = value; return "" }},
	{"since", func(f *eventstore.Filter, value string) string { return parseTime(&f.Since, value) }},
	{"until", func(f *eventstore.Filter, value string) string { return parseTime(&f.Until, value) }},
	{"after", func(f *eventstore.Filter, value string) string { return parseWhole(&f.After, value, 0) }},
	{"before", lowerBefore},
	{"cursor", lowerBefore},
	{"limit", func(f *eventstore.Filter, value string) string { return parseLimit(&f.Limit, value) }},
}

// parameterOf is one parameter of a URL's query. read puts its value into the
// filter, or says what would have been right.
type parameterOf[F any] struct {
	name string
	read func(f *F, value string) (expected string)
}

func lowerBefore(f *eventstore.Filter, value string) string {
	var position int64
	expected := parseWhole(&position, value, 1)
	if expected == "" && (f.Before == 0 || position < f.Before) {
		f.Before = position
	}
	return expected
}

func parseWhole(to *int64, value string, least int64) (expected string) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least {
		return "a position of the history, " + itoa(least) + " or more"
	}
	*to = n
	return ""
}

func parseTime(to *time.Time, value string) (expected string) {
	// The + of a time zone, when not escaped, arrives as a space.
	t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(value, " ", "+"))
	if err != nil {
		return "a time such as 2026-01-31T12:00:00Z"
	}
	*to = t
	return ""
}

// filterOf reads the parameters of a request's URL that say which events are
// asked for.
func filterOf(r *http.Request, known []parameterOf[eventstore.Filter]) (eventstore.Filter, error) {
	f := eventstore.Filter{Limit: DefaultPageEvents}
	if err := readParameters(r, known, &f); err != nil {
		return eventstore.Filter{}, err
	}
	return f, nil
}

// readParameters reads the parameters of a request's URL into a filter. One that
// is unknown, given twice or malformed is refused: to leave it out would show
// more than was asked for.
func readParameters[F any](r *http.Request, known []parameterOf[F], f *F) error {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return domain.RefuseAt("$", domain.BadRequest, "the URL's query cannot be read: %v", err)
	}
	for name := range given {
		if !slices.ContainsFunc(known, func(p parameterOf[F]) bool { return p.name == name }) {
			return domain.RefuseAt("$", domain.BadRequest, "unknown parameter %q: expected %s", name, namesOf(known))
		}
	}
	for _, p := range known {
		if err := p.apply(f, given[p.name]); err != nil {
			return err
		}
	}
	return nil
}

func (p parameterOf[F]) apply(f *F, values []string) error {
	switch {
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return domain.RefuseAt("$", domain.BadRequest, "%s: the parameter is given %d times", p.name, len(values))
	}
	if err := checkText(p.name, values[0]); err != nil {
		return err
	}
	expected := p.read(f, values[0])
	if values[0] == "" {
		expected = "a value"
	}
	if expected != "" {
		return domain.RefuseAt("$", domain.BadRequest, "%s: %q is not what it takes: expected %s", p.name, values[0], expected)
	}
	return nil
}

func namesOf[F any](parameters []parameterOf[F]) string {
	if len(parameters) == 0 {
		return "none"
	}
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
	}
	return "one of " + strings.Join(names, ", ")
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
