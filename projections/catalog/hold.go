package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"annals/domain/metadata"
)

// Hold keeps an object as it is until the transaction ends, and reports whether
// it is still as it became at a position: whoever changes it waits.
func Hold(ctx context.Context, tx pgx.Tx, key metadata.Key, position int64) (bool, error) {
	var held int
	err := tx.QueryRow(ctx, "select 1 from annals.catalog where kind = $1 and key = $2 and position = $3 for share",
		string(key.Kind), key.Name, position).Scan(&held)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hold %s %s: %w", key.Kind, key.Name, err)
	}
	return true, nil
}
