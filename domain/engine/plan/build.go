package plan

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/engine/schema"
	"annals/domain/engine/stitch"
	"annals/domain/graphql"
	"annals/domain/wire"
)

// Request is what a client asks.
type Request struct {
	Query         string
	OperationName string
	// Variables is a JSON object; null is none.
	Variables wire.Value
	Limits    Limits
	// DropNulls leaves a null out of a filter, as v1.3 did: what is left matches
	// more rows, all of them where nothing is. Otherwise it is refused.
	DropNulls bool
}

// Limits bound an operation. Zero is the default of each.
type Limits struct {
	// MaxDepth is how deep selections may lie in each other.
	MaxDepth int
	// MaxNodes is how many fields may be selected, fragments counted where they
	// are used.
	MaxNodes int
	// MaxTokens is how many words and signs the text may have.
	MaxTokens int
	// MaxIntrospection is how often, on average, the introspections of an
	// operation may answer each member of the schema.
	MaxIntrospection int
}

// The defaults of [Limits].
const (
	DefaultMaxDepth         = 64
	DefaultMaxNodes         = 10_000
	DefaultMaxTokens        = 500_000
	DefaultMaxIntrospection = 50
)

func (l Limits) withDefaults() Limits {
	return Limits{
		MaxDepth:         cmp.Or(l.MaxDepth, DefaultMaxDepth),
		MaxNodes:         cmp.Or(l.MaxNodes, DefaultMaxNodes),
		MaxTokens:        cmp.Or(l.MaxTokens, DefaultMaxTokens),
		MaxIntrospection: cmp.Or(l.MaxIntrospection, DefaultMaxIntrospection),
	}
}

// builder makes one plan. What is not there for the role is not found; the
// first fault ends it.
type builder struct {
	role      *schema.Role
	kind      Kind
	limits    Limits
	dropNulls bool
	root      place
	fragments map[string]*ast.FragmentDefinition
	variables map[string]*variable

	needed   map[string]bool // variables that stand in the plan
	shaped   map[string]bool // variables whose value decided its form
	presence map[string]bool // variables of which it mattered whether they were given
	session  map[string]bool
	checks   []variableCheck
	rules    map[*schema.Permission]ruled

	introspected int // members of the schema that were told
}

// Build makes the plan of a request for a role. What is wrong with the request
// is told by a [domain.Error].
func Build(r *schema.Role, req Request) (*Operation, error) {
	b := &builder{
		role: r, limits: req.Limits.withDefaults(), dropNulls: req.DropNulls, root: newPlace(),
		needed: map[string]bool{}, shaped: map[string]bool{}, presence: map[string]bool{}, session: map[string]bool{},
		rules: map[*schema.Permission]ruled{},
	}
	definition, err := b.parse(req)
	if err != nil {
		return nil, err
	}
	given, err := readVariables(req.Variables)
	if err != nil {
		return nil, err
	}
	b.kind = Kind(definition.Operation)
	size := b.survey(definition, req.Query)
	b.declare(definition.VariableDefinitions, given, size)
	op := &Operation{Kind: b.kind, Name: definition.Name}
	if !b.root.failed() {
		op.Fields = b.roots(definition)
	}
	if b.root.failed() {
		return nil, *b.root.fault
	}
	nameJoins(op)
	b.finish(op, size)
	return op, nil
}

// finish notes what the plan depends on.
func (b *builder) finish(op *Operation, size extent) {
	op.Session = sortedKeys(b.session)
	op.Variables = sortedKeys(b.needed)
	op.checks, op.reading = b.checks, &builder{}
	op.shapedBy = map[string]shaping{}
	for name := range b.shaped {
		op.shapedBy[name] = shapingOf(b.variables[name])
	}
	op.absent = map[string]bool{}
	for name := range b.presence {
		op.absent[name] = b.variables[name].absent()
	}
	op.declared = b.variables
	op.size = size
}

// parse reads the text and picks the operation that is asked for.
func (b *builder) parse(req Request) (*ast.OperationDefinition, error) {
	doc, err := graphql.ParseWithin(req.Query, b.limits.MaxTokens)
	if errors.Is(err, graphql.ErrTooLong) {
		return nil, domain.RefuseAt("$.query", domain.ValidationFailed,
			"the operation has more than %d words and signs: ask for it in parts, or raise --max-query-tokens", b.limits.MaxTokens)
	}
	if err != nil {
		return nil, domain.RefuseAt("$.query", domain.ValidationFailed, "not a valid graphql query")
	}
	b.fragments = make(map[string]*ast.FragmentDefinition, len(doc.Fragments))
	for _, f := range doc.Fragments {
		if b.fragments[f.Name] != nil {
			return nil, domain.RefuseAt("$", domain.ValidationFailed, "multiple definitions for fragment %q", f.Name)
		}
		b.fragments[f.Name] = f
	}
	return pick(doc.Operations, req.OperationName)
}

