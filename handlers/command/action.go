package command

import (
	"context"
	"encoding/json"

	"annals/domain/metadata"
	"annals/projections/actions"
)

// dropAction drops an action, and the calls that were made of it unless they
// are to stay.
func (c *call) dropAction(ctx context.Context, cmd metadata.DropAction) (json.RawMessage, error) {
	body, err := c.decide(ctx, cmd)
	if err != nil || !cmd.ClearData {
		return body, err
	}
	return body, actions.Clear(ctx, c.tx, cmd.Name)
}
