package command

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
	"annals/handlers/command/facts"
)

// follow makes the metadata fit what SQL has done to the database, or refuses
// the SQL. The changes are the SQL's.
func (c *call) follow(ctx context.Context, cmd metadata.RunSQL) ([]metadata.Change, error) {
	sight, err := c.sight(ctx)
	if err != nil {
		return nil, err
	}
	decision, err := metadata.Follow(c.version.World, c.nextPosition(), sight, cmd.Cascade)
	if err != nil {
		return nil, err
	}
	return decision.Changes, c.take(decision)
}

// sight looks at the tracked tables again, by the identity that a new name
// does not change, and at what is known by name only.
func (c *call) sight(ctx context.Context) (metadata.Sight, error) {
	watch := c.version.World.Watch()
	tables, err := facts.ReadByOID(ctx, c.tx, slices.Collect(maps.Keys(watch.OIDs)))
	if err != nil {
		return metadata.Sight{}, fmt.Errorf("read the tracked tables: %w", err)
	}
	names := watch.Names
	for oid, isEnum := range watch.OIDs {
		if table := tables[oid]; isEnum && table != nil {
			names.Enums = append(names.Enums, table.Name)
		}
	}
	found, err := readShape(ctx, c.tx, names)
	if err != nil {
		return metadata.Sight{}, err
	}
	return metadata.Sight{Tables: withEnums(tables, found.Tables), Found: found}, nil
}

// withEnums puts tables that were read with their rows in the place of those
// that were not.
func withEnums(tables map[uint32]*database.Table, read map[domain.QualifiedName]*database.Table) map[uint32]*database.Table {
	for _, table := range read {
		if table != nil && tables[table.OID] != nil {
			tables[table.OID] = table
		}
	}
	return tables
}
