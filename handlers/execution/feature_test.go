package execution_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/plan/plantest"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
	"annals/domain/wire"
	"annals/handlers/execution"
)

// A feature's file begins with a database and the commands that make its metadata,
// one a line. Each "case NAME" is an operation, or a command about rows; "role:",
// "session:", "variables:", "operation:" and "backend:" may stand before it. Behind it stand its plan, the
// statements that explain shows, and its result, or its error. The cases of a
// file follow each other: what one changes the next one sees.
func TestFeaturesArePlannedTranslatedAndAnsweredLikeThis(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/features/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runFeature(t, file) })
	}
}

func runFeature(t *testing.T, file string) {
	t.Parallel()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	e := newEngine(t, string(archive.Files[0].Data), strings.Split(strings.TrimSpace(string(archive.Files[1].Data)), "\n")...)
	wanted := txtar.Format(archive)
	made := archive.Files[:2:2]
	for _, section := range archive.Files[2:] {
		if strings.HasPrefix(section.Name, "case ") {
			made = append(append(made, section), e.feature(string(section.Data))...)
		}
	}
	archive.Files = made
	if *update {
		require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		return
	}
	if diff := cmp.Diff(string(wanted), string(txtar.Format(archive))); diff != "" {
		t.Errorf("wanted (-) and got (+):\n%s", diff)
	}
}

// feature runs a case and returns the sections behind it.
func (e *engine) feature(text string) []txtar.File {
	r := execution.Request{Session: domain.Session{Role: domain.AdminRole, Variables: map[string]string{}}}
	for {
		line, rest, _ := strings.Cut(text, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "role":
			r.Session.Role = value
		case "session":
			variable, value, _ := strings.Cut(value, "=")
			r.Session.Variables[variable] = value
		case "variables":
			r.Query.Variables = wire.MustParse(value)
		case "operation":
			r.Query.OperationName = value
		case "backend":
			r.BackendOnly = true
		default:
			if strings.HasPrefix(text, `{"type"`) {
				return e.rowFeature(r, text)
			}
			r.Query.Query = text
			return e.operationFeature(r)
		}
		text = rest
	}
}

func (e *engine) operationFeature(r execution.Request) []txtar.File {
	role := schema.For(e.World(), r.Session.Role, r.BackendOnly)
	op, err := plan.Build(role, r.Query)
	if err != nil {
		return e.featureError(err)
	}
	sections := []txtar.File{{Name: "plan", Data: []byte(plantest.Print(op))}}
	if items, err := e.explainWith(execution.ExplainRequest{Request: r}); err == nil {
		var sql strings.Builder
		for _, item := range items {
			if item.SQL != nil {
				fmt.Fprintf(&sql, "%s\n", *item.SQL)
			}
		}
		sections = append(sections, txtar.File{Name: "sql", Data: []byte(sql.String())})
	}
	answer, err := e.run.Run(e.t.Context(), r)
	return append(sections, e.featureResult(answer, err)...)
}

func (e *engine) rowFeature(r execution.Request, body string) []txtar.File {
	req, err := metadata.Parse([]byte(body))
	if err != nil {
		return e.featureError(err)
	}
	world := e.World()
	op, err := plan.OfRows(schema.For(world, r.Session.Role, r.BackendOnly), req.Command.(metadata.RowCommand), plan.Limits{})
	if err != nil {
		return e.featureError(err)
	}
	tx := e.inTransaction()
	answer, err := e.run.RunIn(e.t.Context(), tx, metadata.RowCall{World: world, Session: r.Session, BackendOnly: r.BackendOnly, Command: req.Command.(metadata.RowCommand)})
	if err == nil {
		err = tx.Commit(e.t.Context())
	} else {
		require.NoError(e.t, tx.Rollback(e.t.Context()))
	}
	return append([]txtar.File{{Name: "plan", Data: []byte(plantest.Print(op))}}, e.featureResult(answer, err)...)
}

func (e *engine) featureResult(answer []byte, err error) []txtar.File {
	if err != nil {
		return e.featureError(err)
	}
	var indented bytes.Buffer
	require.NoError(e.t, json.Indent(&indented, answer, "", "  "), string(answer))
	indented.WriteByte('\n')
	return []txtar.File{{Name: "result", Data: indented.Bytes()}}
}

func (e *engine) featureError(err error) []txtar.File {
	var refusal *domain.Error
	require.True(e.t, errors.As(err, &refusal), "no refusal: %v", err)
	return []txtar.File{{Name: "error", Data: fmt.Appendf(nil, "%s\n%s\n%s\n", refusal.Code, refusal.Path, refusal.Message)}}
}
