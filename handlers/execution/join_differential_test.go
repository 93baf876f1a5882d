package execution_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain/engine/plan"
	"annals/domain/graphql/graphqltest"
	"annals/domain/wire"
	"annals/handlers/execution"
)

// joinWorlds is how many random sets of remote relationships are tried, each
// with rapid's number of random rows and queries; ANNALS_JOIN_WORLDS asks for
// more.
const joinWorlds = 4

// The remote of this test says what it was given: a wrong key, a lost argument
// or an answer in the wrong place shows in the text.
const (
	echoArguments = `(int: Int, text: String, yes: Boolean, real: Float, id: ID, big: bigint, small: smallint, num: numeric, key: uuid,
		at: timestamptz, day: date, doc: jsonb, ints: _int4, list: [Int], nested: [[String]!], in: In, ins: [In!], kind: Kind)`
	echoTypes = `scalar bigint scalar smallint scalar numeric scalar uuid scalar timestamptz scalar date scalar jsonb scalar _int4
		type Query { item` + echoArguments + `: Item!  items` + echoArguments + `: [Item]  leaf` + echoArguments + `: String  thing` + echoArguments + `: Thing }
		type Item { said: String!  kind: Kind  gone: Item  down` + echoArguments + `: Item  downs` + echoArguments + `: [Item]!  leaf` + echoArguments + `: String }
		type Other { said: String }
		union Thing = Item | Other
		input In { int: Int  text: String  yes: Boolean  list: [Int]  kind: Kind  in: In  ins: [In!] }
		enum Kind { A B }`
	echoTables = `
		CREATE TABLE p (id int PRIMARY KEY, n int, t text, v varchar, yes bool, r real, big bigint, small smallint, num numeric, u uuid,
			at timestamptz, day date, doc jsonb, ints int[]);
		CREATE TABLE c (id int PRIMARY KEY, p_id int REFERENCES p, n int, t text, v varchar, yes bool, r real, big bigint, small smallint, num numeric, u uuid,
			at timestamptz, day date, doc jsonb, ints int[])`
)

// echoColumns are the columns that fit each argument, and the values that they
// may have beside null.
var (
	echoColumns = map[string][]string{
		"int": {"id", "n"}, "text": {"t", "v"}, "yes": {"yes"}, "real": {"r"}, "id": {"id", "t", "big", "small", "u"}, "big": {"big"}, "small": {"small"},
		"num": {"num"}, "key": {"u"}, "at": {"at"}, "day": {"day"}, "doc": {"doc"}, "ints": {"ints"}, "list": {"id", "n"}, "nested": {"t", "v"},
	}
	echoValues = map[string][]string{
		"n": {"1", "2", "-7"}, "t": {`"a"`, `"say \"x\"\n"`, `"$id"`, `""`, `"é😀\\"`}, "v": {`"a"`, `"null"`}, "yes": {"true", "false"}, "r": {"1.5", "1e6"},
		"big": {"1", "9007199254740993"}, "small": {"3"}, "num": {"1.10", `"NaN"`, "123456789012.345"}, "u": {`"6a1e2b5c-6d5f-4b8e-9f57-0a4f1d2c3b4a"`},
		"at": {`"2026-11-21T10:00:00.5+02:00"`}, "day": {`"2026-11-21"`}, "doc": {`{"a":{"b":[null,1.50,"x"]}}`, `[1,[]]`, `"s"`, "7"}, "ints": {"[1,2]", "[]", "[null]"},
	}
)

func echoRoot() graphqltest.Object {
	root := echoItem("")
	root["item"] = graphqltest.Resolver(func(a map[string]any) (any, error) { return echoItem(echoed("", a)), nil })
	root["items"] = root["downs"]
	root["thing"] = graphqltest.Resolver(func(a map[string]any) (any, error) {
		said := echoed("", a)
		if len(said)%2 == 0 {
			return graphqltest.Object{"__typename": "Other", "said": said}, nil
		}
		return echoItem(said), nil
	})
	return root
}

