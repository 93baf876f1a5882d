// Package livequery keeps subscribers told of what their subscriptions answer.
//
// Subscriptions of one shape (see [execution.Shape]) share a poller. Those of a shape
// that also have the same values are a cohort: they share an answer. Every so often
// the poller asks for the answers of all its cohorts, in batches of one round
// trip each, and whoever's answer has changed is told:
//
//	subscriber ─┐
//	subscriber ─┴ cohort ─┐
//	subscriber ── cohort ─┴ shape ── one statement for each batch, each interval
//
// A new cohort is asked for at once, together with those that came while the
// last ones were being asked for. When its values are refused the first time, its
// subscriptions end; when an answer fails later, or because the database is not
// there, its subscribers are told of the error, and asking goes on. Where a
// batch fails because of what is in it, it is halved until the fault is alone,
// so that one subscriber's values spoil nobody else's answer; from then on what
// failed is asked for apart from the rest, until it succeeds.
//
// When the metadata has changed, every subscription is prepared again before the next
// look: under other permissions it moves to another shape, and one that is not
// allowed any more ends.
//
// A subscriber is never waited for. It has one slot, which holds the newest
// answer that it has not taken: a slow one misses answers, and holds up nobody.
package livequery
