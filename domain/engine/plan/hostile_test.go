package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// hostileLimit is far above what a refusal takes, and far below what an
// attacker would like it to.
const hostileLimit = 10 * time.Second

func TestATextMadeToExhaustIsRefused(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	of := strings.Repeat
	role := schema.For(authors(t), domain.AdminRole, false)
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, query := range map[string]string{
		"selections in selections": of("{a", many),
		"closed ones":              of("{a", many/8) + of("}", many/8),
		"lists in lists":           "{ author(where: " + of("[", many),
		"objects in objects":       "{ author(where: " + of("{_not: ", many),
		"closed objects":           "{ author(where: " + of("{_not: ", many/8) + of("}", many/8) + ") { id } }",
		"a type in lists":          "query($a: " + of("[", many) + "Int" + of("]", many) + ") { author { id } }",
		"directives":               "{ author { id " + of("@a", many) + " } }",
		"directives on a query":    "query " + of("@a ", many) + "{ author { id } }",
		"aliases of one field":     "{ " + of("a: __typename ", many/4) + "}",
		"different aliases":        "{ author { " + of("id ", many/4) + "} }",
		"fragments that turn":      "{ author { ...a } } fragment a on author { ...b } fragment b on author { ...a }",
		"inline fragments":         "{ author { " + of("... on author { ", many/16) + "id" + of("}", many/16) + "} }",
		"introspection in depth":   "{ __schema { types { " + of("fields { type { ", 200) + "name" + of("} }", 200) + "} } }",
		"commas":                   "{ author { id " + of(",", many) + "} ",
		"a string without an end":  `{ author(where: {name: {_eq: "` + of("a", many),
		"a block without an end":   `{ author(where: {name: {_eq: """` + of("a\n", many/2),
		"escapes":                  `{ author(where: {name: {_eq: "` + of(`\u0041`, many/8) + `\uZZZZ"}}) { id } }`,
		"arguments that are not":   "{ author(" + numbered("a%d: 1 ", many/8) + ") { id } }",
		"a fragment again":         "{ " + of("...a ", 3000) + "} fragment a on query_root { author(where: {id: {_in: [" + of("1 ", many/4) + "]}}) { id } }",
		"a text again":             "{ " + of("...a ", 3000) + "} fragment a on query_root { author(where: {name: {_eq: \"" + of("a", many) + "\"}}) { id } }",
	} {
		t.Run(name, func(t *testing.T) { refusedSoon(t, role, plan.Request{Query: query}) })
	}
}

func refusedSoon(t *testing.T, role *schema.Role, req plan.Request) {
	t.Helper()
	begin := time.Now()
	_, err := plan.Build(role, req)
	var refusal *domain.Error
	if !errors.As(err, &refusal) || refusal.Code != domain.ValidationFailed {
		t.Fatalf("not refused: %v", err)
	}
	t.Logf("%s", time.Since(begin))
	if took := time.Since(begin); took > hostileLimit {
		t.Fatalf("refused after %s", took)
	}
}

// usedOften is an operation that has a variable in n places.
func usedOften(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: author(where: {id: {_in: $ids}}) { id }\n", i)
	}
	return "query ($ids: [Int!]) { " + b.String() + "}"
}

// manyIDs are variables with a list of n numbers.
func manyIDs(n int) wire.Value {
	return wire.MustParse(`{"ids": [` + strings.Repeat("1,", n-1) + "1]}")
}

func TestALargeVariableIsNotTakenInManyPlaces(t *testing.T) {
	t.Parallel()
	role := schema.For(authors(t), domain.AdminRole, false)
	refusedSoon(t, role, plan.Request{Query: usedOften(4000), Variables: manyIDs(60_000)})
	op, err := plan.Build(role, plan.Request{Query: usedOften(4000), Variables: manyIDs(10)})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if op.Fits(manyIDs(60_000)) {
		t.Error("a plan that was made for few numbers takes many")
	}
	if took := time.Since(begin); took > hostileLimit {
		t.Errorf("told after %s", took)
	}
	if !op.Fits(manyIDs(20)) {
		t.Error("a plan does not take other variables of its size")
	}
}

func TestACommandSelectsNoMoreColumnsThanAnOperation(t *testing.T) {
	t.Parallel()
	role := schema.For(authors(t), domain.AdminRole, false)
	of := func(n int) metadata.Select {
		s := metadata.Select{Table: domain.QualifiedName{Schema: "public", Name: "author"}}
		for range n {
			s.Columns = append(s.Columns, metadata.RowColumn{Name: "id"})
		}
		return s
	}
	if _, err := plan.OfRows(role, of(10), plan.Limits{MaxNodes: 10}); err != nil {
		t.Error(err)
	}
	var refusal *domain.Error
	if _, err := plan.OfRows(role, of(11), plan.Limits{MaxNodes: 10}); !errors.As(err, &refusal) || refusal.Code != domain.ValidationFailed {
		t.Errorf("not refused: %v", err)
	}
}

func TestALargeVariableMayBeUsedOnce(t *testing.T) {
	t.Parallel()
	role := schema.For(authors(t), domain.AdminRole, false)
	if _, err := plan.Build(role, plan.Request{Query: usedOften(1), Variables: manyIDs(1_000_000)}); err != nil {
		t.Fatal(err)
	}
}
