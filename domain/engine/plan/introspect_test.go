package plan_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/metadata"
)

// goldenWorld is a world of the golden files, with all its roles and cases.
type goldenWorld struct {
	world metadata.World
	roles []string
	cases []txtar.File
}

var roleName = regexp.MustCompile(`"role":"([^"]+)"`)

func eachGoldenWorld(t *testing.T, do func(*testing.T, goldenWorld)) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			calls := string(archive.Files[1].Data)
			w := goldenWorld{
				world: schematest.World(t, string(archive.Files[0].Data), calls),
				roles: []string{domain.AdminRole, "stranger"},
				cases: archive.Files[2:],
			}
			for _, found := range roleName.FindAllStringSubmatch(calls, -1) {
				if !slices.Contains(w.roles, found[1]) {
					w.roles = append(w.roles, found[1])
				}
			}
			do(t, w)
		})
	}
}

// loaded prints a role's schema and reads it again, which fails if a type is
// missing, empty or used where it must not be.
func loaded(t *testing.T, r *schema.Role) *ast.Schema {
	t.Helper()
	s := r.Introspect()
	for name := range schema.MetaSchema().Types {
		delete(s.Types, name)
	}
	delete(s.Types, schema.Int)
	delete(s.Types, schema.Float)
	delete(s.Types, schema.ID)
	clear(s.Directives)
	var text strings.Builder
	formatter.NewFormatter(&text).FormatSchema(s)
	read, err := gqlparser.LoadSchema(&ast.Source{Name: r.Name, Input: text.String()})
	if err != nil {
		t.Fatalf("the schema of %s is not valid: %v\n%s", r.Name, err, text.String())
	}
	return read
}

func TestTheSchemaOfEachRoleIsValid(t *testing.T) {
	eachGoldenWorld(t, func(t *testing.T, w goldenWorld) {
		for _, role := range w.roles {
			loaded(t, schema.For(w.world, role, true))
		}
	})
}

// semantic are refusals of operations that the types allow.
var semantic = regexp.MustCompile("already (being )?determined|arguments cannot be omitted|positional arguments|" +
	"at least any one of|must match initial")

func TestWhateverIntrospectionTellsIsAccepted(t *testing.T) {
	eachGoldenWorld(t, func(t *testing.T, w goldenWorld) {
		for _, name := range w.roles {
			role := schema.For(w.world, name, true)
			s := loaded(t, role)
			for kind, root := range map[string]*ast.Definition{"query": s.Query, "mutation": s.Mutation, "subscription": s.Subscription} {
				if root == nil {
					continue
				}
				for _, f := range root.Fields {
					for _, text := range (speaker{s}).fields(f, 2) {
						if strings.HasPrefix(f.Name, "__") {
							continue
						}
						query := kind + " { " + text + " }"
						if _, err := plan.Build(role, plan.Request{Query: query}); err != nil && !semantic.MatchString(err.Error()) {
							t.Fatalf("%s to %s: %v", query, name, err)
						}
					}
				}
			}
		}
	})
}

// speaker makes operations of a schema.
type speaker struct{ schema *ast.Schema }

// fields writes a field with each of its arguments in turn, and with all that
// can be selected of it.
func (s speaker) fields(f *ast.FieldDefinition, depth int) []string {
	selection, bare := s.selection(f.Type, depth), ""
	if selection != "" {
		bare = " { __typename }"
	}
	required := ""
	for _, a := range f.Arguments {
		if a.Type.NonNull {
			required += a.Name + ": " + s.values(a.Type, 0)[0] + " "
		}
	}
	texts := []string{f.Name + parenthesised(required) + selection}
	for _, a := range f.Arguments {
		others := ""
		for _, other := range f.Arguments {
			if other.Type.NonNull && other != a {
				others += other.Name + ": " + s.values(other.Type, 0)[0] + " "
			}
		}
		for _, v := range s.values(a.Type, depth) {
			texts = append(texts, f.Name+parenthesised(others+a.Name+": "+v)+bare)
		}
	}
	return texts
}

func parenthesised(arguments string) string {
	if arguments == "" {
		return ""
	}
	return "(" + arguments + ")"
}

