package metadata

import (
	"errors"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/wire"
)

// urlTemplate is the text of a URL in which {{NAME}} stands for the value of
// an environment variable. The name is all that stands between the braces,
// blanks included; the value is put in as it is.
type urlTemplate struct{ parts []templatePart }

// templatePart is literal text, or the name of a variable.
type templatePart struct {
	text     string
	variable bool
}

// parseURLTemplate reads a template.
func parseURLTemplate(text string) (urlTemplate, error) {
	var t urlTemplate
	for {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			t.parts = append(t.parts, templatePart{text: before})
		}
		if !found {
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		switch {
		case !closed:
			return urlTemplate{}, errors.New(`"{{" is not followed by "}}"`)
		case name == "":
			return urlTemplate{}, errors.New(`no name stands between "{{" and "}}"`)
		}
		t.parts = append(t.parts, templatePart{text: name, variable: true})
		text = after
	}
}

// Variables returns the names of the variables, each once, in order.
func (t urlTemplate) Variables() []string {
	var names []string
	for _, p := range t.parts {
		if p.variable && !slices.Contains(names, p.text) {
			names = append(names, p.text)
		}
	}
	return names
}

// Resolve puts the values in. Variables that are not set are a refusal with
// unexpected, which names them all.
func (t urlTemplate) Resolve(env Environment) (string, error) {
	var missing []string
	for _, name := range t.Variables() {
		if _, ok := env[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return "", refuse(domain.Unexpected, "Value for environment variables not found: %s", strings.Join(missing, ", "))
	}
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable {
			b.WriteString(env[p.text])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), nil
}

// ResolveURL parses a template and resolves it.
func ResolveURL(template string, env Environment) (string, error) {
	t, err := parseURLTemplate(template)
	if err != nil {
		return "", refuse(domain.ParseFailed, "Parsing URL template failed: %s", err)
	}
	return t.Resolve(env)
}

// decodeURLTemplate reads a template that must not be empty, and must not name
// variables of the service itself.
func decodeURLTemplate(n wire.Node) string {
	text := n.Text()
	t, err := parseURLTemplate(text)
	if err != nil {
		n.Fail("Parsing URL template failed: %s", err)
	}
	for _, name := range t.Variables() {
		refuseReserved(n, name, "URL templates")
	}
	return text
}

// decodeWebhook reads the webhook of a scheduled delivery: a template, or an
// object {"from_env": NAME}, which is the template {{NAME}}.
func decodeWebhook(n wire.Node) string {
	if n.Present() && n.Kind() == wire.Object {
		return "{{" + decodeVariable(n.Field("from_env")) + "}}"
	}
	return decodeURLTemplate(n)
}

// template makes sure that the variables of a URL are set.
func (r *resolver) template(text string) {
	if _, err := ResolveURL(text, r.world.Env); err != nil {
		r.failAs(err)
	}
}

// failAs states the message of a refusal as the reason.
func (r *resolver) failAs(err error) {
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		r.fail("%s", refusal.Message)
		return
	}
	r.fail("%s", err)
}
