package plan

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/engine/schema"
)

// typenameField is on every type.
const typenameField = "__typename"

// survey walks the operation with its fragments in their places: it finds
// fragments that are not there or lead back to themselves, and operations too
// large, before anything is built.
func (b *builder) survey(definition *ast.OperationDefinition, text string) extent {
	s := surveyor{b: b, extent: extent{uses: map[string]int{}, most: b.limits.MaxTokens + weight(text)}}
	s.directives(definition.Directives)
	s.selections(b.root, definition.SelectionSet, nil)
	return s.extent
}

type surveyor struct {
	b     *builder
	nodes int
	depth int
	extent
}

func (s *surveyor) selections(at place, set ast.SelectionSet, within []string) {
	if len(set) == 0 || at.failed() {
		return
	}
	if s.depth++; s.depth > s.b.limits.MaxDepth {
		at.fail("the operation nests deeper than %d levels: ask for it in parts, or raise --max-query-depth", s.b.limits.MaxDepth)
	}
	defer func() { s.depth-- }()
	at = at.key("selectionSet")
	for _, selection := range set {
		s.selection(at, selection, within)
	}
}

func (s *surveyor) selection(at place, selection ast.Selection, within []string) {
	if s.nodes++; s.nodes > s.b.limits.MaxNodes {
		s.b.root.fail("the operation selects more than %d fields: ask for it in parts, or raise --max-query-nodes", s.b.limits.MaxNodes)
	}
	if at.failed() {
		return
	}
	switch selection := selection.(type) {
	case *ast.Field:
		for _, a := range selection.Arguments {
			s.value(a.Value)
		}
		s.directives(selection.Directives)
		s.selections(at.key(selection.Name), selection.SelectionSet, within)
	case *ast.InlineFragment:
		s.directives(selection.Directives)
		for _, inner := range selection.SelectionSet {
			s.selection(at, inner, within)
		}
	case *ast.FragmentSpread:
		s.directives(selection.Directives)
		s.spread(at, selection.Name, within)
	}
}

func (s *surveyor) spread(at place, name string, within []string) {
	fragment := s.b.fragments[name]
	switch {
	case fragment == nil:
		at.fail("reference to undefined fragment %q", name)
	case slices.Contains(within, name):
		at.fail("the fragment definition(s) %s form a cycle", conjunction(within))
	default:
		s.directives(fragment.Directives)
		s.selections(at.key(name), fragment.SelectionSet, append(within[:len(within):len(within)], name))
	}
}

// conjunction prints a, b, and c.
func conjunction(names []string) string {
	return strings.Replace(strings.Replace(alternatives(names), ", or ", ", and ", 1), " or ", " and ", 1)
}

func (s *surveyor) directives(list ast.DirectiveList) {
	for _, d := range list {
		for _, a := range d.Arguments {
			s.value(a.Value)
		}
	}
}

func (s *surveyor) value(v *ast.Value) {
	if v.Kind == ast.Variable {
		s.uses[v.Raw]++
	}
	if s.values += weight(v.Raw); s.values > s.most {
		s.b.root.fail(tooManyValues, s.most)
		return
	}
	for _, c := range v.Children {
		s.value(c.Value)
	}
}

// field is a selected field: all selections of one response name, merged.
type field struct {
	alias, name string
	arguments   ast.ArgumentList
	selections  ast.SelectionSet
}

// collect lists the fields of selections on a type, in the order of the
// answer: fragments in their places, without what directives leave out, and
// with selections of the same name as one.
func (b *builder) collect(at place, typeName string, set ast.SelectionSet) []field {
	c := collector{b: b, at: at, typeName: typeName, byAlias: map[string]int{}}
	c.add(set)
	return c.fields
}

type collector struct {
	b        *builder
	at       place
	typeName string
	fields   []field
	byAlias  map[string]int
	// Of a type with subtypes: applies reports whether a fragment's condition
	// always holds, other takes the fragments of which it does not. Without
	// them, a type has no other name than its own, and other types' fragments
	// have no fields for us.
	applies func(condition string) bool
	other   func(condition string, set ast.SelectionSet)
}

func (c *collector) add(set ast.SelectionSet) {
	for _, selection := range set {
		if c.at.failed() {
			return
		}
		switch selection := selection.(type) {
		case *ast.Field:
			if c.b.included(c.at.key(selection.Name), selection.Directives) {
				c.addField(selection)
			}
		case *ast.InlineFragment:
			if c.b.included(c.at, selection.Directives) {
				c.addOf(selection.TypeCondition, selection.SelectionSet)
			}
		case *ast.FragmentSpread:
			if fragment := c.b.fragments[selection.Name]; c.b.included(c.at, selection.Directives) {
				c.addOf(fragment.TypeCondition, fragment.SelectionSet)
			}
		}
	}
}

