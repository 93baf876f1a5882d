package execution_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain/engine/plan"
	"annals/handlers/execution"
)

// BenchmarkJoin joins 1,000 rows to a remote in one request, and between each
// two times runs its two parts alone: the rows, and the remote asked the same
// document. It reports the medians, and by how much the join is longer than its
// parts: with a remote that executes what it is asked, and, the worst case, with
// one that has its answer ready.
func BenchmarkJoin(b *testing.B) {
	b.Run("remote executes", func(b *testing.B) { benchmarkJoin(b, false) })
	b.Run("remote is ready", func(b *testing.B) { benchmarkJoin(b, true) })
}

func benchmarkJoin(b *testing.B, ready bool) {
	s := startJoinServer(b, messageTypes, messages())
	e := joinEngine(b, execution.Config{}, s)
	_, err := e.conns.Exec(b.Context(), `BEGIN READ WRITE; INSERT INTO author (id, name) SELECT g, 'name ' || g FROM generate_series(1000, 1999) AS g; ANALYZE author; COMMIT`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(b, err)
	const joined = `{ author(where: {id: {_gte: 1000}}, order_by: {id: asc}) { id name message { id msg } } }`
	_, err = e.ask(admin(), joined, "")
	require.NoError(b, err)
	document := s.calls()[0].Query
	if ready {
		answer := cannedAnswer(s, document)
		s.answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })
	}
	parts := []struct {
		name string
		run  func() error
	}{
		{"rows", func() error {
			return e.runs(`{ author(where: {id: {_gte: 1000}}, order_by: {id: asc}) { id name } }`)
		}},
		{"remote", func() error {
			_, err := e.run.Send(b.Context(), execution.Caller{Session: admin()}, execution.RemoteRequest{Schema: "messages", Query: document})
			return err
		}},
		{"joined", func() error {
			return e.runs(joined)
		}},
	}
	took := make([][]time.Duration, len(parts))
	s.calls()
	for b.Loop() {
		for i, p := range parts {
			start := time.Now()
			if err := p.run(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	medians := make([]float64, len(parts))
	for i, p := range parts {
		slices.Sort(took[i])
		medians[i] = float64(took[i][len(took[i])/2].Microseconds())
		b.ReportMetric(medians[i], p.name+"-µs")
	}
	b.ReportMetric(float64(len(s.calls()))/float64(b.N)-1, "calls/op")
	b.ReportMetric(100*(medians[2]/(medians[0]+medians[1])-1), "%added")
}

// runs runs a query whose answer nobody reads.
func (e *engine) runs(query string) error {
	_, err := e.run.Run(e.t.Context(), execution.Request{Session: admin(), Query: plan.Request{Query: query}})
	return err
}

// cannedAnswer is what the remote answers to a document, made once.
func cannedAnswer(s *joinServer, document string) []byte {
	body, _ := json.Marshal(map[string]string{"query": document}) // a string has a JSON form
	return s.graphql.Answer(body)
}
