package delivery

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"annals/domain/metadata"
)

// Policy is how often and when a delivery is tried.
type Policy struct {
	Retries  int // after the first try
	Interval time.Duration
	Timeout  time.Duration
	// Tolerance is how late a try may be; nil: any time. Later, the delivery
	// is dropped.
	Tolerance *time.Duration
	// Backoff doubles the interval with each try; nil keeps it.
	Backoff *Backoff
	// NoRetryOn are statuses after which nothing is tried again.
	NoRetryOn []int
}

// Backoff bounds a growing interval.
type Backoff struct {
	MaxInterval time.Duration
	Jitter      float64 // the part of an interval that chance may take away
}

// What a timeout is at least and at most. One of nothing leaves no time to answer
// in: it is the default. A lease lasts as long as its timeout, so a node that
// died keeps what it had in hand from others no longer than a day.
const (
	defaultTimeout = time.Minute
	maxTimeout     = 24 * time.Hour
)

func timeoutOf(said time.Duration) time.Duration {
	return min(cmp.Or(said, defaultTimeout), maxTimeout)
}

// NoAnswer is the status of a try that got no answer.
const NoAnswer = 1000

// Unknown is how long a delivery rests whose trigger is not known, or cannot
// stand. No try is counted.
const Unknown = time.Minute

// Outcome is what became of one try.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "delivered"
	Retry     Outcome = "retry"
	Failed    Outcome = "failed"
)

// Answer is what came back from one try.
type Answer struct {
	Status int // of HTTP, or [NoAnswer]
	// RetryAfter is the header of that name.
	RetryAfter string
}

// Succeeded reports whether the other side took the delivery.
func (a Answer) Succeeded() bool { return a.Status >= 200 && a.Status <= 299 }

// Next is what happens after a try.
type Next struct {
	Outcome Outcome
	Delay   time.Duration // until the next try
}

// Decide says what is next after a try, from the tries made before it. An
// answer that names a time wins over tries that are used up, as in v1.3: it is
// the other side that asks. Chance, from 0 to 1, is for the jitter.
func Decide(p Policy, tries int, a Answer, chance float64) Next {
	if a.Succeeded() {
		return Next{Outcome: Delivered}
	}
	if slices.Contains(p.NoRetryOn, a.Status) {
		return Next{Outcome: Failed}
	}
	if delay, asked := retryAfter(a.RetryAfter); asked {
		return Next{Retry, delay}
	}
	if tries < p.Retries {
		return Next{Retry, p.interval(tries, chance)}
	}
	return Next{Outcome: Failed}
}

// retryAfter reads the whole seconds that an answer asks to wait. Dates, zero
// and all else are not understood, as in v1.3.
func retryAfter(text string) (time.Duration, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds <= 0 {
		return 0, false
	}
	return time.Duration(min(seconds, math.MaxInt32)) * time.Second, true
}

func (p Policy) interval(tries int, chance float64) time.Duration {
	if p.Backoff == nil {
		return p.Interval
	}
	grown := math.Min(float64(p.Interval)*math.Exp2(float64(tries)), float64(p.Backoff.MaxInterval))
	return time.Duration(grown * (1 - p.Backoff.Jitter*chance))
}

// TooLate reports whether the time for a delivery is over.
func (p Policy) TooLate(due, now time.Time) bool {
	return p.Tolerance != nil && now.Sub(due) > *p.Tolerance
}

func eventPolicy(c metadata.EventRetryConf) Policy {
	return Policy{
		Retries:   c.NumRetries,
		Interval:  time.Duration(c.IntervalSec) * time.Second,
		Timeout:   timeoutOf(time.Duration(c.Timeout()) * time.Second),
		Backoff:   backoffOf(c.Backoff),
		NoRetryOn: c.NoRetryOn,
	}
}

func schedulePolicy(c metadata.ScheduleRetryConf) Policy {
	tolerance := seconds(c.ToleranceSeconds)
	return Policy{
		Retries:   c.NumRetries,
		Interval:  seconds(c.RetryIntervalSeconds),
		Timeout:   timeoutOf(seconds(c.TimeoutSeconds)),
		Tolerance: &tolerance,
		Backoff:   backoffOf(c.Backoff),
		NoRetryOn: c.NoRetryOn,
	}
}

func backoffOf(b *metadata.Backoff) *Backoff {
	if b == nil {
		return nil
	}
	return &Backoff{time.Duration(b.MaxInterval) * time.Second, b.Jitter}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
