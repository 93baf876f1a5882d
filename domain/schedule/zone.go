package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for machines that have no zones
)

// LoadZone finds a time zone by its name in the IANA database, such as
// Europe/Berlin. The empty name is UTC. "Local" is none: what it means depends
// on the machine.
func LoadZone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("%q is not the name of a time zone, such as Europe/Berlin", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not the name of a time zone, such as Europe/Berlin", name)
	}
	return zone, nil
}

// In returns the schedule kept by the clocks of a time zone. What it does when
// these change is said in the package's description.
func (s Schedule) In(zone *time.Location) Schedule {
	s.zone = zone
	return s
}

// nextInZone is Next by the clocks of the schedule's zone. A reading of these
// clocks is written as if it were UTC.
func (s Schedule) nextInZone(after time.Time) time.Time {
	if s.everyHour {
		return s.nextElapsed(after)
	}
	return s.nextNamed(after)
}

// nextNamed is for schedules that name hours: each reading that fits fires
// once. Readings before that of the moment have fired: the first time that the
// clocks show a reading, or pass it, never comes before that of an earlier one.
func (s Schedule) nextNamed(after time.Time) time.Time {
	for reading := s.nextReading(readingAt(after, s.zone)); !reading.IsZero(); reading = s.nextReading(reading) {
		if moment := firstShown(reading, s.zone); moment.After(after) {
			return moment.UTC()
		}
	}
	return time.Time{}
}

// nextElapsed is for schedules of every hour: each moment at which the clocks
// show a reading that fits. Between two changes of the clocks a reading is a
// fixed distance away from UTC.
func (s Schedule) nextElapsed(after time.Time) time.Time {
	for {
		local := after.In(s.zone)
		_, change := local.ZoneBounds()
		reading := readingAt(after, s.zone)
		next := s.nextReading(reading)
		if next.IsZero() {
			return time.Time{}
		}
		if moment := after.Add(next.Sub(reading)); change.IsZero() || moment.Before(change) {
			return moment.UTC()
		}
		after = change
		if first := readingAt(change, s.zone); s.nextReading(first.Add(-1)).Equal(first) {
			return change.UTC()
		}
	}
}

// readingAt is what the clocks of a zone show at a moment.
func readingAt(moment time.Time, zone *time.Location) time.Time {
	local := moment.In(zone)
	_, offset := local.Zone()
	return moment.UTC().Add(time.Duration(offset) * time.Second)
}

// firstShown is the first moment at which the clocks of a zone show a reading,
// or, when they jump over it, the moment of that jump.
func firstShown(reading time.Time, zone *time.Location) time.Time {
	// No zone is a day or more away from UTC: the reading lies behind this
	// moment, with at most a few changes between.
	moment := reading.Add(-26 * time.Hour)
	for {
		shown := readingAt(moment, zone)
		_, change := moment.In(zone).ZoneBounds()
		found := moment.Add(reading.Sub(shown))
		switch {
		case found.Before(moment): // the clocks jumped over it
			return moment
		case change.IsZero() || found.Before(change):
			return found
		}
		moment = change
	}
}
