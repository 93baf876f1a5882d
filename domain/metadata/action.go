package metadata

import (
	"slices"

	"annals/domain"
	"annals/domain/wire"
)

var actionSubject = subject{
	kind: KindAction, decode: decodeObject[Action],
	created: "action_created", changed: "action_changed", dropped: "action_dropped",
}

var actionOperations = slices.Concat([]operation{
	{"create_action", 1, decodeCreateAction},
	{"update_action", 1, decodeUpdateAction},
	{"drop_action", 1, decodeDropAction},
}, actionPermissionOperations)

// Action is a field of the query or mutation root that a webhook answers.
type Action struct {
	Name       string           `json:"name"`
	Definition ActionDefinition `json:"definition"`
	Comment    *string          `json:"comment,omitzero"`
}

// ActionDefinition says what an action takes, what it answers with and who
// answers. Type references are stored as GraphQL prints them.
type ActionDefinition struct {
	Handler              string           `json:"handler"`
	OutputType           string           `json:"output_type"`
	ForwardClientHeaders bool             `json:"forward_client_headers"`
	Headers              []Header         `json:"headers"`
	Arguments            []ActionArgument `json:"arguments"`
	Type                 string           `json:"type"`
	// Kind is given for mutations only.
	Kind    string `json:"kind,omitzero"`
	Timeout int    `json:"timeout"`
}

// ActionArgument is an argument of an action's field.
type ActionArgument struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Description *string `json:"description,omitzero"`
}

// The types and kinds of actions.
const (
	QueryAction    = "query"
	MutationAction = "mutation"

	SynchronousAction  = "synchronous"
	AsynchronousAction = "asynchronous"
)

// defaultActionTimeout is how many seconds a handler may take when the
// definition does not say.
const defaultActionTimeout = 30

func actionKey(name string) Key { return keyOf(KindAction, name) }

// Key implements [Object].
func (a Action) Key() Key { return actionKey(a.Name) }

func (a Action) String() string { return "action " + a.Name }

func (a Action) resolve(r *resolver) {
	r.within("in action %q; ", a.Name)
	types, declared := lookup[CustomTypes](r.world.Catalog, customTypesKey)
	if !r.stands(customTypesKey) && declared {
		r.failPlain("custom types are inconsistent")
		return
	}
	inputs := types.inputTypes()
	for _, argument := range a.Definition.Arguments {
		if name, _ := baseType(argument.Type); !inputs[name] && !r.world.Shape.HasType(name) {
			r.fail("the type: %q is not defined in custom types or it is not a scalar/enum/input_object", name)
		}
	}
	if name, _ := baseType(a.Definition.OutputType); types.Object(name) == nil {
		r.fail("the type: %q is not an object type defined in custom types", name)
	}
	r.template(a.Definition.Handler)
}

func (a Action) described() description {
	return description{"action", struct {
		Name       string           `json:"name"`
		Definition ActionDefinition `json:"definition"`
		Comment    *string          `json:"comment"`
	}{a.Name, a.Definition, a.Comment}}
}

// actionEntry is an action in the metadata document. Permissions are filled in
// by who writes the document: each is an object of its own.
type actionEntry struct {
	Name        string                `json:"name"`
	Definition  actionDefinitionEntry `json:"definition"`
	Comment     *string               `json:"comment,omitzero"`
	Permissions []any                 `json:"permissions,omitempty"`
}

type actionDefinitionEntry struct {
	Handler              string           `json:"handler"`
	OutputType           string           `json:"output_type"`
	ForwardClientHeaders bool             `json:"forward_client_headers,omitzero"`
	Headers              []Header         `json:"headers,omitempty"`
	Arguments            []ActionArgument `json:"arguments,omitempty"`
	Type                 string           `json:"type"`
	Kind                 string           `json:"kind,omitzero"`
	Timeout              *int             `json:"timeout,omitzero"`
}

func (a Action) exported() any { return a.entry() }

func (a Action) entry() actionEntry {
	d := a.Definition
	entry := actionDefinitionEntry{
		Handler: d.Handler, OutputType: d.OutputType, ForwardClientHeaders: d.ForwardClientHeaders,
		Headers: d.Headers, Arguments: d.Arguments, Type: d.Type, Kind: d.Kind,
	}
	if d.Timeout != defaultActionTimeout {
		entry.Timeout = &d.Timeout
	}
	return actionEntry{Name: a.Name, Definition: entry, Comment: a.Comment}
}

func (a Action) renamed(Rename) Object { return a }

// decodeActionEntry reads an action's entry in the metadata document, and the
// permissions in it.
func decodeActionEntry(n wire.Node) (Action, []ActionPermission) {
	a := decodeAction(n)
	permissions := wire.List(n.Optional("permissions"), func(n wire.Node) ActionPermission {
		return ActionPermission{a.Name, n.Field("role").Text(), decodeComment(n)}
	})
	return a, permissions
}