func echoed(before string, arguments map[string]any) string {
	text, _ := json.Marshal(arguments)                             // values of GraphQL have a JSON form
	return before + strings.ReplaceAll(string(text), "[]", "null") // the parser reads the literal [] as a list that is nil
}

// echoItem is an item: what it is asked for depends on what was said.
func echoItem(before string) graphqltest.Object {
	downs := func(a map[string]any) (any, error) {
		said, items := echoed(before, a), []graphqltest.Object{}
		for i := range len(said) % 4 {
			if item := echoItem(said + strconv.Itoa(i)); i != 1 {
				items = append(items, item)
			} else {
				items = append(items, nil)
			}
		}
		return items, nil
	}
	return graphqltest.Object{
		"__typename": "Item", "said": before, "kind": []string{"A", "B"}[len(before)%2], "gone": nil, "downs": graphqltest.Resolver(downs),
		"leaf": graphqltest.Resolver(func(a map[string]any) (any, error) { return echoed(before, a), nil }),
		"down": graphqltest.Resolver(func(a map[string]any) (any, error) {
			if said := echoed(before, a); len(said)%5 != 0 {
				return echoItem(said), nil
			}
			return nil, nil
		}),
	}
}

// Values of arguments are JSON's, columns, and words of enums.
type (
	ofColumn string
	enumWord string
)

// echoStep is one step of a relationship, echoRelation all of them.
type (
	echoStep struct {
		field     string
		arguments map[string]any
	}
	echoRelation struct {
		name    string
		columns []string
		steps   []echoStep
	}
)

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func chance(t *rapid.T, oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(t, "chance") == 1 }

var relationGenerator = rapid.Custom(func(t *rapid.T) []echoRelation {
	var all []echoRelation
	for i := range 6 {
		r := echoRelation{name: fmt.Sprintf("j%d", i)}
		field := pick(t, "root", "item", "items", "leaf", "thing")
		used := map[string]bool{}
		for {
			r.steps = append(r.steps, echoStep{field, fixedArguments(t, used)})
			if field == "leaf" || field == "thing" || len(r.steps) == 3 || chance(t, 2) {
				break
			}
			field = pick(t, "field", "down", "downs", "leaf")
		}
		if chance(t, 3) {
			used[pick(t, "extra", "n", "t", "yes", "doc")] = true
		}
		r.columns = slices.Sorted(maps.Keys(used))
		all = append(all, r)
	}
	return all
})

var echoArgumentNames = []string{"int", "text", "yes", "real", "id", "big", "small", "num", "key", "at", "day", "doc", "ints", "list", "nested", "in", "ins"}

func fixedArguments(t *rapid.T, used map[string]bool) map[string]any {
	arguments := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "arguments") {
		name := pick(t, "argument", echoArgumentNames...)
		arguments[name] = fixedValue(t, name, used, 2)
	}
	return arguments
}

func fixedValue(t *rapid.T, name string, used map[string]bool, depth int) any {
	switch name {
	case "in":
		return fixedObject(t, used, depth)
	case "ins":
		return []any{fixedObject(t, used, depth)}
	}
	if literals := map[string][]any{"int": {1, -2}, "text": {"x", `q"`}, "yes": {true}, "real": {2.5}, "id": {"i", 3}, "list": {[]any{}, []any{4}, 4}, "nested": {"y"}}[name]; literals != nil && chance(t, 3) {
		return pick(t, "literal", literals...)
	}
	column := pick(t, "column", echoColumns[name]...)
	used[column] = true
	switch {
	case name == "list" && chance(t, 2):
		return []any{ofColumn(column)}
	case name == "nested" && chance(t, 2):
		return []any{[]any{ofColumn(column)}}
	}
	return ofColumn(column)
}

func fixedObject(t *rapid.T, used map[string]bool, depth int) map[string]any {
	names := []string{"int", "text", "yes", "list"}
	if depth > 0 {
		names = append(names, "in", "ins")
	}
	object := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(t, "members") {
		name := pick(t, "member", names...)
		object[name] = fixedValue(t, name, used, depth-1)
	}
	return object
}

