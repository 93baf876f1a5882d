package command

import (
	"context"
	"encoding/json"
	"errors"

	"annals/domain"
	"annals/domain/metadata"
)

// fetched is what remote servers said before the call took any lock, by the
// name of the remote schema.
type fetched map[string]metadata.RemoteSchema

func (f fetched) all() []metadata.RemoteSchema {
	list := make([]metadata.RemoteSchema, 0, len(f))
	for _, r := range f {
		list = append(list, r)
	}
	return list
}

// fetch asks the remote servers that the steps name for their schema: the
// network is never waited for while the history is locked.
func (h *Handler) fetch(ctx context.Context, steps []metadata.Command) (fetched, error) {
	world := h.Live.Current().World
	found := fetched{}
	if err := refusedAlone(world, steps); err != nil {
		return nil, err
	}
	for _, step := range steps {
		for _, r := range remoteSchemasOf(world, step) {
			if h.Remote == nil {
				return nil, needsPart(step, "asks remote GraphQL servers for their schema")
			}
			answer, err := h.Remote.Introspect(ctx, r)
			switch {
			case err == nil:
				found[r.Name] = r.WithIntrospection(answer)
			case mayStayAway(step, err):
			default:
				return nil, whileReloading(step, r, err)
			}
		}
	}
	return found, nil
}

// mayStayAway: when everything is reloaded, a server that gives no answer keeps
// no other from being asked, and the schema that it had is kept.
func mayStayAway(step metadata.Command, err error) bool {
	_, all := step.(metadata.ReloadMetadata)
	var refusal *domain.Error
	return all && errors.As(err, &refusal)
}

// whileReloading gives a failure the form that v1.3 has for a schema that was
// there and is to be read again.
func whileReloading(step metadata.Command, r metadata.RemoteSchema, err error) error {
	var refusal *domain.Error
	if _, again := step.(metadata.ReloadRemoteSchema); again && errors.As(err, &refusal) {
		return r.Fallen(refusal)
	}
	return err
}

// refusedAlone refuses a lone command that would be refused anyway, before the
// network is asked. In a bulk, what comes before it may make it right.
func refusedAlone(world metadata.World, steps []metadata.Command) error {
	if len(steps) != 1 {
		return nil
	}
	if checked, ok := steps[0].(metadata.Checked); ok {
		return checked.Check(world)
	}
	return nil
}

// remoteSchemasOf returns the remote schemas that a command needs asked.
func remoteSchemasOf(world metadata.World, cmd metadata.Command) []metadata.RemoteSchema {
	switch cmd := cmd.(type) {
	case metadata.AddRemoteSchema:
		return []metadata.RemoteSchema{cmd.RemoteSchema}
	case metadata.ReloadRemoteSchema:
		if r, ok := world.RemoteSchema(cmd.Name); ok {
			return []metadata.RemoteSchema{r}
		}
	case metadata.ReplaceMetadata:
		return cmd.RemoteSchemas(world)
	case metadata.ReloadMetadata:
		return cmd.Remotes(world)
	}
	return nil
}

func (c *call) addRemoteSchema(ctx context.Context, cmd metadata.AddRemoteSchema) (json.RawMessage, error) {
	return c.decide(ctx, cmd.WithIntrospection(c.fetched[cmd.Name].Introspection))
}

func (c *call) reloadRemoteSchema(ctx context.Context, cmd metadata.ReloadRemoteSchema) (json.RawMessage, error) {
	fetched := c.fetched[cmd.Name]
	body, err := c.decide(ctx, cmd.WithIntrospection(fetched.Introspection))
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return nil, fetched.Clashing(refusal)
	}
	return body, err
}
