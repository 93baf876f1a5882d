package metadata

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain"
)

func TestATemplateTakesItsValuesFromTheEnvironment(t *testing.T) {
	env := Environment{"HOST": "example.org", "A B": "blank", "PORT": "80", "EMPTY": "", "BRACES": "{{HOST}}"}
	for template, want := range map[string]string{
		"http://example.org/x":      "http://example.org/x",
		"{{HOST}}":                  "example.org",
		"http://{{HOST}}:{{PORT}}/": "http://example.org:80/",
		"{{HOST}}{{HOST}}":          "example.orgexample.org",
		"{{A B}}":                   "blank",
		"http://h/{{EMPTY}}x":       "http://h/x",
		"{{BRACES}}":                "{{HOST}}",
		"a}}b{c}":                   "a}}b{c}",
		"":                          "",
	} {
		got, err := ResolveURL(template, env)
		require.NoError(t, err, template)
		require.Equal(t, want, got, template)
	}
}

func TestATemplateNamesEveryVariableThatIsNotSet(t *testing.T) {
	_, err := ResolveURL("{{B}}{{SET}}{{A}}{{B}}", Environment{"SET": "x"})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.Unexpected, refusal.Code)
	require.Equal(t, "Value for environment variables not found: B, A", refusal.Message)
}

func TestATemplateMustCloseItsBraces(t *testing.T) {
	for _, text := range []string{"{{", "http://{{A", "{{A}}{{", "{{}}", "x{{A} }"} {
		_, err := parseURLTemplate(text)
		require.Error(t, err, text)
	}
	given(t, shapeOf()).
		when(`{"type":"create_cron_trigger","args":{"name":"c","webhook":"http://{{A","schedule":"* * * * *","include_in_metadata":true}}`).
		refuses(domain.ParseFailed, "$.webhook", `Parsing URL template failed: "{{" is not followed by "}}"`)
	given(t, shapeOf()).
		when(`{"type":"create_cron_trigger","args":{"name":"c","webhook":"http://{{HASURA_GRAPHQL_ADMIN_SECRET}}","schedule":"* * * * *","include_in_metadata":true}}`).
		refuses(domain.ParseFailed, "$.webhook", `env variables starting with "HASURA_GRAPHQL_" are not allowed in URL templates: HASURA_GRAPHQL_ADMIN_SECRET`)
}

func TestATemplateIsMadeOfItsPartsAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		literal := rapid.StringMatching(`[a-z/:?=.]{0,5}`)
		name := rapid.StringMatching(`[A-Z_ ]{1,3}`)
		env := Environment{}
		var template, want strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			text, variable := literal.Draw(t, "text"), name.Draw(t, "name")
			env[variable] = "<" + variable + ">"
			template.WriteString(text + "{{" + variable + "}}")
			want.WriteString(text + env[variable])
		}
		got, err := ResolveURL(template.String(), env)
		if err != nil || got != want.String() {
			t.Fatalf("%q: %q, %v", template.String(), got, err)
		}
	})
}