// added draws what a client adds to arguments or to an object: only what is
// not fixed, and of objects only what is left of them.
func added(t *rapid.T, names []string, fixed map[string]any, depth int) map[string]any {
	arguments := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "given") {
		name := pick(t, "name", names...)
		known, isFixed := fixed[name]
		object, _ := known.(map[string]any)
		if list, ok := known.([]any); ok && len(list) == 1 {
			object, _ = list[0].(map[string]any)
		}
		if isFixed && object == nil || depth == 0 && (name == "in" || name == "ins") {
			continue
		}
		arguments[name] = givenValue(t, name, object, depth)
	}
	return arguments
}

var membersOfIn = []string{"int", "text", "yes", "list", "kind", "in", "ins"}

func givenValue(t *rapid.T, name string, fixed map[string]any, depth int) any {
	switch name {
	case "in":
		return added(t, membersOfIn, fixed, depth-1)
	case "ins":
		items := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			items = append(items, added(t, membersOfIn, fixed, depth-1))
		}
		return items
	}
	return pick(t, "value", map[string][]any{
		"int": {5, nil}, "text": {"g", nil}, "yes": {false}, "real": {0.5}, "id": {"c"}, "list": {[]any{6, nil}, []any{}}, "kind": {enumWord("A"), enumWord("B")},
	}[name]...)
}

// merged is what the remote gets of a value that is fixed and of one that is given.
func merged(fixed, given any) any {
	switch fixed := fixed.(type) {
	case map[string]any:
		all := maps.Clone(fixed)
		for name, value := range given.(map[string]any) {
			if known, ok := fixed[name]; ok {
				value = merged(known, value)
			}
			all[name] = value
		}
		return all
	case []any:
		return append(slices.Clone(fixed), given.([]any)...)
	}
	return given
}

// graphQL writes a value with the columns of a row in their places.
func graphQL(v any, row map[string]any) string {
	switch v := v.(type) {
	case ofColumn:
		return graphQL(row[string(v)], nil)
	case enumWord:
		return string(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = graphQL(item, row)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		return "{" + members(v, row) + "}"
	}
	text, _ := json.Marshal(v) // a scalar, which JSON has
	return string(text)
}

func members(object map[string]any, row map[string]any) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		texts = append(texts, name+": "+graphQL(object[name], row))
	}
	return strings.Join(texts, ", ")
}

func inParentheses(arguments map[string]any, row map[string]any) string {
	if len(arguments) == 0 {
		return ""
	}
	return "(" + members(arguments, row) + ")"
}

// definition is the relationship as the metadata API takes it.
func (r echoRelation) definition(table string) string {
	var remote any
	for _, step := range slices.Backward(r.steps) {
		call := map[string]any{"arguments": dollars(step.arguments)}
		if remote != nil {
			call["field"] = remote
		}
		remote = map[string]any{step.field: call}
	}
	text, _ := json.Marshal(remote) // strings, numbers, objects
	return joinedTo(table, r.name, string(text), `"`+strings.Join(r.columns, `","`)+`"`)
}

func dollars(v any) any {
	switch v := v.(type) {
	case ofColumn:
		return "$" + string(v)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = dollars(item)
		}
		return items
	case map[string]any:
		object := map[string]any{}
		for name, value := range v {
			object[name] = dollars(value)
		}
		return object
	}
	return v
}

// A selection is a random operation in two spellings: as the client sends it,
// and with its fragments and variables written out.
type selection struct {
	t         *rapid.T
	relations []echoRelation
	fragments []string
	variables map[string]any
	declared  []string
}

// echoNode is a field of ours: of rows, or joined to them.
type echoNode struct {
	alias, field string
	relation     *echoRelation
	given        map[string]any
	remote       string // what is selected of the remote, written out
	selected     []echoNode
}

