package metadata

import (
	"fmt"
	"iter"
)

// CronTriggers yields all cron triggers, each with the position of its last
// change: also those that cannot stand at the moment, whose schedule goes on.
func (w World) CronTriggers() iter.Seq2[int64, CronTrigger] {
	return func(yield func(int64, CronTrigger) bool) {
		for e := range w.Catalog.OfKind(KindCronTrigger) {
			if t, ok := e.Object().(CronTrigger); ok && !yield(e.Position, t) {
				return
			}
		}
	}
}

// SidesOf reads what a change found and what it left; nil where there was
// nothing, or is nothing now. T is the type of the kind's objects.
func SidesOf[T Object](c Change) (before, after *T, err error) {
	if before, err = side[T](c.Before); err != nil {
		return nil, nil, fmt.Errorf("read %s before its change: %w", c.Key(), err)
	}
	if after, err = side[T](c.Definition); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", c.Key(), err)
	}
	return before, after, nil
}

func side[T Object](raw []byte) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	o, err := decode[T](raw)
	return &o, err
}
