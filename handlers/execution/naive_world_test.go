package execution_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
)

// world is a random small database with its metadata, and everything in it once
// more in memory, where an answer is found by looking at every row.
type world struct {
	*rand.Rand
	types  []*typ
	tables []*table
	calls  []*callable
	// sessions are the users that ask: a value for each session variable.
	sessions [2]map[string]any
}

type table struct {
	name, field string // in SQL, in GraphQL
	columns     []*column
	key         []*column
	relations   []*relation
	computed    []*computed
	rows        []row
	grants      map[string]*granted // by role; the admin needs none
}

type column struct {
	name, field string
	*typ
	nullable bool
}

type row map[*column]any

// relation joins rows whose values here and there are equal.
type relation struct {
	name        string
	array       bool
	to          *table
	here, there *column
}

// granted is a role's select permission.
type granted struct {
	columns   map[*column]bool
	filter    condition
	json      string
	limit     int // 0: none
	aggregate bool
	computed  bool // the computed fields that are scalars
}

// who asks.
type who struct {
	role    string
	session map[string]any
}

// computed is a function of a row: a scalar, or the rows of a table whose first
// number is at least a column of the row.
type computed struct {
	name string
	of   *column
	to   *table // nil: a scalar
	by   *column
}

// callable is a function that returns the rows of a table in which a column is
// between two numbers; the second is 2 unless it is given.
type callable struct {
	name string
	of   *table
	by   *column
}

func roles() []string { return []string{"user", "guest"} }

func oneOf[T any](w *rand.Rand, list []T) T { return list[w.IntN(len(list))] }

// oneIn is true once in so many times.
func (w *world) oneIn(times int) bool { return w.IntN(times) == 0 }

func newWorld(chance *rand.Rand) *world {
	w := &world{Rand: chance, types: types()}
	for i := range w.sessions {
		w.sessions[i] = map[string]any{}
	}
	for i := range 2 + w.IntN(3) {
		w.tables = append(w.tables, w.table(i))
	}
	for _, t := range w.tables {
		w.relate(t)
	}
	for _, t := range w.tables {
		w.compute(t)
		w.fill(t)
		for _, role := range roles() {
			if !w.oneIn(6) {
				t.grants[role] = w.grant(t)
			}
		}
	}
	return w
}

// strange are names that GraphQL cannot have: their objects get custom names.
func strange() []string {
	return []string{`a "b`, "Ünï ✓", "select", `ba\ck`, "a.b", "it's", "$1", "%s"}
}

func (w *world) table(i int) *table {
	t := &table{name: fmt.Sprintf("t%d", i), field: fmt.Sprintf("t%d", i), grants: map[string]*granted{}}
	if w.oneIn(4) {
		t.name = strange()[i]
	}
	id := &column{name: "id", field: "id", typ: w.types[0]}
	if w.oneIn(6) {
		id.typ = w.types[8]
	}
	t.columns, t.key = append(t.columns, id), []*column{id}
	for n := range 3 + w.IntN(4) {
		c := &column{name: fmt.Sprintf("c%d", n), typ: oneOf(w.Rand, w.types), nullable: !w.oneIn(3)}
		if c.field = c.name; w.oneIn(6) {
			c.name = strange()[n]
		}
		t.columns = append(t.columns, c)
	}
	if second := t.columns[1]; !second.nullable && second.ordered && !second.enum && w.oneIn(3) {
		t.key = append(t.key, second)
	}
	t.columns = append(t.columns, &column{name: "j", field: "j", typ: w.types[0], nullable: true})
	return t
}

// ints are the columns of a table that numbers are in.
func (t *table) ints() []*column {
	var list []*column
	for _, c := range t.columns {
		if c.sql == "int" {
			list = append(list, c)
		}
	}
	return list
}

// relate gives a table relationships by numbers, and by equal types.
func (w *world) relate(t *table) {
	for n := range 1 + w.IntN(3) {
		r := &relation{name: fmt.Sprintf("x%d", n), to: oneOf(w.Rand, w.tables), array: !w.oneIn(3)}
		if !r.array {
			if r.to.columns[0].sql != "int" || len(r.to.key) > 1 {
				continue
			}
			r.here, r.there = oneOf(w.Rand, t.ints()), r.to.columns[0]
		} else if r.here, r.there = oneOf(w.Rand, t.columns), oneOf(w.Rand, r.to.columns); r.here.typ != r.there.typ || !r.here.ordered {
			r.here, r.there = oneOf(w.Rand, t.ints()), oneOf(w.Rand, r.to.ints())
		}
		t.relations = append(t.relations, r)
	}
}