func (s *selection) variable(typeName string, v any) string {
	name := fmt.Sprintf("v%d", len(s.declared))
	s.declared = append(s.declared, "$"+name+": "+typeName)
	s.variables[name] = v
	return "$" + name
}

// rows draws what is selected of a table's rows.
func (s *selection) rows(table string, depth int) (text string, nodes []echoNode) {
	names := []string{"id", "n", "t", "v", "doc"} // also the names of join keys
	var texts []string
	for i := range rapid.IntRange(1, 4).Draw(s.t, "fields") {
		n := echoNode{alias: fmt.Sprintf("f%d", i)}
		if chance(s.t, 2) {
			n.alias = names[i]
		}
		inner := ""
		switch kind := rapid.IntRange(0, 9).Draw(s.t, "kind"); {
		case kind < 2 || depth == 0 && kind < 4:
			n.field = pick(s.t, "column", names...)
		case kind < 4 && table == "p":
			n.field = "children"
			inner, n.selected = s.rows("c", depth-1)
			inner = "(order_by: {id: asc}) " + inner
		case kind < 4:
			n.field = "parent"
			inner, n.selected = s.rows("p", depth-1)
		default:
			inner = s.joined(&n)
		}
		text := n.alias + ": " + n.field + inner
		if chance(s.t, 6) {
			text = "... on " + table + " { " + text + " }"
		}
		texts, nodes = append(texts, text), append(nodes, n)
	}
	return "{ " + strings.Join(texts, " ") + " }", nodes
}

// joined draws a joined field, with arguments and what is selected of it.
func (s *selection) joined(n *echoNode) (text string) {
	n.relation = &s.relations[rapid.IntRange(0, len(s.relations)-1).Draw(s.t, "relation")]
	n.field = n.relation.name
	last := n.relation.steps[len(n.relation.steps)-1]
	n.given = added(s.t, []string{"int", "text", "yes", "real", "id", "list", "kind", "in", "ins"}, last.arguments, 2)
	arguments := map[string]any{}
	for name, value := range n.given {
		arguments[name] = value
		if _, fixed := last.arguments[name]; !fixed && value != nil && name != "in" && name != "ins" && chance(s.t, 2) {
			typeName := map[string]string{"int": "Int", "text": "String", "yes": "Boolean", "real": "Float", "id": "ID", "list": "[Int]", "kind": "Kind"}[name]
			arguments[name] = enumWord(s.variable(typeName, value)) // written as it is
		}
	}
	text = inParentheses(arguments, nil)
	switch last.field {
	case "leaf":
		return text
	case "thing":
		item, plain := s.item(1)
		n.remote = "{ __typename ... on Item " + plain + " ... on Other { other: said } }"
		return text + " { __typename ... on Item " + item + " ... on Other { other: said } }"
	}
	item, plain := s.item(2)
	n.remote = plain
	return text + " " + item
}

// item draws what is selected of a remote object, in both spellings.
func (s *selection) item(depth int) (text, plain string) {
	var texts, plains []string
	for i := range rapid.IntRange(1, 3).Draw(s.t, "of an item") {
		field := pick(s.t, "item field", "said", "kind", "__typename", "leaf", "gone", "down", "downs")
		one := fmt.Sprintf("r%d: %s", i, field)
		other := one
		if field == "leaf" && chance(s.t, 2) {
			one, other = one+"(int: "+s.variable("Int", 8)+")", other+"(int: 8)"
		}
		switch {
		case field == "gone":
			one, other = one+" { said }", other+" { said }"
		case field == "down" || field == "downs":
			if depth == 0 {
				continue
			}
			inner, written := s.item(depth - 1)
			one, other = one+` (text: "in") `+inner, other+` (text: "in") `+written
		}
		switch rapid.IntRange(0, 8).Draw(s.t, "wrapped") {
		case 0:
			one = "... on Item { " + one + " }"
		case 1:
			name := fmt.Sprintf("F%d", len(s.fragments))
			s.fragments = append(s.fragments, "fragment "+name+" on Item { "+one+" }")
			one = "..." + name
		case 2:
			one, other = "... @include(if: "+s.variable("Boolean!", false)+") { "+one+" }", ""
		}
		texts, plains = append(texts, one), append(plains, other)
	}
	return "{ id__: said " + strings.Join(texts, " ") + " }", "{ id__: said " + strings.Join(plains, " ") + " }"
}

