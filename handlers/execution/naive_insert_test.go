package execution_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"annals/domain"
)

// naiveNesting is how deep inserts lie in each other.
const naiveNesting = 2

// inserts is rows to insert into a table, and what becomes of those whose key is
// there already.
type inserts struct {
	rows []newRow
	put  func(r row, done []row) (row, error)
}

// newRow is a row to insert, with rows that it refers to and rows that refer to it.
type newRow struct {
	values        row
	before, after []nestedInsert
}

type nestedInsert struct {
	by *relation
	inserts
}

// do inserts the rows, one after the other where others are nested in any of them; given are
// values that the row around decides. It returns the rows as they were written, and
// how many rows were written altogether.
func (i inserts) do(given row) (done []row, affected int, err error) {
	flat := !slices.ContainsFunc(i.rows, func(r newRow) bool { return len(r.before) > 0 || len(r.after) > 0 })
	for _, r := range i.rows {
		var written row
		var count int
		if flat {
			written, err = i.put(r.with(given), done)
		} else {
			written, count, err = i.nested(r, given)
		}
		if err != nil {
			return nil, 0, err
		}
		affected += count
		if written != nil {
			done, affected = append(done, maps.Clone(written)), affected+1
		}
	}
	return done, affected, nil
}

func (r newRow) with(given row) row {
	values := maps.Clone(r.values)
	maps.Copy(values, given)
	return values
}

// nested inserts a row, and counts those that are inserted with it.
func (i inserts) nested(r newRow, given row) (written row, others int, err error) {
	values := r.with(given)
	for _, n := range r.before {
		rows, count, err := n.do(nil)
		if err != nil {
			return nil, 0, err
		}
		if len(rows) == 0 {
			return nil, 0, errRefused // there is nothing to refer to
		}
		values[n.by.here] = rows[0][n.by.there]
		others += count
	}
	if written, err = i.put(values, nil); err != nil {
		return nil, 0, err
	}
	if written == nil && len(r.after) > 0 {
		return nil, 0, errRefused // nothing belongs to a row that was left out
	}
	written = maps.Clone(written)
	for _, n := range r.after {
		_, count, err := n.do(row{n.by.there: written[n.by.here]})
		if err != nil {
			return nil, 0, err
		}
		others += count
	}
	return written, others, nil
}

// insertion is a root field that inserts rows, or one row.
func (m *mutations) insertion(t *table, may *written, key string) step {
	if m.oneIn(3) {
		return m.insertionOfOne(t, may, key)
	}
	objects, list := m.newRows(t, may, nil, naiveNesting)
	conflict, put := m.conflict(t, may)
	list.put = put
	response, answer := m.response(t, 1)
	return step{key + ": insert_" + t.field + "(objects: " + m.value(objects) + m.behind(conflict) + ") " + response, key, func() (any, error) {
		done, affected, err := list.do(nil)
		if err != nil {
			return nil, err
		}
		return answer(done, affected), nil
	}}
}

func (m *mutations) insertionOfOne(t *table, may *written, key string) step {
	object, r := m.newRow(t, may.insert, nil, naiveNesting)
	object.typ += "!"
	conflict, put := m.conflict(t, may)
	fields := m.fields(t, 1)
	text := key + ": insert_" + t.field + "_one(object: " + m.value(object) + m.behind(conflict) + ") {" + m.write(fields, t.field) + "}"
	return step{text, key, func() (any, error) {
		done, _, err := inserts{[]newRow{r}, put}.do(nil)
		if err != nil || len(done) == 0 {
			return nil, err
		}
		return evaluated(fields, done[0]), nil
	}}
}

// behind is on_conflict behind other arguments, where there is one.
func (m *mutations) behind(conflict *val) string {
	if conflict == nil {
		return ""
	}
	return ", on_conflict: " + m.value(*conflict)
}

func (m *mutations) newRows(t *table, may *written, given *column, depth int) (val, inserts) {
	objects, list := val{kind: listVal, typ: "[" + t.field + "_insert_input!]!"}, inserts{}
	for range m.world.IntN(3) {
		v, r := m.newRow(t, may.insert, given, depth)
		objects.items, list.rows = append(objects.items, v), append(list.rows, r)
	}
	return objects, list
}

// newRow is a row to insert, of which the row around gives a column: its key is new, now
// and then one that is there.
func (m *mutations) newRow(t *table, may *writing1, given *column, depth int) (val, newRow) {
	v, r := val{kind: objectVal, typ: t.field + "_insert_input"}, newRow{values: row{}}
	decided := m.before(t, &v, &r, given, depth)
	for i, c := range t.columns {
		if preset, ok := may.presets[c]; ok {
			r.values[c] = preset
			continue
		}
		if slices.Contains(decided, c) || !may.columns[c] || c.nullable && m.oneIn(4) {
			r.values[c] = nil
			continue
		}
		value := m.random(c)
		if i == 0 && (len(t.rows) == 0 || !m.oneIn(4)) {
			m.next++
			value = newKey(c, m.next)
		} else if i == 0 {
			value = oneOf(m.world.Rand, t.rows)[c]
		}
		r.values[c] = value
		v.keys, v.items = append(v.keys, c.field), append(v.items, c.val(value))
	}
	m.after(t, &v, &r, depth)
	return v, r
}