func (w *world) compute(t *table) {
	if w.oneIn(3) {
		t.computed = append(t.computed, &computed{name: t.field + "_f", of: oneOf(w.Rand, t.columns)})
	}
	if w.oneIn(3) {
		to := oneOf(w.Rand, w.tables)
		t.computed = append(t.computed, &computed{name: t.field + "_g", of: oneOf(w.Rand, t.ints()), to: to, by: oneOf(w.Rand, to.ints())})
	}
	if w.oneIn(2) {
		w.calls = append(w.calls, &callable{name: "find_" + t.field, of: t, by: oneOf(w.Rand, t.ints())})
	}
}

func (w *world) fill(t *table) {
	for n := range w.IntN(9) {
		r := row{}
		for _, c := range t.columns {
			switch {
			case c.name == "id" && c.sql == "uuid":
				r[c] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)
			case c.name == "id":
				r[c] = number(strconv.Itoa(n))
			default:
				r[c] = w.random(c)
			}
		}
		t.rows = append(t.rows, r)
	}
	w.Shuffle(len(t.rows), func(i, j int) { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] })
}

func (w *world) random(c *column) any {
	if c.nullable && w.oneIn(4) {
		return nil
	}
	return oneOf(w.Rand, c.pool)
}

func (w *world) grant(t *table) *granted {
	g := &granted{columns: map[*column]bool{}, aggregate: w.oneIn(2), computed: w.oneIn(2)}
	for _, c := range t.columns {
		g.columns[c] = !w.oneIn(4)
	}
	var value val
	value, g.filter = (&filters{world: w, stored: true}).of(t, 2)
	g.json = value.json()
	if w.oneIn(4) && !slices.ContainsFunc(t.key, func(c *column) bool { return !g.columns[c] }) {
		g.limit = 1 + w.IntN(4)
	}
	return g
}

// readable are the columns that somebody may read.
func (t *table) readable(asks who) []*column {
	if asks.role == domain.AdminRole {
		return t.columns
	}
	var list []*column
	if g := t.grants[asks.role]; g != nil {
		for _, c := range t.columns {
			if g.columns[c] {
				list = append(list, c)
			}
		}
	}
	return list
}

func (t *table) selectable(asks who) bool {
	return asks.role == domain.AdminRole || t.grants[asks.role] != nil
}

func (t *table) aggregable(asks who) bool {
	return asks.role == domain.AdminRole || t.grants[asks.role] != nil && t.grants[asks.role].aggregate
}

func (t *table) limit(asks who) int {
	if asks.role == domain.AdminRole {
		return 0
	}
	return t.grants[asks.role].limit
}

// keyed reports whether somebody may read the whole key, so that rows can be
// ordered fully.
func (t *table) keyed(asks who) bool {
	return !slices.ContainsFunc(t.key, func(c *column) bool { return !slices.Contains(t.readable(asks), c) })
}

// visible are the rows of a table that somebody may see.
func (t *table) visible(asks who) []row {
	if asks.role == domain.AdminRole {
		return t.rows
	}
	return filtered(t.rows, func(r row) bool { return t.grants[asks.role].filter(asks, r) == yes })
}

func filtered(rows []row, keep func(row) bool) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !keep(r) })
}

// joined are the rows among others that belong to a row.
func (r *relation) joined(here row, others []row) []row {
	return filtered(others, func(there row) bool {
		return here[r.here] != nil && there[r.there] != nil && same(here[r.here], there[r.there])
	})
}

