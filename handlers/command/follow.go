package command

import (
	"context"

	"annals/domain/metadata"
)

func (c *call) follow(ctx context.Context, cmd metadata.RunSQL) ([]metadata.Change, error) {
	return nil, nil
}
