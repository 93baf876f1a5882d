package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/plan/plantest"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/metadata"
	"annals/domain/wire"
)

var update = flag.Bool("update", false, "rewrite the expectations of the golden files")

// A golden file begins with a world, the sections "shape" and "metadata" as
// [schematest.World] reads them. Cases follow: "case NAME" holds the role, the variables and the operation, and the
// section after it the "plan", or the "error".
func TestOperationsBecomeThesePlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runGolden(t, file) })
	}
}

func runGolden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := archive.Files
	world := schematest.World(t, string(sections[0].Data), string(sections[1].Data))
	rewritten := slices.Clone(sections[:2])
	for i := 2; i < len(sections); i++ {
		name, ok := strings.CutPrefix(sections[i].Name, "case ")
		if !ok {
			t.Fatalf("%q is no case", sections[i].Name)
		}
		rewritten = append(rewritten, sections[i])
		var want txtar.File
		if i+1 < len(sections) && !strings.HasPrefix(sections[i+1].Name, "case ") {
			i++
			want = sections[i]
		}
		got := outcome(t, world, string(rewritten[len(rewritten)-1].Data))
		rewritten = append(rewritten, got)
		if !*update {
			t.Run(name, func(t *testing.T) {
				if diff := cmp.Diff(want.Name+"\n"+string(want.Data), got.Name+"\n"+string(got.Data)); diff != "" {
					t.Errorf("wanted (-) and got (+):\n%s", diff)
				}
			})
		}
	}
	if *update {
		archive.Files = rewritten
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// outcome builds a case: "role: user", "variables: {}" and "operation: name"
// may stand before the operation.
func outcome(t *testing.T, world metadata.World, text string) txtar.File {
	role, backendOnly, req := domain.AdminRole, false, plan.Request{}
	for {
		line, rest, _ := strings.Cut(text, "\n")
		if name, ok := strings.CutPrefix(line, "role: "); ok {
			role = name
		} else if variables, ok := strings.CutPrefix(line, "variables: "); ok {
			req.Variables = wire.MustParse(variables)
		} else if name, ok := strings.CutPrefix(line, "operation: "); ok {
			req.OperationName = name
		} else if line == "backend-only" {
			backendOnly = true
		} else {
			break
		}
		text = rest
	}
	req.Query = text
	op, err := plan.Build(schema.For(world, role, backendOnly), req)
	if err == nil {
		if !op.Fits(req.Variables) {
			t.Errorf("the plan does not fit its own request: %s", text)
		}
		return txtar.File{Name: "plan", Data: []byte(plantest.Print(op))}
	}
	var refusal *domain.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%s\nfailed without a refusal: %v", text, err)
	}
	return txtar.File{Name: "error", Data: fmt.Appendf(nil, "%s\n%s\n%s\n", refusal.Code, refusal.Path, refusal.Message)}
}
