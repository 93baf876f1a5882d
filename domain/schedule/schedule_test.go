package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse("2006-01-02 15:04:05", text)
	require.NoError(t, err)
	return moment
}

func TestAScheduleFiresAtTheNextMomentThatFits(t *testing.T) {
	// 2026-11-21 is a Saturday.
	cases := []struct{ expr, after, next string }{
		{"* * * * *", "2026-11-21 10:00:00", "2026-11-21 10:01:00"},
		{"* * * * *", "2026-11-21 10:00:59", "2026-11-21 10:01:00"},
		{"*/15 * * * *", "2026-11-21 10:45:00", "2026-11-21 11:00:00"},
		{"5/20 * * * *", "2026-11-21 10:05:00", "2026-11-21 10:25:00"},
		{"0 22 * * 1-5", "2026-11-21 10:00:00", "2026-11-23 22:00:00"},
		{"0 22 * * mon-FRI", "2026-11-21 10:00:00", "2026-11-23 22:00:00"},
		{"0 0 1 jan *", "2026-11-21 10:00:00", "2027-01-01 00:00:00"},
		{"0 0 1 1,7 *", "2026-11-21 10:00:00", "2027-01-01 00:00:00"},
		{"10-20/5 8 * * *", "2026-11-21 08:10:00", "2026-11-21 08:15:00"},
		{"0  0\t* * *", "2026-11-21 10:00:00", "2026-11-22 00:00:00"},
		{"0 0 29 2 *", "2026-11-21 10:00:00", "2028-02-29 00:00:00"},
	}
	for _, c := range cases {
		t.Run(c.expr, func(t *testing.T) {
			s, err := Parse(c.expr)
			require.NoError(t, err)
			require.Equal(t, at(t, c.next), s.Next(at(t, c.after)))
			require.Equal(t, c.expr, s.String())
		})
	}
}

func TestSundayIsZeroAndSeven(t *testing.T) {
	sunday := at(t, "2026-11-22 00:00:00")
	for _, expr := range []string{"0 0 * * 0", "0 0 * * 7", "0 0 * * SUN", "0 0 * * 7-7", "0 0 * * 7/1"} {
		s, err := Parse(expr)
		require.NoError(t, err, expr)
		require.Equal(t, sunday, s.Next(at(t, "2026-11-21 10:00:00")), expr)
	}
	for _, expr := range []string{"0 0 * * 5-7", "0 0 * * fri-sun", "0 0 * * 5,6,7", "0 0 * * 5,6,0"} {
		s, err := Parse(expr)
		require.NoError(t, err, expr)
		days := s.Upcoming(at(t, "2026-11-22 00:00:00"), 3)
		require.Equal(t, []time.Weekday{time.Friday, time.Saturday, time.Sunday},
			[]time.Weekday{days[0].Weekday(), days[1].Weekday(), days[2].Weekday()}, expr)
	}
	s, err := Parse("0 0 * * 1-7/2")
	require.NoError(t, err)
	days := s.Upcoming(at(t, "2026-11-22 00:00:00"), 4)
	require.Equal(t, "Monday Wednesday Friday Sunday",
		fmt.Sprint(days[0].Weekday(), " ", days[1].Weekday(), " ", days[2].Weekday(), " ", days[3].Weekday()))
}

func TestTwoDayFieldsMatchAsInClassicCron(t *testing.T) {
	t.Run("both restricted: either matches", func(t *testing.T) {
		s, err := Parse("0 0 13 * 5")
		require.NoError(t, err)
		require.Equal(t, []time.Time{
			at(t, "2026-12-04 00:00:00"), at(t, "2026-12-11 00:00:00"),
			at(t, "2026-12-13 00:00:00"), at(t, "2026-12-18 00:00:00"),
		}, s.Upcoming(at(t, "2026-11-27 00:00:00"), 4))
	})
	t.Run("a stepped star restricts nothing: both match", func(t *testing.T) {
		s, err := Parse("0 0 */2 * 1")
		require.NoError(t, err)
		for _, day := range s.Upcoming(at(t, "2026-11-21 00:00:00"), 20) {
			require.Equal(t, time.Monday, day.Weekday())
			require.Equal(t, 1, day.Day()%2)
		}
	})
}