func decodeAction(n wire.Node) Action {
	return Action{n.Field("name").GraphQLName(), decodeActionDefinition(n.Field("definition")), decodeComment(n)}
}

func decodeActionDefinition(n wire.Node) ActionDefinition {
	d := ActionDefinition{
		Handler:              decodeURLTemplate(n.Field("handler")),
		OutputType:           decodeGraphQLType(n.Field("output_type")),
		ForwardClientHeaders: n.Optional("forward_client_headers").BoolOr(false),
		Headers:              decodeHeaders(n.Optional("headers")),
		Arguments:            wire.List(n.Optional("arguments"), decodeActionArgument),
		Type:                 stringOr(n.Optional("type"), MutationAction),
		Timeout:              decodeActionTimeout(n.Optional("timeout")),
	}
	if d.Type != QueryAction && d.Type != MutationAction {
		n.Fail("expected mutation or query, but found %s", d.Type)
	}
	if d.Type == MutationAction {
		d.Kind = stringOr(n.Optional("kind"), SynchronousAction)
		if d.Kind != SynchronousAction && d.Kind != AsynchronousAction {
			n.Optional("kind").Fail("expected synchronous or asynchronous, but found %s", d.Kind)
		}
	}
	if twice := duplicates(argumentNames(d.Arguments)); len(twice) > 0 {
		n.Field("arguments").Fail("the argument %s is given twice", twice[0])
	}
	return d
}

func argumentNames(arguments []ActionArgument) []string {
	names := make([]string, len(arguments))
	for i, a := range arguments {
		names[i] = a.Name
	}
	return names
}

func decodeActionArgument(n wire.Node) ActionArgument {
	return ActionArgument{n.Field("name").GraphQLName(), decodeGraphQLType(n.Field("type")), decodeDescription(n)}
}

func decodeActionTimeout(n wire.Node) int {
	if n.Present() && n.Kind() == wire.Number && n.Int() < 0 {
		n.Fail("timeout value cannot be negative")
	}
	return countOr(n, defaultActionTimeout)
}

func stringOr(n wire.Node, missing string) string {
	if !n.Present() {
		return missing
	}
	return n.String()
}

// CreateAction is create_action.
type CreateAction struct{ Action }

// Operation implements [Command].
func (CreateAction) Operation() string { return "create_action" }

func decodeCreateAction(n wire.Node) Command { return CreateAction{decodeAction(n)} }

func (CreateAction) names(World) Names { return Names{Types: true} }

func (CreateAction) demand() demand { return ownStands }

func (c CreateAction) decide(w World) ([]Change, error) {
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "action with name %q already exists", c.Name)
	}
	return put(w.Catalog, c.Action), nil
}

// UpdateAction is update_action. The comment and the permissions stay. An
// action that cannot stand may be updated: that can make it stand.
type UpdateAction struct {
	Name       string           `json:"name"`
	Definition ActionDefinition `json:"definition"`
}

// Operation implements [Command].
func (UpdateAction) Operation() string { return "update_action" }

func decodeUpdateAction(n wire.Node) Command {
	return UpdateAction{n.Field("name").Text(), decodeActionDefinition(n.Field("definition"))}
}

func (UpdateAction) names(World) Names { return Names{Types: true} }

func (UpdateAction) demand() demand { return ownStands }

func (c UpdateAction) decide(w World) ([]Change, error) {
	action, ok := lookup[Action](w.Catalog, actionKey(c.Name))
	if !ok {
		return nil, refuse(domain.NotExists, "action with name %q not exists", c.Name)
	}
	action.Definition = c.Definition
	return put(w.Catalog, action), nil
}

// DropAction is drop_action. The action's permissions go with it; ClearData
// says whether the answers of its asynchronous calls go too.
type DropAction struct {
	Name      string `json:"name"`
	ClearData bool   `json:"clear_data"`
}

// Operation implements [Command].
func (DropAction) Operation() string { return "drop_action" }

func decodeDropAction(n wire.Node) Command {
	return DropAction{n.Field("name").Text(), n.Optional("clear_data").BoolOr(true)}
}

func (DropAction) names(World) Names { return Names{} }

func (DropAction) demand() demand { return allStand }

func (c DropAction) decide(w World) ([]Change, error) {
	if err := standingAction(w, c.Name); err != nil {
		return nil, err
	}
	var changes []Change
	for e := range w.Catalog.permissionsOfAction(c.Name) {
		changes = append(changes, drop(w.Catalog, e.Key)...)
	}
	return append(changes, drop(w.Catalog, actionKey(c.Name))...), nil
}

// standingAction refuses an action that is not there, or cannot stand: v1.3
// sees no difference.
func standingAction(w World, name string) error {
	if !w.Standing.Stands(actionKey(name)) {
		return refuse(domain.NotExists, "action with name %q does not exist", name)
	}
	return nil
}
