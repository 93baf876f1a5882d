package metadata

import (
	"slices"

	"annals/domain"
	"annals/domain/wire"
)

// Command is one call of the metadata API, decoded, with defaults filled in,
// and checked as far as it can be on its own. Encoded, it is what the history
// keeps as the event's args.
type Command interface {
	// Operation is the wire's name of the call, such as create_cron_trigger.
	Operation() string
}

// Decider is a command that changes the catalog.
type Decider interface {
	Command
	// names are the tables and functions whose shape the decision looks at;
	// they are read anew for it.
	names(w World) Names
	// decide says what changes, or refuses.
	decide(w World) ([]Change, error)
	// demand is how consistent the catalog must be afterwards.
	demand() demand
}

// operation is one entry of the wire's list: a type, in a version, and how its
// arguments are read.
type operation struct {
	name    string
	version int
	decode  func(wire.Node) Command
}

// operations is the list of all types that the metadata API knows. Each
// subject's file tells its own.
var operations = slices.Concat(
	tableOperations, relationshipOperations, permissionOperations, functionOperations, computedFieldOperations,
	eventTriggerOperations, cronTriggerOperations, scheduledEventOperations, deliveryOperations,
	queryCollectionOperations, allowListOperations,
	remoteSchemaOperations, remoteRelationshipOperations,
	customTypesOperations, actionOperations,
	documentOperations, sqlOperations, historyOperations, rowOperations,
)

// Operations returns the names of all operations, sorted, each once.
func Operations() []string {
	names := []string{"bulk"}
	for _, op := range operations {
		names = append(names, op.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Request is a call of the metadata API as it came.
type Request struct {
	Command Command
	// Expected is the position the caller believes the history to be at; nil
	// when it does not say.
	Expected *int64
	// Plan asks what the command would change, without changing it.
	Plan bool
	// Comment says why, for the history.
	Comment string
}

// Parse decodes the body of a call. Errors are parse-failed or invalid-json;
// their paths start at the arguments, as v1.3 has it.
func Parse(body []byte) (Request, error) {
	v, err := wire.Parse(body)
	if err != nil {
		return Request{}, err
	}
	return wire.Decode(v, decodeRequest)
}

func decodeRequest(n wire.Node) Request {
	req := Request{Command: decodeCommand(n)}
	req.Expected = wire.Pointer(n.Optional("resource_version"), func(n wire.Node) int64 { return int64(n.Int()) })
	req.Plan = n.Optional("plan").BoolOr(false)
	req.Comment = n.Optional("comment").String()
	return req
}

// Bulk is several commands in one transaction. It is a command of its own on
// the wire only: the history has an event for each item.
type Bulk struct{ Items []Command }

// Operation implements [Command].
func (Bulk) Operation() string { return "bulk" }

func decodeCommand(n wire.Node) Command {
	name := n.Field("type").String()
	version := n.Optional("version").IntOr(1)
	args := n.Field("args")
	if n.Failed() {
		return nil
	}
	if version != 1 && version != 2 {
		n.Optional("version").Fail("expected 1 or 2, encountered %d", version)
		return nil
	}
	// The paths of v1.3 leave out the step to the arguments.
	args = args.At(n.Path())
	if name == "bulk" {
		return Bulk{wire.List(args, decodeCommand)}
	}
	op, known := findOperation(name, version)
	switch {
	case op != nil:
		return op.decode(args)
	case known:
		n.Fail("operation type %q does not exist in version %d", name, version)
	default:
		n.Fail("unknown operation type %q", name)
	}
	return nil
}

// findOperation finds the entry of a type in a version; known tells whether
// the type exists in any.
func findOperation(name string, version int) (found *operation, known bool) {
	for i, op := range operations {
		if op.name != name {
			continue
		}
		if known = true; op.version == version {
			return &operations[i], true
		}
	}
	return nil, known
}

// nothing is the arguments of a call that takes none.
func nothing[C Command](wire.Node) Command {
	var c C
	return c
}

// refuse is [domain.Refuse] by the name that reads well in decisions.
func refuse(code domain.Code, format string, args ...any) *domain.Error {
	return domain.Refuse(code, format, args...)
}
