package metadata

import (
	"slices"

	"annals/domain"
)

// systemSchema holds what v1.3 keeps in tables: here, views of the history and
// the deliveries.
const systemSchema = "hdb_catalog"

// systemTableNames are those that can be read by the operations on rows as if
// they were tracked. They are in no catalog, and in nobody's GraphQL schema.
var systemTableNames = [...]string{
	"event_log", "event_invocation_logs", "event_triggers",
	"hdb_cron_triggers", "hdb_cron_events", "hdb_cron_event_invocation_logs",
	"hdb_scheduled_events", "hdb_scheduled_event_invocation_logs",
	"hdb_version",
}

func systemTables() []domain.QualifiedName {
	names := make([]domain.QualifiedName, len(systemTableNames))
	for i, name := range systemTableNames {
		names[i] = domain.QualifiedName{Schema: systemSchema, Name: name}
	}
	return names
}

func isSystemTable(name domain.QualifiedName) bool {
	return name.Schema == systemSchema && slices.Contains(systemTableNames[:], name.Name)
}
