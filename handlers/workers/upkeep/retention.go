package upkeep

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/domain/sql"
)

// dropDays drops the days of a table whose time is over, but what has to stay.
func (w *Worker) dropDays(ctx context.Context, p parent, now time.Time) error {
	if w.Retention.Delivered == 0 {
		return nil
	}
	list, err := p.partitions(ctx, w.Pool)
	if err != nil {
		return err
	}
	if p == deliveryLog {
		if list, err = w.settled(ctx, list); err != nil {
			return err
		}
	}
	for _, old := range list {
		failures := w.Retention.Failed == 0 || now.Sub(old.day.over()) < w.Retention.Failed
		if now.Sub(old.day.over()) < w.Retention.Delivered || old.kept && failures && p == deliveries {
			continue
		}
		if err := w.step(ctx, func(tx pgx.Tx) error { return p.drop(ctx, tx, old, failures) }); err != nil {
			return err
		}
	}
	return nil
}

// settled leaves out the days of the log whose deliveries, or earlier ones, are
// all still there: what has to stay of them would be everything.
func (w *Worker) settled(ctx context.Context, log []partition) ([]partition, error) {
	days, err := deliveries.partitions(ctx, w.Pool)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(log, func(l partition) bool {
		return slices.ContainsFunc(days, func(d partition) bool { return !d.kept && d.day.until(l.day) })
	}), nil
}

// drop puts what has to stay of a day in the place of its partition. The copy
// is made before anybody is locked out, and completed after: what was asked to
// be delivered again meanwhile stays too.
func (p parent) drop(ctx context.Context, tx pgx.Tx, old partition, failures bool) error {
	staged := ours(p.name + "_" + old.day.text() + "_staged")
	if err := run(ctx, tx, p.createLike(staged)); err != nil {
		return err
	}
	for _, locked := range []bool{false, true} {
		if locked {
			if err := run(ctx, tx, sql.Seq(sql.Raw("LOCK TABLE "), p.table(), sql.Raw(" IN ACCESS EXCLUSIVE MODE"))); err != nil {
				return err
			}
		}
		rows := p.staying(old, failures && !locked)
		if err := run(ctx, tx, sql.Seq(sql.Raw("INSERT INTO "), staged, sql.Raw(" "), rows, sql.Raw(" ON CONFLICT DO NOTHING"))); err != nil {
			return err
		}
		if !locked && old.kept {
			// Small by now: it is only worth the lock when something goes.
			if same, err := sameCount(ctx, tx, staged, ours(old.name)); same || err != nil {
				return discard(ctx, tx, staged, err)
			}
		}
	}
	if err := run(ctx, tx, sql.Seq(sql.Raw("DROP TABLE "), ours(old.name))); err != nil {
		return err
	}
	return p.keep(ctx, tx, old.day, staged)
}

// keep makes the copy the partition of its day, unless it is empty.
func (p parent) keep(ctx context.Context, tx pgx.Tx, d day, staged sql.Node) error {
	var some bool
	exists := sql.Print(sql.Seq(sql.Raw("SELECT EXISTS (SELECT FROM "), staged, sql.Raw(")"))).SQL
	if err := tx.QueryRow(ctx, exists).Scan(&some); err != nil {
		return err
	}
	if !some {
		return discard(ctx, tx, staged, nil)
	}
	name := p.name + "_" + d.text() + "_kept"
	return run(ctx, tx,
		sql.Seq(sql.Raw("ALTER TABLE "), staged, sql.Raw(" RENAME TO "), sql.Name(name)),
		p.attach(ours(name), d),
	)
}

func discard(ctx context.Context, tx pgx.Tx, staged sql.Node, err error) error {
	if err != nil {
		return err
	}
	return run(ctx, tx, sql.Seq(sql.Raw("DROP TABLE "), staged))
}

func sameCount(ctx context.Context, tx pgx.Tx, a, b sql.Node) (same bool, err error) {
	text := sql.Print(sql.Seq(sql.Raw("SELECT (SELECT count(*) FROM "), a, sql.Raw(") = (SELECT count(*) FROM "), b, sql.Raw(")"))).SQL
	err = tx.QueryRow(ctx, text).Scan(&same)
	return same, err
}

// staying selects the rows of a day that have to stay. It starts from what
// there is little of: the queue, the failures, the deliveries of that time that
// have stayed. The day itself is only looked up by key.
func (p parent) staying(old partition, failures bool) sql.Node {
	from := ours(old.name)
	if p == deliveryLog {
		return sql.Seq(
			sql.Raw("SELECT l.* FROM "), deliveries.table(), sql.Raw(" AS d JOIN "), from,
			sql.Raw(" AS l ON l.delivery_id = d.id WHERE d.due_at < "), old.day.next().bound(),
			// A decision about a delivery that is not due until later, such as its cancellation.
			sql.Raw(" UNION ALL SELECT l.* FROM "), from, sql.Raw(" AS l JOIN "), deliveries.table(),
			sql.Raw(" AS d ON d.id = l.delivery_id WHERE (l.outcome = 'failed' OR l.entry <> 'attempt')"),
		)
	}
	queued := sql.Seq(
		sql.Raw("SELECT d.* FROM annals.delivery_queue AS q JOIN "), from, sql.Raw(" AS d ON d.id = q.delivery_id AND d.due_at = q.first_due_at WHERE "),
		old.day.of(sql.Column("q", "first_due_at")),
	)
	if !failures {
		return queued
	}
	return sql.Seq(queued, sql.Raw(" UNION ALL SELECT d.* FROM "), from,
		sql.Raw(" AS d WHERE d.id IN (SELECT l.delivery_id FROM annals.delivery_log AS l WHERE (l.outcome = 'failed' OR l.entry <> 'attempt') AND l.entry <> 'cancelled' AND l.recorded_at >= "),
		old.day.bound(), sql.Raw(")"))
}