func TestRareDatesAreFoundHoweverFar(t *testing.T) {
	s, err := Parse("0 0 */31 2 1") // the first of February, when it is a Monday
	require.NoError(t, err)
	require.Equal(t, at(t, "2027-02-01 00:00:00"), s.Next(at(t, "2021-02-01 00:00:00")))
	require.Equal(t, at(t, "2038-02-01 00:00:00"), s.Next(at(t, "2027-02-01 00:00:00")), "eleven years on")

	leap, err := Parse("0 0 29 2 *")
	require.NoError(t, err)
	require.Equal(t, at(t, "2104-02-29 00:00:00"), leap.Next(at(t, "2096-02-29 00:00:00")), "2100 is no leap year")
}

func TestTimesAreUTCWhereverTheyComeFrom(t *testing.T) {
	s, err := Parse("0 6 * * *")
	require.NoError(t, err)
	tokyo := time.FixedZone("", 9*3600)
	next := s.Next(time.Date(2026, 11, 21, 14, 0, 0, 0, tokyo)) // 05:00 UTC
	require.Equal(t, at(t, "2026-11-21 06:00:00"), next)
	require.Equal(t, time.UTC, next.Location())
}

func TestTextThatIsNoCronExpressionIsRefused(t *testing.T) {
	cases := []string{
		"", " ", "* * * *", "* * * * * *", "0 0 12 * * ?",
		"@Daily", "@daily ", "@annually", "@midnight", "@reboot", "@every 1h", "@every -1s", "TZ=", "CRON_TZ=Europe/Berlin", "TZ= * * * * *", "CRON_TZ=Zone * * * * *",
		"60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 8",
		"+1 * * * *", "-1 * * * *", "1.5 * * * *", "1e1 * * * *", "0x1 * * * *", "٣ * * * *",
		"1,,2 * * * *", ",1 * * * *", "1, * * * *", "1- * * * *", "-5 * * * *", "1-2-3 * * * *", "5-1 * * * *",
		"* * * * FRI-MON", "*/0 * * * *", "*/70 * * * *", "*/61 * * * *", "0-10/12 * * * *", "*/ * * * *", "/5 * * * *",
		"*/5/5 * * * *", "** * * * *", "*-5 * * * *", "? * * * *", "* * L * *", "* * 15W * *", "* * * * 5#2", "H * * * *",
		"* * * MONDAY *", "* * * * JAN", "* * * FRI *", "99999999999999999999 * * * *", "1-99999999999999999999 * * * *",
		"0 0 */30 2 *,1\n", "* * * * *\n", "\u00a0* * * * *",
		strings.Repeat("1,", 600) + "1 * * * *",
	}
	for _, expr := range cases {
		_, err := Parse(expr)
		require.Error(t, err, "%q", expr)
		require.NotEmpty(t, err.Error())
	}
}

func TestTheNamesThatV13KnowsStandForFiveFields(t *testing.T) {
	for name, fields := range map[string]string{
		"@yearly": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@hourly": "0 * * * *",
	} {
		named, err := Parse(name)
		require.NoError(t, err)
		spelled, err := Parse(fields)
		require.NoError(t, err)
		after := at(t, "2026-11-21 10:00:00")
		require.Equal(t, spelled.Upcoming(after, 20), named.Upcoming(after, 20), name)
		require.Equal(t, name, named.String())
	}
}

func TestADateThatNoYearHasNeverFires(t *testing.T) {
	for _, expr := range []string{"0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "*/5 * 30 2 *"} {
		s, err := Parse(expr)
		require.NoError(t, err, expr)
		for _, s := range []Schedule{s, inZone(t, expr, "Europe/Berlin")} {
			require.True(t, s.Next(at(t, "2026-11-21 10:00:00")).IsZero(), expr)
			require.Empty(t, s.Upcoming(at(t, "2026-11-21 10:00:00"), 100), expr)
		}
	}
}

func TestAnImpossibleDateBesideAWeekdayStillFires(t *testing.T) {
	s, err := Parse("0 0 31 2 1") // either matches: every Monday in February
	require.NoError(t, err)
	require.Equal(t, at(t, "2027-02-01 00:00:00"), s.Next(at(t, "2026-11-21 00:00:00")))
}

