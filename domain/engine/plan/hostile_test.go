package plan_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
)

// hostileLimit is far above what a refusal takes, and far below what an
// attacker would like it to.
const hostileLimit = 10 * time.Second

func TestATextMadeToExhaustIsRefused(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	of := strings.Repeat
	role := schema.For(authors(t), domain.AdminRole, false)
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
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			_, err := plan.Build(role, plan.Request{Query: query})
			var refusal *domain.Error
			if !errors.As(err, &refusal) || refusal.Code != domain.ValidationFailed {
				t.Fatalf("not refused: %v", err)
			}
			t.Logf("%s", time.Since(begin))
			if took := time.Since(begin); took > hostileLimit {
				t.Fatalf("refused after %s", took)
			}
		})
	}
}
