package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func inZone(t testing.TB, expr, zone string) Schedule {
	t.Helper()
	s, err := Parse(expr)
	require.NoError(t, err)
	location, err := LoadZone(zone)
	require.NoError(t, err)
	return s.In(location)
}

// In Berlin the clocks jump from 2:00 to 3:00 on 2026-03-29 at 01:00 UTC, and
// back from 3:00 to 2:00 on 2026-10-25 at 01:00 UTC.
func TestTheClocksOfAZoneDecideWhenItsScheduleFires(t *testing.T) {
	cases := []struct {
		about, expr, after string
		next               []string
	}{
		{"in winter an hour ahead of UTC", "0 6 * * *", "2026-01-10 00:00:00",
			[]string{"2026-01-10 05:00:00", "2026-01-11 05:00:00"}},
		{"in summer two", "0 6 * * *", "2026-07-10 00:00:00", []string{"2026-07-10 04:00:00"}},
		{"across midnight of UTC", "30 0 * * *", "2026-07-10 00:00:00", []string{"2026-07-10 22:30:00"}},
		{"a time that is jumped over fires at the jump", "30 2 * * *", "2026-03-28 02:00:00",
			[]string{"2026-03-29 01:00:00", "2026-03-30 00:30:00"}},
		{"several such times fire once", "*/20 2 * * *", "2026-03-28 02:00:00",
			[]string{"2026-03-29 01:00:00", "2026-03-30 00:00:00", "2026-03-30 00:20:00"}},
		{"so do they with one at the end of the jump", "0 2,3 * * *", "2026-03-28 10:00:00",
			[]string{"2026-03-29 01:00:00", "2026-03-30 00:00:00", "2026-03-30 01:00:00"}},
		{"a time that is shown twice fires first time only", "30 2 * * *", "2026-10-24 12:00:00",
			[]string{"2026-10-25 00:30:00", "2026-10-26 01:30:00"}},
		{"asked between the two", "30 2 * * *", "2026-10-25 00:45:00", []string{"2026-10-26 01:30:00"}},
		{"a rhythm goes on over a jump", "*/30 * * * *", "2026-03-29 00:00:00",
			[]string{"2026-03-29 00:30:00", "2026-03-29 01:00:00", "2026-03-29 01:30:00"}},
		{"a rhythm of hours leaves out what is jumped over", "0 */2 * * *", "2026-03-28 22:00:00",
			[]string{"2026-03-28 23:00:00", "2026-03-29 02:00:00"}},
		{"a rhythm goes on while an hour comes again", "*/30 * * * *", "2026-10-24 23:45:00",
			[]string{"2026-10-25 00:00:00", "2026-10-25 00:30:00", "2026-10-25 01:00:00", "2026-10-25 01:30:00", "2026-10-25 02:00:00"}},
	}
	for _, c := range cases {
		t.Run(c.about, func(t *testing.T) {
			var want []time.Time
			for _, text := range c.next {
				want = append(want, at(t, text))
			}
			require.Equal(t, want, inZone(t, c.expr, "Europe/Berlin").Upcoming(at(t, c.after), len(want)))
		})
	}
}

func TestADayThatAZoneLeftOutFiresAtTheJump(t *testing.T) {
	// Samoa crossed the date line: after 2011-12-29 came 2011-12-31.
	s := inZone(t, "0 12 30 12 *", "Pacific/Apia")
	require.Equal(t, at(t, "2011-12-30 10:00:00"), s.Next(at(t, "2011-12-01 00:00:00")))
	require.Equal(t, at(t, "2012-12-29 22:00:00"), s.Next(at(t, "2011-12-30 10:00:00")))
}

func TestAScheduleOfADayFiresOnceOnEveryDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"}).Draw(t, "zone")
		minute, hour := rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour")
		location, err := LoadZone(zone)
		require.NoError(t, err)
		s, err := Parse(fmt.Sprintf("%d %d * * *", minute, hour))
		require.NoError(t, err)
		moments := s.In(location).Upcoming(time.Date(2026, 1, 1, 0, 0, 0, 0, location).Add(-1), 365)
		for i, moment := range moments {
			require.Equal(t, i+1, moment.In(location).YearDay(), "%s in %s", s, zone)
		}
	})
}

func TestAllMomentsOfARhythmAreFoundMinuteByMinute(t *testing.T) {
	// The second reading asks each minute of two days.
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom([]string{"*/7 * * * *", "0 * * * *", "5,35 */3 * * *", "59 * 25,29 * *"}).Draw(t, "expr")
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "Australia/Lord_Howe"}).Draw(t, "zone")
		start := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 20, 0, 0, 0, time.UTC),
			time.Date(2026, 4, 4, 10, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 10, 0, 0, 0, time.UTC),
		}).Draw(t, "start")
		location, err := LoadZone(zone)
		require.NoError(t, err)
		s, err := Parse(expr)
		require.NoError(t, err)
		want := []time.Time{}
		for minute := range 48 * 60 {
			if moment := start.Add(time.Duration(minute+1) * time.Minute); fits(expr, moment.In(location)) {
				want = append(want, moment)
			}
		}
		require.Equal(t, want, s.In(location).Upcoming(start, len(want)))
	})
}

func TestOnlyNamesOfTheDatabaseOfZonesAreZones(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "UTC", "", "America/Argentina/Buenos_Aires"} {
		_, err := LoadZone(name)
		require.NoError(t, err, name)
	}
	for _, name := range []string{"Local", "local", "Nowhere/Land", "../etc/passwd", "+01:00", "/etc/localtime", "Europe\x00"} {
		_, err := LoadZone(name)
		require.Error(t, err, name)
	}
}
