package execution_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain/engine/plan"
	"annals/domain/graphql/graphqltest"
	"annals/handlers/execution"
)

// joinNode is a random selection: of the rows of a table, or of a remote field.
type joinNode struct {
	alias, field string
	selected     []joinNode
}

// joinTables is what the naive evaluator knows: rows as JSON, and how they lead
// to one another.
var joinTables = map[string][]map[string]any{
	"author": {
		{"id": 1.0, "name": "Ann", "ratio": 1.5}, {"id": 2.0, "name": nil, "ratio": nil}, {"id": 3.0, "name": `Cy "x"`, "ratio": 2.0},
	},
	"book": {
		{"id": 1.0, "author_id": 1.0, "title": "A"}, {"id": 2.0, "author_id": 1.0, "title": "B"},
		{"id": 3.0, "author_id": 3.0, "title": "C"}, {"id": 4.0, "author_id": nil, "title": "D"},
	},
}

// joinArguments are the calls of the remote that a row's field stands for; the
// rowByRow evaluator asks for each row by itself.
var joinArguments = map[string]func(row map[string]any) string{
	"author.message": func(r map[string]any) string { return fmt.Sprintf("message(id: %v)", r["id"]) },
	"author.lenient": func(r map[string]any) string { return fmt.Sprintf("message(id: %v)", r["id"]) },
	"author.named":   func(r map[string]any) string { return fmt.Sprintf("message(id: %v)", r["id"]) },
	"author.found":   func(r map[string]any) string { return fmt.Sprintf("found(id: %v)", r["id"]) },
	"author.list": func(r map[string]any) string {
		return fmt.Sprintf(`messages(where: {id: {eq: %v}, text: "fixed"})`, r["id"])
	},
	"book.message":    func(r map[string]any) string { return fmt.Sprintf("message(id: %v)", r["id"]) },
	"author.friendly": nil,
}

func drawRows(t *rapid.T, table string, depth int) []joinNode {
	choices := map[string][]string{
		"author": {"id", "name", "message", "named", "lenient", "found", "list", "friendly"},
		"book":   {"id", "title", "message"},
	}[table]
	if depth > 0 {
		choices = append(choices, map[string]string{"author": "books", "book": "author"}[table])
	}
	var nodes []joinNode
	for i := range rapid.IntRange(1, 5).Draw(t, "fields") {
		n := joinNode{alias: fmt.Sprintf("f%d", i), field: rapid.SampledFrom(choices).Draw(t, "field")}
		if rapid.Bool().Draw(t, "confusing") {
			n.alias = []string{"id", "name", "author_id", "title", "message"}[i] // the name of something else, perhaps of a join key
		}
		switch n.field {
		case "books":
			n.selected = drawRows(t, "book", depth-1)
		case "author":
			n.selected = drawRows(t, "author", depth-1)
		case "message", "named", "lenient", "list":
			n.selected = drawRemote(t)
		case "found":
			n.selected = []joinNode{{alias: "t", field: "__typename"}}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func drawRemote(t *rapid.T) []joinNode {
	var nodes []joinNode
	for i := range rapid.IntRange(1, 3).Draw(t, "remote fields") {
		field := rapid.SampledFrom([]string{"id", "msg", "kind", "__typename"}).Draw(t, "remote field")
		nodes = append(nodes, joinNode{alias: fmt.Sprintf("r%d", i), field: field})
	}
	return nodes
}

func printed(nodes []joinNode) string {
	var b strings.Builder
	b.WriteString("{")
	for _, n := range nodes {
		fmt.Fprintf(&b, " %s: %s", n.alias, n.field)
		if n.field == "books" {
			b.WriteString("(order_by: {id: asc})")
		}
		if n.selected != nil {
			b.WriteString(" " + printed(n.selected))
		}
	}
	return b.String() + " }"
}

// rowByRow answers a selection of a row in the simplest way there is.
type rowByRow struct {
	t      *rapid.T
	remote *graphqltest.Server
}

func (n rowByRow) row(table string, row map[string]any, nodes []joinNode) map[string]any {
	out := map[string]any{}
	for _, node := range nodes {
		out[node.alias] = n.field(table, row, node)
	}
	return out
}

func (n rowByRow) field(table string, row map[string]any, node joinNode) any {
	call, remote := joinArguments[table+"."+node.field]
	switch {
	case node.field == "books":
		list := []any{}
		for _, b := range joinTables["book"] {
			if b["author_id"] == row["id"] {
				list = append(list, n.row("book", b, node.selected))
			}
		}
		return list
	case node.field == "author":
		for _, a := range joinTables["author"] {
			if a["id"] == row["author_id"] {
				return n.row("author", a, node.selected)
			}
		}
		return nil
	case !remote:
		return row[node.field]
	case node.field == "friendly":
		var says []any
		friends := n.ask(fmt.Sprintf("user(id: %v) { friends { says } }", row["id"])).(map[string]any)["friends"]
		for _, f := range friends.([]any) {
			says = append(says, f.(map[string]any)["says"])
		}
		return says
	case node.field == "named" && row["name"] == nil:
		return nil
	}
	return n.ask(call(row) + " " + printed(node.selected))
}

func (n rowByRow) ask(field string) any {
	body, err := json.Marshal(map[string]string{"query": "{ x: " + field + " }"})
	if err != nil {
		n.t.Fatal(err)
	}
	var answer struct {
		Data   map[string]any
		Errors []any
	}
	if err := json.Unmarshal(n.remote.Answer(body), &answer); err != nil || answer.Errors != nil {
		n.t.Fatal(err, answer.Errors, field)
	}
	return answer.Data["x"]
}

// Whatever is joined to whatever, under whatever names: the answer is that of
// asking the remote for each row by itself, and each is asked once.
func TestJoinsAnswerAsRowByRowWould(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom([]string{"author", "book"}).Draw(t, "table")
		nodes := drawRows(t, table, 3)
		query := "{ " + table + "(order_by: {id: asc}) " + printed(nodes) + " }"
		got, err := e.run.Run(e.t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: query}})
		if err != nil {
			if strings.Contains(err.Error(), "specify the same response name") {
				t.Skip("two fields drew one name")
			}
			t.Fatal(query, err)
		}
		var want []any
		for _, row := range joinTables[table] {
			want = append(want, rowByRow{t, s.graphql}.row(table, row, nodes))
		}
		text, err := json.Marshal(map[string]any{"data": map[string]any{table: want}})
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal(text, &b) != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%s\n%s\nis not\n%s", query, got, text)
		}
		if asked := s.calls(); len(asked) > 1 {
			t.Fatalf("%s\nasked %d times", query, len(asked))
		}
	})
}

