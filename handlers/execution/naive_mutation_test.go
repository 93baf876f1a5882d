package execution_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
)

// written is what a role may write in a table.
type written struct {
	// insert, update and delete are nil where the role may not.
	insert, update *writing1
	remove         condition
	json           []string // the commands that give it
}

// writing1 is a permission to insert or update.
type writing1 struct {
	columns map[*column]bool
	presets map[*column]any
	filter  condition
	check   condition // nil: none
}

// mutations makes random mutations, and does to the rows in memory what they do.
type mutations struct {
	queries
	grants map[*table]map[string]*written
	next   int
}

func (m *mutations) permissions() string {
	m.grants = map[*table]map[string]*written{}
	var calls []string
	for _, t := range m.tables {
		m.grants[t] = map[string]*written{}
		for _, role := range roles() {
			if t.grants[role] != nil {
				g := m.permission(t, role)
				m.grants[t][role] = g
				calls = append(calls, g.json...)
			}
		}
	}
	return `{"type":"bulk","args":[` + strings.Join(calls, ",") + `]}`
}

func (m *mutations) permission(t *table, role string) *written {
	g := &written{}
	give := func(kind string, p map[string]any) {
		g.json = append(g.json, call("create_"+kind+"_permission", map[string]any{"table": t.name, "role": role, "permission": p}))
	}
	own := &filters{world: m.world, stored: true}
	if m.oneIn(2) {
		v, c := own.ofColumns(t)
		w, p := m.writable(t)
		w.check, p["check"] = c, json.RawMessage(v.json())
		g.insert = w
		give("insert", p)
	}
	if m.oneIn(2) {
		v, c := own.ofColumns(t)
		w, p := m.writable(t)
		w.filter, p["filter"] = c, json.RawMessage(v.json())
		if m.oneIn(2) {
			v, c := own.ofColumns(t)
			w.check, p["check"] = c, json.RawMessage(v.json())
		}
		g.update = w
		give("update", p)
	}
	if m.oneIn(2) {
		var v val
		v, g.remove = own.of(t, 1)
		give("delete", map[string]any{"filter": json.RawMessage(v.json())})
	}
	return g
}

// ofColumns is a condition on a row alone: what it says of a new row does not
// depend on when others are written.
func (f *filters) ofColumns(t *table) (val, condition) { return f.of(t, 0) }

func (m *mutations) writable(t *table) (*writing1, map[string]any) {
	w := &writing1{columns: map[*column]bool{}, presets: map[*column]any{}, filter: always}
	columns, set := []string{}, map[string]any{}
	for i, c := range t.columns {
		if m.oneIn(8) && i > 0 && !slices.Contains(t.key, c) && !c.jsonb && c.sql != "text[]" {
			w.presets[c] = oneOf(m.world.Rand, c.pool)
			set[c.name] = json.RawMessage(c.val(w.presets[c]).json())
		} else if !m.oneIn(8) || slices.Contains(t.key, c) || !c.nullable {
			w.columns[c] = true
			columns = append(columns, c.name)
		}
	}
	return w, map[string]any{"columns": columns, "set": set}
}

// may is what somebody may write in a table; everything for the admin.
func (m *mutations) may(t *table, asks who) *written {
	if asks.role != domain.AdminRole {
		if g := m.grants[t][asks.role]; g != nil {
			return g
		}
		return &written{}
	}
	all := &writing1{columns: map[*column]bool{}, filter: always, check: always}
	for _, c := range t.columns {
		all.columns[c] = true
	}
	return &written{insert: all, update: all, remove: always}
}

var errRefused = errors.New("the mutation is refused")

// state is the rows of all tables, to be put back.
func (m *mutations) state() map[*table][]row {
	s := map[*table][]row{}
	for _, t := range m.tables {
		for _, r := range t.rows {
			s[t] = append(s[t], maps.Clone(r))
		}
	}
	return s
}

func (m *mutations) restore(s map[*table][]row) {
	for _, t := range m.tables {
		t.rows = s[t]
	}
}

// step is one root field of a mutation, and what it does: it returns its answer.
type step struct {
	text, key string
	do        func() (any, error)
}

func (m *mutations) step(key string) (step, bool) {
	t := oneOf(m.world.Rand, m.tables)
	if !t.selectable(m.asks) {
		return step{}, false
	}
	may := m.may(t, m.asks)
	switch n := m.world.IntN(3); {
	case n == 0 && may.insert != nil:
		return m.insertion(t, may, key), true
	case n == 1 && may.update != nil:
		return m.change(t, may.update, key)
	case n == 2 && may.remove != nil:
		return m.removal(t, may.remove, key), true
	}
	return step{}, false
}

