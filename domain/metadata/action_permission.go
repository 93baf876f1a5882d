package metadata

import (
	"iter"

	"annals/domain"
	"annals/domain/wire"
)

var actionPermissionSubject = subject{
	kind: KindActionPermission, decode: decodeObject[ActionPermission],
	created: "action_permission_created", changed: "action_permission_changed", dropped: "action_permission_dropped",
}

var actionPermissionOperations = []operation{
	{"create_action_permission", 1, decodeCreateActionPermission},
	{"drop_action_permission", 1, decodeDropActionPermission},
}

// ActionPermission lets a role call an action.
type ActionPermission struct {
	Action  string  `json:"action"`
	Role    string  `json:"role"`
	Comment *string `json:"comment,omitzero"`
}

func actionPermissionKey(action, role string) Key { return keyOf(KindActionPermission, action, role) }

// permissionsOfAction yields the entries of an action's permissions, by role.
func (c Catalog) permissionsOfAction(action string) iter.Seq[*Entry] {
	return c.prefixed(string(KindActionPermission) + "/" + domain.JoinKey(action) + ".")
}

// Key implements [Object].
func (p ActionPermission) Key() Key { return actionPermissionKey(p.Action, p.Role) }

func (p ActionPermission) String() string { return "permission " + p.Action + "." + p.Role }

// resolve needs that the action is there. When the action cannot stand, that
// is told of the action alone.
func (p ActionPermission) resolve(r *resolver) {
	r.need(needObject(actionKey(p.Action)))
	if !r.world.Catalog.Has(actionKey(p.Action)) {
		r.fail("action with name %q does not exist", p.Action)
	}
}

// described has a definition because v1.3 takes one; it never kept any.
func (p ActionPermission) described() description {
	return description{"action_permission", struct {
		Action     string    `json:"action"`
		Role       string    `json:"role"`
		Definition *struct{} `json:"definition"`
		Comment    *string   `json:"comment"`
	}{Action: p.Action, Role: p.Role, Comment: p.Comment}}
}

func (p ActionPermission) exported() any {
	return struct {
		Role    string  `json:"role"`
		Comment *string `json:"comment,omitzero"`
	}{p.Role, p.Comment}
}

func (p ActionPermission) renamed(Rename) Object { return p }

// CreateActionPermission is create_action_permission.
type CreateActionPermission struct{ ActionPermission }

// Operation implements [Command].
func (CreateActionPermission) Operation() string { return "create_action_permission" }

func decodeCreateActionPermission(n wire.Node) Command {
	return CreateActionPermission{ActionPermission{n.Field("action").Text(), n.Field("role").Text(), decodeComment(n)}}
}

func (CreateActionPermission) names(World) Names { return Names{} }

func (CreateActionPermission) demand() demand { return ownStands }

func (c CreateActionPermission) decide(w World) ([]Change, error) {
	if err := standingAction(w, c.Action); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "permission for role %q is already defined on %q", c.Role, c.Action)
	}
	return put(w.Catalog, c.ActionPermission), nil
}

// DropActionPermission is drop_action_permission.
type DropActionPermission struct {
	Action string `json:"action"`
	Role   string `json:"role"`
}

// Operation implements [Command].
func (DropActionPermission) Operation() string { return "drop_action_permission" }

func decodeDropActionPermission(n wire.Node) Command {
	return DropActionPermission{n.Field("action").Text(), n.Field("role").Text()}
}

func (DropActionPermission) names(World) Names { return Names{} }

// demand is that of creating one: v1.3 rebuilds the action.
func (DropActionPermission) demand() demand { return ownStands }

func (c DropActionPermission) decide(w World) ([]Change, error) {
	if err := standingAction(w, c.Action); err != nil {
		return nil, err
	}
	key := actionPermissionKey(c.Action, c.Role)
	if !w.Catalog.Has(key) {
		return nil, refuse(domain.NotExists, "permission for role: %q is not defined on %q", c.Role, c.Action)
	}
	return drop(w.Catalog, key), nil
}
