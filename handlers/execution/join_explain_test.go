package execution_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"annals/domain/engine/plan"
	"annals/domain/wire"
	"annals/handlers/execution"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden files")

func TestExplainTellsEachStepOfAMixedOperation(t *testing.T) {
	const file = "testdata/explain.txtar"
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	s, h := startJoinServer(t, messageTypes+" type Mutation { write(id: Int!): Message }", messages()), newHandler(t)
	e := placesEngine(t, s, h, execution.Config{})
	explained := func(text string) string {
		variables, query, _ := strings.Cut(text, "\n")
		if variables[0] != '{' {
			variables, query = "", text
		}
		answer, err := e.run.Explain(t.Context(), execution.ExplainRequest{JSON: true, Request: execution.Request{
			Session: admin(), Query: plan.Request{Query: query, Variables: wire.MustParse(variables)},
		}})
		require.NoError(t, err)
		return strings.ReplaceAll(legible(t, answer), h.URL, "http://handler")
	}
	var rewritten []txtar.File
	for _, f := range archive.Files {
		if f.Name == "explained" {
			continue
		}
		rewritten = append(rewritten, f, txtar.File{Name: "explained", Data: []byte(explained(string(f.Data)))})
	}
	if *update {
		archive.Files = rewritten
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		return
	}
	require.Equal(t, string(txtar.Format(&txtar.Archive{Files: archive.Files})), string(txtar.Format(&txtar.Archive{Files: rewritten})))
	require.Empty(t, s.calls(), "nobody is asked")
	require.Zero(t, h.calls())
}

// legible is an explanation over several lines. What PostgreSQL plans differs
// from one version to the next: only that there are plans is told.
func legible(t *testing.T, answer []byte) string {
	var fields []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(answer, &fields))
	for _, f := range fields {
		var plans []json.RawMessage
		require.NoError(t, json.Unmarshal(f["plan"], &plans))
		for i, p := range plans {
			require.Contains(t, string(p), `"Node Type"`)
			plans[i] = json.RawMessage(`"..."`)
		}
		f["plan"], _ = json.Marshal(plans) // of JSON
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(fields))
	return b.String()
}
