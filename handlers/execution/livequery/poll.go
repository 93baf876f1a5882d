package livequery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"annals/domain"
	"annals/handlers/execution"
)

// poll keeps a shape's answers up until nobody subscribes to it.
func (h *Hub) poll(s *shape) {
	ticker := time.NewTicker(h.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-h.running.Done():
			return
		case <-s.done:
			return
		case <-s.kick:
			h.ask(h.running, h.cohorts(s, func(c *cohort) bool { return !c.asked }))
		case <-ticker.C:
			h.look(h.running, s)
		}
	}
}

// look asks for all answers of a shape once.
func (h *Hub) look(ctx context.Context, s *shape) {
	for _, c := range h.cohorts(s, func(c *cohort) bool { return !h.source.IsCurrent(c.live) }) {
		for _, subscription := range h.members(c) {
			h.move(ctx, subscription)
		}
	}
	h.ask(ctx, h.cohorts(s, func(c *cohort) bool { return c.update.Err == nil }))
	h.ask(ctx, h.cohorts(s, func(c *cohort) bool { return c.update.Err != nil })) // they spoil each other's batches only
}

// cohorts lists the cohorts of a shape that are of a kind.
func (h *Hub) cohorts(s *shape, wanted func(*cohort) bool) []*cohort {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*cohort, 0, len(s.cohorts))
	for _, c := range s.cohorts {
		if wanted(c) {
			list = append(list, c)
		}
	}
	return list
}

// ask asks for the answers of cohorts of one shape, as many batches at once as there
// are connections to be had.
func (h *Hub) ask(ctx context.Context, all []*cohort) {
	var batches sync.WaitGroup
	defer batches.Wait()
	for batch := range slices.Chunk(all, h.config.BatchSize) {
		select {
		case <-ctx.Done():
			return
		case h.slots <- struct{}{}:
		}
		batches.Go(func() {
			defer func() { <-h.slots }()
			h.askBatch(ctx, batch)
		})
	}
}

func (h *Hub) askBatch(ctx context.Context, batch []*cohort) {
	answers, err := h.answer(ctx, h.lives(batch))
	switch {
	case ctx.Err() != nil:
	case err == nil:
		for i, c := range batch {
			h.publish(c, Update{Answer: answers[i]})
		}
	case len(batch) > 1 && isSpoiled(err):
		half := len(batch) / 2
		h.askBatch(ctx, batch[:half])
		h.askBatch(ctx, batch[half:])
	default:
		for _, c := range batch {
			h.fail(c, err)
		}
	}
}

// answer asks the source. A panic ends what brought it about, as it does over HTTP, and
// not the node.
func (h *Hub) answer(ctx context.Context, lives []*execution.Live) (answers [][]byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &execution.Spoiled{Err: domain.Recovered(cause)}
		}
	}()
	return h.source.AnswerLive(ctx, lives)
}

func (h *Hub) lives(batch []*cohort) []*execution.Live {
	h.mu.Lock()
	defer h.mu.Unlock()
	lives := make([]*execution.Live, len(batch))
	for i, c := range batch {
		lives[i] = c.live
	}
	return lives
}

// isSpoiled reports whether an error may be of some of the requests that were sent
// together, and not of all.
func isSpoiled(err error) bool {
	var spoiled *execution.Spoiled
	return errors.As(err, &spoiled)
}

// fail tells a cohort that its answer could not be had. One that never had any ends, if
// that is due to what it asks for: nobody waits for a value that was wrong from the start.
func (h *Hub) fail(c *cohort, err error) {
	h.mu.Lock()
	began := c.asked
	h.mu.Unlock()
	if began || !isSpoiled(err) {
		h.publish(c, Update{Err: err})
		return
	}
	for _, s := range h.members(c) {
		h.end(s, err)
	}
}