// response is the selection of a mutation's answer: how many rows it changed, and
// those of its own table.
func (m *mutations) response(t *table, depth int) (string, func(rows []row, affected int) any) {
	fields := m.fields(t, depth)
	text := "{affected_rows returning {" + m.write(fields, t.field) + "}}"
	return text, func(rows []row, affected int) any {
		list := answers{items: []any{}, loose: true}
		for _, r := range rows {
			list.items = append(list.items, evaluated(fields, r))
		}
		return entries{{"affected_rows", number(strconv.Itoa(affected))}, {"returning", list}}
	}
}

// null reports whether a column is null that cannot be.
func (t *table) null(r row) bool {
	return slices.ContainsFunc(t.columns, func(c *column) bool { return !c.nullable && r[c] == nil })
}

func (t *table) sameKey(a, b row) bool {
	return !slices.ContainsFunc(t.key, func(c *column) bool { return !same(a[c], b[c]) })
}

// like is the row that has a row's key.
func (t *table) like(r row) row {
	for _, other := range t.rows {
		if t.sameKey(r, other) {
			return other
		}
	}
	return nil
}

func (m *mutations) removal(t *table, may condition, key string) step {
	v, where := (&filters{world: m.world, asks: m.asks}).of(t, 1)
	v.typ += "!"
	arguments := "where: " + m.value(v)
	response, answer := m.response(t, 1)
	return step{key + ": delete_" + t.field + "(" + arguments + ") " + response, key, func() (any, error) {
		gone := func(r row) bool { return may(m.asks, r) == yes && where(m.asks, r) == yes }
		found := filtered(t.rows, gone)
		said := answer(found, len(found))
		t.rows = filtered(t.rows, func(r row) bool { return !slices.ContainsFunc(found, func(f row) bool { return t.sameKey(f, r) }) })
		return said, nil
	}}
}

// change is an update, by a filter or by the key.
func (m *mutations) change(t *table, may *writing1, key string) (step, bool) {
	arguments, apply := m.changes(t, may)
	if arguments == "" {
		return step{}, false
	}
	if t.keyed(m.asks) && m.oneIn(3) && len(t.rows) > 0 {
		return m.changeByKey(t, may, key, arguments, apply), true
	}
	v, where := (&filters{world: m.world, asks: m.asks}).of(t, 1)
	v.typ += "!"
	arguments += ", where: " + m.value(v)
	response, answer := m.response(t, 0)
	return step{key + ": update_" + t.field + "(" + arguments + ") " + response, key, func() (any, error) {
		rows, err := m.update(t, may, func(r row) bool { return where(m.asks, r) == yes }, apply)
		if err != nil {
			return nil, err
		}
		return answer(rows, len(rows)), nil
	}}, true
}

func (m *mutations) changeByKey(t *table, may *writing1, key, arguments string, apply func(row) error) step {
	wanted := oneOf(m.world.Rand, t.rows)
	k := val{kind: objectVal, typ: t.field + "_pk_columns_input!"}
	for _, c := range t.key {
		k.keys, k.items = append(k.keys, c.field), append(k.items, c.val(wanted[c]))
		k.items[len(k.items)-1].typ += "!"
	}
	wanted = maps.Clone(wanted)
	fields := m.fields(t, 0)
	return step{key + ": update_" + t.field + "_by_pk(" + arguments + ", pk_columns: " + m.value(k) + ") {" + m.write(fields, t.field) + "}", key, func() (any, error) {
		rows, err := m.update(t, may, func(r row) bool { return t.sameKey(r, wanted) }, apply)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		return evaluated(fields, rows[0]), nil
	}}
}

func (m *mutations) update(t *table, may *writing1, where func(row) bool, apply func(row) error) ([]row, error) {
	rows := filtered(t.rows, func(r row) bool { return may.filter(m.asks, r) == yes && where(r) })
	for _, r := range rows {
		if err := apply(r); err != nil {
			return nil, err
		}
		maps.Copy(r, may.presets)
		if t.null(r) || may.check != nil && may.check(m.asks, r) != yes {
			return nil, errRefused
		}
	}
	return rows, nil
}