// before nests rows that a row refers to, and returns the columns that are decided so.
func (m *mutations) before(t *table, v *val, r *newRow, given *column, depth int) []*column {
	decided := []*column{given}
	for _, by := range t.relations {
		may := m.may(by.to, m.asks)
		if by.array || depth == 0 || may.insert == nil || slices.Contains(decided, by.here) || !m.oneIn(3) {
			continue
		}
		data, object := m.newRow(by.to, may.insert, nil, depth-1)
		data.typ += "!"
		list := inserts{rows: []newRow{object}}
		m.nest(v, by, "_obj_rel_insert_input", data, &list)
		r.before = append(r.before, nestedInsert{by, list})
		decided = append(decided, by.here)
	}
	return decided
}

// after nests rows that refer to a row.
func (m *mutations) after(t *table, v *val, r *newRow, depth int) {
	for _, by := range t.relations {
		may := m.may(by.to, m.asks)
		if !by.array || depth == 0 || may.insert == nil || !m.oneIn(3) {
			continue
		}
		data, list := m.newRows(by.to, may, by.there, depth-1)
		m.nest(v, by, "_arr_rel_insert_input", data, &list)
		if len(list.rows) > 0 {
			r.after = append(r.after, nestedInsert{by, list})
		}
	}
}

func (m *mutations) nest(v *val, by *relation, suffix string, data val, list *inserts) {
	input := val{kind: objectVal, typ: by.to.field + suffix, keys: []string{"data"}, items: []val{data}}
	conflict, put := m.conflict(by.to, m.may(by.to, m.asks))
	if conflict != nil {
		input.keys, input.items = append(input.keys, "on_conflict"), append(input.items, *conflict)
	}
	list.put = put
	v.keys, v.items = append(v.keys, by.name), append(v.items, input)
}

func newKey(c *column, n int) any {
	if c.sql == "uuid" {
		return fmt.Sprintf("%08d-0000-4000-9000-000000000000", n)
	}
	return number(strconv.Itoa(100 + n))
}

// conflict says what becomes of a row whose key is there already; nil: it is refused.
func (m *mutations) conflict(t *table, may *written) (*val, func(r row, done []row) (row, error)) {
	plain := func(r row, _ []row) (row, error) {
		if t.like(r) != nil {
			return nil, errRefused
		}
		return m.put(t, may, r)
	}
	constraint := t.name + "_pkey"
	if may.update == nil || len(may.update.columns) == 0 || !domain.IsGraphQLName(constraint) || m.oneIn(2) {
		return nil, plain
	}
	columns, where := []*column{}, condition(always)
	list := val{kind: listVal, typ: "[" + t.field + "_update_column!]!"}
	for _, c := range t.columns {
		if may.update.columns[c] && !slices.Contains(t.key, c) && m.oneIn(2) {
			columns, list.items = append(columns, c), append(list.items, val{kind: enumVal, text: c.field})
		}
	}
	v := val{kind: objectVal, typ: t.field + "_on_conflict", keys: []string{"constraint", "update_columns"},
		items: []val{{kind: enumVal, text: constraint, typ: t.field + "_constraint!"}, list}}
	if m.oneIn(3) {
		var text val
		text, where = (&filters{world: m.world, asks: m.asks}).of(t, 0)
		v.keys, v.items = append(v.keys, "where"), append(v.items, text)
	}
	return &v, func(r row, done []row) (row, error) {
		if there := t.like(r); there != nil {
			return m.upsert(t, may, r, there, columns, where, done)
		}
		return m.put(t, may, r)
	}
}

func (m *mutations) put(t *table, may *written, r row) (row, error) {
	if t.null(r) || may.insert.check(m.asks, r) != yes {
		return nil, errRefused
	}
	t.rows = append(t.rows, r)
	return r, nil
}

// upsert changes the row that is there, unless a condition keeps it as it is.
func (m *mutations) upsert(t *table, may *written, r, there row, columns []*column, where condition, done []row) (row, error) {
	twice := slices.ContainsFunc(done, func(d row) bool { return t.sameKey(d, there) })
	switch {
	case t.null(r):
		return nil, errRefused
	case len(columns) == 0:
		return nil, nil
	case twice: // a statement does not touch a row twice
		return nil, errRefused
	case where(m.asks, there) != yes || may.update.filter(m.asks, there) != yes:
		return nil, nil
	}
	for _, c := range columns {
		there[c] = r[c]
	}
	maps.Copy(there, may.update.presets)
	check := may.update.check
	if check == nil {
		check = may.insert.check // as in v1.3: an upsert is an insert first of all
	}
	if check(m.asks, there) != yes || t.null(there) {
		return nil, errRefused
	}
	return there, nil
}