// BenchmarkJoin joins 1,000 rows to a remote in one request, beside its two parts
// alone: the rows, and the remote's answer to the same document.
func BenchmarkJoin(b *testing.B) {
	s := startJoinServer(b, messageTypes, messages())
	e := joinEngine(b, execution.Config{}, s)
	_, err := e.pool.Exec(b.Context(), `BEGIN READ WRITE; INSERT INTO author (id, name) SELECT g, 'name ' || g FROM generate_series(1000, 1999) AS g; ANALYZE author; COMMIT`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(b, err)
	const joined = `{ author(where: {id: {_gte: 1000}}, order_by: {id: asc}) { id name message { id msg } } }`
	_, err = e.ask(admin(), joined, "")
	require.NoError(b, err)
	document := s.calls()[0].Query
	answer := cannedAnswer(s, document)
	s.answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })
	parts := []struct {
		name string
		run  func() error
	}{
		{"rows", func() error {
			_, err := e.ask(admin(), `{ author(where: {id: {_gte: 1000}}, order_by: {id: asc}) { id name } }`, "")
			return err
		}},
		{"remote", func() error {
			_, err := e.run.Send(b.Context(), execution.Caller{Session: admin()}, execution.RemoteRequest{Schema: "messages", Query: document})
			return err
		}},
		{"joined", func() error {
			_, err := e.ask(admin(), joined, "")
			return err
		}},
	}
	took := make([]time.Duration, len(parts))
	s.calls()
	for b.Loop() {
		for i, p := range parts {
			start := time.Now()
			if err := p.run(); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(start)
		}
	}
	for i, p := range parts {
		b.ReportMetric(float64(took[i].Microseconds())/float64(b.N), p.name+"-µs/op")
	}
	b.ReportMetric(float64(len(s.calls()))/float64(b.N)-1, "calls/op")
	b.ReportMetric(100*(float64(took[2])/float64(took[0]+took[1])-1), "%added")
}

// cannedAnswer is what the remote answers to a document, made once: its own
// work is not measured.
func cannedAnswer(s *joinServer, document string) []byte {
	body, _ := json.Marshal(map[string]string{"query": document}) // a string has a JSON form
	return s.graphql.Answer(body)
}