// addOf adds the fields of a fragment.
func (c *collector) addOf(typeCondition string, set ast.SelectionSet) {
	switch {
	case typeCondition == "" || typeCondition == c.typeName || c.applies != nil && c.applies(typeCondition):
		c.add(set)
	case c.other != nil:
		c.other(typeCondition, set)
	}
}

func (c *collector) addField(f *ast.Field) {
	i, again := c.byAlias[f.Alias]
	if !again {
		c.byAlias[f.Alias] = len(c.fields)
		c.fields = append(c.fields, field{f.Alias, f.Name, f.Arguments, slices.Clip(f.SelectionSet)})
		return
	}
	first := &c.fields[i]
	switch {
	case first.name != f.Name:
		c.at.fail("selection of both %q and %q specify the same response name, %q", first.name, f.Name, f.Alias)
	case printed(first.arguments) != printed(f.Arguments):
		c.at.fail("inconsistent arguments between multiple selections of field %q", f.Name)
	}
	first.selections = append(first.selections, f.SelectionSet...)
}

// printed is the arguments as text; their order means nothing.
func printed(arguments ast.ArgumentList) string {
	texts := make([]string, len(arguments))
	for i, a := range arguments {
		texts[i] = a.Name + ":" + a.Value.String()
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// included reads @skip and @include; other directives mean nothing here.
func (b *builder) included(at place, list ast.DirectiveList) bool {
	include := true
	seen := map[string]bool{}
	for _, d := range list {
		if seen[d.Name] {
			at.fail("the following directives are used more than once: %s", d.Name)
		}
		seen[d.Name] = true
		switch d.Name {
		case "skip":
			include = include && !b.condition(at, d)
		case "include":
			include = include && b.condition(at, d)
		}
	}
	return include
}

func (b *builder) condition(at place, d *ast.Directive) bool {
	argument := d.Arguments.ForName("if")
	if argument == nil {
		at.fail("missing required field %q", "if")
		return false
	}
	at = at.key("args").key("if")
	v := b.open(at, literal(argument.Value), wanted{name: schema.Boolean, nonNull: true})
	return string(strict(at, v, schema.Boolean, "a boolean", kindBoolean)) == "true"
}

// arguments are the arguments of a field, or the members of an input object.
type arguments struct {
	at     place
	b      *builder
	values []member
}

// arguments returns a field's arguments, which must have these names.
func (b *builder) arguments(at place, f field, names ...string) arguments {
	args := arguments{at: at.key("args"), b: b}
	for _, a := range f.arguments {
		if at.failed() {
			return args // what follows may be without end
		}
		if !slices.Contains(names, a.Name) {
			at.fail("%q has no argument named %q", f.name, a.Name)
		}
		if slices.ContainsFunc(args.values, func(m member) bool { return m.name == a.Name }) {
			at.fail("multiple definitions for argument %q", a.Name)
		}
		args.values = append(args.values, member{a.Name, literal(a.Value)})
	}
	return args
}

func (b *builder) noArguments(at place, f field) { b.arguments(at, f) }

func (b *builder) noSelection(at place, f field) {
	if len(f.selections) > 0 {
		at.fail("unexpected subselection set for non-object field")
	}
}

// subselection returns the fields selected of an object.
func (b *builder) subselection(at place, typeName string, f field) (place, []field) {
	if len(f.selections) == 0 {
		at.fail("missing selection set for %q", f.name)
	}
	at = at.key("selectionSet")
	return at, b.collect(at, typeName, f.selections)
}

// optional returns an argument and its place; ok is false when it is not
// there, or null.
func (a arguments) optional(name string, w wanted) (value, place, bool) {
	at := a.at.key(name)
	v, ok := a.find(name)
	if !ok {
		return value{}, at, false
	}
	v = a.b.open(at, v, w)
	return v, at, v.kind != kindNull
}

// required returns an argument that must be there.
func (a arguments) required(name string, w wanted) (value, place) {
	at := a.at.key(name)
	v, ok := a.find(name)
	if !ok {
		at.fail("missing required field %q", name)
		return value{}, at
	}
	w.nonNull = true
	return a.b.open(at, v, w), at
}

// find returns an argument as it was written.
func (a arguments) find(name string) (value, bool) {
	for _, m := range a.values {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// object returns the members of an input object; known tells which it may
// have. A member whose variable has no value is not there.
func (b *builder) object(at place, v value, typeName string, known func(string) bool) arguments {
	args := arguments{at: at, b: b}
	if v.kind != kindObject {
		at.mismatch(typeName, "an object", v)
		return args
	}
	for _, m := range v.members {
		inner := at.key(m.name)
		if at.failed() {
			return args
		}
		if !known(m.name) {
			inner.fail("field %q not found in type: '%s'", m.name, typeName)
		}
		if slices.ContainsFunc(args.values, func(o member) bool { return o.name == m.name }) {
			inner.fail("multiple definitions for field %q", m.name)
		}
		args.values = append(args.values, m)
	}
	return args
}
