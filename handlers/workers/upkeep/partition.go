package upkeep

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"annals/domain/sql"
)

// parent is a table with a partition for each day, and one for all the rest.
type parent struct {
	name string
	key  sql.Name // the column that says the day
}

var (
	deliveries  = parent{"deliveries", "due_at"}
	deliveryLog = parent{"delivery_log", "recorded_at"}
)

func (p parent) table() sql.Node { return ours(p.name) }

// rest is the default partition.
func (p parent) rest() sql.Node { return ours(p.name + "_default") }

func ours(name string) sql.Node { return sql.Qualified("annals", name) }

// partition is one day's.
type partition struct {
	name string
	day  day
	// kept: it holds only what had to stay.
	kept bool
}

// day is a day in UTC, by its first moment.
type day struct{ start time.Time }

const oneDay = 24 * time.Hour

func dayOf(t time.Time) day    { return day{t.UTC().Truncate(oneDay)} }
func (d day) next() day        { return day{d.start.Add(oneDay)} }
func (d day) bound() sql.Node  { return sql.Literal(d.start.Format("2006-01-02 15:04:05") + "+00") }
func (d day) text() string     { return d.start.Format(dayForm) }
func (d day) over() time.Time  { return d.next().start }
func (d day) until(e day) bool { return !d.start.After(e.start) }

const dayForm = "20060102"

// values are the bounds of the day, as a partition has them.
func (d day) values() sql.Node {
	return sql.Seq(sql.Raw(" FOR VALUES FROM ("), d.bound(), sql.Raw(") TO ("), d.next().bound(), sql.Raw(")"))
}

// of is the condition that a row is of the day.
func (d day) of(key sql.Node) sql.Node {
	return sql.And(sql.Binary(key, ">=", d.bound()), sql.Binary(key, "<", d.next().bound()))
}

var partitionName = regexp.MustCompile(`^([a-z_]+)_([0-9]{8})(_kept)?$`)

// partitions lists the days that have a partition, oldest first.
func (p parent) partitions(ctx context.Context, tx querier) ([]partition, error) {
	rows, err := tx.Query(ctx, `select c.relname from pg_catalog.pg_inherits as i join pg_catalog.pg_class as c on c.oid = i.inhrelid
		where i.inhparent = pg_catalog.to_regclass($1) order by c.relname`, "annals."+p.name)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var list []partition
	for _, name := range names {
		m := partitionName.FindStringSubmatch(name)
		if m == nil || m[1] != p.name {
			continue
		}
		start, err := time.Parse(dayForm, m[2])
		if err != nil {
			continue // somebody else's
		}
		list = append(list, partition{name, day{start}, m[3] != ""})
	}
	return list, nil
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// makeDays makes the partitions from today on, and those of earlier days that
// have rows in the default partition.
func (w *Worker) makeDays(ctx context.Context, p parent, now time.Time) error {
	there, err := p.partitions(ctx, w.Pool)
	if err != nil {
		return err
	}
	wanted, err := p.waiting(ctx, w.Pool)
	if err != nil {
		return err
	}
	ahead := w.DaysAhead
	if ahead == 0 {
		ahead = DefaultDaysAhead
	}
	for i := range ahead + 1 {
		wanted = append(wanted, dayOf(now.Add(time.Duration(i)*oneDay)))
	}
	last := wanted[len(wanted)-1]
	slices.SortFunc(wanted, func(a, b day) int { return a.start.Compare(b.start) })
	for _, d := range slices.Compact(wanted) {
		made := slices.ContainsFunc(there, func(t partition) bool { return t.day == d })
		if made || !d.until(last) {
			continue
		}
		if err := w.step(ctx, func(tx pgx.Tx) error { return p.makeDay(ctx, tx, d) }); err != nil {
			return err
		}
	}
	return nil
}

// waiting lists the days that have rows in the default partition.
func (p parent) waiting(ctx context.Context, q querier) ([]day, error) {
	text := sql.Print(sql.Select{
		Distinct: true,
		Columns:  []sql.Node{sql.Call("pg_catalog.date_trunc", sql.Literal("day"), p.key, sql.Literal("UTC"))},
		From:     p.rest(),
		Where:    []sql.Node{sql.Call("pg_catalog.isfinite", p.key)},
	}).SQL
	rows, err := q.Query(ctx, text)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (day, error) {
		var start time.Time
		err := row.Scan(&start)
		return dayOf(start), err
	})
}

// makeDay makes the partition of a day and moves into it what waits in the
// default partition. Nobody writes there meanwhile: no row of the day may come
// to lie in both. The lock on the whole is taken first: a writer that waited for
// the default partition alone would have chosen it already, and fail for it.
func (p parent) makeDay(ctx context.Context, tx pgx.Tx, d day) error {
	there, err := p.partitions(ctx, tx)
	if err != nil || slices.ContainsFunc(there, func(t partition) bool { return t.day == d }) {
		return err
	}
	table := ours(p.name + "_" + d.text())
	return run(ctx, tx,
		sql.Seq(sql.Raw("LOCK TABLE ONLY "), p.table(), sql.Raw(" IN SHARE ROW EXCLUSIVE MODE")),
		sql.Seq(sql.Raw("LOCK TABLE "), p.rest(), sql.Raw(" IN ACCESS EXCLUSIVE MODE")),
		p.createLike(table),
		sql.Seq(sql.Raw("WITH moved AS (DELETE FROM "), p.rest(), sql.Raw(" WHERE "), d.of(p.key), sql.Raw(" RETURNING *) INSERT INTO "), table, sql.Raw(" SELECT * FROM moved")),
		p.attach(table, d),
	)
}

func (p parent) createLike(table sql.Node) sql.Node {
	return sql.Seq(sql.Raw("CREATE TABLE "), table, sql.Raw(" (LIKE "), p.table(), sql.Raw(" INCLUDING ALL)"))
}

func (p parent) attach(table sql.Node, d day) sql.Node {
	return sql.Seq(sql.Raw("ALTER TABLE "), p.table(), sql.Raw(" ATTACH PARTITION "), table, d.values())
}

func run(ctx context.Context, tx pgx.Tx, statements ...sql.Node) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, sql.Print(s).SQL); err != nil {
			return err
		}
	}
	return nil
}
