// Package schedule reads cron expressions and tells when they fire.
//
// An expression is five fields: minute 0-59, hour 0-23, day of the month
// 1-31, month 1-12, day of the week 0-7, where 0 and 7 are Sunday. A field is
// a list of items joined by commas:
//
//	a        one value
//	a-b      a range
//	*        every value
//	*/n      every n-th value, from the first; so too a-b/n
//	a/n      every n-th value, from a to the last
//
// Months and weekdays may be called by the first three letters of their
// English names, in any case. @yearly, @monthly, @weekly, @daily and @hourly
// stand for the first minute of each. Nothing else is an expression: no seconds,
// no time zone, no L, W, # or ?. A step that leaves the range at once (*/70
// minutes) is refused. A date that no year has (31 February) is not, as in v1.3:
// such a [Schedule] never fires. Every other fires again, for ever.
//
// The two day fields follow classic cron. When both name days, either may
// match: "0 0 13 * 5" fires on every 13th and on every Friday. A day field
// that holds a *, with a step or without, names none, and then both must
// match: "0 0 */2 * 1" fires on the Mondays that have an odd date.
//
// A schedule is kept in UTC, where an hour is never skipped and never comes
// twice, unless [Schedule.In] sets it by the clocks of a time zone. When these
// change, what happens depends on the hour field, as in classic cron:
//
//   - An hour field without * means times of the day. A time that the clocks
//     jump over fires at the moment of the jump, once for all such times. One
//     that they show twice fires the first time only.
//   - An hour field with a *, with a step or without, means a rhythm. It goes
//     by what the clocks show: times that are jumped over do not fire, and
//     those that are shown twice fire twice.
//
// So "30 2 * * *" fires once on every day of the year, and "*/10 * * * *" every
// ten minutes, whatever the clocks do.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is the moments at which an expression fires. It is immutable and
// safe to share; [Parse] makes it.
type Schedule struct {
	text string
	spec *cron.SpecSchedule
	zone *time.Location // nil: UTC
	// everyHour: the hour field holds a *.
	everyHour bool
}

// Parse reads an expression. The error says what is wrong with it, for the
// person who wrote it.
func Parse(expr string) (Schedule, error) {
	if strings.HasPrefix(expr, "@") && spelledOut(expr) == expr {
		return Schedule{}, fmt.Errorf("%q is not a name that is understood: expected @yearly, @monthly, @weekly, @daily or @hourly, or 5 fields", brief(expr))
	}
	fields, err := readFields(spelledOut(expr))
	if err != nil {
		return Schedule{}, err
	}
	spec, err := compile(fields)
	if err != nil {
		return Schedule{}, err
	}
	return Schedule{text: expr, spec: spec, everyHour: fields[hour].star}, nil
}

// brief is the beginning of a text that may be long.
func brief(text string) string {
	const length = 40
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "") + "..."
}

// spelledOut is the five fields that an expression stands for.
func spelledOut(expr string) string {
	switch expr {
	case "@yearly":
		return "0 0 1 1 *"
	case "@monthly":
		return "0 0 1 * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@daily":
		return "0 0 * * *"
	case "@hourly":
		return "0 * * * *"
	}
	return expr
}

// String returns the expression as it was given.
func (s Schedule) String() string { return s.text }

// One search of the library looks at the rest of a year and five more. Rarer
// dates exist: the longest wait is for a 29 February on a given weekday, forty
// years around a century that is no leap year.
const (
	yearsSearched = 5
	searches      = 8
)

// Next returns the first moment strictly after another, in UTC; the zero time
// where there is none. In a zone that is whole minutes away from UTC it is a
// whole minute.
func (s Schedule) Next(after time.Time) time.Time {
	if s.zone == nil || s.zone == time.UTC {
		return s.nextReading(after.UTC())
	}
	return s.nextInZone(after)
}

// nextReading is Next for a clock that is never changed.
func (s Schedule) nextReading(after time.Time) time.Time {
	for range searches {
		if next := s.spec.Next(after); !next.IsZero() {
			return next
		}
		after = time.Date(after.Year()+yearsSearched+1, time.January, 1, 0, 0, 0, -1, time.UTC)
	}
	return time.Time{}
}

// Upcoming returns the next n moments strictly after another, in order; none
// where there are none.
func (s Schedule) Upcoming(after time.Time, n int) []time.Time {
	moments := make([]time.Time, 0, max(n, 0))
	for range n {
		after = s.Next(after)
		if after.IsZero() {
			break
		}
		moments = append(moments, after)
	}
	return moments
}

// starBit is how the library marks a field that restricts nothing.
const starBit = 1 << 63

// compile hands checked fields to the library. It is known to panic on some
// texts. None of them gets this far, but should one be found, a request must
// not be able to stop the service with it.
func compile(fields []field) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a cron expression: %v", r)
		}
	}()
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.text
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	parsed, err := parser.Parse(strings.Join(texts, " "))
	if err != nil {
		return nil, fmt.Errorf("not a cron expression: %w", err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("not a cron expression of five fields")
	}
	// The library takes a stepped star for a restriction.
	if fields[dayOfMonth].star {
		spec.Dom |= starBit
	}
	if fields[dayOfWeek].star {
		spec.Dow |= starBit
	}
	return spec, nil
}