// changes are the operators of an update, and what they do to a row.
func (m *mutations) changes(t *table, may *writing1) (string, func(row) error) {
	inputs := map[string]*val{}
	var acts []func(row) error
	add := func(operator string, c *column, v val, act func(row) error) {
		if inputs[operator] == nil {
			inputs[operator] = &val{kind: objectVal, typ: t.field + operator + "_input"}
		}
		inputs[operator].keys, inputs[operator].items = append(inputs[operator].keys, c.field), append(inputs[operator].items, v)
		acts = append(acts, act)
	}
	for _, c := range t.columns {
		if !may.columns[c] || slices.Contains(t.key, c) || !m.oneIn(3) {
			continue
		}
		switch {
		case c.sql == "int" && m.oneIn(2):
			by := m.world.IntN(5) - 2
			add("_inc", c, val{text: strconv.Itoa(by), typ: "Int"}, func(r row) error {
				if r[c] != nil {
					n, _ := strconv.Atoi(string(r[c].(number)))
					r[c] = number(strconv.Itoa(n + by))
				}
				return nil
			})
		case c.jsonb && m.oneIn(2):
			m.changeDocument(c, add)
		default:
			v := m.random(c)
			add("_set", c, c.val(v), func(r row) error {
				r[c] = v
				return nil
			})
		}
	}
	var parts []string
	for _, operator := range slices.Sorted(maps.Keys(inputs)) {
		parts = append(parts, operator+": "+m.value(*inputs[operator]))
	}
	return strings.Join(parts, ", "), func(r row) error {
		for _, act := range acts {
			if err := act(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// mutation is some root fields, and what they answer, or errRefused.
func (m *mutations) mutation() (string, entries, error) {
	var steps []step
	for i := range 1 + m.world.IntN(2) {
		if s, ok := m.step(fmt.Sprintf("k%d", i)); ok {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return "", nil, nil
	}
	var texts []string
	for _, s := range steps {
		texts = append(texts, s.text)
	}
	before := m.state()
	var want entries
	for _, s := range steps {
		answer, err := s.do()
		if err != nil {
			m.restore(before)
			return m.writing.operation("mutation", strings.Join(texts, " ")), nil, err
		}
		want = append(want, pair{s.key, answer})
	}
	return m.writing.operation("mutation", strings.Join(texts, " ")), want, nil
}

// differs says how the rows of the database differ from those in memory.
func (m *mutations) differs(ctx context.Context, e *engine) string {
	for _, t := range m.tables {
		var columns []string
		for _, c := range t.columns {
			columns = append(columns, ident(c.name)+" as "+ident(c.field))
		}
		rows, err := e.Pool.Query(ctx, "select to_json(x)::text from (select "+strings.Join(columns, ", ")+" from "+ident(t.name)+") as x")
		if err != nil {
			return err.Error()
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err.Error()
		}
		want := answers{items: []any{}, loose: true}
		for _, r := range t.rows {
			var all entries
			for _, c := range t.columns {
				all = append(all, pair{c.field, r[c]})
			}
			want.items = append(want.items, all)
		}
		if diff := unlike(t.field, want, json.RawMessage("["+strings.Join(found, ",")+"]")); diff != "" {
			return diff
		}
	}
	return ""
}

func TestAnyMutationDoesAndAnswersWhatDoingItByHandDoes(t *testing.T) {
	t.Parallel()
	e := newEngine(t, "")
	first, refused, done := asked("ANNALS_NAIVE_SEED", 20261121), 0, 0
	for seed := first; seed < first+asked("ANNALS_NAIVE_WORLDS", naiveWorlds); seed++ {
		w := newWorld(rand.New(rand.NewPCG(uint64(seed), 4)))
		m := mutations{queries: queries{world: w}}
		permissions := m.permissions()
		e.become(w)
		e.Do(permissions)
		for i := range naiveOperations {
			m.writing, m.asks = newText(w.Rand), w.somebody()
			text, want, refusal := m.mutation()
			if text == "" {
				continue
			}
			got, err := e.ask(m.asks.as(), text, m.given())
			about := fmt.Sprintf("seed %d, operation %d, as %s\n%s\n%s\n%s\n%s", seed, i, m.asks.role, text, m.given(), permissions, w.metadata())
			if refusal != nil {
				require.Error(t, err, about)
				refused++
			} else {
				require.NoError(t, err, about)
				var answer struct{ Data json.RawMessage }
				require.NoError(t, json.Unmarshal([]byte(got), &answer), about)
				require.Empty(t, unlike("$", want, answer.Data), about+"\nanswered "+got)
				done++
			}
			require.Empty(t, m.differs(t.Context(), e), about)
		}
	}
	require.Positive(t, refused)
	require.Greater(t, done, 2*refused)
}
