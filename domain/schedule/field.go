package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is one field of an expression after it was checked: only numbers, and
// only those that the library knows.
type field struct {
	text string
	// star tells that an item is * or */n.
	star bool
}

// unit is what a field counts.
type unit struct {
	name     string
	min, max int
	names    []string // of min, min+1, ...
	// week marks the field in which max is another number of min.
	week bool
}

var units = [...]unit{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", min: 0, max: 7, week: true, names: []string{
		"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// The places of some of the five fields.
const (
	hour       = 1
	dayOfMonth = 2
	dayOfWeek  = 4
)

// maxLength bounds an expression. All values of all fields, listed one by
// one, need some 400 characters.
const maxLength = 1000

func readFields(expr string) ([]field, error) {
	if len(expr) > maxLength {
		return nil, fmt.Errorf("a cron expression has at most %d characters", maxLength)
	}
	for _, r := range expr {
		if isForeign(r) {
			return nil, fmt.Errorf("unexpected character %q in a cron expression of five fields", r)
		}
	}
	texts := strings.Fields(expr)
	if len(texts) != len(units) {
		return nil, fmt.Errorf("expected exactly 5 fields (minute, hour, day of month, month, day of week), found %d", len(texts))
	}
	fields := make([]field, len(units))
	for i, u := range units {
		f, err := u.read(texts[i])
		if err != nil {
			return nil, fmt.Errorf("in the field %q: %w", u.name, err)
		}
		fields[i] = f
	}
	return fields, nil
}

func isForeign(r rune) bool {
	switch {
	case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return false
	}
	return !strings.ContainsRune("*/,- \t", r)
}

// read checks a field and writes it anew, in numbers.
func (u unit) read(text string) (field, error) {
	var f field
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		values, err := u.item(item)
		if err != nil {
			return field{}, err
		}
		f.star = f.star || item[0] == '*'
		items = append(items, values...)
	}
	f.text = strings.Join(items, ",")
	return f, nil
}

// item reads one item of the list, and returns the values it stands for.
func (u unit) item(text string) ([]string, error) {
	if text == "" {
		return nil, errors.New("an item of the list is empty")
	}
	span, stepText, stepped := strings.Cut(text, "/")
	from, to, err := u.span(span, stepped)
	if err != nil {
		return nil, err
	}
	step := 1
	if stepped {
		if step, err = readStep(stepText, to-from+1); err != nil {
			return nil, err
		}
	}
	return u.values(from, to, step), nil
}

// values lists the numbers of a range. In a week the second number of Sunday
// becomes the first: 5-7 is 5,6,0.
func (u unit) values(from, to, step int) []string {
	var values []string
	for v := from; v <= to; v += step {
		if u.week && v == u.max {
			values = append(values, strconv.Itoa(u.min))
			continue
		}
		values = append(values, strconv.Itoa(v))
	}
	return values
}

// span reads what stands before the step.
func (u unit) span(text string, stepped bool) (from, to int, err error) {
	if text == "*" {
		return u.min, u.last(), nil
	}
	first, second, isRange := strings.Cut(text, "-")
	if from, err = u.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		to, err = u.rangeEnd(second)
	case stepped:
		to = max(from, u.last())
	default:
		to = from
	}
	if err == nil && from > to {
		err = fmt.Errorf("the range %s ends before it begins", text)
	}
	return from, to, err
}

// last is the last value that * stands for. There is one Sunday in a week.
func (u unit) last() int {
	if u.week {
		return u.max - 1
	}
	return u.max
}

// rangeEnd reads the end of a range, where Sunday by name is the last day.
func (u unit) rangeEnd(text string) (int, error) {
	if u.week && strings.EqualFold(text, u.names[0]) {
		return u.max, nil
	}
	return u.value(text)
}

// value reads one number or name.
func (u unit) value(text string) (int, error) {
	if i := slices.Index(u.names, strings.ToLower(text)); i >= 0 {
		return u.min + i, nil
	}
	n, err := readNumber(text)
	if err != nil && u.names != nil {
		return 0, fmt.Errorf("%w, nor one of %s", err, strings.Join(u.names, ", "))
	}
	if err != nil {
		return 0, err
	}
	if n < u.min || n > u.max {
		return 0, fmt.Errorf("%d is not between %d and %d", n, u.min, u.max)
	}
	return n, nil
}

func readStep(text string, size int) (int, error) {
	n, err := readNumber(text)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > size {
		return 0, fmt.Errorf("the step %d is not between 1 and %d", n, size)
	}
	return n, nil
}

// readNumber reads digits, and nothing but digits.
func readNumber(text string) (int, error) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, notNumber(text)
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, notNumber(text)
	}
	return n, nil
}

func notNumber(text string) error { return fmt.Errorf("%q is not a number", brief(text)) }