func pick(operations ast.OperationList, name string) (*ast.OperationDefinition, error) {
	if name == "" {
		if len(operations) != 1 {
			return nil, domain.RefuseAt("$", domain.ValidationFailed,
				"exactly one operation has to be present in the document when operationName is not specified")
		}
		return operations[0], nil
	}
	if slices.ContainsFunc(operations, func(o *ast.OperationDefinition) bool { return o.Name == "" }) {
		return nil, domain.RefuseAt("$", domain.ValidationFailed,
			"operationName cannot be used when an anonymous operation exists in the document")
	}
	i := slices.IndexFunc(operations, func(o *ast.OperationDefinition) bool { return o.Name == name })
	if i < 0 {
		return nil, domain.RefuseAt("$", domain.ValidationFailed, "no such operation found in the document: %q", name)
	}
	return operations[i], nil
}

// severalRoots is a directive of v1.3 that lets a subscription have more than one root field.
const severalRoots = "_multiple_top_level_fields"

// roots builds the root fields.
func (b *builder) roots(definition *ast.OperationDefinition) []Root {
	typeName := map[ast.Operation]string{
		ast.Query: schema.QueryRoot, ast.Mutation: schema.MutationRoot, ast.Subscription: schema.SubscriptionRoot,
	}[definition.Operation]
	at := b.root.key("selectionSet")
	fields := b.collect(at, typeName, definition.SelectionSet)
	if definition.Operation == ast.Subscription && len(fields) != 1 && definition.Directives.ForName(severalRoots) == nil {
		b.root.fail("subscriptions must select one top level field")
	}
	var roots []Root
	for _, f := range fields {
		if at.failed() {
			return nil
		}
		roots = append(roots, Root{Alias: f.alias, Field: f.name, Step: b.step(at.key(f.name), definition.Operation, typeName, f)})
	}
	return roots
}

func (b *builder) step(at place, operation ast.Operation, typeName string, f field) Step {
	if f.name == typenameField {
		return b.typename(at, typeName, f)
	}
	if answered, ok := introspection(f); ok && operation != ast.Mutation {
		if operation == ast.Subscription {
			b.root.failCode(domain.NotSupported, "Introspection not supported over subscriptions")
			return nil
		}
		return b.introspect(at, answered, f)
	}
	find := b.role.Query
	if operation == ast.Mutation {
		find = b.role.Mutation
	}
	root, ok := find(f.name)
	if !ok {
		if operation == ast.Mutation && !b.role.HasMutations() {
			b.root.fail("no mutations exist")
		}
		if operation == ast.Query && f.name == schema.NoQueries && !b.role.HasQueries() {
			return b.noQueries(at, f)
		}
		at.fail("field %q not found in type: '%s'", f.name, typeName)
		return nil
	}
	if root.Remote != nil {
		return b.remoteStep(at, operation, *root.Remote, f)
	}
	return b.rootStep(at, root, f)
}

// remoteStep: remote servers are asked, not watched.
func (b *builder) remoteStep(at place, operation ast.Operation, remote stitch.Field, f field) Step {
	if operation == ast.Subscription {
		b.root.failCode(domain.NotSupported, "subscription to remote server is not supported")
		return nil
	}
	return b.remote(at, remote, f)
}

func (b *builder) typename(at place, typeName string, f field) Step {
	b.noSelection(at, f)
	b.noArguments(at, f)
	return Constant(strconv.Quote(typeName))
}

// noQueries answers the one field of who may query nothing.
func (b *builder) noQueries(at place, f field) Step {
	b.noSelection(at, f)
	b.noArguments(at, f)
	return Constant(strconv.Quote(schema.NoQueriesText))
}

func (b *builder) rootStep(at place, root schema.Root, f field) Step {
	t := root.Table
	switch root.Kind {
	case schema.CallAction, schema.StartAction, schema.ActionResult:
		return b.actionStep(at, root, f)
	case schema.Select:
		return b.rows(at, Source{Table: t.Shape}, t, f)
	case schema.SelectByPK:
		return b.rowByKey(at, t, f)
	case schema.SelectAggregate:
		return b.aggregate(at, Source{Table: t.Shape}, t, f)
	case schema.Call, schema.ChangingCall:
		return b.calledRows(at, root, f)
	case schema.CallAggregate:
		return b.calledAggregate(at, root, f)
	case schema.Insert:
		return b.insert(at, t, f)
	case schema.InsertOne:
		return b.insertOne(at, t, f)
	case schema.Update:
		return b.update(at, t, f)
	case schema.UpdateByPK:
		return b.updateByKey(at, t, f)
	case schema.Delete:
		return b.delete(at, t, f)
	}
	return b.deleteByKey(at, t, f)
}