// byEachRow answers selections by asking the remote for one row at a time.
type byEachRow struct {
	t      *rapid.T
	remote *graphqltest.Server
	tables map[string][]map[string]any
	asked  int
}

func (e *byEachRow) row(row map[string]any, nodes []echoNode) map[string]any {
	out := map[string]any{}
	for _, n := range nodes {
		out[n.alias] = e.field(row, n)
	}
	return out
}

func (e *byEachRow) field(row map[string]any, n echoNode) any {
	switch {
	case n.field == "children":
		list := []any{}
		for _, child := range e.tables["c"] {
			if child["p_id"] == row["id"] {
				list = append(list, e.row(child, n.selected))
			}
		}
		return list
	case n.field == "parent":
		for _, parent := range e.tables["p"] {
			if parent["id"] == row["p_id"] {
				return e.row(parent, n.selected)
			}
		}
		return nil
	case n.relation == nil:
		return row[n.field]
	}
	for _, column := range n.relation.columns {
		if row[column] == nil {
			return nil
		}
	}
	return e.ask(row, n)
}

func (e *byEachRow) ask(row map[string]any, n echoNode) any {
	text, last := n.remote, len(n.relation.steps)-1
	for i, step := range slices.Backward(n.relation.steps) {
		arguments := any(step.arguments)
		if i == last {
			arguments = merged(arguments, n.given)
		}
		text = "x: " + step.field + inParentheses(arguments.(map[string]any), row) + " " + text
		if i > 0 {
			text = "{ " + text + " }"
		}
	}
	body, _ := json.Marshal(map[string]string{"query": "{ " + text + " }"}) // a string has a JSON form
	answer := decoded(e.t, e.remote.Answer(body)).(map[string]any)
	if answer["errors"] != nil {
		e.t.Fatalf("%s\n%v", text, answer["errors"])
	}
	e.asked++
	return within(answer["data"], last+1)
}

// within goes down by some steps, through the lists on the way.
func within(v any, steps int) any {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = within(item, steps)
		}
		if steps > 0 {
			return items
		}
	case map[string]any:
		if steps > 0 {
			return within(v["x"], steps-1)
		}
	}
	return v
}

