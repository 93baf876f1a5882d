package command

import (
	"context"
	"encoding/json"

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
			if err != nil {
				return nil, err
			}
			found[r.Name] = r.WithIntrospection(answer)
		}
	}
	return found, nil
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
	}
	return nil
}

func (c *call) addRemoteSchema(ctx context.Context, cmd metadata.AddRemoteSchema) (json.RawMessage, error) {
	return c.decide(ctx, cmd.WithIntrospection(c.fetched[cmd.Name].Introspection))
}

func (c *call) reloadRemoteSchema(ctx context.Context, cmd metadata.ReloadRemoteSchema) (json.RawMessage, error) {
	return c.decide(ctx, cmd.WithIntrospection(c.fetched[cmd.Name].Introspection))
}
