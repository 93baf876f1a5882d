package main

import (
	"context"
	"fmt"

	"annals/cmd/internal/program"
)

// listen makes an event trigger for inserted rows.
func listen(ctx context.Context, n *program.Node, table, hook string) error {
	return n.Query(ctx, fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":%q,"table":%q,"webhook":%q,"insert":{"columns":"*"}}}`, table, table, hook))
}
