package execution_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

// leakRounds is how many random sets of permissions are tried, each with
// leakQueries queries; ANNALS_LEAK_ROUNDS asks for more.
const (
	leakRounds  = 25
	leakQueries = 20
)

// leaky is two tables, persons and their notes, whose columns are numbers, and
// what a role may see of them. It answers by looking at every row.
type leaky struct {
	chance *rand.Rand
	rows   map[string][]map[string]int
	grants map[string]grant
}

// grant is a select permission: columns, and a condition on one of them.
type grant struct {
	columns  []string
	column   string
	operator string
	bound    int
	session  bool // the bound is a variable of the session
}

var leakyColumns = map[string][]string{"person": {"id", "k", "n"}, "note": {"id", "owner", "k"}}

func (l *leaky) fill() string {
	var b strings.Builder
	b.WriteString("create table person (id int primary key, k int, n int); create table note (id int primary key, owner int references person, k int);")
	for _, table := range []string{"person", "note"} {
		for id := range 12 {
			row := map[string]int{"id": id, "k": l.chance.IntN(6), "n": l.chance.IntN(6), "owner": l.chance.IntN(12)}
			l.rows[table] = append(l.rows[table], row)
			var values []string
			for _, c := range leakyColumns[table] {
				values = append(values, strconv.Itoa(row[c]))
			}
			fmt.Fprintf(&b, "insert into %s values (%s);", table, strings.Join(values, ","))
		}
	}
	return b.String()
}

func (l *leaky) grant(table string) grant {
	all := leakyColumns[table]
	g := grant{column: all[l.chance.IntN(len(all))], operator: []string{"_eq", "_gt", "_lte"}[l.chance.IntN(3)], bound: l.chance.IntN(6), session: l.chance.IntN(2) == 0}
	for _, c := range all {
		if l.chance.IntN(3) > 0 {
			g.columns = append(g.columns, c)
		}
	}
	return g
}

func (g grant) call(table string) string {
	bound := strconv.Itoa(g.bound)
	if g.session {
		bound = `"X-Service-` + table + `"`
	}
	columns, _ := json.Marshal(append([]string{}, g.columns...))
	return fmt.Sprintf(`{"type":"create_select_permission","args":{"table":"%s","role":"user","permission":{"columns":%s,"filter":{"%s":{"%s":%s}}}}}`,
		table, columns, g.column, g.operator, bound)
}

func compares(operator string, left, right int) bool {
	return map[string]bool{"_eq": left == right, "_gt": left > right, "_lte": left <= right}[operator]
}

// visible are the rows of a table that the role may see.
func (l *leaky) visible(table string) []map[string]int {
	g := l.grants[table]
	return slices.DeleteFunc(slices.Clone(l.rows[table]), func(row map[string]int) bool { return !compares(g.operator, row[g.column], g.bound) })
}

// rowText is a row's JSON; more follows its columns.
func rowText(columns []string, row map[string]int, more ...string) string {
	items := []string{}
	for _, c := range columns {
		items = append(items, fmt.Sprintf("%q:%d", c, row[c]))
	}
	return "{" + strings.Join(append(items, more...), ",") + "}"
}

// query is a random query over both tables, its right answer, and whether the
// role may ask it.
func (l *leaky) query() (text, want string, allowed bool) {
	person, note, filtered := l.some("person"), l.some("note"), l.some("note")[0]
	operator, bound := []string{"_eq", "_gt", "_lte"}[l.chance.IntN(3)], l.chance.IntN(6)
	where, byNotes := "", l.chance.IntN(2) == 0
	if byNotes {
		where = fmt.Sprintf("(where: {notes: {%s: {%s: %d}}})", filtered, operator, bound)
	}
	text = fmt.Sprintf("{ person%s { %s notes { %s } notes_aggregate { nodes { %s } } } }", where, strings.Join(person, " "), strings.Join(note, " "), note[0])
	allowed = l.may("person", person...) && l.may("note", note...) && (!byNotes || l.may("note", filtered))

	var answers []string
	for _, p := range l.visible("person") {
		var notes, nodes []string
		matches := !byNotes
		for _, n := range l.visible("note") {
			if n["owner"] != p["id"] {
				continue
			}
			notes, nodes = append(notes, rowText(note, n)), append(nodes, rowText(note[:1], n))
			matches = matches || compares(operator, n[filtered], bound)
		}
		if matches {
			answers = append(answers, rowText(person, p, `"notes":[`+strings.Join(notes, ",")+`]`, `"notes_aggregate":{"nodes":[`+strings.Join(nodes, ",")+`]}`))
		}
	}
	return text, `{"data":{"person":[` + strings.Join(answers, ",") + `]}}`, allowed
}

// some is a random choice of columns, at least one.
func (l *leaky) some(table string) []string {
	all := slices.Clone(leakyColumns[table])
	l.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+l.chance.IntN(len(all))]
}

func (l *leaky) may(table string, columns ...string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(l.grants[table].columns, c) })
}

// unordered makes answers comparable whatever the order of their rows.
func unordered(t *testing.T, answer string) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal([]byte(answer), &value), answer)
	var sorted func(any) any
	sorted = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = sorted(v[k])
			}
		case []any:
			for i := range v {
				v[i] = sorted(v[i])
			}
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		return v
	}
	return sorted(value)
}

// A role gets the rows and columns of its permissions, and nothing of others:
// not by a relationship, an aggregate, or a filter that would tell of them.
func TestNoRowOrColumnIsSeenThatThePermissionsKeep(t *testing.T) {
	t.Parallel()
	rounds := leakRounds
	if more, err := strconv.Atoi(os.Getenv("ANNALS_LEAK_ROUNDS")); err == nil {
		rounds = more
	}
	const seed = 20261121
	l := &leaky{chance: rand.New(rand.NewPCG(seed, 2)), rows: map[string][]map[string]int{}, grants: map[string]grant{}}
	e := newEngine(t, l.fill(), `{"type":"bulk","args":[{"type":"track_table","args":"person"},{"type":"track_table","args":"note"},
		{"type":"create_array_relationship","args":{"table":"person","name":"notes","using":{"foreign_key_constraint_on":{"table":"note","column":"owner"}}}}]}`)
	answered := 0
	for round := range rounds {
		session := domain.Session{Role: "user", Variables: map[string]string{}}
		for _, table := range []string{"person", "note"} {
			if round > 0 {
				e.Do(`{"type":"drop_select_permission","args":{"table":"` + table + `","role":"user"}}`)
			}
			g := l.grant(table)
			l.grants[table] = g
			e.Do(strings.Replace(g.call(table), `"filter":`, `"allow_aggregations":true,"filter":`, 1))
			session.Variables["x-service-"+table] = strconv.Itoa(g.bound)
		}
		for i := range leakQueries {
			query, want, allowed := l.query()
			got, err := e.ask(session, query, "")
			if !allowed {
				require.Error(t, err, "seed %d, round %d, query %d: %s is not for %+v", seed, round, i, query, l.grants)
				continue
			}
			require.NoError(t, err, "%s under %+v", query, l.grants)
			require.Equal(t, unordered(t, want), unordered(t, got), "seed %d, round %d, query %d: %s under %+v", seed, round, i, query, l.grants)
			answered++
		}
	}
	require.Positive(t, answered)
}