func (s speaker) selection(t *ast.Type, depth int) string {
	d := s.schema.Types[t.Name()]
	if d.Kind != ast.Object {
		return ""
	}
	texts := []string{"__typename"}
	for _, f := range d.Fields {
		to := s.schema.Types[f.Type.Name()]
		if to.Kind != ast.Object || depth > 0 {
			for i, text := range s.fields(f, depth-1) {
				texts = append(texts, fmt.Sprintf("%s_%d: %s", f.Name, i, text))
			}
		}
	}
	return " { " + strings.Join(texts, " ") + " }"
}

// values writes values of a type: of an input object one for each member.
func (s speaker) values(t *ast.Type, depth int) []string {
	if t.Elem != nil {
		var lists []string
		for _, v := range s.values(t.Elem, depth) {
			lists = append(lists, "["+v+"]")
		}
		return lists
	}
	d := s.schema.Types[t.NamedType]
	switch {
	case d.Kind == ast.Enum:
		var names []string
		for _, v := range d.EnumValues {
			names = append(names, v.Name)
		}
		return names
	case d.Kind == ast.InputObject:
		return s.objects(d, depth)
	case d.Name == schema.Int || d.Name == schema.Float:
		return []string{"1"}
	case d.Name == schema.Boolean:
		return []string{"true"}
	}
	return []string{`"01"`}
}

func (s speaker) objects(d *ast.Definition, depth int) []string {
	required := func(but *ast.FieldDefinition) (text string) {
		for _, f := range d.Fields {
			if f.Type.NonNull && f != but {
				text += f.Name + ": " + s.values(f.Type, 0)[0] + " "
			}
		}
		return text
	}
	if depth <= 0 {
		return []string{"{" + required(nil) + "}"}
	}
	var texts []string
	for _, f := range d.Fields {
		for _, v := range s.values(f.Type, depth-1) {
			texts = append(texts, "{"+required(f)+f.Name+": "+v+"}")
		}
	}
	return texts
}

// lenient reports whether a case is accepted although GraphQL forbids it, as in
// v1.3: variables that are never used, fragments of a type that cannot occur,
// directives that mean nothing, offsets as strings, names within JSON.
func lenient(name string) bool {
	return slices.Contains([]string{
		"variables in arguments", "fragments, and one of another type", "skip and include", "offset as a string",
		"an enum value in JSON",
	}, name)
}

func TestIntrospectionTellsWhateverIsAccepted(t *testing.T) {
	eachGoldenWorld(t, func(t *testing.T, w goldenWorld) {
		for i, c := range w.cases {
			name, isCase := strings.CutPrefix(c.Name, "case ")
			if !isCase || w.cases[i+1].Name != "plan" || lenient(name) {
				continue
			}
			role, query := domain.AdminRole, string(c.Data)
			for {
				line, rest, _ := strings.Cut(query, "\n")
				if strings.HasPrefix(line, "role: ") {
					role = line[len("role: "):]
				} else if !strings.HasPrefix(line, "variables: ") && !strings.HasPrefix(line, "operation: ") && line != "backend-only" {
					break
				}
				query = rest
			}
			if _, errs := gqlparser.LoadQueryWithRules(loaded(t, schema.For(w.world, role, true)), query, nil); errs != nil {
				t.Errorf("%s: %v\n%s", name, errs, query)
			}
		}
	})
}

func TestAnIntrospectionThatAnswersTheSchemaOverAndOverIsRefused(t *testing.T) {
	query := "{ __schema { types { " + strings.Repeat("inputFields { type { ", 12) + "name" + strings.Repeat(" } }", 12) + " } } }"
	_, err := plan.Build(schema.For(authors(t), domain.AdminRole, false), plan.Request{Query: query})
	if err == nil || !strings.Contains(err.Error(), "times over") {
		t.Fatalf("not refused: %v", err)
	}
}

func TestTheQueryOfToolsIsAnswered(t *testing.T) {
	query, err := os.ReadFile("testdata/tools.graphql")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{domain.AdminRole, "user"} {
		op, err := plan.Build(schema.For(authors(t), role, false), plan.Request{Query: string(query)})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			QueryType struct{ Name string }
			Types     []struct{ Name string }
		}
		if err := json.Unmarshal(op.Fields[0].Step.(plan.Constant), &answer); err != nil {
			t.Fatal(err)
		}
		names := make([]string, len(answer.Types))
		for i, n := range answer.Types {
			names[i] = n.Name
		}
		if answer.QueryType.Name != schema.QueryRoot || !slices.IsSorted(names) || !slices.Contains(names, "author") {
			t.Errorf("%s gets %s", role, op.Fields[0].Step)
		}
	}
}