// fits is a second reading of the rules, field by field and minute by minute.
func fits(expr string, moment time.Time) bool {
	texts := strings.Fields(expr)
	value := []int{moment.Minute(), moment.Hour(), moment.Day(), int(moment.Month()), int(moment.Weekday())}
	match := make([]bool, len(texts))
	for i, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			var a, b, n int
			low, high := []int{0, 0, 1, 1, 0}[i], []int{59, 23, 31, 12, 6}[i]
			switch {
			case item == "*":
				a, b, n = low, high, 1
			case strings.HasPrefix(item, "*/"):
				_, _ = fmt.Sscanf(item, "*/%d", &n)
				a, b = low, high
			case strings.Contains(item, "-"):
				n = 1
				_, _ = fmt.Sscanf(item, "%d-%d/%d", &a, &b, &n)
			default:
				_, _ = fmt.Sscanf(item, "%d", &a)
				b, n = a, 1
			}
			for v := a; v <= b; v += n {
				match[i] = match[i] || v == value[i] || i == 4 && v%7 == value[i]
			}
		}
	}
	days := match[2] && match[4]
	if !strings.Contains(texts[2], "*") && !strings.Contains(texts[4], "*") {
		days = match[2] || match[4]
	}
	return match[0] && match[1] && match[3] && days
}

func TestNextIsTheFirstMomentAfterThatFits(t *testing.T) {
	number := func(low, high int) *rapid.Generator[string] {
		return rapid.Map(rapid.IntRange(low, high), func(n int) string { return fmt.Sprint(n) })
	}
	item := func(low, high int) *rapid.Generator[string] {
		return rapid.OneOf(
			rapid.Just("*"), number(low, high),
			rapid.Map(rapid.IntRange(1, high-low), func(n int) string { return fmt.Sprintf("*/%d", n) }),
			rapid.Custom(func(t *rapid.T) string {
				a := rapid.IntRange(low, high).Draw(t, "from")
				b := rapid.IntRange(a, high).Draw(t, "to")
				return fmt.Sprintf("%d-%d/%d", a, b, rapid.IntRange(1, b-a+1).Draw(t, "step"))
			}),
		)
	}
	list := func(low, high int) *rapid.Generator[string] {
		return rapid.Map(rapid.SliceOfN(item(low, high), 1, 3), func(items []string) string { return strings.Join(items, ",") })
	}
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join([]string{
			list(0, 59).Draw(t, "minute"), list(0, 23).Draw(t, "hour"),
			list(1, 28).Draw(t, "day"), "*", list(0, 7).Draw(t, "weekday"),
		}, " ")
		s, err := Parse(expr)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		after := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "after"), 0).UTC()
		next := s.Next(after)
		if !next.After(after) || !fits(expr, next) || next.Second() != 0 {
			t.Fatalf("%q after %v: %v does not fit", expr, after, next)
		}
		limit := after.Add(3 * 24 * time.Hour)
		for m := after.Truncate(time.Minute).Add(time.Minute); m.Before(next) && m.Before(limit); m = m.Add(time.Minute) {
			if fits(expr, m) {
				t.Fatalf("%q after %v: %v fits, but Next says %v", expr, after, m, next)
			}
		}
	})
}

func TestUpcomingCountsStrictlyForward(t *testing.T) {
	s, err := Parse("30 * * * *")
	require.NoError(t, err)
	moments := s.Upcoming(at(t, "2026-11-21 10:30:00"), 100)
	require.Len(t, moments, 100)
	for i, m := range moments {
		require.Equal(t, at(t, "2026-11-21 11:30:00").Add(time.Duration(i)*time.Hour), m)
	}
	require.Empty(t, s.Upcoming(time.Time{}, 0))
	require.Empty(t, s.Upcoming(time.Time{}, -1))
}

func FuzzParseNeverPanics(f *testing.F) {
	for _, seed := range []string{"* * * * *", "TZ= * * * * *", "CRON_TZ=", "@every 0s", "1-7/2 0 31 2 7", "*/5,1-3 * * jan-dec sun-sat"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := Parse(expr)
		if err != nil {
			return
		}
		if next := s.Next(time.Unix(0, 0)); !next.IsZero() && !next.After(time.Unix(0, 0)) {
			t.Fatalf("%q fires at %s, which is not later", expr, next)
		}
	})
}