func decoded(t *rapid.T, text []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// drawTables draws the rows of both tables, as JSON.
func drawTables(t *rapid.T) (p, c string) {
	table := func(name string, most int) string {
		rows := []string{}
		for id := range rapid.IntRange(0, most).Draw(t, name) {
			row := []string{fmt.Sprintf(`"id":%d`, id)}
			if name == "c" {
				row = append(row, fmt.Sprintf(`"p_id":%d`, id%3))
			}
			for _, column := range slices.Sorted(maps.Keys(echoValues)) {
				if !chance(t, 5) {
					row = append(row, fmt.Sprintf("%q:%s", column, pick(t, column, echoValues[column]...)))
				}
			}
			rows = append(rows, "{"+strings.Join(row, ",")+"}")
		}
		return "[" + strings.Join(rows, ",") + "]"
	}
	p = table("p", 6)
	if c = "[]"; strings.Count(p, `"id"`) >= 3 {
		c = table("c", 8)
	}
	return p, c
}

// fill puts the rows into the database, and reads them as it spells them.
func (e *byEachRow) fill(en *engine, p, c string) {
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	_, err := en.conns.Exec(en.t.Context(), `BEGIN READ WRITE; TRUNCATE p, c;
		INSERT INTO p SELECT * FROM jsonb_populate_recordset(NULL::p, `+quoted(p)+`);
		INSERT INTO c SELECT * FROM jsonb_populate_recordset(NULL::c, `+quoted(c)+`);
		UPDATE p SET doc = 'null' WHERE doc = '7'; -- JSON's null is none of SQL's
		COMMIT`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(en.t, err)
	e.tables = map[string][]map[string]any{}
	for _, table := range []string{"p", "c"} {
		var text []byte
		require.NoError(en.t, en.conns.QueryRow(en.t.Context(), "SELECT coalesce(json_agg(to_json(x) ORDER BY id), '[]') FROM "+table+" x").Scan(&text))
		for _, row := range decoded(e.t, text).([]any) {
			e.tables[table] = append(e.tables[table], row.(map[string]any))
		}
	}
}

// Whatever is joined to whatever rows, under whatever names and with whatever
// arguments: the answer is that of asking the remote for each row by itself.
func TestJoinsAnswerAsRowByRowWould(t *testing.T) {
	worlds := joinWorlds
	if more, err := strconv.Atoi(os.Getenv("ANNALS_JOIN_WORLDS")); err == nil {
		worlds = more
	}
	for world := range worlds {
		t.Run(fmt.Sprint("world ", world), func(t *testing.T) {
			t.Parallel()
			relations := relationGenerator.Example(world)
			batch := []int{execution.DefaultJoinBatch, 3}[world%2]
			s := startJoinServer(t, echoTypes, echoRoot())
			e := newEngineOver(t, execution.Config{Joins: execution.Joins{Batch: batch}}, s, echoTables, echoCommands(s.URL, relations)...)
			rapid.Check(t, func(t *rapid.T) { joinLikeRowByRow(t, e, s, relations, batch) })
		})
	}
}

func echoCommands(url string, relations []echoRelation) []string {
	commands := []string{
		`{"type":"track_table","args":"p"}`, `{"type":"track_table","args":"c"}`,
		`{"type":"create_object_relationship","args":{"table":"c","name":"parent","using":{"foreign_key_constraint_on":"p_id"}}}`,
		`{"type":"create_array_relationship","args":{"table":"p","name":"children","using":{"foreign_key_constraint_on":{"table":"c","column":"p_id"}}}}`,
		`{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"` + url + `"}}}`,
	}
	for _, table := range []string{"p", "c"} {
		for _, r := range relations {
			commands = append(commands, strings.Replace(r.definition(table), `[""]`, `[]`, 1))
		}
	}
	return commands
}

func joinLikeRowByRow(t *rapid.T, e *engine, s *joinServer, relations []echoRelation, batch int) {
	naive := &byEachRow{t: t, remote: s.graphql}
	p, c := drawTables(t)
	naive.fill(e, p, c)
	table := pick(t, "table", "p", "c")
	drawn := &selection{t: t, relations: relations, variables: map[string]any{}}
	text, nodes := drawn.rows(table, 2)
	query := "query Q"
	if len(drawn.declared) > 0 {
		query += "(" + strings.Join(drawn.declared, ", ") + ")"
	}
	query += " { " + table + "(order_by: {id: asc}) " + text + " } " + strings.Join(drawn.fragments, " ")
	variables, _ := json.Marshal(drawn.variables) // values of JSON
	s.calls()
	got, err := e.run.Run(e.t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: query, Variables: wire.MustParse(string(variables))}})
	if err != nil {
		t.Fatalf("%s\n%s\n%v", query, variables, err)
	}
	want := []any{}
	for _, row := range naive.tables[table] {
		want = append(want, naive.row(row, nodes))
	}
	written, _ := json.Marshal(map[string]any{"data": map[string]any{table: want}}) // was decoded from JSON
	if !reflect.DeepEqual(decoded(t, got), decoded(t, written)) {
		t.Fatalf("%s\n%s\n%s\n%s\nis not\n%s", query, variables, text, got, written)
	}
	if most := (naive.asked + batch - 1) / batch; len(s.calls()) > most {
		t.Fatalf("%s\nasked more than %d times for %d rows", query, most, naive.asked)
	}
}