func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// sql makes the database.
func (w *world) sql() string {
	b := &strings.Builder{}
	b.WriteString("drop schema public cascade; create schema public; create table color (value text primary key, comment text); insert into color values ('red'), ('green');")
	for _, t := range w.tables {
		var parts, key []string
		for _, c := range t.columns {
			part := ident(c.name) + " " + c.sql
			if !c.nullable {
				part += " not null"
			}
			if c.enum {
				part += " references color"
			}
			parts = append(parts, part)
		}
		for _, c := range t.key {
			key = append(key, ident(c.name))
		}
		fmt.Fprintf(b, "create table %s (%s, primary key (%s));", ident(t.name), strings.Join(parts, ", "), strings.Join(key, ", "))
		for _, r := range t.rows {
			var values []string
			for _, c := range t.columns {
				values = append(values, c.literal(r[c]))
			}
			fmt.Fprintf(b, "insert into %s values (%s);", ident(t.name), strings.Join(values, ", "))
		}
	}
	w.functions(b)
	return b.String()
}

func (w *world) functions(b *strings.Builder) {
	for _, t := range w.tables {
		for _, c := range t.computed {
			if c.to == nil {
				fmt.Fprintf(b, "create function %s(r %s) returns %s language sql stable as 'select r.%s';", c.name, ident(t.name), c.of.sql, strings.ReplaceAll(ident(c.of.name), "'", "''"))
				continue
			}
			fmt.Fprintf(b, "create function %s(r %s) returns setof %s language sql stable as 'select * from %s as x where x.%s >= r.%s';", c.name, ident(t.name),
				ident(c.to.name), quoted(c.to.name), quoted(c.by.name), quoted(c.of.name))
		}
	}
	for _, c := range w.calls {
		fmt.Fprintf(b, "create function %s(low int, high int default 2) returns setof %s language sql stable as 'select * from %s as x where x.%s between $1 and $2';",
			c.name, ident(c.of.name), quoted(c.of.name), quoted(c.by.name))
	}
}

// quoted is an identifier inside of a text.
func quoted(name string) string { return strings.ReplaceAll(ident(name), "'", "''") }

// metadata is the commands that make the catalog.
func (w *world) metadata() string {
	calls := []string{`{"type":"clear_metadata","args":{}}`, call("track_table", map[string]any{"schema": "public", "name": "color"}),
		call("set_table_is_enum", map[string]any{"table": "color", "is_enum": true})}
	for _, t := range w.tables {
		custom := map[string]string{}
		for _, c := range t.columns {
			if c.field != c.name {
				custom[c.name] = c.field
			}
		}
		configuration := map[string]any{"custom_column_names": custom}
		if t.name != t.field {
			configuration["custom_name"] = t.field
		}
		calls = append(calls, `{"type":"track_table","version":2,"args":`+encoded(map[string]any{"table": t.name, "configuration": configuration})+`}`)
	}
	for _, t := range w.tables {
		for _, r := range t.relations {
			kind := "create_object_relationship"
			if r.array {
				kind = "create_array_relationship"
			}
			calls = append(calls, call(kind, map[string]any{"table": t.name, "name": r.name, "using": map[string]any{
				"manual_configuration": map[string]any{"remote_table": r.to.name, "column_mapping": map[string]string{r.here.name: r.there.name}}}}))
		}
		for _, c := range t.computed {
			calls = append(calls, call("add_computed_field", map[string]any{"table": t.name, "name": c.name, "definition": map[string]any{"function": c.name}}))
		}
	}
	for _, c := range w.calls {
		calls = append(calls, call("track_function", c.name))
	}
	for _, t := range w.tables {
		for _, role := range roles() {
			if g := t.grants[role]; g != nil {
				calls = append(calls, g.call(t, role))
			}
		}
	}
	return `{"type":"bulk","args":[` + strings.Join(calls, ",") + `]}`
}

func (g *granted) call(t *table, role string) string {
	columns, fields := []string{}, []string{}
	for _, c := range t.columns {
		if g.columns[c] {
			columns = append(columns, c.name)
		}
	}
	for _, c := range t.computed {
		if c.to == nil && g.computed {
			fields = append(fields, c.name)
		}
	}
	permission := map[string]any{"columns": columns, "computed_fields": fields, "filter": json.RawMessage(g.json), "allow_aggregations": g.aggregate}
	if g.limit > 0 {
		permission["limit"] = g.limit
	}
	return call("create_select_permission", map[string]any{"table": t.name, "role": role, "permission": permission})
}

func call(kind string, args any) string {
	return `{"type":"` + kind + `","args":` + encoded(args) + `}`
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
